//! The heart: an operation's states, and the one function that moves it between them.
//!
//! No confirmation is not a confirmation of no result. A transport result never closes an
//! operation; only the provider's own statement about this operation does, or a proof that
//! nothing was ever executed. Read [`decide`] first.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    capability::{Capability, strategy},
    evidence::{Act, Evidence, Found, NotExecuted, Outcome, Verdict},
    money::Money,
    order::OrderState,
    schedule::{Timestamp, replay_until},
    words,
};

/// Where an operation stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Recorded, never sent.
    Created,
    /// A send is in flight under a lease.
    Requested,
    /// The provider waits for the shopper.
    RequiresAction,
    /// Proven not executed; will be sent with the same key.
    RetryScheduled,
    /// The outcome is unknown, or the provider says it is processing.
    PendingConfirmation,
    /// Unknown after its deadline, or the evidence contradicts itself: a person looks at it.
    RequiresReview,
    /// The provider's record shows the effect.
    Succeeded,
    /// The provider said no; no effect exists.
    Rejected,
    /// Proven void: cancelled at the provider, or never executed.
    Canceled,
    /// An effect that the provider later undid.
    Reversed,
}

words!(State {
    Created => "created",
    Requested => "requested",
    RequiresAction => "requires_action",
    RetryScheduled => "retry_scheduled",
    PendingConfirmation => "pending_confirmation",
    RequiresReview => "requires_review",
    Succeeded => "succeeded",
    Rejected => "rejected",
    Canceled => "canceled",
    Reversed => "reversed",
});

impl State {
    /// Whether the system still works on it by itself.
    pub const fn is_open(self) -> bool {
        matches!(
            self,
            Self::Created
                | Self::Requested
                | Self::RequiresAction
                | Self::RetryScheduled
                | Self::PendingConfirmation
        )
    }

    /// Whether it is closed without an effect.
    pub const fn is_void(self) -> bool {
        matches!(self, Self::Rejected | Self::Canceled)
    }
}

/// Why an operation was canceled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CanceledWhy {
    /// Proven never to have been executed.
    NeverExecuted,
    /// The provider refused our request as malformed and did nothing.
    OurFault,
    /// The provider's object is canceled.
    ByProvider,
    /// The order was given up before anything was executed.
    ByShopper,
    /// The shopper's time to confirm ran out and the object was canceled at the provider.
    Expired,
    /// A person closed it.
    Operator,
}

words!(CanceledWhy {
    NeverExecuted => "never_executed",
    OurFault => "our_fault",
    ByProvider => "by_provider",
    ByShopper => "by_shopper",
    Expired => "expired",
    Operator => "operator",
});

/// Why a person looks at an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewReason {
    /// Still unknown when its time was over.
    Deadline,
    /// Unknown, and the provider offers no way to ask.
    NoLookup,
    /// The provider's record has another amount.
    AmountMismatch,
    /// The provider's record has another currency.
    CurrencyMismatch,
    /// The provider's record has another reference.
    ReferenceMismatch,
    /// The provider's record belongs to another account.
    AccountMismatch,
    /// The provider shows more than one effect.
    TwoEffects,
    /// It should be cancelled and cannot be.
    NotCancelable,
    /// News about a closed operation, with no way to ask and no usable time.
    EventTimeUndecided,
}

words!(ReviewReason {
    Deadline => "deadline",
    NoLookup => "no_lookup",
    AmountMismatch => "amount_mismatch",
    CurrencyMismatch => "currency_mismatch",
    ReferenceMismatch => "reference_mismatch",
    AccountMismatch => "account_mismatch",
    TwoEffects => "two_effects",
    NotCancelable => "not_cancelable",
    EventTimeUndecided => "event_time_undecided",
});

impl ReviewReason {
    /// Whether matching evidence may still close the review without a person.
    pub const fn by_deadline(self) -> bool {
        match self {
            Self::Deadline | Self::NoLookup | Self::NotCancelable | Self::EventTimeUndecided => {
                true
            }
            Self::AmountMismatch
            | Self::CurrencyMismatch
            | Self::ReferenceMismatch
            | Self::AccountMismatch
            | Self::TwoEffects => false,
        }
    }
}

/// What an operation is for. An open name: the engine treats all alike.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Kind(Cow<'static, str>);

impl Kind {
    /// Taking money for an order.
    pub const PAYMENT: Self = Self(Cow::Borrowed("payment"));
    /// Giving money back.
    pub const REFUND: Self = Self(Cow::Borrowed("refund"));
    /// Writing the invoice of a paid order.
    pub const INVOICE: Self = Self(Cow::Borrowed("invoice"));
    /// Money that went back at the provider's side, without an operation of ours.
    pub const EXTERNAL: Self = Self(Cow::Borrowed("external"));
    /// Handing the parcel of a paid order over.
    pub const SHIPMENT: Self = Self(Cow::Borrowed("shipment"));

    /// A kind of this name.
    pub fn named(name: &str) -> Self {
        Self(Cow::Owned(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One mutating provider endpoint of an operation, as far as deciding needs it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// Its name, the last part of its key.
    pub name: String,
    /// Whether it cancels instead of making the effect.
    pub cancels: bool,
    /// Some send ended in anything but a proof that nothing was executed; stays for good.
    pub tainted: bool,
    /// A send was claimed and has no recorded end yet.
    pub in_flight: bool,
    /// The provider took the step and named the next one.
    pub accepted: bool,
    /// When its key's window began.
    pub first_sent_at: Option<Timestamp>,
    /// How often it was sent.
    pub sends: u32,
    /// The provider's memory of its key.
    pub window: Option<Duration>,
}

impl Step {
    /// Whether every send of it provably executed nothing.
    pub const fn is_clean(&self) -> bool {
        !self.tainted && !self.in_flight
    }

    /// Until when it may be sent with its key; `None` while no window has begun or none exists.
    pub fn replay_until(&self) -> Option<Timestamp> {
        Some(replay_until(self.first_sent_at?, self.window?))
    }
}

/// What the rules need to know of the order a payment belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderFacts {
    /// Where the order stands.
    pub state: OrderState,
    /// Its goods are reserved, or can be at this moment.
    pub goods_available: bool,
    /// A later payment operation of it is open or in review.
    pub later_open: bool,
}

/// Everything a decision may depend on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// Where the operation stands.
    pub state: State,
    /// When it came there.
    pub entered_at: Timestamp,
    /// What it is about: how much.
    pub amount: Option<Money>,
    /// Our reference, as the provider stores it.
    pub reference: String,
    /// The account it must belong to.
    pub account: Option<String>,
    /// The provider's id, once known.
    pub provider_id: Option<String>,
    /// The provider has acknowledged an object.
    pub acknowledged: bool,
    /// Since when the outcome has been unknown.
    pub unknown_since: Option<Timestamp>,
    /// After this no effect-making step is sent.
    pub deadline_at: Timestamp,
    /// When the provider stops waiting for the shopper.
    pub action_expires_at: Option<Timestamp>,
    /// Why a person looks at it.
    pub review: Option<ReviewReason>,
    /// The effect found at the provider.
    pub effect: Option<Money>,
    /// Its mutating endpoints: the effect-making ones in order, then the cancelling one.
    pub steps: Vec<Step>,
    /// When the newest lookup that told something was sent.
    pub looked_up_at: Option<Timestamp>,
    /// When the newest send or lookup ended; `None` while some attempt has no recorded end.
    pub all_ended_at: Option<Timestamp>,
    /// What the provider promises.
    pub capability: Capability,
    /// How long a cancel's answer is waited for.
    pub cancel_grace: Duration,
    /// The order, for operations that pay one.
    pub order: Option<OrderFacts>,
    /// Its order no longer needs it: a parcel of an order that was refunded.
    pub given_up: bool,
    /// The shopper was sent to the provider's page at some time.
    pub was_shown: bool,
    /// The provider said no to it at some time.
    pub was_declined: bool,
}

impl Snapshot {
    /// Nothing was ever executed and nothing is acknowledged: it may be closed without asking.
    pub fn is_void(&self) -> bool {
        self.state != State::Requested
            && !self.acknowledged
            && self.provider_id.is_none()
            && self.steps.iter().all(Step::is_clean)
    }

    /// Nothing has happened and nothing can without us: the provider waits for a step that was
    /// never sent, and there is nothing to cancel.
    pub fn is_left_to_us(&self) -> bool {
        let last = self.steps.iter().rfind(|step| !step.cancels);
        self.capability.needs_our_last_step
            && self.capability.cancel.is_none()
            && last.is_some_and(Step::is_clean)
            && self.state != State::Requested
    }

    /// Whether a no leaves an object that could still be paid without us.
    fn stays_payable(&self) -> bool {
        self.capability.declined_stays_payable && self.was_shown
    }

    /// Whether it was declined and its object is still to be closed.
    pub(crate) fn is_closing(&self) -> bool {
        self.stays_payable() && self.was_declined && self.state == State::RequiresAction
    }

    /// Whether its order can no longer take its effect.
    pub fn is_unwanted(&self) -> bool {
        self.given_up || self.order.is_some_and(|order| order.state != OrderState::AwaitingPayment)
    }

    /// Until when the shopper may confirm.
    pub fn action_until(&self) -> Timestamp {
        self.action_expires_at.map_or(self.deadline_at, |at| at.min(self.deadline_at))
    }

    /// Whether the shopper's time to confirm is over.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.action_expires_at.is_some_and(|at| now >= at)
            || (self.state == State::RequiresAction && now >= self.deadline_at)
    }

    /// How often a cancel was sent.
    pub(crate) fn cancel_sends(&self) -> u32 {
        self.steps.iter().filter(|step| step.cancels).map(|step| step.sends).sum()
    }

    /// The place of the cancelling step.
    pub fn cancel_step(&self) -> Option<usize> {
        self.steps.iter().position(|step| step.cancels)
    }

    /// Whether a cancel was ever sent.
    pub fn is_canceling(&self) -> bool {
        self.steps.iter().any(|step| step.cancels && (step.tainted || step.in_flight))
    }

    /// Whether the effect may no longer be asked for: time is over, the window is, or the order
    /// has no use for it.
    pub fn must_end(&self, now: Timestamp) -> bool {
        now >= self.deadline_at
            || self.is_unwanted()
            || self.steps.iter().any(|step| {
                !step.cancels
                    && step.is_clean()
                    && step.replay_until().is_some_and(|end| now >= end)
            })
    }

    /// The place of the step to send next, if any: the cancelling one where the object must end
    /// and can be reached, else the first that was not yet accepted.
    pub fn next_step(&self, now: Timestamp) -> Option<usize> {
        if self.must_end(now) || self.is_expired(now) || self.only_cancel_helps() {
            return if self.is_cancel_reachable() { self.cancel_step() } else { None };
        }
        self.steps.iter().position(|step| !step.cancels && !step.accepted)
    }

    /// How many effect-making steps come after this one.
    pub fn steps_after(&self, place: usize) -> u32 {
        let later = self.steps.iter().skip(place + 1).filter(|step| !step.cancels);
        if self.cancel_step() == Some(place) {
            return 0;
        }
        u32::try_from(later.count()).unwrap_or(u32::MAX)
    }

    /// Whether the provider can be asked at all, with what is known by now.
    pub fn can_ask(&self) -> bool {
        let lookup = self.capability.lookup;
        lookup.is_some_and(|lookup| lookup.by_reference || self.provider_id.is_some())
    }

    /// Whether a cancel would find its object: by its id, or by the key of what was sent.
    fn is_cancel_reachable(&self) -> bool {
        let sent = self.steps.iter().any(|step| !step.cancels && !step.is_clean());
        self.provider_id.is_some() || (self.capability.cancel_by_key && sent)
    }

    /// Unknown, with no way to ask and no way to repeat: what is left is to make it a nothing.
    fn only_cancel_helps(&self) -> bool {
        let strategy = strategy(&self.capability);
        self.state == State::PendingConfirmation
            && !self.acknowledged
            && strategy.cancel_unknown
            && !strategy.look_up
            && !strategy.replay
    }

    /// Whether a cancel may still be tried: one exists, finds its object, and its time is not over.
    pub fn is_cancel_open(&self, now: Timestamp) -> bool {
        let step = self.steps.iter().find(|step| step.cancels);
        self.is_cancel_reachable()
            && step.is_some_and(|step| {
                step.replay_until().is_none_or(|end| now < end)
                    && step.first_sent_at.is_none_or(|at| now < at.after(self.cancel_grace))
            })
    }

    /// Whether the shopper's time was over long ago and no lookup since then told anything.
    pub(crate) fn is_unheard(&self, now: Timestamp) -> bool {
        let over = self.action_until().max(self.entered_at);
        self.can_ask()
            && now >= over.after(self.cancel_grace)
            && self.looked_up_at.is_none_or(|at| at < self.action_until())
    }

    /// Whether the deadline is not the end yet: a cancel that was never tried can still turn the
    /// unknown, an object that was accepted and not confirmed, or one that its order no longer
    /// wants, into a known nothing.
    fn owes_cancel(&self) -> bool {
        let effect = || self.steps.iter().filter(|step| !step.cancels);
        let unconfirmed = effect().any(|step| step.accepted) && effect().any(|step| !step.accepted);
        let tried = self.steps.iter().any(|step| step.cancels && step.first_sent_at.is_some());
        let exists = self.cancel_step().is_some() && self.is_cancel_reachable();
        exists && !tried && (unconfirmed || self.capability.cancel_by_key || self.is_unwanted())
    }

    /// When waiting for an outcome is over and a person is asked.
    pub fn gives_up_at(&self) -> Timestamp {
        let cancel = self.steps.iter().find(|step| step.cancels);
        let tried = cancel.and_then(|step| step.first_sent_at);
        let owed = self.owes_cancel().then(|| self.deadline_at.max(self.entered_at));
        let from = owed.or(tried);
        from.map_or(self.deadline_at, |at| at.after(self.cancel_grace).max(self.deadline_at))
    }
}

/// Something that contradicts what is stored: kept, visible, alerted; it moves nothing by itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Anomaly {
    /// A success for an operation that was closed, or whose order was given up.
    LateSuccess,
    /// A failure after a success.
    LateFailure,
    /// A mismatch after a success.
    LateMismatch,
    /// A second effect for one operation.
    TwoEffects,
    /// News that reopens, or would reopen, a closed operation.
    LateNews,
    /// A record at the provider that differs from ours.
    Mismatch,
}

words!(Anomaly {
    LateSuccess => "late_success",
    LateFailure => "late_failure",
    LateMismatch => "late_mismatch",
    TwoEffects => "two_effects",
    LateNews => "late_news",
    Mismatch => "mismatch",
});

/// What the shell does along with storing the decision, in the same transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Ask the provider soon.
    Lookup,
    /// The order takes this payment: its goods are sold.
    TakePayment,
    /// The order cannot take it: open a compensating refund of the effect.
    OweRefund,
    /// The payment was undone by the provider.
    PaymentUndone,
    /// Tell a person, once per incident.
    Alert(Alert),
    /// Stop sending to this provider for a while.
    OpenCircuit,
}

/// What a person is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Alert {
    /// An operation waits for a person.
    Review,
    /// Our credentials or settings were refused.
    Configuration,
    /// The provider refused our request as malformed.
    OurFault,
    /// The evidence contradicts what is stored.
    Anomaly,
    /// The provider undid an effect.
    Reversed,
}

words!(Alert {
    Review => "review",
    Configuration => "configuration",
    OurFault => "our_fault",
    Anomaly => "anomaly",
    Reversed => "reversed",
});

/// What happens to the record of a step's send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepChange {
    /// A send begins.
    Sent,
    /// It ended, and provably executed nothing; the window is cleared if none had begun before.
    EndedClean {
        /// Forget `first_sent_at`: no byte of any send left.
        clear_window: bool,
    },
    /// It ended in anything else, or without a recorded answer.
    Tainted,
    /// It ended, and the provider took the step.
    Accepted,
}

/// Facts to store beside the state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// What became of a step's send.
    pub step: Option<(usize, StepChange)>,
    /// The provider's id.
    pub provider_id: Option<String>,
    /// The provider's id of the effect.
    pub effect_id: Option<String>,
    /// The provider has an object.
    pub acknowledged: bool,
    /// Where and until when the shopper confirms.
    pub action: Option<(String, Option<Timestamp>)>,
    /// The shopper has confirmed: nobody waits for it any more.
    pub action_done: bool,
    /// The provider's code for a no.
    pub decline_code: Option<String>,
    /// Why it was canceled.
    pub canceled_why: Option<CanceledWhy>,
    /// Why a person is asked.
    pub review: Option<ReviewReason>,
    /// The effect found.
    pub effect: Option<Money>,
    /// How long the provider asks to wait.
    pub wait: Option<Duration>,
}

/// What evidence means for an operation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decision {
    /// The state it moves to; `None` leaves it where it is.
    pub to: Option<State>,
    /// What to store beside it.
    pub facts: Facts,
    /// What contradicts the record.
    pub anomaly: Option<Anomaly>,
    /// What to do along with it.
    pub effects: Vec<Effect>,
    /// A claim was granted. Without it nothing may be sent.
    pub may_send: bool,
}

/// Decides what `evidence` means for an operation. Pure and total: the caller stores the answer.
pub fn decide(s: &Snapshot, evidence: &Evidence, now: Timestamp) -> Decision {
    tidy(s, judge(s, evidence, now))
}

/// Leaves out of a decision what changes nothing: the state it is in, a question nobody can ask,
/// a second object's id.
fn tidy(s: &Snapshot, mut decision: Decision) -> Decision {
    let same_review = decision.facts.review.is_none() || decision.facts.review == s.review;
    if decision.to == Some(s.state) && same_review {
        decision.to = None;
        decision.effects.retain(|effect| *effect != Effect::Alert(Alert::Review));
    }
    if s.provider_id.is_some() {
        decision.facts.provider_id = None;
    }
    let named = s.provider_id.is_some() || decision.facts.provider_id.is_some();
    if !s.capability.lookup.is_some_and(|lookup| lookup.by_reference || named) {
        decision.effects.retain(|effect| *effect != Effect::Lookup);
    }
    decision
}

fn judge(s: &Snapshot, evidence: &Evidence, now: Timestamp) -> Decision {
    match evidence {
        Evidence::Claim { step, lease_until } => claim(s, *step, *lease_until, now),
        Evidence::Answer { step, sent_at, own_lease, cached, verdict } => {
            let Some(record) = s.steps.get(*step) else { return unchanged() };
            answer(
                s,
                record,
                Sent { step: *step, at: *sent_at, own: *own_lease, cached: *cached },
                verdict,
            )
        }
        Evidence::Lookup { sent_at, own_lease, verdict } => {
            looked_up(s, *sent_at, *own_lease, verdict)
        }
        Evidence::Webhook { occurred_at, verdict } => match verdict {
            Verdict::Definitive(..) | Verdict::Accepted(_) | Verdict::Contradicts(..) => {
                told(s, *occurred_at, verdict)
            }
            // News nobody can read yet is still news: ask.
            Verdict::NotSent
            | Verdict::NotExecuted(_)
            | Verdict::RetryLater { .. }
            | Verdict::Indeterminate
            | Verdict::Absent
            | Verdict::NoNews => unchanged().with(Effect::Lookup),
        },
        Evidence::Hint if s.state.is_open() || s.state == State::RequiresReview => {
            unchanged().with(Effect::Lookup)
        }
        Evidence::Hint => unchanged(),
        Evidence::LeaseEnded => lease_ended(s),
        Evidence::Tick => tick(s, now),
        Evidence::Operator(act) => operator(s, *act),
    }
}

fn unchanged() -> Decision {
    Decision::default()
}

fn moved(to: State) -> Decision {
    Decision { to: Some(to), ..Decision::default() }
}

impl Decision {
    fn with(mut self, effect: Effect) -> Self {
        if !self.effects.contains(&effect) {
            self.effects.push(effect);
        }
        self
    }

    fn because(mut self, why: CanceledWhy) -> Self {
        self.facts.canceled_why = Some(why);
        self
    }

    fn odd(mut self, anomaly: Anomaly) -> Self {
        self.anomaly = Some(anomaly);
        self.with(Effect::Alert(Alert::Anomaly))
    }

    fn knowing(mut self, found: &Found) -> Self {
        self.facts.provider_id.clone_from(&found.provider_id);
        self.facts.effect_id.clone_from(&found.effect_id);
        self.facts.acknowledged |= found.provider_id.is_some();
        self
    }

    fn acknowledging(mut self) -> Self {
        self.facts.acknowledged = true;
        self
    }

    fn on_step(mut self, step: usize, change: StepChange) -> Self {
        self.facts.step = Some((step, change));
        self
    }
}

fn review(reason: ReviewReason) -> Decision {
    let mut decision = moved(State::RequiresReview).with(Effect::Alert(Alert::Review));
    decision.facts.review = Some(reason);
    decision
}

/// Grants a send, or leaves everything as it is.
fn claim(s: &Snapshot, step: usize, lease_until: Timestamp, now: Timestamp) -> Decision {
    if !may_send(s, step, lease_until, now) {
        return unchanged();
    }
    let mut decision = moved(State::Requested).on_step(step, StepChange::Sent);
    decision.may_send = true;
    decision
}

/// May this step be sent now? Everything that forbids a send stands here.
pub(crate) fn may_send(s: &Snapshot, step: usize, lease_until: Timestamp, now: Timestamp) -> bool {
    let Some(record) = s.steps.get(step) else { return false };
    let due = s.next_step(now) == Some(step);
    let in_window = record.replay_until().is_none_or(|end| lease_until <= end);
    let allowed = match s.state {
        // What goes to the provider first must be provably first.
        State::Created | State::RetryScheduled => record.is_clean(),
        State::PendingConfirmation if record.cancels => true,
        // A replay: only of a step whose key or reference the provider knows.
        State::PendingConfirmation => record.is_clean() || strategy(&s.capability).replay,
        State::RequiresAction => record.cancels,
        State::Requested
        | State::RequiresReview
        | State::Succeeded
        | State::Rejected
        | State::Canceled
        | State::Reversed => false,
    };
    allowed && due && in_window && !record.in_flight
}

/// How a send came about.
#[derive(Clone, Copy)]
struct Sent {
    step: usize,
    at: Timestamp,
    own: bool,
    cached: bool,
}

/// The answer to a send, judged as a first send only if every other send of the step is clean.
fn answer(s: &Snapshot, record: &Step, sent: Sent, verdict: &Verdict) -> Decision {
    if !sent.own {
        // Its lease ended, so its step is tainted already; it speaks only of the past.
        return past_answer(s, sent, verdict);
    }
    // A stored answer means that the key was used before, whatever we remember.
    let replay = record.tainted || sent.cached;
    let change = if matches!(verdict, Verdict::Accepted(_)) {
        StepChange::Accepted
    } else if !replay && verdict.keeps_clean() {
        // The first try of a cancel starts its grace, sent or not.
        let untouched = *verdict == Verdict::NotSent && record.first_sent_at == Some(sent.at);
        StepChange::EndedClean { clear_window: untouched && !record.cancels }
    } else {
        StepChange::Tainted
    };
    if s.state != State::Requested {
        // Other news was faster; the send's end is recorded and its answer is one more fact.
        return past_answer(s, sent, verdict).on_step(sent.step, change);
    }
    let asks = s.capability.lookup.is_some();
    let decision = match verdict {
        // A stored answer is a snapshot of then: the object itself says what is true now.
        Verdict::Definitive(_, found) | Verdict::Accepted(found) if sent.cached && asks => {
            unknown_object(s, found, verdict)
        }
        // It may speak of a second try only, and of an object that is not the first one's.
        Verdict::Definitive(Outcome::Rejected { .. }, _)
            if replay && !stores_declines(s, record) =>
        {
            unknown(s)
        }
        Verdict::Definitive(outcome, found) => definitive(s, outcome, found, Channel::Answer),
        Verdict::Accepted(found) => match mismatch(s, found, &Outcome::Processing) {
            Some(reason) => contradicts(s, reason, found, Channel::Answer),
            None => accepted(s, sent.step).knowing(found).acknowledging(),
        },
        Verdict::Contradicts(reason, found) => contradicts(s, *reason, found, Channel::Answer),
        Verdict::NotSent | Verdict::NotExecuted(_) | Verdict::RetryLater { .. } if replay => {
            unknown(s)
        }
        // A cancel that was not taken leaves the effect as unknown as it was.
        Verdict::NotSent
        | Verdict::RetryLater { .. }
        | Verdict::NotExecuted(NotExecuted::Configuration)
            if record.cancels =>
        {
            cancel_not_taken(verdict)
        }
        Verdict::NotSent => moved(State::RetryScheduled),
        Verdict::RetryLater { after } => {
            let mut decision = moved(State::RetryScheduled);
            decision.facts.wait = *after;
            decision
        }
        Verdict::NotExecuted(NotExecuted::Configuration) => moved(State::RetryScheduled)
            .with(Effect::OpenCircuit)
            .with(Effect::Alert(Alert::Configuration)),
        Verdict::NotExecuted(NotExecuted::OurFault) => our_fault(s, sent.step),
        Verdict::Indeterminate | Verdict::Absent | Verdict::NoNews => unknown(s),
    };
    decision.on_step(sent.step, change)
}

/// No answer is not a "no": the operation waits for the provider's own word.
fn unknown(s: &Snapshot) -> Decision {
    if strategy(&s.capability).review_at_once {
        return review(ReviewReason::NoLookup);
    }
    moved(State::PendingConfirmation).with(Effect::Lookup)
}

/// The cancelling step provably did nothing; the operation waits, and is asked about, as before.
fn cancel_not_taken(verdict: &Verdict) -> Decision {
    let mut decision = moved(State::PendingConfirmation).with(Effect::Lookup);
    if let Verdict::RetryLater { after } = verdict {
        decision.facts.wait = *after;
    }
    if *verdict == Verdict::NotExecuted(NotExecuted::Configuration) {
        decision = decision.with(Effect::OpenCircuit).with(Effect::Alert(Alert::Configuration));
    }
    decision
}

/// An answer from the past: a fact like any other news, and no more than that.
fn past_answer(s: &Snapshot, sent: Sent, verdict: &Verdict) -> Decision {
    let settled = matches!(s.state, State::Succeeded | State::Reversed);
    if verdict.keeps_clean() {
        unchanged()
    } else if sent.cached && s.capability.lookup.is_some() && !settled {
        news_of_ours(s, verdict).with(Effect::Lookup)
    } else {
        told(s, None, verdict)
    }
}

/// Whether the provider stores declines under this step's key.
fn stores_declines(s: &Snapshot, step: &Step) -> bool {
    let spec = s.capability.steps.iter().find(|spec| spec.name == step.name);
    spec.and_then(|spec| spec.idempotency).is_some_and(|key| key.declines_stored)
}

/// Whether a decline of one send speaks for every send of the operation.
fn decline_speaks(s: &Snapshot) -> bool {
    s.steps.iter().all(|step| step.cancels || step.sends <= 1 || stores_declines(s, step))
}

/// Unknown still, but an object was named; its id is kept if it is ours.
fn unknown_object(s: &Snapshot, found: &Found, verdict: &Verdict) -> Decision {
    if mismatch(s, found, &Outcome::Processing).is_some() {
        return unknown(s).odd(Anomaly::Mismatch);
    }
    Decision { facts: news_of_ours(s, verdict).facts, ..unknown(s) }
}

/// A request refused as malformed: void unless another step or an object says otherwise.
fn our_fault(s: &Snapshot, step: usize) -> Decision {
    let others_clean =
        s.steps.iter().enumerate().all(|(place, other)| place == step || other.is_clean());
    let cancels = s.steps.get(step).is_some_and(|record| record.cancels);
    if others_clean && !cancels && !s.acknowledged && s.provider_id.is_none() {
        return moved(State::Canceled)
            .because(CanceledWhy::OurFault)
            .with(Effect::Alert(Alert::OurFault));
    }
    unknown(s).with(Effect::Alert(Alert::OurFault))
}

/// The step was taken: on to the next, but only if that was never sent.
fn accepted(s: &Snapshot, step: usize) -> Decision {
    let next = s.steps.iter().skip(step + 1).find(|next| !next.cancels);
    match next {
        Some(next) if next.sends == 0 && !s.is_canceling() => moved(State::RetryScheduled),
        Some(_) | None => unknown(s),
    }
}

/// By which way the provider's own word came; they differ in what they may decide.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Channel {
    Answer,
    Lookup,
    Told,
}

/// The provider's own word on an operation that is open or in review by deadline.
fn definitive(s: &Snapshot, outcome: &Outcome, found: &Found, channel: Channel) -> Decision {
    if let Some(reason) = mismatch(s, found, outcome) {
        let mut decision = contradicts(s, reason, found, channel);
        // Only a success is an effect that a person may accept or give back.
        if *outcome != Outcome::Succeeded {
            decision.facts.effect = None;
        }
        // And what is dead stands in nobody's way.
        if matches!(outcome, Outcome::Rejected { .. } | Outcome::Canceled) {
            decision.facts.provider_id = None;
            decision.facts.acknowledged = false;
        }
        return decision;
    }
    match outcome {
        Outcome::Succeeded => success(s, found),
        Outcome::Rejected { code } => {
            let mut decision = if s.stays_payable() {
                to_the_shopper(s, "", Some(s.entered_at), found)
            } else {
                moved(State::Rejected).knowing(found)
            };
            decision.facts.decline_code = Some(code.clone());
            decision
        }
        // Declined before, and closed now: that was the end of it.
        Outcome::Canceled if s.stays_payable() && s.was_declined && !s.is_unwanted() => {
            moved(State::Rejected).knowing(found)
        }
        Outcome::Canceled => {
            let why = if s.is_canceling() { CanceledWhy::Expired } else { CanceledWhy::ByProvider };
            let why = if s.is_unwanted() { CanceledWhy::ByShopper } else { why };
            moved(State::Canceled).because(why).knowing(found)
        }
        Outcome::Reversed => reversed(s, found),
        Outcome::ActionRequired { url, expires_at } => to_the_shopper(s, url, *expires_at, found),
        Outcome::Processing => {
            let mut decision = if s.state == State::RequiresReview {
                unchanged()
            } else {
                moved(State::PendingConfirmation).with(Effect::Lookup)
            };
            decision = decision.knowing(found);
            decision.facts.acknowledged = true;
            decision.facts.action_done = true;
            decision
        }
    }
}

/// The object can be paid by the shopper alone, who is asked to, or who was too late: then it is
/// cancelled at the provider.
fn to_the_shopper(
    s: &Snapshot,
    url: &str,
    expires_at: Option<Timestamp>,
    found: &Found,
) -> Decision {
    // What nobody can cancel any more stays with the person who looks at it.
    if s.state == State::RequiresReview && !cancels_once(s) {
        return unchanged().knowing(found).acknowledging();
    }
    let mut decision = moved(State::RequiresAction).knowing(found).acknowledging();
    // Action news for something in review, or declined before, finds its time already over.
    let late = s.state == State::RequiresReview || (s.stays_payable() && s.was_declined);
    let expires_at = if late { Some(s.entered_at) } else { expires_at };
    decision.facts.action = Some((url.to_owned(), expires_at));
    decision
}

/// The effect exists. Whether the order takes it depends on the order as it is now.
fn success(s: &Snapshot, found: &Found) -> Decision {
    let mut decision = moved(State::Succeeded).knowing(found);
    decision.facts.effect = found.amount.or(s.amount);
    // A refund that was refused and a parcel whose order was given up are told to a person too.
    if s.state.is_void() || s.is_unwanted() {
        decision = decision.odd(Anomaly::LateSuccess);
    }
    let Some(order) = s.order else { return decision };
    let taken = order.state == OrderState::AwaitingPayment && order.goods_available;
    decision.with(if taken { Effect::TakePayment } else { Effect::OweRefund })
}

/// Whether a cancel exists that was never tried.
fn cancels_once(s: &Snapshot) -> bool {
    s.steps.iter().any(|step| step.cancels && step.first_sent_at.is_none())
}

fn reversed(s: &Snapshot, found: &Found) -> Decision {
    let decision = moved(State::Reversed).knowing(found).with(Effect::Alert(Alert::Reversed));
    if s.order.is_some() { decision.with(Effect::PaymentUndone) } else { decision }
}

/// What differs between the provider's record and ours, if anything.
fn mismatch(s: &Snapshot, found: &Found, outcome: &Outcome) -> Option<ReviewReason> {
    let differs = |ours: Option<&str>, theirs: Option<&str>| match (ours, theirs) {
        (Some(ours), Some(theirs)) => ours != theirs,
        (Some(_) | None, None) | (None, Some(_)) => false,
    };
    if differs(Some(&s.reference), found.reference.as_deref()) {
        return Some(ReviewReason::ReferenceMismatch);
    }
    if differs(s.account.as_deref(), found.account.as_deref()) {
        return Some(ReviewReason::AccountMismatch);
    }
    match (s.amount, found.amount) {
        (Some(ours), Some(theirs)) if ours.currency != theirs.currency => {
            Some(ReviewReason::CurrencyMismatch)
        }
        (Some(ours), Some(theirs)) if ours.minor != theirs.minor => {
            Some(ReviewReason::AmountMismatch)
        }
        // A success that names no amount proves nothing about ours.
        (Some(_), None) if *outcome == Outcome::Succeeded => Some(ReviewReason::AmountMismatch),
        (Some(_) | None, _) => None,
    }
}

/// The records differ: ask where one can ask; what a lookup says goes to a person.
fn contradicts(s: &Snapshot, reason: ReviewReason, found: &Found, channel: Channel) -> Decision {
    if channel != Channel::Lookup && s.capability.lookup.is_some() {
        let answered = s.state == State::Requested && channel == Channel::Answer;
        let decision = if answered { moved(State::PendingConfirmation) } else { unchanged() };
        return decision.odd(Anomaly::Mismatch).with(Effect::Lookup);
    }
    let mut decision = review(reason).odd(Anomaly::Mismatch).knowing(found);
    decision.facts.effect = found.amount;
    decision
}

/// An answer to a question about the outcome.
fn looked_up(s: &Snapshot, sent_at: Timestamp, own: bool, verdict: &Verdict) -> Decision {
    if !own {
        // The asker lost its lease: a success is still a fact, anything else is asked again.
        return match verdict {
            Verdict::Definitive(..) | Verdict::Contradicts(..) => told(s, None, verdict),
            Verdict::Accepted(_)
            | Verdict::NotSent
            | Verdict::NotExecuted(_)
            | Verdict::RetryLater { .. }
            | Verdict::Indeterminate
            | Verdict::Absent
            | Verdict::NoNews => unchanged(),
        };
    }
    match s.state {
        State::Rejected | State::Canceled if sent_at > s.entered_at => after_closing(s, verdict),
        State::Rejected | State::Canceled => unchanged().with(Effect::Lookup),
        // Asked before the success was known, it may be older news.
        State::Succeeded | State::Reversed if sent_at <= s.entered_at => told(s, None, verdict),
        State::Reversed if matches!(verdict, Verdict::Definitive(Outcome::Succeeded, _)) => {
            unchanged().odd(Anomaly::LateSuccess)
        }
        State::Succeeded | State::Reversed => after_success(s, verdict),
        State::Requested => told(s, None, verdict),
        State::RequiresReview if !s.review.is_none_or(ReviewReason::by_deadline) => {
            for_a_person(verdict)
        }
        State::RequiresReview
        | State::Created
        | State::RequiresAction
        | State::RetryScheduled
        | State::PendingConfirmation => match verdict {
            Verdict::Definitive(outcome, found) => {
                repeated(s, definitive(s, outcome, found, Channel::Lookup))
            }
            Verdict::Accepted(found) => still_accepted(s, found),
            Verdict::Contradicts(reason, found) => contradicts(s, *reason, found, Channel::Lookup),
            // What was never sent, or provably not executed, is not proven by a question.
            Verdict::Absent if s.steps.iter().all(Step::is_clean) => unchanged(),
            Verdict::Absent if proves_absence(s, sent_at) => {
                moved(State::Canceled).because(CanceledWhy::NeverExecuted)
            }
            // "Not found" proves nothing by itself; a lookup without an answer says nothing.
            Verdict::Absent
            | Verdict::NotSent
            | Verdict::NotExecuted(_)
            | Verdict::RetryLater { .. }
            | Verdict::Indeterminate
            | Verdict::NoNews => unchanged(),
        },
    }
}

/// What a fresh lookup finds is put before the person who decides; it decides nothing itself.
fn for_a_person(verdict: &Verdict) -> Decision {
    match verdict {
        Verdict::Definitive(Outcome::Succeeded, found) | Verdict::Contradicts(_, found) => {
            let mut decision = unchanged().knowing(found);
            decision.facts.effect = found.amount;
            decision
        }
        Verdict::Definitive(Outcome::Processing | Outcome::ActionRequired { .. }, found)
        | Verdict::Accepted(found) => unchanged().knowing(found).acknowledging(),
        Verdict::Definitive(..)
        | Verdict::NotSent
        | Verdict::NotExecuted(_)
        | Verdict::RetryLater { .. }
        | Verdict::Indeterminate
        | Verdict::Absent
        | Verdict::NoNews => unchanged(),
    }
}

/// The same state told again is a repeat; what it tells beside the state is kept.
fn repeated(s: &Snapshot, mut decision: Decision) -> Decision {
    if decision.to == Some(s.state) {
        decision.to = None;
        decision.effects.retain(|effect| *effect != Effect::Lookup);
    }
    decision
}

/// The object exists and waits for its next step; it moves only if that was never sent.
fn still_accepted(s: &Snapshot, found: &Found) -> Decision {
    if let Some(reason) = mismatch(s, found, &Outcome::Processing) {
        return contradicts(s, reason, found, Channel::Lookup);
    }
    let first = s.steps.iter().position(|step| !step.cancels);
    let next = s.steps.iter().filter(|step| !step.cancels).skip(1).find(|step| !step.accepted);
    let decision = match next {
        Some(step) if step.sends == 0 && !s.is_canceling() && s.state != State::RequiresReview => {
            let mut decision = moved(State::RetryScheduled);
            // The shopper has done their part: no waiting time is left to run out.
            decision.facts.action_done = s.state == State::RequiresAction;
            decision
        }
        Some(_) | None => unchanged(),
    };
    let decision = match first {
        Some(first) => decision.on_step(first, StepChange::Accepted),
        None => decision,
    };
    decision.knowing(found).acknowledging()
}

/// "Not found" is proof only where a bound is declared and everything sent ended before it.
fn proves_absence(s: &Snapshot, sent_at: Timestamp) -> bool {
    let bound = s.capability.lookup.and_then(|lookup| lookup.consistency_bound);
    match (bound, s.all_ended_at) {
        (Some(bound), Some(ended)) => {
            !s.acknowledged && s.provider_id.is_none() && sent_at > ended.after(bound)
        }
        (Some(_) | None, None) | (None, Some(_)) => false,
    }
}

/// What a lookup that was sent after closing says: the only thing that may reopen.
fn after_closing(s: &Snapshot, verdict: &Verdict) -> Decision {
    match verdict {
        // An object that waits for the shopper takes nothing without a step of ours, and none comes.
        Verdict::Definitive(Outcome::ActionRequired { .. }, _)
            if s.capability.needs_our_last_step =>
        {
            unchanged()
        }
        Verdict::Definitive(
            outcome @ (Outcome::Processing | Outcome::ActionRequired { .. }),
            found,
        ) => {
            if s.order.is_some_and(|order| order.later_open) {
                return unchanged().odd(Anomaly::LateNews).with(Effect::Lookup).knowing(found);
            }
            definitive(s, outcome, found, Channel::Lookup).odd(Anomaly::LateNews)
        }
        Verdict::Definitive(outcome @ (Outcome::Succeeded | Outcome::Reversed), found) => {
            definitive(s, outcome, found, Channel::Lookup)
        }
        Verdict::Contradicts(reason, found) => contradicts(s, *reason, found, Channel::Lookup),
        Verdict::Definitive(Outcome::Rejected { .. } | Outcome::Canceled, _)
        | Verdict::Accepted(_)
        | Verdict::NotSent
        | Verdict::NotExecuted(_)
        | Verdict::RetryLater { .. }
        | Verdict::Indeterminate
        | Verdict::Absent
        | Verdict::NoNews => unchanged(),
    }
}

/// News about something that has succeeded: only an undoing moves it.
fn after_success(s: &Snapshot, verdict: &Verdict) -> Decision {
    let undone = s.state == State::Reversed;
    match verdict {
        Verdict::Definitive(Outcome::Succeeded, found) => {
            let other = matches!((&s.provider_id, &found.provider_id), (Some(ours), Some(theirs)) if ours != theirs);
            if other {
                unchanged().odd(Anomaly::TwoEffects)
            } else if mismatch(s, found, &Outcome::Succeeded).is_some() && s.effect != found.amount
            {
                unchanged().odd(Anomaly::LateMismatch)
            } else {
                unchanged()
            }
        }
        Verdict::Definitive(Outcome::Reversed, found) if !undone => reversed(s, found),
        Verdict::Definitive(Outcome::Rejected { .. }, found)
            if !undone && s.capability.late_failure_reverses =>
        {
            reversed(s, found)
        }
        Verdict::Definitive(Outcome::Rejected { .. } | Outcome::Canceled, _) if !undone => {
            unchanged().odd(Anomaly::LateFailure)
        }
        Verdict::Contradicts(ReviewReason::TwoEffects, _) => unchanged().odd(Anomaly::TwoEffects),
        Verdict::Contradicts(..) => unchanged().odd(Anomaly::LateMismatch),
        Verdict::Definitive(..)
        | Verdict::Accepted(_)
        | Verdict::NotSent
        | Verdict::NotExecuted(_)
        | Verdict::RetryLater { .. }
        | Verdict::Indeterminate
        | Verdict::Absent
        | Verdict::NoNews => unchanged(),
    }
}

/// News that came by itself: a webhook, or an answer from the past.
///
/// A success whose facts match applies at once. Anything else wakes a lookup where there is one.
fn told(s: &Snapshot, occurred_at: Option<Timestamp>, verdict: &Verdict) -> Decision {
    let asks = s.capability.lookup.is_some();
    let (Verdict::Definitive(..) | Verdict::Contradicts(..) | Verdict::Accepted(_)) = verdict
    else {
        return unchanged();
    };
    match s.state {
        State::Succeeded | State::Reversed => {
            let decision = after_success(s, verdict);
            // An undoing is asked about before it is believed.
            if asks && decision.to.is_some() { unchanged().with(Effect::Lookup) } else { decision }
        }
        State::Rejected | State::Canceled => told_after_closing(s, occurred_at, verdict, asks),
        // Only a person closes it; what they decide on is asked for afresh.
        State::RequiresReview if !s.review.is_none_or(ReviewReason::by_deadline) => {
            unchanged().with(Effect::Lookup)
        }
        State::RequiresReview
        | State::Created
        | State::Requested
        | State::RequiresAction
        | State::RetryScheduled
        | State::PendingConfirmation => match verdict {
            Verdict::Definitive(outcome @ Outcome::Succeeded, found)
                if !asks || names_ours(s, found) || mismatch(s, found, outcome).is_some() =>
            {
                definitive(s, outcome, found, Channel::Told)
            }
            Verdict::Contradicts(reason, found) => contradicts(s, *reason, found, Channel::Told),
            Verdict::Definitive(..) | Verdict::Accepted(_) if asks => {
                news_of_ours(s, verdict).with(Effect::Lookup)
            }
            Verdict::Definitive(Outcome::Processing | Outcome::ActionRequired { .. }, _)
                if s.state == State::Requested =>
            {
                news_of_ours(s, verdict)
            }
            Verdict::Definitive(Outcome::Rejected { .. }, _) if !decline_speaks(s) => unchanged(),
            Verdict::Definitive(outcome, found) => definitive(s, outcome, found, Channel::Told),
            Verdict::Accepted(_) => news_of_ours(s, verdict),
            Verdict::NotSent
            | Verdict::NotExecuted(_)
            | Verdict::RetryLater { .. }
            | Verdict::Indeterminate
            | Verdict::Absent
            | Verdict::NoNews => unchanged(),
        },
    }
}

/// Whether an object names all of ours that it could: only then a success told by itself applies.
fn names_ours(s: &Snapshot, found: &Found) -> bool {
    let same_object = match (&s.provider_id, &found.provider_id) {
        (Some(ours), Some(theirs)) => ours == theirs,
        (Some(_) | None, None) | (None, Some(_)) => true,
    };
    same_object
        && found.reference.as_ref() == Some(&s.reference)
        && (s.account.is_none() || s.account == found.account)
}

/// What is told beside a state is kept only if it is about ours: an id, an object's existence.
fn news_of_ours(s: &Snapshot, verdict: &Verdict) -> Decision {
    let (found, exists) = match verdict {
        // The declined object may be another one than the object of an earlier send.
        Verdict::Definitive(Outcome::Rejected { .. }, _) if !decline_speaks(s) => {
            return unchanged();
        }
        Verdict::Definitive(Outcome::Processing | Outcome::ActionRequired { .. }, found)
        | Verdict::Accepted(found) => (found, true),
        Verdict::Definitive(_, found) => (found, false),
        Verdict::NotSent
        | Verdict::NotExecuted(_)
        | Verdict::RetryLater { .. }
        | Verdict::Indeterminate
        | Verdict::Absent
        | Verdict::NoNews
        | Verdict::Contradicts(..) => return unchanged(),
    };
    if mismatch(s, found, &Outcome::Processing).is_some() {
        return unchanged();
    }
    let decision = unchanged().knowing(found);
    if exists { decision.acknowledging() } else { decision }
}

fn told_after_closing(
    s: &Snapshot,
    occurred_at: Option<Timestamp>,
    verdict: &Verdict,
    asks: bool,
) -> Decision {
    let repeat = matches!(
        (s.state, verdict),
        (State::Rejected, Verdict::Definitive(Outcome::Rejected { .. }, _))
            | (State::Canceled, Verdict::Definitive(Outcome::Canceled, _))
    );
    if repeat {
        return unchanged();
    }
    if asks {
        return news_of_ours(s, verdict).with(Effect::Lookup);
    }
    match (occurred_at, verdict) {
        (Some(at), _) if at > s.entered_at => after_closing(s, verdict),
        (_, Verdict::Definitive(Outcome::Succeeded | Outcome::Reversed, found)) => {
            let mut decision = review(ReviewReason::EventTimeUndecided).odd(Anomaly::LateNews);
            decision.facts.effect = found.amount;
            decision
        }
        // No time to compare: a person has to.
        (
            None,
            Verdict::Definitive(Outcome::Processing | Outcome::ActionRequired { .. }, found),
        ) => review(ReviewReason::EventTimeUndecided)
            .odd(Anomaly::LateNews)
            .knowing(found)
            .acknowledging(),
        (Some(_) | None, _) => unchanged().odd(Anomaly::LateNews),
    }
}

/// The sender's time ran out: whatever it sent may have been executed.
fn lease_ended(s: &Snapshot) -> Decision {
    let decision = if s.state == State::Requested { unknown(s) } else { unchanged() };
    match s.steps.iter().position(|step| step.in_flight) {
        Some(step) => decision.on_step(step, StepChange::Tainted),
        None => decision,
    }
}

/// Time passed or the order changed: what has to end ends, as far as it provably can.
fn tick(s: &Snapshot, now: Timestamp) -> Decision {
    match s.state {
        State::Created | State::RetryScheduled if !s.must_end(now) => unchanged(),
        State::Created | State::RetryScheduled if s.is_void() || s.is_left_to_us() => {
            let why = if s.is_void() { CanceledWhy::NeverExecuted } else { CanceledWhy::Expired };
            moved(State::Canceled).because(given_up_or(s, why))
        }
        State::Created | State::RetryScheduled => match s.next_step(now) {
            Some(_) if now < s.deadline_at.after(s.cancel_grace) => unchanged(),
            Some(_) | None => review(ReviewReason::Deadline),
        },
        State::RequiresAction if now < s.action_until() && !s.is_unwanted() => unchanged(),
        State::RequiresAction if s.is_left_to_us() => {
            moved(State::Canceled).because(given_up_or(s, CanceledWhy::Expired))
        }
        State::RequiresAction if s.is_cancel_open(now) && !s.is_unheard(now) => unchanged(),
        State::RequiresAction => review(ReviewReason::NotCancelable),
        State::PendingConfirmation if now >= s.gives_up_at() => review(ReviewReason::Deadline),
        State::PendingConfirmation
        | State::Requested
        | State::RequiresReview
        | State::Succeeded
        | State::Rejected
        | State::Canceled
        | State::Reversed => unchanged(),
    }
}

/// Why something was canceled without an effect, if its order was not given up.
fn given_up_or(s: &Snapshot, why: CanceledWhy) -> CanceledWhy {
    let given_up = s.order.is_some_and(|order| {
        matches!(order.state, OrderState::CancelRequested | OrderState::Canceled)
    });
    if given_up { CanceledWhy::ByShopper } else { why }
}

/// A person's decision. Only in review, and only on what a lookup sent since then has shown.
fn operator(s: &Snapshot, act: Act) -> Decision {
    if s.state != State::RequiresReview {
        return unchanged();
    }
    let fresh = s.looked_up_at.is_some_and(|at| at >= s.entered_at);
    if s.can_ask() && !fresh {
        return unchanged().with(Effect::Lookup);
    }
    let visible = s.acknowledged || s.provider_id.is_some();
    match (act, s.effect) {
        (Act::AcceptEffect, Some(_)) => {
            let mut decision = success(s, &Found::default());
            decision.facts.effect = s.effect;
            decision
        }
        // What names no amount is accepted as it is: a parcel that a person found.
        (Act::AcceptEffect, None) if s.amount.is_none() => success(s, &Found::default()),
        (Act::RefundEffect, Some(effect)) if s.order.is_some() => {
            let mut decision = moved(State::Succeeded).with(Effect::OweRefund);
            decision.facts.effect = Some(effect);
            decision
        }
        (Act::Cancel, None) if !visible => moved(State::Canceled).because(CanceledWhy::Operator),
        (Act::AcceptEffect | Act::RefundEffect | Act::Cancel, _) => unchanged(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
