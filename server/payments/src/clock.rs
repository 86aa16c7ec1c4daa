//! The clock, and random numbers and ids: the impure things `domain` gets as arguments.

use std::{
    sync::{Mutex, PoisonError},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use domain::schedule::Timestamp;
use uuid::Uuid;

/// The latest time that was given out, and when.
static LATEST: Mutex<Option<(Instant, Timestamp)>> = Mutex::new(None);

/// The engine's time: the wall clock's, but it never goes back and never stands still. A clock
/// that is set back must lengthen no replay window and must hold up no deadline.
pub fn now() -> Timestamp {
    not_before(wall())
}

/// The engine's time, which from here on is at least this: the newest that is stored.
pub fn not_before(least: Timestamp) -> Timestamp {
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    let running = latest.map_or(least, |(at, time)| time.after(at.elapsed()));
    let now = running.max(least).max(wall());
    *latest = Some((Instant::now(), now));
    now
}

/// What the machine's clock says, for what others stamped by theirs.
pub fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    Timestamp(now.0.saturating_add(offset()))
}

/// How far a test sets the clock, in milliseconds: what the file it names says at this moment.
#[cfg(debug_assertions)]
fn offset() -> i64 {
    static FILE: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let file = FILE.get_or_init(|| std::env::var("PAYONCE_CLOCK_OFFSET_FILE").ok());
    let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// How far a test sets the clock: not at all, in a release build.
#[cfg(not(debug_assertions))]
const fn offset() -> i64 {
    0
}

/// A random number, uniform over all of `u32`, for jitter.
pub fn jitter() -> u32 {
    rand::random()
}

/// A fresh id.
pub fn fresh_id() -> Uuid {
    Uuid::new_v4()
}

/// A number for people, such as `P-7K3M-2QXA`: 40 random bits without letters that look alike.
pub fn fresh_reference() -> String {
    const LETTERS: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
    let mut bits: u64 = rand::random();
    let mut text = String::from("P-");
    for place in 0..8 {
        if place == 4 {
            text.push('-');
        }
        let letter = LETTERS.get((bits % 32) as usize).copied().unwrap_or(b'2');
        text.push(char::from(letter));
        bits /= 32;
    }
    text
}
