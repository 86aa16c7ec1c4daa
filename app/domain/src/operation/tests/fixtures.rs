//! Snapshots and evidence that tests start from.

use std::time::Duration;

use crate::{
    capability::{Capability, Idempotency, Lookup, MinorUnits, StepSpec},
    evidence::{Evidence, Found, NotExecuted, Outcome, Verdict},
    money::{Currency, Money},
    operation::{
        Anomaly, Decision, Effect, OrderFacts, ReviewReason, Snapshot, State, Step, decide,
    },
    order::OrderState,
    schedule::Timestamp,
};

/// What the operation of all fixtures is about.
pub const AMOUNT: Money = Money::new(2000, Currency::EUR);
/// When the fixture came to its state.
pub const ENTERED: Timestamp = at(100);
/// When evidence arrives, unless a test says otherwise.
pub const NOW: Timestamp = at(200);
/// The fixture's deadline.
pub const DEADLINE: Timestamp = at(1800);

/// So many seconds after the beginning.
pub const fn at(seconds: i64) -> Timestamp {
    Timestamp(seconds * 1000)
}

pub const fn minutes(n: u64) -> Duration {
    Duration::from_secs(n * 60)
}

/// A provider like ExamplePay: a key, a lookup by id and by reference, webhooks, a cancel.
pub fn class_a() -> Capability {
    let key = Idempotency { window: minutes(24 * 60), declines_stored: true };
    let step = |name| StepSpec { name, idempotency: Some(key) };
    Capability {
        provider: "testpay",
        steps: vec![step("create")],
        cancel: Some(step("cancel")),
        cancel_by_key: false,
        unique_reference: false,
        lookup: Some(Lookup { by_reference: true, consistency_bound: None }),
        webhooks: true,
        decline_takes_no_money: true,
        names_amount: true,
        minor_units: MinorUnits::ISO,
        late_failure_reverses: false,
        needs_our_last_step: false,
        declined_stays_payable: false,
        connect_timeout: Duration::from_secs(2),
        response_timeout: Duration::from_secs(10),
        deadline: minutes(30),
    }
}

/// The same with a create and a confirm step.
pub fn two_steps() -> Capability {
    let mut capability = class_a();
    let confirm = StepSpec { name: "confirm", ..capability.steps[0] };
    capability.steps.push(confirm);
    capability
}

/// "Not found" is proof a minute after the last send ended.
pub fn class_a_bounded() -> Capability {
    let bound = Some(minutes(1));
    Capability {
        lookup: Some(Lookup { by_reference: true, consistency_bound: bound }),
        ..class_a()
    }
}

/// No key; a reference of ours that the provider takes only once.
pub fn class_b() -> Capability {
    Capability {
        steps: vec![StepSpec { name: "create", idempotency: None }],
        unique_reference: true,
        ..class_a()
    }
}

/// A key and nothing to ask.
pub fn class_c() -> Capability {
    Capability { lookup: None, ..class_a() }
}

/// Nothing.
pub fn class_d() -> Capability {
    Capability { lookup: None, cancel: None, unique_reference: false, ..class_b() }
}

/// A cancel by key, and no other way to learn anything.
pub fn class_e() -> Capability {
    Capability { cancel_by_key: true, cancel: class_a().cancel, ..class_d() }
}

/// The steps of a capability, none of them sent.
pub fn unsent(capability: &Capability) -> Vec<Step> {
    let step = |spec: &StepSpec, cancels| Step {
        name: spec.name.to_owned(),
        cancels,
        window: spec.idempotency.map(|key| key.window),
        ..Step::default()
    };
    let effects = capability.steps.iter().map(|spec| step(spec, false));
    effects.chain(capability.cancel.iter().map(|spec| step(spec, true))).collect()
}

/// An operation nobody has sent yet.
pub fn created(capability: Capability) -> Snapshot {
    Snapshot {
        state: State::Created,
        entered_at: ENTERED,
        amount: Some(AMOUNT),
        reference: "R-1".to_owned(),
        account: Some("acct".to_owned()),
        provider_id: None,
        acknowledged: false,
        unknown_since: None,
        deadline_at: DEADLINE,
        action_expires_at: None,
        review: None,
        effect: None,
        steps: unsent(&capability),
        looked_up_at: None,
        all_ended_at: None,
        capability,
        cancel_grace: minutes(30),
        given_up: false,
        was_shown: false,
        was_declined: false,
        order: Some(OrderFacts {
            state: OrderState::AwaitingPayment,
            goods_available: true,
            later_open: false,
        }),
    }
}

/// An operation that came to `state` in the most usual way.
pub fn in_state(capability: Capability, state: State) -> Snapshot {
    let mut s = created(capability);
    s.state = state;
    if state == State::Created {
        return s;
    }
    s.steps[0].sends = 1;
    s.all_ended_at = Some(ENTERED);
    if state == State::RetryScheduled {
        return s;
    }
    s.steps[0].first_sent_at = Some(ENTERED);
    if state == State::Requested {
        s.steps[0].in_flight = true;
        s.all_ended_at = None;
        return s;
    }
    s.steps[0].tainted = true;
    match state {
        State::PendingConfirmation => s.unknown_since = Some(ENTERED),
        State::RequiresReview => s.review = Some(ReviewReason::Deadline),
        State::Created
        | State::Requested
        | State::RetryScheduled
        | State::RequiresAction
        | State::Succeeded
        | State::Rejected
        | State::Canceled
        | State::Reversed => {
            s.provider_id = Some("obj".to_owned());
            s.acknowledged = true;
        }
    }
    if state == State::RequiresAction {
        s.action_expires_at = Some(at(900));
    }
    if state == State::Succeeded {
        s.effect = Some(AMOUNT);
        s.order.as_mut().unwrap().state = OrderState::Paid;
    }
    s
}

/// An operation of the ExamplePay-like provider in `state`.
pub fn example(state: State) -> Snapshot {
    in_state(class_a(), state)
}

/// The provider's object, as ours.
pub fn ours() -> Found {
    Found {
        provider_id: Some("obj".to_owned()),
        effect_id: None,
        reference: Some("R-1".to_owned()),
        account: Some("acct".to_owned()),
        amount: Some(AMOUNT),
    }
}

/// The same object with another amount.
pub fn wrong_amount() -> Found {
    Found { amount: Some(Money::new(100, Currency::EUR)), ..ours() }
}

pub fn says(outcome: Outcome) -> Verdict {
    Verdict::Definitive(outcome, ours())
}

pub fn succeeded() -> Verdict {
    says(Outcome::Succeeded)
}

pub fn rejected() -> Verdict {
    says(Outcome::Rejected { code: "card_declined".to_owned() })
}

pub fn canceled() -> Verdict {
    says(Outcome::Canceled)
}

pub fn processing() -> Verdict {
    says(Outcome::Processing)
}

pub fn reversed() -> Verdict {
    says(Outcome::Reversed)
}

pub fn action() -> Verdict {
    says(Outcome::ActionRequired {
        url: "https://pay.example/a".to_owned(),
        expires_at: Some(at(900)),
    })
}

pub fn unauthorized() -> Verdict {
    Verdict::NotExecuted(NotExecuted::Configuration)
}

pub fn bad_request() -> Verdict {
    Verdict::NotExecuted(NotExecuted::OurFault)
}

pub fn too_many() -> Verdict {
    Verdict::RetryLater { after: Some(Duration::from_secs(120)) }
}

/// The answer to the send in flight, under its own lease.
pub fn answer(verdict: Verdict) -> Evidence {
    Evidence::Answer { step: 0, sent_at: ENTERED, own_lease: true, cached: false, verdict }
}

/// The same for another step.
pub fn answer_to(step: usize, verdict: Verdict) -> Evidence {
    Evidence::Answer { step, sent_at: ENTERED, own_lease: true, cached: false, verdict }
}

/// A stored answer.
pub fn cached(verdict: Verdict) -> Evidence {
    Evidence::Answer { step: 0, sent_at: ENTERED, own_lease: true, cached: true, verdict }
}

/// The answer of a worker that was paused for longer than its lease.
pub fn late(verdict: Verdict) -> Evidence {
    Evidence::Answer { step: 0, sent_at: at(50), own_lease: false, cached: false, verdict }
}

/// A lookup sent after the fixture came to its state.
pub fn lookup(verdict: Verdict) -> Evidence {
    Evidence::Lookup { sent_at: at(190), own_lease: true, verdict }
}

/// A lookup sent before.
pub fn old_lookup(verdict: Verdict) -> Evidence {
    Evidence::Lookup { sent_at: at(90), own_lease: true, verdict }
}

pub fn webhook(verdict: Verdict) -> Evidence {
    Evidence::Webhook { occurred_at: Some(at(195)), verdict }
}

pub fn old_webhook(verdict: Verdict) -> Evidence {
    Evidence::Webhook { occurred_at: Some(at(50)), verdict }
}

pub fn claim(step: usize) -> Evidence {
    Evidence::Claim { step, lease_until: at(230) }
}

/// The short name of a state, for tables.
pub fn short(state: State) -> &'static str {
    match state {
        State::RequiresAction => "action",
        State::RetryScheduled => "retry",
        State::PendingConfirmation => "pending",
        State::RequiresReview => "review",
        State::Created
        | State::Requested
        | State::Succeeded
        | State::Rejected
        | State::Canceled
        | State::Reversed => state.as_str(),
    }
}

/// A decision in one word: the new state or `·`, `?` for a woken lookup, `!` for an anomaly.
pub fn cell(decision: &Decision) -> String {
    let mut cell = decision.to.map_or("·", short).to_owned();
    if decision.effects.contains(&Effect::Lookup) {
        cell.push('?');
    }
    if decision.anomaly.is_some() {
        cell.push('!');
    }
    cell
}

/// Checks what evidence does to a snapshot, in the grid's notation.
#[track_caller]
pub fn check(s: &Snapshot, evidence: &Evidence, expected: &str) -> Decision {
    let decision = decide(s, evidence, NOW);
    assert_eq!(cell(&decision), expected, "{} + {evidence:?}", s.state);
    decision
}

/// The same, and which anomaly it raises.
#[track_caller]
pub fn check_odd(s: &Snapshot, evidence: &Evidence, expected: &str, anomaly: Anomaly) -> Decision {
    let decision = check(s, evidence, expected);
    assert_eq!(decision.anomaly, Some(anomaly));
    decision
}

/// Compares a printed table with the file beside the code; `UPDATE_GRID=1` writes the file.
#[track_caller]
pub fn compare(file: &str, table: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    if std::env::var_os("UPDATE_GRID").is_some() {
        std::fs::write(&path, table).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == table,
        "{file} is not what the code decides; UPDATE_GRID=1 rewrites it. The code decides:\n{table}"
    );
}
