//! Stores what `decide` decides: one transaction with the history, the order and the outbox.
//!
//! There are no other writers of an operation's state. [`Engine::apply`] is the only place.

mod effects;

use std::{collections::BTreeSet, fmt::Display, sync::Arc, time::Duration};

use domain::{
    capability::{Capability, StepSpec},
    evidence::{Evidence, Verdict},
    id::{CheckoutId, OperationId},
    operation::{
        self, Alert, CanceledWhy, Decision, Effect, Kind, OrderFacts, Snapshot, State, StepChange,
        decide,
    },
    order::OrderState,
    plan::{Progress, next_due},
    schedule::{Timestamp, Timing},
};
use tokio::sync::Notify;

use crate::{
    Error, clock,
    hub::Hub,
    opening::Maker,
    provider::Provider,
    store::{
        Attempt, Goods, Named, Operation, Order, Step, Store, StoreError, Stored, Transition, Work,
    },
};

/// What every part of the engine shares.
pub struct Engine {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// Everyone who can be asked to move money.
    pub providers: Vec<Arc<dyn Provider>>,
    /// Every wait.
    pub timing: Timing,
    /// Who listens.
    pub hub: Hub,
    /// Wakes the worker.
    pub wake: Notify,
    /// This process, in leases.
    pub owner: String,
    /// Where shoppers come back to.
    pub public_url: String,
}

/// An operation with everything a decision about it needs.
pub struct Loaded {
    /// The operation.
    pub operation: Operation,
    /// Its stored steps: those whose bytes are known by now.
    pub steps: Vec<Step>,
    /// Its order.
    pub order: Order,
    /// What the order's other operations are.
    pub siblings: Vec<Operation>,
    /// Its requests, oldest first.
    pub attempts: Vec<Attempt>,
    /// The same as `decide` wants it.
    pub snapshot: Snapshot,
    /// The same as `plan` wants it.
    pub progress: Progress,
}

/// What an application of evidence left behind, to be acted on after the commit.
#[derive(Default)]
pub struct Outcome {
    /// Whose pages to tell.
    pub changed: BTreeSet<CheckoutId>,
    /// What was decided.
    pub decision: Decision,
    /// A provider to leave alone for a while.
    pub open_circuit: bool,
}

/// Scheduling changes that go with a decision: who owns the operation from now on.
#[derive(Clone, Default)]
pub enum Lease {
    /// As it was.
    #[default]
    Keep,
    /// Taken until then, with a new fence number.
    Take(Timestamp),
    /// Given back.
    Release,
}

/// The name of an incident: a person is told of it once while it lasts.
pub fn incident(alert: Alert, about: impl Display) -> String {
    format!("{alert}:{about}")
}

impl Loaded {
    /// The stored row of the step at this place, if it has bytes yet.
    pub fn row(&self, place: usize) -> Option<&Step> {
        let name = &self.snapshot.steps.get(place)?.name;
        self.steps.iter().find(|step| step.name == *name)
    }
}

/// The steps a kind can have, in order, the cancelling one last.
pub fn step_specs(capability: &Capability) -> impl Iterator<Item = (StepSpec, bool)> + '_ {
    let effects = capability.steps.iter().map(|spec| (*spec, false));
    effects.chain(capability.cancel.map(|spec| (spec, true)))
}

impl Engine {
    /// The provider of this name.
    pub fn provider(&self, name: &str) -> Option<&Arc<dyn Provider>> {
        self.providers.iter().find(|provider| provider.name() == name)
    }

    /// Says which providers are not set up any more although operations wait for them; the
    /// incident is over once they are set up again, or nothing waits.
    pub async fn tell_absent(&self, now: Timestamp) -> Result<(), StoreError> {
        let mut work = self.store.write().await?;
        for (name, unsettled) in work.count_unsettled().await? {
            let incident = format!("not-set-up:{name}");
            if unsettled == 0 || self.provider(&name).is_some() {
                work.close_alert(&incident, now).await?;
                continue;
            }
            let told = format!(
                "{name} is not set up any more. Operations with it that are not settled: \
                 {unsettled}; nothing is sent or asked for them until it is set up again"
            );
            tracing::warn!(provider = name, unsettled, "{told}");
            self.raise(work.as_mut(), &incident, "not_set_up", &told, now).await?;
        }
        work.commit().await
    }

    /// What the operation's provider promises for its kind.
    pub fn capability(&self, operation: &Operation) -> Result<Capability, Error> {
        self.provider(&operation.provider)
            .and_then(|provider| provider.capability(&operation.kind))
            .ok_or(Error::UnknownProvider)
    }

    /// Records a new operation with its first step, before anything is sent. Later steps follow
    /// when their bytes are known.
    pub async fn open(
        &self,
        work: &mut dyn Work,
        operation: &Operation,
        order: &Order,
        parent: Option<&Operation>,
        prefix: &str,
    ) -> Result<(), Error> {
        let step = self.make_step(operation, order, parent, 0, prefix)?;
        Ok(work.insert_operation(operation, &[step]).await?)
    }

    /// The key and the bytes of one step.
    pub fn make_step(
        &self,
        operation: &Operation,
        order: &Order,
        parent: Option<&Operation>,
        place: usize,
        prefix: &str,
    ) -> Result<Step, Error> {
        let provider = self.provider(&operation.provider).ok_or(Error::UnknownProvider)?;
        let capability = &self.capability(operation)?;
        let public_url = &self.public_url;
        let provider = provider.as_ref();
        Maker { provider, capability, operation, order, parent, public_url }.step(place, prefix)
    }

    /// Reads an operation and all that belongs to it.
    pub async fn load(&self, work: &mut dyn Work, id: OperationId) -> Result<Loaded, Error> {
        let operation = work.operation(id).await?.ok_or(Error::NotFound)?;
        let order = work.order(operation.order_id).await?.ok_or(Error::NotFound)?;
        let steps = work.steps(id).await?;
        let attempts = work.attempts(id).await?;
        let mut siblings = work.operations_of(operation.order_id).await?;
        siblings.retain(|sibling| sibling.id != id);
        let capability = self.capability(&operation)?;
        let facts = if operation.kind == Kind::PAYMENT {
            Some(OrderFacts {
                state: order.state,
                goods_available: goods_available(work, &order).await?,
                later_open: siblings.iter().any(|sibling| {
                    sibling.kind == Kind::PAYMENT
                        && sibling.attempt > operation.attempt
                        && (sibling.state.is_open() || sibling.state == State::RequiresReview)
                }),
            })
        } else {
            None
        };
        let mut snapshot = self.snapshot(&operation, &steps, &attempts, capability, facts);
        snapshot.given_up = is_given_up(&operation, &order);
        snapshot.was_shown = snapshot.capability.declined_stays_payable
            && work.was_in(id, &[State::RequiresAction]).await?;
        let progress = progress(&operation, &attempts);
        Ok(Loaded { operation, steps, order, siblings, attempts, snapshot, progress })
    }

    fn snapshot(
        &self,
        operation: &Operation,
        steps: &[Step],
        attempts: &[Attempt],
        capability: Capability,
        order: Option<OrderFacts>,
    ) -> Snapshot {
        let known = step_specs(&capability).map(|(spec, cancels)| {
            // Later steps get their bytes only when they are needed: they name the object.
            let virgin = || operation::Step {
                name: spec.name.to_owned(),
                cancels,
                window: spec.idempotency.map(|key| key.window),
                ..operation::Step::default()
            };
            steps.iter().find(|step| step.name == spec.name).map_or_else(virgin, step_facts)
        });
        let known = known.collect();
        let sends = attempts.iter().filter(|attempt| attempt.step.is_some());
        let all_ended_at = sends
            .map(|attempt| attempt.ended_at)
            .try_fold(Timestamp::default(), |latest, end| end.map(|end| latest.max(end)));
        Snapshot {
            state: operation.state,
            entered_at: operation.entered_at,
            amount: capability.names_amount.then_some(operation.amount),
            reference: operation.reference.clone(),
            account: operation.account.clone(),
            provider_id: operation.provider_operation_id.clone(),
            acknowledged: operation.acknowledged,
            unknown_since: operation.unknown_since,
            deadline_at: operation.deadline_at,
            action_expires_at: operation.action_expires_at,
            review: operation.review_reason,
            effect: operation.effect,
            steps: known,
            looked_up_at: operation.looked_up_at,
            all_ended_at,
            capability,
            cancel_grace: self.timing.cancel_grace,
            given_up: false,
            was_shown: false,
            was_declined: operation.decline_code.is_some(),
            order,
        }
    }

    /// Lets `decide` judge the evidence and stores its decision with everything that goes with it.
    pub async fn apply(
        &self,
        work: &mut dyn Work,
        mut loaded: Loaded,
        evidence: &Evidence,
        lease: Lease,
        now: Timestamp,
    ) -> Result<Outcome, Error> {
        let decision = decide(&loaded.snapshot, evidence, now);
        let before = loaded.operation.clone();
        self.keep_facts(work, &mut loaded, &decision, evidence, now).await?;
        match lease {
            Lease::Keep => {}
            Lease::Take(until) if decision.may_send => {
                take(&mut loaded.operation, &self.owner, until)
            }
            Lease::Take(_) => {}
            Lease::Release => {
                loaded.operation.lease_owner = None;
                loaded.operation.lease_until = None;
            }
        }
        let mut outcome = Outcome { decision, ..Outcome::default() };
        let ticks =
            self.keep_order(work, &mut loaded, &before, &mut outcome, evidence, now).await?;
        self.keep_schedule(&mut loaded, &before, &outcome.decision, evidence, now);
        loaded.operation.version = before.version + 1;
        match work.update_operation(&loaded.operation, before.version).await? {
            Stored::Done => {}
            Stored::Stale => return Err(Error::Stale),
        }
        outcome.changed.insert(loaded.order.checkout_id);
        self.log(&before, &loaded.operation, evidence, &outcome.decision);
        if ticks {
            for sibling in loaded.siblings.iter().filter(|sibling| sibling.state.is_open()) {
                // One whose provider is no longer set up must not hold this up.
                if self.capability(sibling).is_err() {
                    continue;
                }
                let loaded = self.load(work, sibling.id).await?;
                let told =
                    Box::pin(self.apply(work, loaded, &Evidence::Tick, Lease::Keep, now)).await?;
                outcome.changed.extend(told.changed);
            }
        }
        Ok(outcome)
    }

    /// The facts beside the state: ids, the step's end, the effect, the reasons.
    async fn keep_facts(
        &self,
        work: &mut dyn Work,
        loaded: &mut Loaded,
        decision: &Decision,
        evidence: &Evidence,
        now: Timestamp,
    ) -> Result<(), Error> {
        let facts = &decision.facts;
        let ids = |it: &Operation| (it.provider_operation_id.is_some(), it.effect_id.is_some());
        let before = ids(&loaded.operation);
        if let Some(id) = &facts.provider_id {
            self.keep_provider_id(work, loaded, id, evidence, now).await?;
        }
        if let Some((place, change)) = facts.step {
            self.keep_step(work, loaded, place, change, now).await?;
        }
        let operation = &mut loaded.operation;
        operation.acknowledged |= facts.acknowledged;
        if let Some((url, expires_at)) = &facts.action {
            operation.action_url = Some(url.clone());
            operation.action_expires_at = *expires_at;
        }
        if facts.action_done {
            operation.action_url = None;
            operation.action_expires_at = None;
        }
        operation.effect = facts.effect.or(operation.effect);
        if operation.effect_id.is_none() {
            operation.effect_id.clone_from(&facts.effect_id);
        }
        if let Some(to) = decision.to {
            operation.state = to;
            operation.entered_at = now;
            operation.review_reason = None;
            if to.is_void() || to == State::Succeeded {
                operation.confirmed_at = Some(now);
                operation.confirmed_by = Some(evidence.source().to_owned());
            }
            match to {
                State::PendingConfirmation if operation.unknown_since.is_none() => {
                    operation.unknown_since = Some(now);
                    operation.lookups = 0;
                    operation.replays = 0;
                }
                State::PendingConfirmation | State::Requested | State::RequiresReview => {}
                State::RequiresAction => {
                    operation.unknown_since = None;
                    operation.lookups = 0;
                }
                State::Created
                | State::RetryScheduled
                | State::Succeeded
                | State::Rejected
                | State::Canceled
                | State::Reversed => operation.unknown_since = None,
            }
        }
        operation.review_reason = facts.review.or(operation.review_reason);
        operation.decline_code = facts.decline_code.clone().or(operation.decline_code.take());
        operation.canceled_why = facts.canceled_why.or(operation.canceled_why);
        if operation.state != State::Canceled {
            operation.canceled_why = None::<CanceledWhy>;
        }
        let learned = ids(operation) != before;
        let undone = operation.refunds.is_some() && decision.to.is_some_and(State::is_void);
        if learned || undone {
            self.wake_events(work, loaded, now).await?;
        }
        self.keep_alarms(work, loaded, decision, evidence, now).await
    }

    /// A provider's id belongs to one operation of ours; a second claimant is an anomaly.
    async fn keep_provider_id(
        &self,
        work: &mut dyn Work,
        loaded: &mut Loaded,
        id: &str,
        evidence: &Evidence,
        now: Timestamp,
    ) -> Result<(), Error> {
        let operation = &mut loaded.operation;
        if operation.provider_operation_id.is_some() {
            return Ok(());
        }
        let holder = work.find_operation(&operation.provider, Named::ProviderId(id)).await?;
        if holder.is_some_and(|holder| holder != operation.id) {
            let detail = format!("the provider's object {id} belongs to another operation");
            let kind = operation::Anomaly::Mismatch;
            work.insert_anomaly(
                Some(operation.id),
                kind,
                evidence.source(),
                evidence.name(),
                &detail,
                now,
            )
            .await?;
            work.raise_alert(&format!("shared-object:{id}"), "anomaly", &detail, now).await?;
            return Ok(());
        }
        operation.provider_operation_id = Some(id.to_owned());
        Ok(())
    }

    /// Judges events again that name what is known of an operation by now, or what it gives back:
    /// they may have come before we knew it, or waited to see whether it was made by us.
    async fn wake_events(
        &self,
        work: &mut dyn Work,
        loaded: &Loaded,
        now: Timestamp,
    ) -> Result<(), Error> {
        let operation = &loaded.operation;
        let paid = loaded.siblings.iter().find(|it| Some(it.id) == operation.refunds);
        let known = paid.into_iter().chain([operation]);
        let names = known.flat_map(|it| [it.provider_operation_id.clone(), it.effect_id.clone()]);
        let names: Vec<String> = names.flatten().collect();
        Ok(work.wake_unmatched(&operation.provider, &names, now).await?)
    }

    async fn keep_step(
        &self,
        work: &mut dyn Work,
        loaded: &mut Loaded,
        place: usize,
        change: StepChange,
        now: Timestamp,
    ) -> Result<(), Error> {
        let Some(named) = loaded.snapshot.steps.get(place) else { return Ok(()) };
        let Some(step) = loaded.steps.iter_mut().find(|step| step.name == named.name) else {
            return Ok(());
        };
        let operation = &mut loaded.operation;
        match change {
            StepChange::Sent => {
                step.in_flight = true;
                step.sends += 1;
                step.first_sent_at = step.first_sent_at.or(Some(now));
                if step.tainted && !step.cancels {
                    operation.replays += 1;
                }
            }
            StepChange::EndedClean { clear_window } => {
                step.in_flight = false;
                operation.clean_sends += 1;
                if clear_window {
                    step.first_sent_at = None;
                }
            }
            StepChange::Tainted => {
                step.in_flight = false;
                step.tainted = true;
            }
            StepChange::Accepted => {
                step.in_flight = false;
                step.tainted = true;
                step.accepted = true;
            }
        }
        Ok(work.update_step(step).await?)
    }

    /// When to look at it again. News that moves nothing leaves the time it had.
    fn keep_schedule(
        &self,
        loaded: &mut Loaded,
        before: &Operation,
        decision: &Decision,
        evidence: &Evidence,
        now: Timestamp,
    ) {
        let operation = &mut loaded.operation;
        let asked = decision.effects.contains(&Effect::Lookup);
        let closed = !operation.state.is_open() && operation.state != State::RequiresReview;
        if let Evidence::Lookup { own_lease: true, verdict, sent_at } = evidence {
            operation.lookups += 1;
            let says = !matches!(verdict, Verdict::NoNews | Verdict::Indeterminate);
            if says {
                operation.looked_up_at = Some(*sent_at);
            }
            // Late news is asked about until an answer comes, but not for ever.
            operation.lookup_wanted =
                closed && (asked || (!says && before.lookup_wanted && operation.lookups < 24));
        } else if asked && closed {
            operation.lookup_wanted = true;
            operation.lookups = if before.lookup_wanted { operation.lookups } else { 0 };
        }
        let steps = loaded.steps.iter().any(|step| step.in_flight);
        let capability = loaded.snapshot.capability.clone();
        let facts =
            loaded.snapshot.order.map(|facts| OrderFacts { state: loaded.order.state, ..facts });
        let snapshot = self.snapshot(operation, &loaded.steps, &loaded.attempts, capability, facts);
        let progress = progress(operation, &loaded.attempts);
        let tick_of_order = matches!(evidence, Evidence::Tick) && snapshot.is_unwanted();
        let keeps = decision.to.is_none()
            && matches!(
                evidence,
                Evidence::Webhook { .. }
                    | Evidence::Hint
                    | Evidence::Answer { own_lease: false, .. }
            );
        let regular = if keeps && before.next_action_at.is_some() {
            before.next_action_at
        } else {
            next_due(&snapshot, &progress, &self.timing, decision.facts.wait, clock::jitter(), now)
        };
        let by_news = matches!(
            evidence,
            Evidence::Webhook { .. }
                | Evidence::Hint
                | Evidence::Operator(_)
                | Evidence::Answer { own_lease: false, .. }
        );
        let at_once = (asked && by_news && self.may_wake(loaded, evidence, now)) || tick_of_order;
        let operation = &mut loaded.operation;
        // A time beyond the longest wait would be taken for a clock's fault, and be due at once.
        let far = now.after(self.timing.longest_wait() / 2);
        operation.next_action_at = if at_once { Some(now) } else { regular.map(|at| at.min(far)) };
        if steps && operation.next_action_at.is_none() {
            operation.next_action_at = operation.lease_until;
        }
    }

    /// Wake-ups leave room under the caps for the regular schedule.
    fn may_wake(&self, loaded: &Loaded, evidence: &Evidence, now: Timestamp) -> bool {
        let start = now.before(self.timing.hour);
        let recent = loaded.attempts.iter().filter(|attempt| attempt.sent_at > start).count();
        let newest = loaded.attempts.iter().map(|attempt| attempt.sent_at).max();
        let spare = self.timing.requests_max as usize;
        let hint = matches!(evidence, Evidence::Hint);
        let pause = self.timing.lookup_wait(1, u32::MAX / 2);
        let rested = newest.is_none_or(|at| now.since(at) >= pause);
        if hint { recent < spare / 2 && rested } else { recent < spare.saturating_sub(4) }
    }

    fn log(&self, before: &Operation, after: &Operation, evidence: &Evidence, decision: &Decision) {
        if decision.to.is_some() {
            tracing::info!(
                operation_id = %after.id,
                business_state = %after.state,
                from_state = %before.state,
                source = evidence.source(),
                evidence = evidence.name(),
                "operation is {}", after.state
            );
            metrics::counter!("payonce_transitions_total", "kind" => after.kind.as_str().to_owned(),
                "to" => after.state.as_str(), "source" => evidence.source())
            .increment(1);
        }
    }

    /// Tells open pages and the worker; only after the commit.
    pub fn announce(&self, outcome: &Outcome) {
        for checkout in &outcome.changed {
            self.hub.tell(*checkout);
        }
        self.wake.notify_one();
    }
}

/// Takes an operation for this process.
pub fn take(operation: &mut Operation, owner: &str, until: Timestamp) {
    operation.fence += 1;
    operation.lease_owner = Some(owner.to_owned());
    operation.lease_until = Some(until);
}

/// Whether the order's goods are kept for it, or can be at this moment.
pub async fn goods_available(work: &mut dyn Work, order: &Order) -> Result<bool, Error> {
    match order.goods {
        Goods::Reserved => Ok(true),
        Goods::Sold => Ok(false),
        Goods::Free => {
            let stock = work.stock().await?;
            Ok(order.lines.iter().all(|line| {
                stock.iter().any(|(sku, free)| sku == line.sku.as_str() && *free >= line.quantity)
            }))
        }
    }
}

fn step_facts(step: &Step) -> operation::Step {
    operation::Step {
        name: step.name.clone(),
        cancels: step.cancels,
        tainted: step.tainted,
        in_flight: step.in_flight,
        accepted: step.accepted,
        first_sent_at: step.first_sent_at,
        sends: step.sends,
        window: step.window_ms.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis),
    }
}

fn progress(operation: &Operation, attempts: &[Attempt]) -> Progress {
    let newest = |lookup: bool| {
        let of_kind = attempts.iter().filter(|attempt| attempt.step.is_none() == lookup);
        of_kind.map(|attempt| attempt.sent_at).max()
    };
    Progress {
        lease_until: operation.lease_until,
        lookups: operation.lookups,
        replays: operation.replays,
        clean_sends: operation.clean_sends,
        last_lookup_at: operation.looked_up_at,
        last_send_at: newest(false),
        lookup_wanted: operation.lookup_wanted,
    }
}

/// A row of the history for a change of the order that moved no operation.
pub fn order_transition(
    operation: &Operation,
    order: &Order,
    evidence: &str,
    source: &str,
    now: Timestamp,
) -> Transition {
    Transition {
        operation_id: operation.id,
        order_id: order.id,
        from: Some(operation.state),
        to: operation.state,
        evidence: evidence.to_owned(),
        source: source.to_owned(),
        version: operation.version,
        order_sequence: order.sequence,
        order_state: order.state,
        at: now,
    }
}

/// Whether an order that was paid once no longer needs its parcel.
fn is_given_up(operation: &Operation, order: &Order) -> bool {
    operation.kind == Kind::SHIPMENT
        && matches!(
            order.state,
            OrderState::Refunded
                | OrderState::RefundDue
                | OrderState::PaymentReversed
                | OrderState::Canceled
        )
}

/// Whether money of this order may still move without a new act of somebody.
pub fn unsettled(operation: &Operation) -> bool {
    operation.state.is_open() || operation.state == State::RequiresReview
}

/// Whether an order still waits for one of its payments to tell.
pub fn waits(order: &Order) -> bool {
    matches!(order.state, OrderState::AwaitingPayment | OrderState::CancelRequested)
}
