//! The wall clock, and random numbers and ids: the impure things `domain` gets as arguments.

use std::time::{SystemTime, UNIX_EPOCH};

use domain::schedule::Timestamp;
use uuid::Uuid;

/// The time now.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
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
