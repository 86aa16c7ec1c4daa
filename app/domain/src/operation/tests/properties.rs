//! Random walks of a shop against a provider, and totality over arbitrary snapshots.

use std::collections::HashSet;

use proptest::{collection::vec, prelude::*, strategy::ValueTree, test_runner::TestRunner};

use super::{
    fixtures::*,
    provider::Fate,
    shop::{Fault, Shop},
};
use crate::{
    capability::{Capability, Idempotency, Lookup},
    evidence::{Act, Evidence},
    operation::State,
    order::OrderState,
};

/// One thing that may happen, as three bytes so that a found walk shrinks to few.
type Event = (u8, u8, u8);

fn fate(byte: u8) -> Fate {
    [Fate::Succeeds, Fate::Declines, Fate::Asks, Fate::Processes][usize::from(byte % 4)]
}

fn happens(shop: &mut Shop, (what, a, b): Event) {
    let place = usize::from(b);
    match what % 24 {
        0..=7 => shop.work(Fault::ALL[usize::from(a) % Fault::ALL.len()], fate(b)),
        8..=13 => shop.deliver(place),
        14 => shop.pass(std::time::Duration::from_secs(u64::from(a) * 2)),
        15 => shop.arrive(place),
        16 | 17 => shop.webhook(place, a % 2 == 0),
        18 | 19 => shop.elsewhere(place, a % 4 != 0),
        20 => {
            shop.learn(&Evidence::Hint);
        }
        21 => {
            shop.learn(&Evidence::Tick);
        }
        22 if a % 4 == 0 => shop.order_becomes(OrderState::CancelRequested),
        22 if a % 4 == 1 => shop.order_becomes(OrderState::Paid),
        22 => shop.pass(minutes(u64::from(b) / 4)),
        _ if a % 8 == 0 => {
            shop.operator([Act::AcceptEffect, Act::RefundEffect, Act::Cancel][place % 3]);
        }
        _ => shop.deliver(place),
    }
    shop.check();
}

fn walk(capability: Capability, wrong_amount: bool, events: &[Event]) -> Shop {
    let mut shop = Shop::new(capability, wrong_amount);
    for event in events {
        happens(&mut shop, *event);
    }
    shop.settle();
    shop
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    vec((any::<u8>(), any::<u8>(), any::<u8>()), 0..70)
}

/// The key is forgotten before the deadline.
fn short_window(mut capability: Capability) -> Capability {
    for step in &mut capability.steps {
        step.idempotency = step.idempotency.map(|key| Idempotency { window: minutes(20), ..key });
    }
    capability
}

fn forgets_declines(mut capability: Capability) -> Capability {
    for step in &mut capability.steps {
        step.idempotency =
            step.idempotency.map(|key| Idempotency { declines_stored: false, ..key });
    }
    capability
}

fn silent(capability: Capability) -> Capability {
    Capability { webhooks: false, ..capability }
}

/// Nothing takes effect without our last step, and there is nothing to cancel.
fn left_to_us() -> Capability {
    let base = by_id_only(forgets_declines(two_steps()));
    Capability { cancel: None, needs_our_last_step: true, ..base }
}

fn by_id_only(capability: Capability) -> Capability {
    let lookup = Some(Lookup { by_reference: false, consistency_bound: None });
    Capability { lookup, ..capability }
}

/// A declined object can be paid by whoever was at the provider's page, until it is canceled.
fn payable_after_a_no() -> Capability {
    Capability { declined_stays_payable: true, ..by_id_only(two_steps()) }
}

macro_rules! walks {
    ($($name:ident: $capability:expr,)+) => {
        proptest! {
            #![proptest_config(ProptestConfig {
                cases: 1500, failure_persistence: None, ..ProptestConfig::default()
            })]
            $(
                #[test]
                fn $name(events in events(), wrong_amount in prop::bool::weighted(0.1)) {
                    walk($capability, wrong_amount, &events);
                }
            )+
        }
    };
}

walks! {
    a_key_and_a_lookup_charge_once: class_a(),
    a_key_and_a_lookup_charge_once_in_two_steps: two_steps(),
    a_bound_makes_not_found_a_proof: class_a_bounded(),
    a_window_shorter_than_the_deadline_is_respected: short_window(class_a()),
    forgotten_declines_close_nothing_by_a_replay: forgets_declines(class_a()),
    lookups_by_id_wait_for_the_id: by_id_only(class_a()),
    no_webhook_is_needed: silent(class_a()),
    no_cancel_is_needed: Capability { cancel: None, ..class_a() },
    what_waits_for_us_alone_may_be_left_behind: left_to_us(),
    what_waits_for_us_alone_charges_once_without_news: silent(short_window(left_to_us())),
    what_was_declined_at_the_banks_page_is_closed_first: payable_after_a_no(),
    what_was_declined_is_closed_in_one_step: Capability {
        declined_stays_payable: true, ..class_a()
    },
    a_unique_reference_charges_once: class_b(),
    a_key_alone_charges_once: class_c(),
    a_key_alone_charges_once_in_two_steps: Capability { lookup: None, ..two_steps() },
    a_key_alone_without_news_charges_once: silent(short_window(class_c())),
    a_key_that_forgets_declines_charges_once: forgets_declines(class_c()),
    nothing_at_all_charges_once: class_d(),
    nothing_at_all_and_no_news_charges_once: silent(class_d()),
    a_cancel_by_key_charges_once: class_e(),
    a_cancel_by_key_with_a_lookup_charges_once: Capability {
        lookup: class_a_bounded().lookup, ..class_e()
    },
}

#[test]
fn the_walks_reach_what_they_are_meant_to_try() {
    let mut runner = TestRunner::deterministic();
    let mut seen = HashSet::new();
    for _ in 0..600 {
        let events = events().new_tree(&mut runner).unwrap().current();
        for capability in
            [class_a(), two_steps(), class_a_bounded(), class_d(), payable_after_a_no()]
        {
            let shop = walk(capability, events.len().is_multiple_of(8), &events);
            seen.extend(shop.history.windows(2).map(|pair| (pair[0], pair[1])));
        }
    }
    use State as S;
    for pair in [
        (S::Created, S::Canceled),
        (S::Requested, S::Succeeded),
        (S::Requested, S::Rejected),
        (S::Requested, S::RequiresReview),
        (S::Requested, S::RetryScheduled),
        (S::RequiresAction, S::Requested),
        (S::RetryScheduled, S::Canceled),
        (S::PendingConfirmation, S::Requested),
        (S::PendingConfirmation, S::RequiresAction),
        (S::PendingConfirmation, S::RequiresReview),
        (S::PendingConfirmation, S::RetryScheduled),
        (S::PendingConfirmation, S::Canceled),
        (S::RequiresReview, S::Succeeded),
        (S::RequiresReview, S::RequiresAction),
        (S::Succeeded, S::Reversed),
    ] {
        assert!(seen.contains(&pair), "no walk went {} -> {}", pair.0, pair.1);
    }
}
