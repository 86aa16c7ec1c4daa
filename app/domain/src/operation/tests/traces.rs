//! The classical stories, played against the model of a provider.

use super::{
    fixtures::*,
    provider::{Fate, Status},
    shop::{Fault, Shop},
};
use crate::{
    capability::Capability,
    evidence::Evidence,
    operation::{CanceledWhy, Effect, State},
    order::OrderState,
};

use Fate::{Asks, Declines, Processes, Succeeds};

fn shop(capability: Capability) -> Shop {
    Shop::new(capability, false)
}

/// One send or lookup and its answer.
fn exchange(shop: &mut Shop, fault: Fault, fate: Fate) {
    shop.work(fault, fate);
    shop.deliver(0);
    shop.check();
}

#[test]
fn one_payment_story_timeout_lookup_paid_and_the_webhook_is_a_repeat() {
    let mut shop = shop(class_a());
    exchange(&mut shop, Fault::AnswerLost, Succeeds);
    assert_eq!(shop.s.state, State::PendingConfirmation);
    exchange(&mut shop, Fault::None, Succeeds);
    assert_eq!(shop.s.state, State::Succeeded);
    shop.webhook(0, true);
    shop.webhook(0, false);
    assert_eq!(shop.order_effects, [Effect::TakePayment]);
    assert_eq!(
        shop.history,
        [State::Created, State::Requested, State::PendingConfirmation, State::Succeeded]
    );
}

#[test]
fn timeout_not_found_replay_and_then_both_sends_finish() {
    let mut shop = shop(class_a());
    exchange(&mut shop, Fault::ExecutedLate, Succeeds);
    // Lookups find nothing until the first replay is due.
    while shop.provider.late.len() < 2 {
        assert_eq!(shop.s.state, State::PendingConfirmation);
        exchange(&mut shop, Fault::ExecutedLate, Succeeds);
    }
    shop.arrive(0);
    shop.arrive(0);
    assert_eq!(shop.provider.effects(), 1);
    shop.settle();
    assert_eq!(shop.s.state, State::Succeeded);
}

#[test]
fn a_request_that_never_arrived_is_sent_again_with_its_key() {
    let mut shop = shop(class_a());
    exchange(&mut shop, Fault::RequestLost, Succeeds);
    shop.settle();
    assert_eq!((shop.s.state, shop.s.steps[0].sends), (State::Succeeded, 2));
}

#[test]
fn a_confirmation_that_never_arrived_is_sent_again_although_the_object_is_known() {
    let mut shop = shop(two_steps());
    exchange(&mut shop, Fault::None, Succeeds);
    exchange(&mut shop, Fault::RequestLost, Succeeds);
    assert_eq!(shop.s.state, State::PendingConfirmation);
    shop.settle();
    assert_eq!((shop.s.state, shop.s.steps[1].sends), (State::Succeeded, 2));
}

#[test]
fn a_decline_on_a_replay_does_not_hide_that_the_first_send_succeeded() {
    let mut capability = class_a();
    capability.steps[0].idempotency.as_mut().unwrap().declines_stored = false;
    let mut shop = shop(capability);
    exchange(&mut shop, Fault::ExecutedLate, Succeeds);
    while shop.s.steps[0].sends < 2 {
        exchange(&mut shop, Fault::None, Declines);
    }
    assert_eq!(shop.s.state, State::PendingConfirmation, "the second try was declined");
    shop.arrive(0);
    shop.settle();
    assert_eq!((shop.s.state, shop.provider.effects()), (State::Succeeded, 1));
}

#[test]
fn a_paused_workers_late_not_sent_does_not_make_the_operation_void() {
    let mut shop = shop(class_a());
    shop.work(Fault::PausedAndRefused, Succeeds);
    shop.work(Fault::None, Succeeds);
    assert_eq!(shop.s.state, State::PendingConfirmation);
    shop.deliver(0);
    assert_eq!(shop.s.state, State::PendingConfirmation);
    assert!(shop.s.steps[0].tainted);
    shop.settle();
    assert_eq!(shop.s.state, State::Succeeded);
}

#[test]
fn a_worker_that_sends_after_its_lease_and_dies_charges_once() {
    let mut shop = shop(class_a());
    shop.work(Fault::WorkerPaused, Succeeds);
    shop.work(Fault::None, Succeeds);
    shop.arrive(0);
    shop.deliver(0);
    assert_eq!(shop.s.state, State::Succeeded, "a late success is a fact");
    shop.settle();
    assert_eq!(shop.provider.effects(), 1);
}

#[test]
fn a_crash_after_the_providers_success_is_found_by_a_lookup() {
    let mut shop = shop(class_a());
    shop.work(Fault::None, Succeeds);
    shop.flights.clear();
    shop.settle();
    assert_eq!((shop.s.state, shop.s.steps[0].sends), (State::Succeeded, 1));
}

#[test]
fn the_cancel_is_lost_and_the_shopper_approves_meanwhile() {
    let mut shop = shop(class_a());
    exchange(&mut shop, Fault::None, Asks);
    while !shop.s.steps[1].tainted {
        let fault = if shop.now < at(900) { Fault::None } else { Fault::RequestLost };
        exchange(&mut shop, fault, Succeeds);
    }
    assert_eq!(shop.s.state, State::PendingConfirmation);
    shop.elsewhere(0, true);
    shop.elsewhere(0, true);
    assert_eq!(shop.provider.objects[0].status(), Status::Succeeded);
    shop.settle();
    assert_eq!(shop.s.state, State::Succeeded);
}

#[test]
fn an_abandoned_confirmation_is_cancelled_at_the_provider_before_anything_else() {
    let mut shop = shop(class_a());
    exchange(&mut shop, Fault::None, Asks);
    assert_eq!(shop.s.state, State::RequiresAction);
    shop.settle();
    assert_eq!(shop.s.state, State::Canceled);
    assert_eq!(shop.provider.objects[0].status(), Status::Canceled);
    assert!(shop.now >= at(900));
}

#[test]
fn rejected_by_a_lookup_and_then_an_old_success_webhook() {
    let mut shop = shop(class_a());
    exchange(&mut shop, Fault::AnswerLost, Declines);
    exchange(&mut shop, Fault::None, Succeeds);
    assert_eq!(shop.s.state, State::Rejected);
    shop.learn(&old_webhook(succeeded()));
    assert_eq!(shop.s.state, State::Rejected, "it is asked about first");
    shop.settle();
    assert_eq!(shop.s.state, State::Rejected);
    assert_eq!(shop.order_effects, []);
}

#[test]
fn a_provider_that_changes_its_mind_after_a_rejection_is_believed_by_lookup_once() {
    let mut shop = shop(class_a());
    exchange(&mut shop, Fault::None, Declines);
    assert_eq!(shop.s.state, State::Rejected);
    shop.pass(minutes(1));
    shop.provider.change(0, Status::Succeeded, shop.now);
    shop.webhook(1, true);
    shop.webhook(1, true);
    assert_eq!(shop.s.state, State::Rejected);
    exchange(&mut shop, Fault::None, Succeeds);
    assert_eq!(shop.s.state, State::Succeeded);
    assert_eq!(shop.order_effects, [Effect::TakePayment]);
}

#[test]
fn a_429_after_a_lost_answer_proves_nothing() {
    let mut shop = shop(class_c());
    exchange(&mut shop, Fault::AnswerLost, Succeeds);
    exchange(&mut shop, Fault::TooMany, Succeeds);
    assert_eq!(shop.s.state, State::PendingConfirmation);
    shop.settle();
    assert_eq!(shop.s.state, State::Succeeded);
}

#[test]
fn an_hour_of_refused_connections_ends_in_nothing_executed() {
    let mut shop = shop(class_a());
    while shop.s.state.is_open() {
        exchange(&mut shop, Fault::Refused, Succeeds);
    }
    assert_eq!((shop.s.state, shop.provider.objects.len()), (State::Canceled, 0));
    assert!(shop.now >= DEADLINE);
}

#[test]
fn an_hour_of_timeouts_stays_bounded_and_ends_with_a_person() {
    let mut shop = shop(class_a());
    exchange(&mut shop, Fault::RequestLost, Succeeds);
    while shop.s.state.is_open() {
        exchange(&mut shop, Fault::Refused, Succeeds);
    }
    assert_eq!(shop.s.state, State::RequiresReview);
    assert!(shop.s.steps[0].sends <= 4);
}

#[test]
fn processing_for_ten_minutes_and_then_a_success() {
    let mut shop = shop(class_a());
    exchange(&mut shop, Fault::None, Processes);
    while shop.now < at(600) {
        exchange(&mut shop, Fault::None, Succeeds);
        assert_eq!(shop.s.state, State::PendingConfirmation);
    }
    shop.elsewhere(0, true);
    shop.settle();
    assert_eq!(shop.s.state, State::Succeeded);
}

#[test]
fn the_order_is_given_up_while_its_payment_is_unknown_and_the_money_goes_back() {
    let mut shop = shop(class_a());
    exchange(&mut shop, Fault::AnswerLost, Succeeds);
    shop.order_becomes(OrderState::CancelRequested);
    shop.settle();
    assert_eq!(shop.s.state, State::Succeeded);
    assert_eq!(shop.order_effects, [Effect::OweRefund]);
}

#[test]
fn a_sibling_pays_while_the_shopper_is_at_the_bank_and_the_object_is_cancelled() {
    let mut shop = shop(class_a());
    exchange(&mut shop, Fault::None, Asks);
    shop.order_becomes(OrderState::Paid);
    shop.settle();
    assert_eq!(shop.s.state, State::Canceled);
    assert!(shop.now < at(60), "at once, not at the end of the shopper's time");
}

#[test]
fn an_object_that_was_accepted_and_never_confirmed_is_cancelled_at_the_deadline() {
    let mut shop = shop(two_steps());
    exchange(&mut shop, Fault::None, Succeeds);
    exchange(&mut shop, Fault::Malformed, Succeeds);
    assert_eq!(shop.s.state, State::PendingConfirmation);
    shop.settle();
    assert_eq!(shop.s.state, State::Canceled);
    assert_eq!(shop.provider.objects[0].status(), Status::Canceled);
}

#[test]
fn a_cancel_by_key_turns_a_lost_request_into_a_known_nothing() {
    let mut shop = shop(class_e());
    exchange(&mut shop, Fault::ExecutedLate, Succeeds);
    exchange(&mut shop, Fault::None, Succeeds);
    assert_eq!(shop.s.state, State::Canceled);
    shop.arrive(0);
    assert_eq!(shop.provider.effects(), 0, "its key is dead");
}

#[test]
fn a_cancel_by_key_that_comes_too_late_tells_of_the_success() {
    let mut shop = shop(class_e());
    exchange(&mut shop, Fault::AnswerLost, Succeeds);
    exchange(&mut shop, Fault::None, Succeeds);
    assert_eq!(shop.s.state, State::Succeeded);
}

#[test]
fn a_bound_turns_silence_into_a_proof_only_after_the_slowest_execution() {
    let mut shop = shop(class_a_bounded());
    exchange(&mut shop, Fault::RequestLost, Succeeds);
    while shop.s.state.is_open() {
        // No replay gets through either.
        exchange(&mut shop, Fault::RequestLost, Succeeds);
    }
    assert_eq!((shop.s.state, shop.provider.objects.len()), (State::Canceled, 0));
    assert!(shop.now > at(60) && shop.now < at(400), "{}", shop.now);
}

#[test]
fn given_up_before_anything_was_sent_is_canceled_by_the_shopper() {
    let mut shop = shop(class_a());
    let s = &mut shop.s;
    s.order.as_mut().unwrap().state = OrderState::CancelRequested;
    let decision = shop.learn(&Evidence::Tick);
    assert_eq!(decision.facts.canceled_why, Some(CanceledWhy::ByShopper));
}

#[test]
fn what_comes_back_to_life_for_an_order_that_is_paid_goes_to_the_cancel_step() {
    for status in [Status::Processing, Status::Action] {
        let mut shop = shop(class_a());
        exchange(&mut shop, Fault::None, Declines);
        shop.order_becomes(OrderState::Paid);
        shop.pass(minutes(120));
        shop.provider.change(0, status, shop.now);
        shop.webhook(1, false);
        exchange(&mut shop, Fault::None, Succeeds);
        assert!(shop.s.state.is_open(), "{status:?}");
        shop.settle();
        assert!(shop.s.steps[1].sends > 0, "{status:?}: {:?}", shop.history);
        let expected =
            if status == Status::Action { State::Canceled } else { State::RequiresReview };
        assert_eq!(shop.s.state, expected);
    }
}

#[test]
fn an_order_given_up_at_the_last_moment_still_gets_its_object_cancelled() {
    let mut shop = shop(class_a());
    exchange(&mut shop, Fault::None, Processes);
    while shop.now < at(1500) {
        exchange(&mut shop, Fault::None, Succeeds);
    }
    shop.now = at(1799);
    shop.order_becomes(OrderState::CancelRequested);
    shop.settle();
    assert_eq!(shop.s.state, State::RequiresReview);
    assert!(shop.s.steps[1].sends > 0);
}
