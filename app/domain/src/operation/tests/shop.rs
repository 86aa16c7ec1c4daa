//! A shop in a few lines around `plan` and `decide`, talking to the model of a provider.
//!
//! It stores what a decision says, as the engine does, and checks the invariants at every step.

use std::time::Duration;

use super::{
    fixtures::{AMOUNT, at, created},
    provider::{Fate, Late, Provider, Status},
};
use crate::{
    capability::{Capability, strategy},
    evidence::{Act, Evidence, NotExecuted, Verdict},
    operation::{CanceledWhy, Decision, Effect, Facts, Snapshot, State, StepChange, decide},
    order::OrderState,
    plan::{Next, Progress, next_due, plan},
    schedule::{Timestamp, Timing},
};

/// What happens to one request on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    None,
    /// Executed; the answer never arrives.
    AnswerLost,
    /// Not executed, and nobody says so.
    RequestLost,
    /// The caller gives up while the request is still on its way.
    ExecutedLate,
    /// The worker sleeps before sending, for longer than its lease.
    WorkerPaused,
    /// The same, and then the connection is refused.
    PausedAndRefused,
    Refused,
    TooMany,
    Unauthorized,
    Malformed,
    /// 500, executed.
    ServerError,
}

impl Fault {
    pub const ALL: [Self; 11] = [
        Self::None,
        Self::AnswerLost,
        Self::RequestLost,
        Self::ExecutedLate,
        Self::WorkerPaused,
        Self::PausedAndRefused,
        Self::Refused,
        Self::TooMany,
        Self::Unauthorized,
        Self::Malformed,
        Self::ServerError,
    ];
}

/// How far behind a lookup may read.
const OLDEST_REPLICA: Duration = Duration::from_secs(50);

/// An answer that waits to be recorded.
#[derive(Clone, Debug)]
pub struct Flight {
    step: Option<usize>,
    fence: u64,
    sent_at: Timestamp,
    verdict: Verdict,
    cached: bool,
}

/// A send as it was made, for the checks.
struct Sent {
    step: usize,
    at: Timestamp,
    ended: Option<Timestamp>,
    clean: bool,
}

pub struct Shop {
    pub s: Snapshot,
    pub provider: Provider,
    pub flights: Vec<Flight>,
    pub now: Timestamp,
    pub history: Vec<State>,
    pub order_effects: Vec<Effect>,
    progress: Progress,
    pub timing: Timing,
    fence: u64,
    sends: Vec<Sent>,
    requests: Vec<(Timestamp, bool)>,
    due: Option<Timestamp>,
    pub by_operator: bool,
    turns: u32,
}

impl Shop {
    pub fn new(capability: Capability, wrong_amount: bool) -> Self {
        let s = Snapshot { entered_at: at(0), ..created(capability.clone()) };
        Self {
            provider: Provider::new(capability, wrong_amount),
            s,
            flights: Vec::new(),
            now: at(0),
            history: vec![State::Created],
            order_effects: Vec::new(),
            progress: Progress::default(),
            timing: Timing::default(),
            fence: 0,
            sends: Vec::new(),
            requests: Vec::new(),
            due: Some(at(0)),
            by_operator: false,
            turns: 0,
        }
    }

    /// Lets `decide` see evidence and stores what it says.
    pub fn learn(&mut self, evidence: &Evidence) -> Decision {
        let before = self.s.state;
        let decision = decide(&self.s, evidence, self.now);
        self.keep(&decision.facts, evidence);
        if let Some(to) = decision.to {
            self.enter(to, &decision.facts);
            self.check_transition(before, evidence, &decision);
            self.history.push(to);
        }
        for effect in &decision.effects {
            if matches!(effect, Effect::TakePayment | Effect::OweRefund) {
                self.order_effects.push(*effect);
            }
            if *effect == Effect::TakePayment {
                self.s.order.as_mut().unwrap().state = OrderState::Paid;
            }
        }
        self.schedule(&decision, evidence);
        decision
    }

    fn keep(&mut self, facts: &Facts, evidence: &Evidence) {
        if let Some((place, change)) = facts.step {
            let step = &mut self.s.steps[place];
            step.in_flight = change == StepChange::Sent;
            match change {
                StepChange::Sent => {
                    step.sends += 1;
                    step.first_sent_at = step.first_sent_at.or(Some(self.now));
                    self.progress.replays += u32::from(step.tainted && !step.cancels);
                }
                StepChange::EndedClean { clear_window } => {
                    self.progress.clean_sends += 1;
                    if clear_window {
                        step.first_sent_at = None;
                    }
                }
                StepChange::Tainted => step.tainted = true,
                StepChange::Accepted => (step.tainted, step.accepted) = (true, true),
            }
        }
        let s = &mut self.s;
        s.provider_id = s.provider_id.take().or_else(|| facts.provider_id.clone());
        s.acknowledged |= facts.acknowledged;
        if let Some((_, expires_at)) = &facts.action {
            s.action_expires_at = *expires_at;
        }
        if facts.action_done {
            s.action_expires_at = None;
        }
        s.effect = facts.effect.or(s.effect);
        s.was_declined |= facts.decline_code.is_some();
        if let Evidence::Lookup { sent_at, own_lease: true, verdict } = evidence {
            self.progress.lookups += 1;
            if *verdict != Verdict::NoNews {
                s.looked_up_at = Some(*sent_at);
            }
        }
    }

    fn enter(&mut self, to: State, facts: &Facts) {
        let s = &mut self.s;
        (s.state, s.entered_at, s.review) = (to, self.now, facts.review);
        if to == State::RequiresAction {
            s.was_shown = true;
            self.provider.was_shown = true;
        }
        match to {
            State::PendingConfirmation if s.unknown_since.is_none() => {
                s.unknown_since = Some(self.now);
                (self.progress.lookups, self.progress.replays) = (0, 0);
            }
            State::PendingConfirmation | State::Requested | State::RequiresReview => {}
            State::Created
            | State::RequiresAction
            | State::RetryScheduled
            | State::Succeeded
            | State::Rejected
            | State::Canceled
            | State::Reversed => s.unknown_since = None,
        }
    }

    fn schedule(&mut self, decision: &Decision, evidence: &Evidence) {
        let ended = self
            .sends
            .iter()
            .try_fold(Timestamp::default(), |latest, sent| Some(latest.max(sent.ended?)));
        self.s.all_ended_at = ended;
        let asked = decision.effects.contains(&Effect::Lookup);
        let closed = !self.s.state.is_open() && self.s.state != State::RequiresReview;
        if matches!(evidence, Evidence::Lookup { own_lease: true, .. }) {
            self.progress.lookup_wanted = closed && asked;
        } else if asked && closed {
            self.progress.lookup_wanted = true;
        }
        self.progress.last_lookup_at = self.s.looked_up_at;
        let wait = decision.facts.wait;
        let random = u32::MAX / 2;
        let due = next_due(&self.s, &self.progress, &self.timing, wait, random, self.now);
        let by_news = matches!(evidence, Evidence::Webhook { .. } | Evidence::Hint);
        self.due = if asked && by_news { Some(self.now) } else { due };
    }

    /// A worker takes the operation when it is due, and its request meets a fault.
    pub fn work(&mut self, fault: Fault, fate: Fate) {
        // A rule that is broken may loop for ever; a test may not.
        self.turns += 1;
        assert!(self.turns < 2000, "no end in sight: {:?}", self.s);
        let Some(due) = self.due else { return };
        self.now = self.now.max(due);
        let leased = self.progress.lease_until.is_some_and(|until| until > self.now);
        if leased {
            self.now = self.now.max(self.progress.lease_until.unwrap());
        }
        self.forget();
        self.progress.lease_until = None;
        self.fence += 1;
        if self.s.steps.iter().any(|step| step.in_flight) {
            self.learn(&Evidence::LeaseEnded);
            return;
        }
        match plan(&self.s, &self.progress, &self.timing, self.now) {
            Next::EndLease => {
                self.learn(&Evidence::LeaseEnded);
            }
            Next::Tick => {
                self.learn(&Evidence::Tick);
            }
            Next::Wait => {
                self.learn(&Evidence::LeaseEnded);
            }
            Next::Send(step) => self.send(step, fault, fate),
            Next::Lookup => self.look_up(fault),
        }
    }

    fn capped(&mut self, mutating: Option<u32>) -> bool {
        let until = self.timing.capped_until(&self.requests, mutating, self.now);
        // The cap must not hide the end of the time.
        let end = Some(self.s.gives_up_at()).filter(|end| *end > self.now);
        if let Some(until) = until {
            self.due = Some(end.map_or(until, |end| until.min(end)));
        }
        until.is_some()
    }

    fn send(&mut self, step: usize, fault: Fault, fate: Fate) {
        if self.capped(Some(self.s.steps_after(step))) {
            return;
        }
        let lease_until = self.now.after(self.timing.lease);
        let tainted = self.s.steps[step].tainted;
        if !self.learn(&Evidence::Claim { step, lease_until }).may_send {
            self.due = Some(self.now.after(Duration::from_secs(5)));
            return;
        }
        self.check_send(step, tainted, lease_until);
        self.progress.lease_until = Some(lease_until);
        self.progress.last_send_at = Some(self.now);
        self.due = Some(lease_until);
        self.requests.push((self.now, true));
        self.sends.push(Sent { step, at: self.now, ended: None, clean: false });
        let mut flight = Flight {
            step: Some(step),
            fence: self.fence,
            sent_at: self.now,
            verdict: Verdict::Indeterminate,
            cached: false,
        };
        let mut late = Late { step, fate, sent_at: self.now, fence: None };
        match fault {
            Fault::None => {
                (flight.verdict, flight.cached) = self.provider.execute(step, fate, self.now);
            }
            Fault::AnswerLost | Fault::ServerError => {
                self.provider.execute(step, fate, self.now);
            }
            Fault::RequestLost => {}
            Fault::ExecutedLate => self.provider.late.push(late),
            Fault::WorkerPaused => {
                late.fence = Some(self.fence);
                self.provider.late.push(late);
                return;
            }
            Fault::PausedAndRefused => {
                // Its answer is recorded by a worker whose lease is over.
                self.fence += 1;
                flight.verdict = Verdict::NotSent;
            }
            Fault::Refused => flight.verdict = Verdict::NotSent,
            Fault::TooMany => flight.verdict = Verdict::RetryLater { after: None },
            Fault::Unauthorized => {
                flight.verdict = Verdict::NotExecuted(NotExecuted::Configuration);
            }
            Fault::Malformed => flight.verdict = Verdict::NotExecuted(NotExecuted::OurFault),
        }
        self.flights.push(flight);
    }

    fn look_up(&mut self, fault: Fault) {
        if self.capped(None) {
            return;
        }
        self.progress.lease_until = Some(self.now.after(self.timing.lease));
        self.due = self.progress.lease_until;
        self.requests.push((self.now, false));
        let lag = match fault {
            Fault::None => Duration::ZERO,
            Fault::AnswerLost | Fault::ServerError => Duration::from_secs(20),
            Fault::RequestLost | Fault::ExecutedLate => OLDEST_REPLICA,
            Fault::WorkerPaused
            | Fault::PausedAndRefused
            | Fault::Refused
            | Fault::TooMany
            | Fault::Unauthorized
            | Fault::Malformed => {
                self.flights.push(self.question(Verdict::NoNews));
                return;
            }
        };
        let seen = self.now.before(lag);
        let verdict = self.provider.look_up(self.s.provider_id.as_deref(), seen);
        self.flights.push(self.question(verdict));
    }

    fn question(&self, verdict: Verdict) -> Flight {
        Flight { step: None, fence: self.fence, sent_at: self.now, verdict, cached: false }
    }

    /// Records an answer, under the lease of its request if that still holds.
    pub fn deliver(&mut self, place: usize) {
        if self.flights.is_empty() {
            return;
        }
        let flight = self.flights.remove(place % self.flights.len());
        let holds = self.progress.lease_until.is_some_and(|until| until > self.now);
        let own_lease = holds && flight.fence == self.fence;
        let Flight { step, sent_at, verdict, cached, .. } = flight;
        if own_lease {
            self.progress.lease_until = None;
        }
        let evidence = match step {
            Some(step) => {
                let sent = self.sends.iter_mut().find(|it| it.step == step && it.at == sent_at);
                let sent = sent.unwrap();
                sent.ended = Some(self.now);
                sent.clean = verdict.keeps_clean();
                Evidence::Answer { step, sent_at, own_lease, cached, verdict }
            }
            None => Evidence::Lookup { sent_at, own_lease, verdict },
        };
        self.learn(&evidence);
    }

    /// A request that was on its way for long arrives, if the network still has it.
    pub fn arrive(&mut self, place: usize) {
        if self.provider.late.is_empty() {
            return;
        }
        let late = self.provider.late.remove(place % self.provider.late.len());
        let (verdict, cached) = self.provider.execute(late.step, late.fate, self.now);
        if let Some(fence) = late.fence {
            let (step, sent_at) = (Some(late.step), late.sent_at);
            self.flights.push(Flight { step, fence, sent_at, verdict, cached });
        }
    }

    /// Time goes on; the network forgets what it cannot have kept for so long.
    pub fn pass(&mut self, duration: Duration) {
        self.now = self.now.after(duration);
        self.forget();
    }

    fn forget(&mut self) {
        let now = self.now;
        let bound = self.s.capability.lookup.and_then(|lookup| lookup.consistency_bound);
        let sends = &self.sends;
        self.provider.late.retain(|late| {
            let sent = sends.iter().find(|it| it.step == late.step && it.at == late.sent_at);
            let ended = sent.and_then(|sent| sent.ended);
            let in_bound = match (bound, ended) {
                // A declared bound covers the slowest execution and the oldest replica.
                (Some(bound), Some(ended)) => now.after(OLDEST_REPLICA) <= ended.after(bound),
                (Some(_) | None, None) | (None, Some(_)) => true,
            };
            in_bound && now < late.sent_at.after(Duration::from_secs(600))
        });
    }

    pub fn webhook(&mut self, place: usize, again: bool) {
        if self.provider.events.is_empty() {
            return;
        }
        let place = place % self.provider.events.len();
        let (at, verdict) = self.provider.events[place].clone();
        if !again {
            self.provider.events.remove(place);
        }
        self.learn(&Evidence::Webhook { occurred_at: Some(at), verdict });
    }

    /// Something at the provider moves without us: the shopper confirms, processing ends.
    pub fn elsewhere(&mut self, place: usize, well: bool) {
        if self.provider.objects.is_empty() {
            return;
        }
        let id = place % self.provider.objects.len();
        let payable = self.provider.stays_payable(id);
        let tries_again = self.s.capability.declined_stays_payable;
        let next = match (self.provider.objects[id].status(), well) {
            // Another card, with what the browser was told on the way back.
            (Status::Rejected, true) if payable => Status::Processing,
            (Status::Action, false) if tries_again => Status::Rejected,
            (Status::Action, true) => Status::Processing,
            (Status::Processing, true) => Status::Succeeded,
            (Status::Processing, false) => Status::Rejected,
            (Status::Succeeded, false) => Status::Reversed,
            (other, _) => other,
        };
        if next != self.provider.objects[id].status() {
            self.provider.change(id, next, self.now);
        }
    }

    /// The order is given up, or another payment of it succeeds.
    pub fn order_becomes(&mut self, state: OrderState) {
        let order = self.s.order.as_mut().unwrap();
        if order.state == OrderState::AwaitingPayment {
            order.state = state;
            self.learn(&Evidence::Tick);
            self.due = self.due.map(|_| self.now);
        }
    }

    pub fn operator(&mut self, act: Act) {
        let decision = self.learn(&Evidence::Operator(act));
        self.by_operator |= decision.to.is_some();
    }

    /// Faults stop: everything is answered until nothing more is due.
    pub fn settle(&mut self) {
        let start = self.s.deadline_at.max(self.now);
        for _ in 0..400 {
            self.forget();
            if !self.flights.is_empty() {
                self.deliver(0);
            } else if !self.provider.late.is_empty() {
                self.arrive(0);
            } else if self.s.state.is_open() || self.progress.lookup_wanted {
                self.work(Fault::None, Fate::Succeeds);
            } else {
                break;
            }
            self.check();
        }
        assert!(!self.s.state.is_open(), "still {} at {}", self.s.state, self.now);
        let published = start.after(self.s.cancel_grace * 2).after(self.timing.hour * 2);
        assert!(self.now <= published, "settled only at {}: {:?}", self.now, self.history);
        let effect = self.provider.effects() > 0;
        let shown = matches!(self.s.state, State::Succeeded | State::Reversed);
        if self.s.state != State::RequiresReview && !self.by_operator {
            assert_eq!(shown, effect, "at rest in {}: {:?}", self.s.state, self.history);
        }
    }

    /// What has to hold at every moment.
    pub fn check(&self) {
        assert!(self.provider.effects() <= 1, "two effects: {:?}", self.provider.objects);
        assert!(
            self.order_effects.len() <= 1,
            "the order was told twice: {:?}",
            self.order_effects
        );
        let hour = self.timing.hour;
        for (from, _) in &self.requests {
            let within = |it: &&(Timestamp, bool)| it.0 >= *from && it.0 < from.after(hour);
            let inside: Vec<_> = self.requests.iter().filter(within).collect();
            assert!(inside.len() <= 18 && inside.iter().filter(|it| it.1).count() <= 4);
        }
    }

    fn check_send(&self, step: usize, tainted: bool, lease_until: Timestamp) {
        if step < self.s.capability.steps.len() {
            assert!(self.now < self.s.deadline_at, "an effect was asked for after the deadline");
            assert!(!self.s.is_unwanted(), "an effect was asked for that the order cannot use");
            let strategy = strategy(&self.s.capability);
            assert!(!tainted || strategy.replay, "sent again without a key or a reference");
            let spec = self.s.capability.steps[step];
            let first = self.sends.iter().find(|it| it.step == step && !it.clean);
            if let (Some(first), Some(key)) = (first, spec.idempotency) {
                assert!(lease_until <= first.at.after(key.window * 3 / 4), "after the window");
            }
        }
    }

    fn check_transition(&self, from: State, evidence: &Evidence, decision: &Decision) {
        let operator = matches!(evidence, Evidence::Operator(_));
        let told = format!("{from} -> {} by {evidence:?}", self.s.state);
        if from == State::Succeeded {
            assert_eq!(self.s.state, State::Reversed, "{told}");
        }
        match self.s.state {
            State::Rejected | State::Canceled if !operator => {
                assert_eq!(self.provider.effects(), 0, "false failure: {told}");
                assert!(!self.provider.may_still_happen(), "too early a failure: {told}");
            }
            State::Succeeded if !operator => {
                assert_eq!(self.provider.effects(), 1, "false success: {told}");
                assert_eq!(self.s.effect, Some(AMOUNT), "{told}");
            }
            State::Created
            | State::Requested
            | State::RequiresAction
            | State::RetryScheduled
            | State::PendingConfirmation
            | State::RequiresReview
            | State::Succeeded
            | State::Rejected
            | State::Canceled
            | State::Reversed => {}
        }
        // The cause is on record.
        match self.s.state {
            State::Rejected => assert!(self.s.was_declined, "{told}"),
            State::Canceled => {
                let why = decision.facts.canceled_why;
                assert!(
                    why.is_some() && operator == (why == Some(CanceledWhy::Operator)),
                    "{told}"
                );
            }
            State::RequiresReview => assert!(decision.facts.review.is_some(), "{told}"),
            State::RequiresAction => assert!(decision.facts.action.is_some(), "{told}"),
            State::Requested => assert!(decision.may_send, "{told}"),
            State::RetryScheduled => {
                let next = self.s.next_step(self.now).map(|step| &self.s.steps[step]);
                assert!(next.is_none_or(|step| !step.tainted), "{told}");
            }
            State::Created | State::PendingConfirmation | State::Succeeded | State::Reversed => {}
        }
    }
}
