//! The contract's rules, one sentence each, in the grid's notation.

use std::time::Duration;

use super::fixtures::*;
use crate::{
    capability::Capability,
    evidence::{Act, Evidence, Found, Outcome, Verdict},
    money::{Currency, Money},
    operation::{
        Alert, Anomaly, CanceledWhy, Effect, ReviewReason, Snapshot, State, StepChange, decide,
    },
    order::OrderState,
    schedule::Timestamp,
};

/// In review, looked up since.
fn in_review(reason: ReviewReason, effect: Option<Money>) -> Snapshot {
    let mut s = example(State::RequiresReview);
    (s.review, s.effect, s.looked_up_at) = (Some(reason), effect, Some(NOW));
    s
}

/// A step sent for the second time, the first answer lost.
fn replayed(mut s: Snapshot) -> Snapshot {
    (s.steps[0].tainted, s.steps[0].sends) = (true, 2);
    s
}

/// The create step was accepted, the confirm step is in flight.
fn confirming() -> Snapshot {
    let mut s = in_state(two_steps(), State::Requested);
    (s.steps[0].accepted, s.steps[0].tainted, s.steps[0].in_flight) = (true, true, false);
    (s.steps[1].in_flight, s.steps[1].sends, s.steps[1].first_sent_at) = (true, 1, Some(ENTERED));
    (s.provider_id, s.acknowledged) = (Some("obj".to_owned()), true);
    s
}

/// The cancel step is in flight.
fn canceling() -> Snapshot {
    let mut s = example(State::RequiresAction);
    s.state = State::Requested;
    (s.steps[1].in_flight, s.steps[1].sends, s.steps[1].first_sent_at) = (true, 1, Some(ENTERED));
    s
}

fn order_is(mut s: Snapshot, state: OrderState) -> Snapshot {
    s.order.as_mut().unwrap().state = state;
    s
}

// The one rule.

#[test]
fn no_answer_is_never_a_no() {
    for verdict in [Verdict::Indeterminate, Verdict::NoNews, Verdict::Absent] {
        let decision = check(&example(State::Requested), &answer(verdict), "pending?");
        assert_eq!(decision.facts.step, Some((0, StepChange::Tainted)));
    }
    check(&example(State::Requested), &Evidence::LeaseEnded, "pending?");
}

#[test]
fn only_the_providers_word_or_a_proof_closes() {
    check(&example(State::Requested), &answer(rejected()), "rejected");
    check(&example(State::Requested), &answer(succeeded()), "succeeded");
    check(&example(State::PendingConfirmation), &lookup(Verdict::Absent), "·");
    let bounded = in_state(class_a_bounded(), State::PendingConfirmation);
    let decision = check(&bounded, &lookup(Verdict::Absent), "canceled");
    assert_eq!(decision.facts.canceled_why, Some(CanceledWhy::NeverExecuted));
}

// Clean and void.

#[test]
fn a_clean_end_keeps_the_step_clean_and_schedules_it_again() {
    for verdict in [Verdict::NotSent, unauthorized(), too_many()] {
        let decision = check(&example(State::Requested), &answer(verdict), "retry");
        assert!(matches!(decision.facts.step, Some((0, StepChange::EndedClean { .. }))));
    }
}

#[test]
fn a_refused_connection_starts_no_window_and_a_429_does() {
    let clears = |verdict| decide(&example(State::Requested), &answer(verdict), NOW).facts.step;
    let ended = |clear_window| Some((0, StepChange::EndedClean { clear_window }));
    assert_eq!(clears(Verdict::NotSent), ended(true));
    assert_eq!(clears(too_many()), ended(false));
    let mut second = example(State::Requested);
    second.steps[0].first_sent_at = Some(at(50));
    assert_eq!(decide(&second, &answer(Verdict::NotSent), NOW).facts.step, ended(false));
}

#[test]
fn retry_after_is_honoured() {
    let decision = check(&example(State::Requested), &answer(too_many()), "retry");
    assert_eq!(decision.facts.wait, Some(Duration::from_secs(120)));
}

#[test]
fn refused_credentials_open_the_circuit_and_tell_a_person() {
    let decision = check(&example(State::Requested), &answer(unauthorized()), "retry");
    assert!(decision.effects.contains(&Effect::OpenCircuit));
    assert!(decision.effects.contains(&Effect::Alert(Alert::Configuration)));
}

#[test]
fn our_own_mistake_closes_only_a_void_operation() {
    let decision = check(&example(State::Requested), &answer(bad_request()), "canceled");
    assert_eq!(decision.facts.canceled_why, Some(CanceledWhy::OurFault));
    check(&confirming(), &answer_to(1, bad_request()), "pending?");
    check(&replayed(example(State::Requested)), &answer(bad_request()), "pending?");
}

#[test]
fn accepted_processing_and_action_taint_and_acknowledge() {
    for verdict in [action(), processing(), Verdict::Accepted(ours())] {
        let s = in_state(two_steps(), State::Requested);
        let decision = decide(&s, &answer(verdict), NOW);
        assert!(decision.facts.acknowledged);
        let change = decision.facts.step.unwrap().1;
        assert!(matches!(change, StepChange::Tainted | StepChange::Accepted));
    }
    let anonymous = Verdict::Accepted(Found::default());
    let s = in_state(two_steps(), State::Requested);
    assert!(decide(&s, &answer(anonymous), NOW).facts.acknowledged, "even without an id");
}

#[test]
fn only_a_void_operation_is_canceled_at_the_deadline() {
    for state in [State::Created, State::RetryScheduled] {
        let decision = decide(&example(state), &Evidence::Tick, DEADLINE);
        assert_eq!(decision.to, Some(State::Canceled));
        assert_eq!(decision.facts.canceled_why, Some(CanceledWhy::NeverExecuted));
    }
    let requested = decide(&example(State::Requested), &Evidence::Tick, DEADLINE);
    assert_eq!(requested.to, None, "its answer or the end of its lease comes first");
    let pending = decide(&example(State::PendingConfirmation), &Evidence::Tick, DEADLINE);
    assert_eq!(pending.to, Some(State::RequiresReview), "never rejected, never canceled");
}

#[test]
fn what_the_provider_acknowledged_is_not_void_however_clean_its_steps() {
    let mut told = example(State::RetryScheduled);
    told.acknowledged = true;
    let mut named = example(State::RetryScheduled);
    named.provider_id = Some("obj".to_owned());
    for s in [told, named] {
        assert!(!s.is_void());
        assert_ne!(decide(&s, &Evidence::Tick, DEADLINE).to, Some(State::Canceled));
    }
}

#[test]
fn a_clean_step_whose_window_is_over_is_void() {
    let mut s = example(State::RetryScheduled);
    s.steps[0].first_sent_at = Some(at(0));
    s.steps[0].window = Some(minutes(4));
    assert_eq!(decide(&s, &Evidence::Tick, at(179)).to, None);
    assert_eq!(decide(&s, &Evidence::Tick, at(180)).to, Some(State::Canceled));
}

#[test]
fn a_paid_sibling_or_a_given_up_order_cancels_what_is_void() {
    let paid = order_is(example(State::Created), OrderState::Paid);
    let decision = check(&paid, &Evidence::Tick, "canceled");
    assert_eq!(decision.facts.canceled_why, Some(CanceledWhy::NeverExecuted));
    let given_up = order_is(example(State::RetryScheduled), OrderState::CancelRequested);
    let decision = check(&given_up, &Evidence::Tick, "canceled");
    assert_eq!(decision.facts.canceled_why, Some(CanceledWhy::ByShopper));
    let unknown = order_is(example(State::PendingConfirmation), OrderState::CancelRequested);
    check(&unknown, &Evidence::Tick, "·");
    check(&unknown, &claim(0), "·");
}

// While requested.

#[test]
fn a_fenced_out_workers_clean_end_changes_only_its_attempt() {
    for verdict in [Verdict::NotSent, unauthorized(), bad_request(), too_many()] {
        for state in State::ALL {
            let decision = check(&example(*state), &late(verdict.clone()), "·");
            assert_eq!(decision.facts.step, None);
        }
    }
}

#[test]
fn while_requested_only_a_success_told_by_itself_moves() {
    let s = example(State::Requested);
    check(&s, &webhook(succeeded()), "succeeded");
    check(&s, &webhook(rejected()), "·?");
    check(&s, &webhook(processing()), "·?");
    check(&s, &lookup(Verdict::Absent), "·");
    check(&s, &Evidence::Tick, "·");
}

#[test]
fn accepted_moves_only_if_the_next_step_was_never_sent() {
    let s = in_state(two_steps(), State::Requested);
    check(&s, &answer(Verdict::Accepted(ours())), "retry");
    let mut sent = s.clone();
    sent.steps[1].sends = 1;
    check(&sent, &answer(Verdict::Accepted(ours())), "pending?");
    let lost = in_state(two_steps(), State::PendingConfirmation);
    let decision = check(&lost, &lookup(Verdict::Accepted(ours())), "retry");
    assert_eq!(decision.facts.step, Some((0, StepChange::Accepted)));
}

#[test]
fn an_object_accepted_for_another_amount_is_never_confirmed() {
    let s = in_state(two_steps(), State::Requested);
    check_odd(&s, &answer(Verdict::Accepted(wrong_amount())), "pending?!", Anomaly::Mismatch);
    let lost = in_state(two_steps(), State::PendingConfirmation);
    check_odd(&lost, &lookup(Verdict::Accepted(wrong_amount())), "review!", Anomaly::Mismatch);
}

#[test]
fn an_approved_and_accepted_object_is_captured_although_its_waiting_time_is_over() {
    let mut s = in_state(two_steps(), State::RequiresAction);
    s.action_expires_at = Some(at(195));
    let decision = check(&s, &lookup(Verdict::Accepted(ours())), "retry");
    assert!(decision.facts.action_done);
}

// The right to send.

#[test]
fn nothing_that_makes_an_effect_is_sent_after_the_deadline() {
    for state in State::ALL {
        let evidence = Evidence::Claim { step: 0, lease_until: DEADLINE.after(minutes(1)) };
        assert!(!decide(&example(*state), &evidence, DEADLINE).may_send, "{state}");
    }
}

#[test]
fn a_send_has_to_end_inside_the_replay_window() {
    let mut s = example(State::PendingConfirmation);
    s.steps[0].window = Some(minutes(4));
    // From 100 s the window of replays lasts 180 s.
    let claim = |lease_until| Evidence::Claim { step: 0, lease_until };
    assert!(decide(&s, &claim(at(280)), NOW).may_send);
    assert!(!decide(&s, &claim(at(281)), NOW).may_send);
}

#[test]
fn without_a_key_a_tainted_step_is_never_sent_again() {
    let mut s = in_state(class_d(), State::PendingConfirmation);
    check(&s, &claim(0), "·");
    s.state = State::RetryScheduled;
    check(&s, &claim(0), "·");
    s.steps[0].tainted = false;
    check(&s, &claim(0), "requested");
}

#[test]
fn an_unknown_without_any_way_to_ask_goes_to_a_person_at_once() {
    let decision =
        check(&in_state(class_d(), State::Requested), &answer(Verdict::Indeterminate), "review");
    assert_eq!(decision.facts.review, Some(ReviewReason::NoLookup));
    check(&in_state(class_d(), State::Requested), &Evidence::LeaseEnded, "review");
    check(&in_state(class_d(), State::Requested), &answer(too_many()), "retry");
}

#[test]
fn a_lost_answer_of_a_cancelable_key_is_cancelled() {
    let s = in_state(class_e(), State::PendingConfirmation);
    check(&s, &claim(0), "·");
    assert!(check(&s, &claim(1), "requested").may_send);
}

// A replay is judged apart from a first send.

#[test]
fn on_a_replay_errors_say_nothing_about_the_first_send() {
    let s = replayed(example(State::Requested));
    for verdict in [Verdict::NotSent, unauthorized(), bad_request(), too_many()] {
        let decision = check(&s, &answer(verdict), "pending?");
        assert_eq!(decision.facts.step, Some((0, StepChange::Tainted)));
    }
    check(&s, &answer(succeeded()), "succeeded");
}

#[test]
fn a_decline_on_a_replay_closes_only_where_declines_are_stored() {
    check(&replayed(example(State::Requested)), &answer(rejected()), "rejected");
    let mut forgets = class_a();
    forgets.steps[0].idempotency.as_mut().unwrap().declines_stored = false;
    for capability in [forgets, class_b()] {
        let s = replayed(in_state(capability, State::Requested));
        let decision = check(&s, &answer(rejected()), "pending?");
        assert_eq!(decision.facts.provider_id, None, "it may be another object");
        let decision = check(&s, &late(rejected()), "·?");
        assert_eq!(decision.facts.provider_id, None);
    }
}

#[test]
fn a_stored_answer_is_confirmed_by_a_lookup_where_there_is_one() {
    check(&example(State::Requested), &cached(succeeded()), "pending?");
    check(&example(State::Requested), &cached(rejected()), "pending?");
    check(&example(State::PendingConfirmation), &cached(succeeded()), "·?");
    check(&in_state(class_c(), State::Requested), &cached(succeeded()), "succeeded");
}

#[test]
fn a_stored_5xx_is_no_news() {
    check(&replayed(example(State::Requested)), &cached(Verdict::NoNews), "pending?");
}

// Late truth and old news.

#[test]
fn only_a_lookup_sent_after_closing_and_under_its_lease_reopens() {
    for state in [State::Rejected, State::Canceled] {
        let s = example(state);
        for evidence in
            [answer(succeeded()), late(succeeded()), webhook(succeeded()), old_lookup(succeeded())]
        {
            check(&s, &evidence, "·?");
        }
        let stolen = Evidence::Lookup { sent_at: at(190), own_lease: false, verdict: succeeded() };
        check(&s, &stolen, "·?");
        check_odd(&s, &lookup(succeeded()), "succeeded!", Anomaly::LateSuccess);
    }
}

#[test]
fn a_late_success_pays_the_order_if_it_still_can_and_goes_back_otherwise() {
    let takes = |s: &Snapshot| decide(s, &lookup(succeeded()), NOW).effects;
    let mut s = example(State::Rejected);
    assert!(takes(&s).contains(&Effect::TakePayment));
    s.order.as_mut().unwrap().goods_available = false;
    assert!(takes(&s).contains(&Effect::OweRefund));
    for state in [OrderState::Paid, OrderState::CancelRequested, OrderState::Canceled] {
        let effects = takes(&order_is(example(State::Rejected), state));
        assert!(effects.contains(&Effect::OweRefund) && !effects.contains(&Effect::TakePayment));
    }
}

#[test]
fn without_a_lookup_the_events_own_time_decides_and_else_a_person() {
    let s = in_state(class_c(), State::Rejected);
    check_odd(&s, &webhook(succeeded()), "succeeded!", Anomaly::LateSuccess);
    let timeless = |verdict| Evidence::Webhook { occurred_at: None, verdict };
    for verdict in [succeeded(), processing(), action()] {
        let decision = check_odd(&s, &timeless(verdict), "review!", Anomaly::LateNews);
        assert_eq!(decision.facts.review, Some(ReviewReason::EventTimeUndecided));
    }
    check(&s, &old_webhook(processing()), "·!");
    check(&s, &webhook(rejected()), "·");
}

#[test]
fn late_action_reopens_only_if_no_later_payment_is_open() {
    let mut s = example(State::Rejected);
    check_odd(&s, &lookup(action()), "action!", Anomaly::LateNews);
    s.order.as_mut().unwrap().later_open = true;
    check_odd(&s, &lookup(action()), "·?!", Anomaly::LateNews);
    check_odd(&s, &lookup(processing()), "·?!", Anomaly::LateNews);
    check_odd(&s, &lookup(succeeded()), "succeeded!", Anomaly::LateSuccess);
}

#[test]
fn what_succeeded_is_left_only_by_a_reversal() {
    let s = example(State::Succeeded);
    check_odd(&s, &lookup(rejected()), "·!", Anomaly::LateFailure);
    check_odd(&s, &webhook(canceled()), "·!", Anomaly::LateFailure);
    let other = Verdict::Definitive(Outcome::Succeeded, wrong_amount());
    check_odd(&s, &webhook(other), "·!", Anomaly::LateMismatch);
    check(&s, &webhook(action()), "·");
    check(&s, &webhook(processing()), "·");
    check(&s, &webhook(reversed()), "·?");
    let decision = check(&s, &lookup(reversed()), "reversed");
    assert!(decision.effects.contains(&Effect::PaymentUndone));
    assert!(decision.effects.contains(&Effect::Alert(Alert::Reversed)));
}

#[test]
fn a_second_object_that_succeeds_is_seen() {
    let second = Found { provider_id: Some("obj2".to_owned()), ..ours() };
    let verdict = Verdict::Definitive(Outcome::Succeeded, second);
    check_odd(&example(State::Succeeded), &lookup(verdict), "·!", Anomaly::TwoEffects);
}

#[test]
fn a_refund_that_is_told_to_have_come_back_is_reversed() {
    let mut s = example(State::Succeeded);
    s.capability.late_failure_reverses = true;
    s.order = None;
    check(&s, &webhook(rejected()), "·?");
    check(&s, &old_lookup(rejected()), "·?");
    check(&s, &lookup(rejected()), "reversed");
}

#[test]
fn a_refund_that_was_refused_and_went_through_after_all_is_told_to_a_person() {
    for state in [State::Rejected, State::Canceled] {
        let mut s = example(state);
        s.order = None;
        check_odd(&s, &lookup(succeeded()), "succeeded!", Anomaly::LateSuccess);
    }
}

// A declined object that could still be paid.

/// An operation whose shopper was at the provider's page, of a provider whose declined objects can
/// still be paid.
fn shown(state: State) -> Snapshot {
    let mut s = example(state);
    s.capability.declined_stays_payable = true;
    s.was_shown = true;
    s
}

#[test]
fn a_decline_after_the_providers_page_is_the_end_only_once_its_object_is_closed() {
    for (state, then) in [
        (State::RequiresAction, "·"),
        (State::PendingConfirmation, "action"),
        (State::RetryScheduled, "action"),
    ] {
        let s = shown(state);
        let decision = check(&s, &lookup(rejected()), then);
        assert!(decision.facts.decline_code.is_some(), "{state}: the no is kept");
        let (_, until) = decision.facts.action.expect("its time is over");
        assert!(until.is_some_and(|at| at <= NOW), "{state}: {until:?}");
        let mut other = s.clone();
        other.was_shown = false;
        check(&other, &lookup(rejected()), "rejected");
    }
    let mut s = shown(State::RequiresAction);
    s.was_declined = true;
    s.action_expires_at = Some(s.entered_at);
    let cancel = s.cancel_step();
    assert_eq!(s.next_step(NOW), cancel, "the cancel comes next");
    // The shopper tries another card on the provider's page: no time is given for that.
    let decision = check(&s, &lookup(action()), "·");
    assert!(decision.facts.action.is_some_and(|(_, until)| until.is_some_and(|at| at <= NOW)));
    check(&s, &lookup(canceled()), "rejected");
    check(&s, &lookup(succeeded()), "succeeded");
    let s = order_is(s, OrderState::CancelRequested);
    let decision = check(&s, &lookup(canceled()), "canceled");
    assert_eq!(decision.facts.canceled_why, Some(CanceledWhy::ByShopper));
}

// Mismatches.

#[test]
fn a_mismatch_is_asked_about_and_the_lookup_puts_it_before_a_person() {
    let found = |change: fn(&mut Found)| {
        let mut found = ours();
        change(&mut found);
        found
    };
    let rows = [
        (found(|it| it.amount = Some(Money::new(1, Currency::EUR))), ReviewReason::AmountMismatch),
        (
            found(|it| it.amount = Some(Money::new(2000, Currency::JPY))),
            ReviewReason::CurrencyMismatch,
        ),
        (found(|it| it.reference = Some("R-2".to_owned())), ReviewReason::ReferenceMismatch),
        (found(|it| it.account = Some("other".to_owned())), ReviewReason::AccountMismatch),
        (found(|it| it.amount = None), ReviewReason::AmountMismatch),
    ];
    for (found, reason) in rows {
        let verdict = Verdict::Definitive(Outcome::Succeeded, found);
        let s = example(State::PendingConfirmation);
        check(&s, &webhook(verdict.clone()), "·?!");
        let decision = check(&s, &lookup(verdict.clone()), "review!");
        assert_eq!(decision.facts.review, Some(reason));
        let blind = in_state(class_c(), State::PendingConfirmation);
        check(&blind, &webhook(verdict), "review!");
    }
}

#[test]
fn a_success_that_does_not_name_our_reference_is_asked_about() {
    let nameless = Found { reference: None, ..ours() };
    let verdict = Verdict::Definitive(Outcome::Succeeded, nameless);
    check(&example(State::PendingConfirmation), &webhook(verdict.clone()), "·?");
    check(&example(State::PendingConfirmation), &lookup(verdict), "succeeded");
}

#[test]
fn only_a_success_is_an_effect_that_a_person_can_take() {
    let s = example(State::PendingConfirmation);
    let waiting = Verdict::Definitive(Outcome::Processing, wrong_amount());
    assert_eq!(check(&s, &lookup(waiting), "review!").facts.effect, None);
    let done = Verdict::Definitive(Outcome::Succeeded, wrong_amount());
    assert_eq!(check(&s, &lookup(done), "review!").facts.effect, wrong_amount().amount);
}

// Review.

#[test]
fn a_review_by_deadline_is_closed_by_matching_evidence() {
    let s = in_review(ReviewReason::Deadline, None);
    check(&s, &webhook(succeeded()), "succeeded");
    check(&s, &lookup(rejected()), "rejected");
    check(&s, &lookup(canceled()), "canceled");
    check(&s, &lookup(processing()), "·");
    let decision = check(&s, &lookup(action()), "action");
    let (_, expires_at) = decision.facts.action.unwrap();
    assert!(expires_at.unwrap() <= NOW, "its time is over already, so that it is cancelled");
}

#[test]
fn what_cannot_be_cancelled_stays_with_the_person() {
    let mut tried = in_review(ReviewReason::NotCancelable, None);
    tried.steps[1].first_sent_at = Some(at(50));
    check(&tried, &lookup(action()), "·");
    let never = Snapshot {
        review: Some(ReviewReason::NotCancelable),
        ..in_state(class_a(), State::RequiresReview)
    };
    let mut never = never;
    never.steps.truncate(1);
    check(&never, &lookup(action()), "·");
}

#[test]
fn a_review_by_contradiction_is_left_only_by_a_person() {
    let s = in_review(ReviewReason::AmountMismatch, Some(Money::new(100, Currency::EUR)));
    for evidence in
        [lookup(succeeded()), lookup(rejected()), webhook(succeeded()), answer(canceled())]
    {
        assert_eq!(decide(&s, &evidence, NOW).to, None, "{evidence:?}");
    }
    let decision = check(&s, &Evidence::Operator(Act::AcceptEffect), "succeeded");
    assert_eq!(decision.facts.effect, Some(Money::new(100, Currency::EUR)));
    let decision = check(&s, &Evidence::Operator(Act::RefundEffect), "succeeded");
    assert!(decision.effects.contains(&Effect::OweRefund));
    check(&s, &Evidence::Operator(Act::Cancel), "·");
}

#[test]
fn a_person_acts_only_on_a_fresh_lookup_and_only_in_review() {
    let mut s = in_review(ReviewReason::Deadline, None);
    check(&s, &Evidence::Operator(Act::Cancel), "canceled");
    check(&s, &Evidence::Operator(Act::AcceptEffect), "·");
    s.looked_up_at = Some(at(99));
    check(&s, &Evidence::Operator(Act::Cancel), "·?");
    for state in State::ALL.iter().filter(|state| **state != State::RequiresReview) {
        for act in [Act::AcceptEffect, Act::RefundEffect, Act::Cancel] {
            check(&example(*state), &Evidence::Operator(act), "·");
        }
    }
}

#[test]
fn what_is_visible_at_the_provider_is_not_canceled_by_a_person() {
    let mut s = in_review(ReviewReason::Deadline, None);
    s.acknowledged = true;
    check(&s, &Evidence::Operator(Act::Cancel), "·");
}

#[test]
fn where_nobody_can_be_asked_a_person_decides_alone() {
    let s = in_state(class_d(), State::RequiresReview);
    let decision = check(&s, &Evidence::Operator(Act::Cancel), "canceled");
    assert_eq!(decision.facts.canceled_why, Some(CanceledWhy::Operator));
}

// Absence.

#[test]
fn not_found_is_proof_only_after_the_bound_and_with_every_attempt_ended() {
    let proven = in_state(class_a_bounded(), State::PendingConfirmation);
    check(&proven, &lookup(Verdict::Absent), "canceled");
    let early = Evidence::Lookup { sent_at: at(160), own_lease: true, verdict: Verdict::Absent };
    check(&proven, &early, "·");
    let stolen = Evidence::Lookup { sent_at: at(190), own_lease: false, verdict: Verdict::Absent };
    check(&proven, &stolen, "·");
    check(&Snapshot { all_ended_at: None, ..proven.clone() }, &lookup(Verdict::Absent), "·");
    check(&Snapshot { acknowledged: true, ..proven }, &lookup(Verdict::Absent), "·");
}

#[test]
fn not_found_cancels_nothing_that_waits_for_its_first_send() {
    for state in [State::Created, State::RetryScheduled] {
        check(&in_state(class_a_bounded(), state), &lookup(Verdict::Absent), "·");
    }
}

// Cancelling.

#[test]
fn on_a_cancel_an_error_decides_nothing() {
    let s = canceling();
    check(&s, &answer_to(1, bad_request()), "pending?");
    check(&s, &answer_to(1, Verdict::Indeterminate), "pending?");
    check(&s, &answer_to(1, Verdict::NotSent), "pending?");
    check(&s, &answer_to(1, too_many()), "pending?");
    check(&s, &answer_to(1, succeeded()), "succeeded");
    let decision = check(&s, &answer_to(1, canceled()), "canceled");
    assert_eq!(decision.facts.canceled_why, Some(CanceledWhy::Expired));
}

#[test]
fn an_action_that_nobody_can_cancel_goes_to_a_person() {
    let mut s = example(State::RequiresAction);
    s.steps.truncate(1);
    let decision = decide(&s, &Evidence::Tick, at(901));
    assert_eq!(decision.facts.review, Some(ReviewReason::NotCancelable));
}

#[test]
fn a_cancel_that_the_provider_never_obeys_ends_with_a_person() {
    let mut s = example(State::RequiresAction);
    s.steps[1].first_sent_at = Some(at(900));
    s.looked_up_at = Some(at(2690));
    assert_eq!(decide(&s, &Evidence::Tick, at(2699)).to, None);
    assert_eq!(decide(&s, &Evidence::Tick, at(2700)).to, Some(State::RequiresReview));
}

// Reported cases, by the number they go by.

#[test]
fn case_1_never_found_until_the_deadline_is_reviewed_and_the_late_hook_pays() {
    let s = example(State::PendingConfirmation);
    check(&s, &lookup(Verdict::Absent), "·");
    assert_eq!(decide(&s, &Evidence::Tick, DEADLINE).to, Some(State::RequiresReview));
    check(&in_review(ReviewReason::Deadline, None), &webhook(succeeded()), "succeeded");
}

#[test]
fn case_3_a_forbidden_status_call_says_nothing_about_the_payment() {
    check(&example(State::PendingConfirmation), &lookup(Verdict::NoNews), "·");
}

#[test]
fn case_6_a_refused_connection_is_sent_again_with_the_same_key() {
    check(&example(State::Requested), &answer(Verdict::NotSent), "retry");
    check(&example(State::RetryScheduled), &claim(0), "requested");
}

#[test]
fn case_8_and_17_a_lost_connection_and_a_500_stay_unknown() {
    check(&example(State::Requested), &answer(Verdict::Indeterminate), "pending?");
}

#[test]
fn case_18_a_refund_answered_as_impossible_on_its_replay_is_looked_up() {
    let mut capability = class_a();
    capability.steps[0].idempotency.as_mut().unwrap().declines_stored = false;
    let mut s = replayed(in_state(capability, State::Requested));
    s.order = None;
    check(&s, &answer(rejected()), "pending?");
}

#[test]
fn case_27_and_28_a_key_conflict_is_never_a_decline() {
    check(&replayed(example(State::Requested)), &answer(Verdict::Indeterminate), "pending?");
}

#[test]
fn case_37_a_hook_before_the_answer_and_the_answer_after_it_pay_once() {
    let told = check(&example(State::Requested), &webhook(succeeded()), "succeeded");
    assert!(told.effects.contains(&Effect::TakePayment));
    let mut s = example(State::Succeeded);
    s.steps[0].in_flight = true;
    let answered = check(&s, &answer(succeeded()), "·");
    assert!(!answered.effects.contains(&Effect::TakePayment));
    assert_eq!(answered.facts.step, Some((0, StepChange::Tainted)), "the send's end is recorded");
}

#[test]
fn case_39_a_processing_hook_pays_nothing() {
    check(&example(State::PendingConfirmation), &webhook(processing()), "·?");
    check(&example(State::PendingConfirmation), &lookup(processing()), "·");
}

#[test]
fn case_43_a_failed_hook_before_the_success_hook_does_not_hide_it() {
    let s = example(State::PendingConfirmation);
    check(&s, &webhook(rejected()), "·?");
    check(&s, &webhook(succeeded()), "succeeded");
}

#[test]
fn case_50_and_63_a_paid_operation_is_not_reverted_by_old_news_or_time() {
    let s = example(State::Succeeded);
    check(&s, &old_webhook(rejected()), "·!");
    for time in [NOW, DEADLINE, DEADLINE.after(minutes(60 * 48))] {
        assert_eq!(decide(&s, &Evidence::Tick, time).to, None);
    }
}

#[test]
fn case_52_a_return_url_is_a_hint_however_often_it_is_opened() {
    check(&example(State::RequiresAction), &Evidence::Hint, "·?");
    check(&example(State::Succeeded), &Evidence::Hint, "·");
}

#[test]
fn case_66_an_asynchronous_refund_failure_leaves_the_refund_rejected() {
    let mut s = example(State::PendingConfirmation);
    s.order = None;
    check(&s, &lookup(rejected()), "rejected");
}

#[test]
fn case_71_a_success_after_the_cancel_is_refunded() {
    let s = order_is(example(State::PendingConfirmation), OrderState::CancelRequested);
    let decision = check_odd(&s, &webhook(succeeded()), "succeeded!", Anomaly::LateSuccess);
    assert!(decision.effects.contains(&Effect::OweRefund));
}

#[test]
fn case_74a_neither_silence_nor_not_yet_for_ever_closes_anything() {
    let two_days = Timestamp(DEADLINE.0 + 48 * 3_600_000);
    let s = example(State::PendingConfirmation);
    assert_eq!(decide(&s, &Evidence::Tick, two_days).to, Some(State::RequiresReview));
    let review = in_review(ReviewReason::Deadline, None);
    assert_eq!(decide(&review, &lookup(processing()), two_days).to, None);
}

#[test]
fn attack_23_and_24_a_genuine_event_with_another_amount_or_currency_pays_nothing() {
    for amount in [Money::new(100, Currency::EUR), Money::new(2000, Currency::JPY)] {
        let found = Found { amount: Some(amount), ..ours() };
        let verdict = Verdict::Definitive(Outcome::Succeeded, found);
        check(&example(State::PendingConfirmation), &webhook(verdict), "·?!");
    }
}

// Where nothing happens without us.

/// The object waits for the shopper; the step that takes the money was never sent.
fn waiting_for_us() -> Snapshot {
    let capability = Capability { cancel: None, needs_our_last_step: true, ..two_steps() };
    in_state(capability, State::RequiresAction)
}

#[test]
fn what_waits_for_a_step_of_ours_that_was_never_sent_is_left_behind_when_its_time_is_over() {
    let mut s = waiting_for_us();
    check(&s, &Evidence::Tick, "·");
    s.action_expires_at = Some(ENTERED);
    let decision = check(&s, &Evidence::Tick, "canceled");
    assert_eq!(decision.facts.canceled_why, Some(CanceledWhy::Expired));
    let given_up = order_is(waiting_for_us(), OrderState::CancelRequested);
    let decision = check(&given_up, &Evidence::Tick, "canceled");
    assert_eq!(decision.facts.canceled_why, Some(CanceledWhy::ByShopper));
}

#[test]
fn a_step_that_was_ever_sent_rules_that_out() {
    for (tainted, in_flight) in [(true, false), (false, true)] {
        let mut s = waiting_for_us();
        s.action_expires_at = Some(ENTERED);
        (s.steps[1].tainted, s.steps[1].in_flight, s.steps[1].sends) = (tainted, in_flight, 1);
        check(&s, &Evidence::Tick, "review");
    }
    let mut promised = waiting_for_us();
    promised.action_expires_at = Some(ENTERED);
    promised.capability.needs_our_last_step = false;
    check(&promised, &Evidence::Tick, "review");
}

#[test]
fn a_person_may_accept_what_names_no_amount() {
    let mut s = in_review(ReviewReason::NoLookup, None);
    (s.amount, s.order) = (None, None);
    check(&s, &Evidence::Operator(Act::AcceptEffect), "succeeded");
    let named = in_review(ReviewReason::NoLookup, None);
    check(&named, &Evidence::Operator(Act::AcceptEffect), "·");
}

#[test]
fn a_closed_operation_whose_object_waits_for_the_shopper_stays_closed_if_only_we_can_finish_it() {
    for state in [State::Rejected, State::Canceled] {
        let mut s = waiting_for_us();
        s.state = state;
        check(&s, &lookup(action()), "·");
        check(&s, &lookup(processing()), "pending?!");
        check(&s, &lookup(succeeded()), "succeeded!");
        s.capability.needs_our_last_step = false;
        check(&s, &lookup(action()), "action!");
    }
}
