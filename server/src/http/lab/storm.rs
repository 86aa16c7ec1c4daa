//! Works out what a provider meets when very many payments lose their answers at once.
//!
//! With the schedule that the engine asks by and the rate that its gate keeps, not with numbers of
//! this page's own. Nothing is sent.

use std::{collections::BTreeMap, time::Duration};

use app::{
    Visitor,
    pages::lab::{
        naive::Manner,
        scenario::Told,
        storm::{Load, Storm, StormPage},
    },
    text::lab as words,
};
use axum::{Extension, extract::State, http::StatusCode, response::Response};
use domain::schedule::Timing;
use leptos::prelude::*;
use payments::REQUEST_SPACING;

use super::{frame, nothing_here};
use crate::http::{Shop, answer};

/// The article's jobs.
const PAYMENTS: u32 = 20_000;

/// The page.
pub async fn page(State(shop): State<Shop>, Extension(visitor): Extension<Visitor>) -> Response {
    if shop.lab.is_none() {
        return nothing_here(&shop, visitor).await;
    }
    let storm = storm(PAYMENTS, &Timing::default());
    let frame = frame(words::told(visitor.lang, Told::ManyAtOnce).title);
    answer::page(&shop, visitor, StatusCode::OK, frame, move || view! { <StormPage storm=storm /> })
        .await
}

fn storm(payments: u32, timing: &Timing) -> Storm {
    Storm {
        payments: payments as usize,
        spacing: REQUEST_SPACING,
        ours: ours(payments, timing),
        naive: naive(payments, Manner::of(None, 1.0)),
    }
}

/// Each payment is asked about after its own wait, one after the other; the answer is the outcome.
fn ours(payments: u32, timing: &Timing) -> Load {
    // Random numbers of so many payments cover their range evenly.
    let step = u32::MAX / payments.max(1);
    let mut due: Vec<Duration> = (0..payments).map(|it| timing.lookup_wait(0, it * step)).collect();
    due.sort_unstable();
    let mut free = Duration::ZERO;
    let starts: Vec<Duration> = due
        .into_iter()
        .map(|due| {
            let start = due.max(free);
            free = start + REQUEST_SPACING;
            start
        })
        .collect();
    Load {
        busiest: busiest(&starts),
        repeats: 0,
        charges: payments as usize,
        known_after: starts.last().copied(),
    }
}

/// All of them are sent again at the same moment, under new keys; the provider is well by then, so
/// that each is charged once more.
fn naive(payments: u32, manner: Manner) -> Load {
    let again = manner.patience + manner.pause;
    let starts = vec![again; payments as usize];
    let repeats = starts.len();
    let charges = payments as usize + repeats;
    Load { busiest: busiest(&starts), repeats, charges, known_after: None }
}

/// The most requests that begin within one second of the clock.
fn busiest(starts: &[Duration]) -> usize {
    let mut seconds: BTreeMap<u64, usize> = BTreeMap::new();
    for start in starts {
        *seconds.entry(start.as_secs()).or_default() += 1;
    }
    seconds.into_values().max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_is_held_back_by_the_rate_and_takes_no_money_again() {
        let storm = storm(20_000, &Timing::default());
        assert_eq!((storm.ours.busiest, storm.ours.repeats, storm.ours.charges), (50, 0, 20_000));
        let last = storm.ours.known_after.unwrap();
        assert!((REQUEST_SPACING * 19_999..REQUEST_SPACING * 20_001).contains(&last), "{last:?}");
        let naive = storm.naive;
        assert_eq!((naive.busiest, naive.repeats, naive.charges), (20_000, 20_000, 40_000));
        assert_eq!(naive.known_after, None);
    }

    #[test]
    fn few_payments_wait_for_their_own_time_alone() {
        let storm = storm(2, &Timing::default());
        assert_eq!(storm.ours.known_after, Some(Timing::default().lookup_wait(0, u32::MAX / 2)));
        assert_eq!(storm.ours.busiest, 1);
    }
}
