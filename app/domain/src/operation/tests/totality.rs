//! Whatever the snapshot and the evidence: a decision comes, and it keeps the rules.

use std::time::Duration;

use proptest::{collection::vec, option, prelude::*, sample::select};

use super::fixtures::*;
use crate::{
    capability::Capability,
    evidence::{Act, Evidence, Found, NotExecuted, Outcome, Verdict},
    money::{Currency, Money},
    operation::{
        CanceledWhy, Decision, Effect, OrderFacts, ReviewReason, Snapshot, State, Step, StepChange,
        decide,
    },
    order::OrderState,
    plan::{Next, Progress, next_due, plan},
    schedule::{Timestamp, Timing},
};

fn time() -> BoxedStrategy<Timestamp> {
    prop_oneof![
        8 => (0_i64..4000).prop_map(at),
        1 => any::<i64>().prop_map(Timestamp),
    ]
    .boxed()
}

fn money() -> BoxedStrategy<Money> {
    select(vec![AMOUNT, Money::new(100, Currency::EUR), Money::new(i64::MIN, Currency::JPY)])
        .boxed()
}

fn capability() -> BoxedStrategy<Capability> {
    let some = vec![
        class_a(),
        class_a_bounded(),
        two_steps(),
        class_b(),
        class_c(),
        class_d(),
        class_e(),
        Capability { cancel: None, late_failure_reverses: true, ..class_a() },
        Capability { cancel: None, needs_our_last_step: true, ..two_steps() },
        Capability { declined_stays_payable: true, ..two_steps() },
    ];
    select(some).boxed()
}

fn found() -> BoxedStrategy<Found> {
    let text = |words: &[&str]| {
        option::of(select(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()))
    };
    (text(&["obj", "obj2"]), text(&["R-1", "R-2"]), text(&["acct", "other"]), option::of(money()))
        .prop_map(|(provider_id, reference, account, amount)| Found {
            provider_id,
            effect_id: None,
            reference,
            account,
            amount,
        })
        .boxed()
}

fn outcome() -> BoxedStrategy<Outcome> {
    prop_oneof![
        Just(Outcome::Succeeded),
        Just(Outcome::Rejected { code: "no".to_owned() }),
        Just(Outcome::Canceled),
        Just(Outcome::Reversed),
        Just(Outcome::Processing),
        option::of(time())
            .prop_map(|expires_at| Outcome::ActionRequired { url: "u".to_owned(), expires_at }),
    ]
    .boxed()
}

fn verdict() -> BoxedStrategy<Verdict> {
    prop_oneof![
        6 => (outcome(), prop_oneof![Just(ours()), found()])
            .prop_map(|(outcome, found)| Verdict::Definitive(outcome, found)),
        1 => found().prop_map(Verdict::Accepted),
        1 => Just(Verdict::NotSent),
        1 => Just(Verdict::NotExecuted(NotExecuted::Configuration)),
        1 => Just(Verdict::NotExecuted(NotExecuted::OurFault)),
        1 => option::of((0_u64..9999).prop_map(Duration::from_secs))
            .prop_map(|after| Verdict::RetryLater { after }),
        1 => Just(Verdict::Indeterminate),
        1 => Just(Verdict::Absent),
        1 => Just(Verdict::NoNews),
        1 => (select(ReviewReason::ALL), found())
            .prop_map(|(reason, found)| Verdict::Contradicts(reason, found)),
    ]
    .boxed()
}

fn evidence() -> BoxedStrategy<Evidence> {
    prop_oneof![
        2 => (0_usize..4, time())
            .prop_map(|(step, lease_until)| Evidence::Claim { step, lease_until }),
        4 => (0_usize..4, time(), any::<bool>(), any::<bool>(), verdict()).prop_map(
            |(step, sent_at, own_lease, cached, verdict)| Evidence::Answer {
                step, sent_at, own_lease, cached, verdict
            }
        ),
        4 => (time(), any::<bool>(), verdict()).prop_map(|(sent_at, own_lease, verdict)| {
            Evidence::Lookup { sent_at, own_lease, verdict }
        }),
        4 => (option::of(time()), verdict())
            .prop_map(|(occurred_at, verdict)| Evidence::Webhook { occurred_at, verdict }),
        1 => Just(Evidence::Hint),
        1 => Just(Evidence::LeaseEnded),
        2 => Just(Evidence::Tick),
        2 => select(vec![Act::AcceptEffect, Act::RefundEffect, Act::Cancel])
            .prop_map(Evidence::Operator),
    ]
    .boxed()
}

fn snapshot() -> BoxedStrategy<Snapshot> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), option::of(time()), 0_u32..4);
    let order = (select(OrderState::ALL), any::<bool>(), any::<bool>());
    (
        (select(State::ALL), capability(), time(), vec(flags, 3)),
        (option::of(Just("obj".to_owned())), any::<bool>(), option::of(time()), time()),
        (option::of(time()), option::of(select(ReviewReason::ALL)), option::of(money())),
        (option::of(time()), option::of(time()), option::of(order), any::<bool>(), any::<bool>()),
    )
        .prop_map(|(one, two, three, four)| {
            let (state, capability, entered_at, flags) = one;
            let mut s = Snapshot { state, entered_at, ..created(capability) };
            for (step, flags) in s.steps.iter_mut().zip(flags) {
                let (tainted, in_flight, accepted, first_sent_at, sends) = flags;
                *step = Step { tainted, in_flight, accepted, first_sent_at, sends, ..step.clone() };
            }
            (s.provider_id, s.acknowledged, s.unknown_since, s.deadline_at) = two;
            (s.action_expires_at, s.review, s.effect) = three;
            let order;
            (s.looked_up_at, s.all_ended_at, order, s.was_shown, s.was_declined) = four;
            s.order = order.map(|(state, goods_available, later_open)| OrderFacts {
                state,
                goods_available,
                later_open,
            });
            s
        })
        .boxed()
}

/// A state is left only by what may leave it.
fn leaves_by_right(s: &Snapshot, evidence: &Evidence, decision: &Decision) {
    let Some(to) = decision.to else { return };
    let fresh = matches!(
        evidence,
        Evidence::Lookup { sent_at, own_lease: true, .. } if *sent_at > s.entered_at
    );
    match s.state {
        State::Succeeded => assert_eq!(to, State::Reversed),
        State::Reversed => panic!("a reversal was left"),
        State::Rejected | State::Canceled if s.capability.lookup.is_some() => assert!(fresh),
        State::RequiresReview if !s.review.is_none_or(ReviewReason::by_deadline) => {
            assert!(matches!(evidence, Evidence::Operator(_)));
        }
        State::Requested => {
            let answered =
                matches!(evidence, Evidence::LeaseEnded | Evidence::Answer { own_lease: true, .. });
            let closed = !to.is_open();
            assert!(answered || closed, "{to} while requested");
        }
        State::Created
        | State::RequiresAction
        | State::RetryScheduled
        | State::PendingConfirmation
        | State::RequiresReview
        | State::Rejected
        | State::Canceled => {}
    }
}

/// A close without an effect has a cause that proves it.
fn closes_by_proof(s: &Snapshot, evidence: &Evidence, decision: &Decision) {
    let definitive = |what: &Verdict| {
        matches!(what, Verdict::Definitive(Outcome::Rejected { .. } | Outcome::Canceled, _))
    };
    match (decision.to, decision.facts.canceled_why) {
        (Some(State::Canceled), Some(CanceledWhy::OurFault)) => assert!(s.provider_id.is_none()),
        (Some(State::Canceled), _) if *evidence == Evidence::Tick => {
            assert!(s.is_void() || s.is_left_to_us())
        }
        (Some(State::Rejected | State::Canceled), why) => match evidence {
            Evidence::Answer { verdict, .. } | Evidence::Webhook { verdict, .. } => {
                assert!(definitive(verdict));
            }
            Evidence::Lookup { verdict: Verdict::Absent, .. } => {
                let bound = s.capability.lookup.and_then(|lookup| lookup.consistency_bound);
                assert!(bound.is_some() && s.all_ended_at.is_some());
            }
            Evidence::Lookup { verdict, .. } => assert!(definitive(verdict)),
            Evidence::Operator(act) => {
                assert_eq!((*act, why), (Act::Cancel, Some(CanceledWhy::Operator)));
                assert!(s.effect.is_none() && s.provider_id.is_none());
            }
            Evidence::Claim { .. } | Evidence::Hint | Evidence::LeaseEnded | Evidence::Tick => {
                panic!("closed by {evidence:?}");
            }
        },
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12_000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn every_snapshot_and_evidence_has_a_decision_that_keeps_the_rules(
        s in snapshot(), evidence in evidence(), now in time()
    ) {
        let decision = decide(&s, &evidence, now);
        leaves_by_right(&s, &evidence, &decision);
        closes_by_proof(&s, &evidence, &decision);
        let sent = matches!(decision.facts.step, Some((_, StepChange::Sent)));
        prop_assert_eq!(decision.may_send, sent);
        prop_assert_eq!(decision.may_send, decision.to == Some(State::Requested));
        if decision.to == Some(s.state) {
            prop_assert!(decision.facts.review.is_some() && decision.facts.review != s.review);
        }
        let told = |effect| decision.effects.contains(&effect);
        prop_assert!(!(told(Effect::TakePayment) && told(Effect::OweRefund)));
        if told(Effect::TakePayment) || told(Effect::OweRefund) {
            prop_assert_eq!(decision.to, Some(State::Succeeded));
            prop_assert!(s.order.is_some());
        }
        if decision.to == Some(State::Succeeded) {
            prop_assert!(decision.facts.effect.is_some());
            let as_found = matches!(evidence, Evidence::Operator(_));
            prop_assert!(as_found || decision.facts.effect == s.amount);
        }
    }

    #[test]
    fn a_planned_send_is_always_granted(
        s in snapshot(), now in time(), lookups in 0_u32..20, replays in 0_u32..5,
        wanted in any::<bool>(), asked in option::of(time()), sent in option::of(time()),
        random in any::<u32>(),
    ) {
        let timing = Timing::default();
        let progress = Progress {
            lookups, replays, lookup_wanted: wanted, last_lookup_at: asked, last_send_at: sent,
            ..Progress::default()
        };
        let next = plan(&s, &progress, &timing, now);
        if let Next::Send(step) = next {
            let evidence = Evidence::Claim { step, lease_until: now.after(timing.lease) };
            prop_assert!(decide(&s, &evidence, now).may_send);
            prop_assert!(s.steps[step].cancels || now < s.deadline_at);
        }
        prop_assert!(next != Next::Lookup || s.can_ask());
        let due = next_due(&s, &progress, &timing, None, random, now);
        prop_assert!(due.is_some() || !s.state.is_open(), "open and never looked at again");
    }
}
