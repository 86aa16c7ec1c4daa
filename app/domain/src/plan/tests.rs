use super::*;
use crate::{
    capability::Capability,
    operation::{ReviewReason, tests::fixtures::*},
    order::OrderState,
};

fn progress() -> Progress {
    Progress { last_send_at: Some(ENTERED), ..Progress::default() }
}

fn asked_at(time: Timestamp) -> Progress {
    Progress { last_lookup_at: Some(time), ..progress() }
}

#[track_caller]
fn check(s: &Snapshot, progress: &Progress, now: Timestamp, expected: Next) {
    assert_eq!(plan(s, progress, &Timing::default(), now), expected, "{} at {now}", s.state);
}

fn due(s: &Snapshot, progress: &Progress, now: Timestamp) -> Option<Timestamp> {
    next_due(s, progress, &Timing::default(), None, u32::MAX / 2, now)
}

#[test]
fn what_was_never_sent_is_sent() {
    check(&example(State::Created), &Progress::default(), NOW, Next::Send(0));
    check(&example(State::RetryScheduled), &progress(), NOW, Next::Send(0));
}

#[test]
fn after_the_deadline_nothing_is_sent_and_the_time_decides() {
    check(&example(State::Created), &Progress::default(), DEADLINE, Next::Tick);
    check(&example(State::PendingConfirmation), &progress(), DEADLINE, Next::Tick);
}

#[test]
fn a_send_in_flight_is_waited_for_until_its_lease_ends() {
    let leased = Progress { lease_until: Some(at(230)), ..progress() };
    check(&example(State::Requested), &leased, at(229), Next::Wait);
    check(&example(State::Requested), &leased, at(230), Next::EndLease);
    assert_eq!(due(&example(State::Requested), &leased, NOW), Some(at(230)));
}

#[test]
fn an_unknown_outcome_is_asked_about_before_anything_is_sent_again() {
    let s = example(State::PendingConfirmation);
    check(&s, &progress(), NOW, Next::Lookup);
    check(&s, &asked_at(at(120)), at(120), Next::Lookup);
    check(&s, &asked_at(at(120)), at(130), Next::Send(0));
    let third = Progress { replays: 3, ..asked_at(at(120)) };
    check(&s, &third, at(1700), Next::Lookup);
}

#[test]
fn with_the_objects_id_at_hand_a_lookup_decides_and_nothing_is_replayed() {
    let mut s = example(State::PendingConfirmation);
    s.provider_id = Some("obj".to_owned());
    check(&s, &asked_at(at(190)), at(1000), Next::Lookup);
}

#[test]
fn after_the_replay_window_only_questions_are_left() {
    let mut s = example(State::PendingConfirmation);
    s.steps[0].window = Some(minutes(4));
    check(&s, &asked_at(at(190)), at(250), Next::Send(0));
    check(&s, &asked_at(at(190)), at(251), Next::Lookup);
    let mut blind = in_state(class_c(), State::PendingConfirmation);
    blind.steps[0].window = Some(minutes(4));
    check(&blind, &progress(), at(251), Next::Wait);
    assert_eq!(due(&blind, &progress(), at(251)), Some(DEADLINE));
}

#[test]
fn without_a_lookup_the_replays_keep_to_their_schedule() {
    let s = in_state(class_c(), State::PendingConfirmation);
    check(&s, &progress(), at(129), Next::Wait);
    assert_eq!(due(&s, &progress(), at(129)), Some(at(130)));
    check(&s, &progress(), at(130), Next::Send(0));
    let spent = Progress { replays: 3, ..progress() };
    assert_eq!(due(&s, &spent, at(1000)), Some(DEADLINE));
}

#[test]
fn where_only_an_id_can_be_asked_by_the_id_is_replayed_for() {
    let by_id = crate::capability::Lookup { by_reference: false, consistency_bound: None };
    let capability = Capability { lookup: Some(by_id), ..class_a() };
    let s = in_state(capability, State::PendingConfirmation);
    check(&s, &progress(), at(120), Next::Wait);
    check(&s, &progress(), at(130), Next::Send(0));
}

#[test]
fn an_action_is_polled_and_cancelled_after_one_more_question() {
    let s = example(State::RequiresAction);
    check(&s, &asked_at(at(190)), NOW, Next::Lookup);
    check(&s, &asked_at(at(890)), at(900), Next::Lookup);
    check(&s, &asked_at(at(900)), at(902), Next::Send(1));
    assert_eq!(due(&s, &Progress { lookups: 20, ..progress() }, at(700)), Some(at(900)));
}

#[test]
fn an_action_whose_end_nobody_answers_goes_to_a_person() {
    let s = example(State::RequiresAction);
    check(&s, &asked_at(at(890)), at(2699), Next::Lookup);
    check(&s, &asked_at(at(890)), at(2700), Next::Tick);
}

#[test]
fn an_order_given_up_cancels_what_is_acknowledged_and_waits_for_what_is_unknown() {
    let given_up = |mut s: Snapshot| {
        s.order.as_mut().unwrap().state = OrderState::CancelRequested;
        s
    };
    check(&given_up(example(State::RequiresAction)), &asked_at(at(110)), NOW, Next::Send(1));
    check(&given_up(example(State::PendingConfirmation)), &asked_at(at(190)), NOW, Next::Lookup);
    let mut known = given_up(example(State::PendingConfirmation));
    known.provider_id = Some("obj".to_owned());
    check(&known, &asked_at(at(190)), NOW, Next::Send(1));
    check(&given_up(example(State::Created)), &Progress::default(), NOW, Next::Tick);
}

#[test]
fn a_review_is_asked_about_hourly_and_a_contradiction_once_for_the_person() {
    let s = example(State::RequiresReview);
    check(&s, &progress(), NOW, Next::Lookup);
    let hour = Timing::default().review_lookup;
    let next = due(&s, &progress(), NOW).unwrap();
    assert!(next > NOW.after(hour * 99 / 100) && next < NOW.after(hour * 101 / 100));
    let mut odd = s;
    odd.review = Some(ReviewReason::AmountMismatch);
    assert!(due(&odd, &progress(), NOW).unwrap() < NOW.after(minutes(1)));
    odd.looked_up_at = Some(NOW);
    assert_eq!(due(&odd, &progress(), NOW), None);
}

#[test]
fn what_is_closed_rests_until_late_news_wants_a_question() {
    for state in [State::Succeeded, State::Rejected, State::Canceled, State::Reversed] {
        let s = example(state);
        check(&s, &progress(), NOW, Next::Wait);
        assert_eq!(due(&s, &progress(), NOW), None);
        let wanted = Progress { lookup_wanted: true, ..progress() };
        check(&s, &wanted, NOW, Next::Lookup);
        assert!(due(&s, &wanted, NOW).is_some());
    }
}

#[test]
fn retry_after_is_waited_for_but_not_beyond_the_deadline() {
    let s = example(State::RetryScheduled);
    let wait = |seconds| {
        let wait = Some(Duration::from_secs(seconds));
        next_due(&s, &progress(), &Timing::default(), wait, 0, NOW)
    };
    assert_eq!(wait(120), Some(at(320)));
    assert_eq!(wait(9999), Some(DEADLINE));
}

#[test]
fn nothing_is_known_and_nobody_can_be_asked_so_it_waits_for_its_deadline() {
    let mut s = in_state(class_d(), State::PendingConfirmation);
    s.acknowledged = true;
    check(&s, &progress(), NOW, Next::Wait);
    assert_eq!(due(&s, &progress(), NOW), Some(DEADLINE));
}
