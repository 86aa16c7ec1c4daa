//! The worker: claim a lease, ask the provider, record. The only place that talks to providers.
//!
//! It takes no input and looks at the whole due set, so that a lost wake-up costs a moment and
//! never an operation. No transaction is open while a provider is awaited.

mod sweeps;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use domain::{
    evidence::{Evidence, Verdict},
    id::{AttemptId, OperationId},
    operation::{Alert, State},
    plan::{Next, next_due, plan},
    schedule::Timestamp,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Error, clock, crash,
    engine::{Engine, Lease, Loaded, incident, take},
    gate::Gate,
    provider::{Answer, Call, Question, Transport},
    store::{Attempt, AttemptEnd, Step, Stored, Work},
};

/// The longest the worker sleeps without looking.
const POLL: Duration = Duration::from_millis(1000);
/// How many due operations one look takes.
const BATCH: u32 = 64;

/// The worker's parts that its tasks share.
pub struct Worker {
    engine: Arc<Engine>,
    gates: HashMap<String, Gate>,
    busy: Mutex<HashSet<OperationId>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// A request that was granted, with its attempt committed.
struct Granted {
    operation: OperationId,
    attempt: Attempt,
    /// The step's place, for sends.
    place: Option<usize>,
    lease_until: Timestamp,
    request: Request,
    provider: String,
    state: State,
}

/// An operation that a task works on; free again when this is dropped, however that comes.
struct Busy<'a> {
    worker: &'a Worker,
    id: OperationId,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.worker.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        self.worker.engine.wake.notify_one();
    }
}

enum Request {
    Send(Call),
    Lookup(Question),
}

impl Worker {
    /// A worker that has not begun.
    pub fn new(engine: Arc<Engine>, stop: CancellationToken) -> Arc<Self> {
        let open_for = engine.timing.circuit_open;
        let gates = engine.providers.iter().map(|it| (it.name().to_owned(), Gate::new(open_for)));
        Arc::new(Self {
            gates: gates.collect(),
            engine,
            busy: Mutex::default(),
            tasks: TaskTracker::new(),
            stop,
        })
    }

    /// The operator's switch for one provider; false if there is no such provider.
    pub fn switch_sends(&self, provider: &str, on: bool) -> bool {
        self.gates.get(provider).map(|gate| gate.switch_sends(on)).is_some()
    }

    /// Works until told to stop; then waits for the requests on the wire.
    pub async fn run(self: Arc<Self>) {
        let mut sweeps = sweeps::Sweeps::new();
        while !self.stop.is_cancelled() {
            let next = match self.look().await {
                Ok(next) => next,
                Err(reason) => {
                    tracing::warn!(
                        reason = &reason as &dyn std::error::Error,
                        "the due set could not be read"
                    );
                    POLL
                }
            };
            sweeps.run(&self.engine).await;
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = self.engine.wake.notified() => {}
                () = tokio::time::sleep(next) => {}
            }
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Starts a task for everything due; says how long nothing will be.
    async fn look(self: &Arc<Self>) -> Result<Duration, Error> {
        let now = clock::now();
        let mut work = self.engine.store.read().await?;
        let horizon = now.after(self.engine.timing.longest_wait());
        // What belongs to a provider that is not set up any more waits, and holds up nobody.
        let providers: Vec<&str> = self.gates.keys().map(String::as_str).collect();
        let due = work.due(&providers, now, horizon, BATCH).await?;
        let next = work.next_due(&providers).await?;
        drop(work);
        for id in due {
            let fresh = self.busy.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
            if fresh {
                self.tasks.spawn(Arc::clone(self).work_on(id));
            }
        }
        let until = next.map_or(POLL, |at| at.since(now));
        Ok(until.clamp(Duration::from_millis(20), POLL))
    }

    /// Does the next thing with an operation that was free; it is free again afterwards.
    async fn work_on(self: Arc<Self>, id: OperationId) {
        let _busy = Busy { worker: &self, id };
        if let Err(reason) = self.step(id).await {
            tracing::warn!(operation_id = %id, reason = &reason as &dyn std::error::Error,
                "a step of the worker was not recorded; it will be looked at again");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Does the next thing with one operation.
    async fn step(&self, id: OperationId) -> Result<(), Error> {
        let Some(granted) = self.claim(id).await? else { return Ok(()) };
        crash::point("claim_committed");
        let answer = self.exchange(&granted).await;
        crash::point("after_answer");
        self.record(&granted, answer).await
    }

    /// Decides what to do, and commits the right to do it.
    async fn claim(&self, id: OperationId) -> Result<Option<Granted>, Error> {
        let engine = &self.engine;
        let mut work = engine.store.write().await?;
        let now = clock::not_before(work.newest_time().await?);
        let loaded = engine.load(work.as_mut(), id).await?;
        if !is_due(&loaded, now, now.after(engine.timing.longest_wait())) {
            return Ok(None);
        }
        let lease_over = loaded.operation.lease_until.is_some_and(|until| until <= now);
        let unrecorded = lease_over && loaded.steps.iter().any(|step| step.in_flight);
        let next = plan(&loaded.snapshot, &loaded.progress, &engine.timing, now);
        match if unrecorded { Next::EndLease } else { next } {
            Next::EndLease => {
                self.settle(work, loaded, Evidence::LeaseEnded, Lease::Release, now).await
            }
            Next::Tick => self.settle(work, loaded, Evidence::Tick, Lease::Keep, now).await,
            Next::Wait => {
                self.postpone(work, loaded, None, now).await?;
                Ok(None)
            }
            Next::Send(place) => self.claim_send(work, loaded, place, now).await,
            Next::Lookup => self.claim_lookup(work, loaded, now).await,
        }
    }

    async fn settle(
        &self,
        mut work: Box<dyn Work>,
        loaded: Loaded,
        evidence: Evidence,
        lease: Lease,
        now: Timestamp,
    ) -> Result<Option<Granted>, Error> {
        let outcome = self.engine.apply(work.as_mut(), loaded, &evidence, lease, now).await?;
        work.commit().await?;
        self.engine.announce(&outcome);
        Ok(None)
    }

    /// Looks again later: at the given time, or when the schedule says.
    async fn postpone(
        &self,
        mut work: Box<dyn Work>,
        mut loaded: Loaded,
        at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let timing = &self.engine.timing;
        let regular =
            || next_due(&loaded.snapshot, &loaded.progress, timing, None, clock::jitter(), now);
        let at = at.or_else(regular);
        let expected = loaded.operation.version;
        // Soon enough to be no clock's fault, and late enough not to spin.
        let far = now.after(timing.longest_wait() / 2);
        let soon = now.after(Duration::from_millis(50));
        loaded.operation.next_action_at = at.map(|at| at.min(far).max(soon));
        loaded.operation.version += 1;
        if work.update_operation(&loaded.operation, expected).await? == Stored::Stale {
            return Err(Error::Stale);
        }
        work.commit().await?;
        Ok(())
    }

    async fn claim_send(
        &self,
        mut work: Box<dyn Work>,
        mut loaded: Loaded,
        place: usize,
        now: Timestamp,
    ) -> Result<Option<Granted>, Error> {
        let engine = &self.engine;
        if let Some(wait) = self.gate(&loaded.operation.provider)?.sends_wait() {
            // Nothing may be sent, but the clock still counts and lookups go on.
            let end = loaded.snapshot.deadline_at.max(now);
            self.postpone(work, loaded, Some(now.after(wait).min(end)), now).await?;
            return Ok(None);
        }
        if let Some(at) = self.capped(&loaded, Some(loaded.snapshot.steps_after(place)), now) {
            // The cap must not hide the end of the time.
            let end = loaded.snapshot.deadline_at;
            let at = if end > now { at.min(end) } else { at };
            self.postpone(work, loaded, Some(at), now).await?;
            return Ok(None);
        }
        let step = match loaded.row(place) {
            Some(step) => step.clone(),
            None => {
                let step = self.make_step(&loaded, place)?;
                work.insert_step(&step).await?;
                loaded.steps.push(step.clone());
                step
            }
        };
        let lease_until = now.after(engine.timing.lease);
        let (state, id, kind) =
            (loaded.operation.state, loaded.operation.id, loaded.operation.kind.clone());
        let provider = loaded.operation.provider.clone();
        let attempt = self.attempt(&loaded, Some(step.name.clone()), step.tainted, now);
        let evidence = Evidence::Claim { step: place, lease_until };
        let outcome =
            engine.apply(work.as_mut(), loaded, &evidence, Lease::Take(lease_until), now).await?;
        if !outcome.decision.may_send {
            drop(work);
            let mut work = engine.store.write().await?;
            let loaded = engine.load(work.as_mut(), id).await?;
            self.postpone(
                work,
                loaded,
                Some(now.after(engine.timing.lookup_wait(2, clock::jitter()))),
                now,
            )
            .await?;
            return Ok(None);
        }
        let body =
            step.request_body.ok_or(Error::Internal("the bytes of an open step are gone"))?;
        work.insert_attempt(&attempt).await?;
        work.commit().await?;
        engine.announce(&outcome);
        let call = Call {
            path: step.request_path,
            key: step.idempotency_key,
            body,
            kind,
            time_left: engine.timing.lease,
        };
        let request = Request::Send(call);
        Ok(Some(Granted {
            operation: id,
            attempt,
            place: Some(place),
            lease_until,
            request,
            provider,
            state,
        }))
    }

    async fn claim_lookup(
        &self,
        mut work: Box<dyn Work>,
        mut loaded: Loaded,
        now: Timestamp,
    ) -> Result<Option<Granted>, Error> {
        if let Some(at) = self.capped(&loaded, None, now) {
            // The cap must not hide the end of the time.
            let at = if loaded.operation.state.is_open() {
                at.min(loaded.snapshot.gives_up_at().max(now))
            } else {
                at
            };
            self.postpone(work, loaded, Some(at), now).await?;
            return Ok(None);
        }
        let lease_until = now.after(self.engine.timing.lease);
        let attempt = self.attempt(&loaded, None, false, now);
        let operation = &mut loaded.operation;
        let expected = operation.version;
        take(operation, &self.engine.owner, lease_until);
        operation.version += 1;
        operation.next_action_at = Some(lease_until);
        if work.update_operation(operation, expected).await? == Stored::Stale {
            return Err(Error::Stale);
        }
        work.insert_attempt(&attempt).await?;
        work.commit().await?;
        let parent = loaded.siblings.iter().find(|it| Some(it.id) == operation.refunds);
        let question = Question {
            kind: operation.kind.clone(),
            provider_id: operation.provider_operation_id.clone(),
            reference: operation.reference.clone(),
            amount: operation.amount,
            parent_id: parent.and_then(|it| it.provider_operation_id.clone()),
            parent_effect_id: parent.and_then(|it| it.effect_id.clone()),
            time_left: self.engine.timing.lease,
        };
        Ok(Some(Granted {
            operation: operation.id,
            attempt,
            place: None,
            lease_until,
            request: Request::Lookup(question),
            provider: operation.provider.clone(),
            state: operation.state,
        }))
    }

    fn attempt(
        &self,
        loaded: &Loaded,
        step: Option<String>,
        replay: bool,
        now: Timestamp,
    ) -> Attempt {
        Attempt {
            id: AttemptId(clock::fresh_id()),
            operation_id: loaded.operation.id,
            step,
            fence: loaded.operation.fence + 1,
            sent_at: now,
            ended_at: None,
            replay,
        }
    }

    /// A step that gets its bytes only now, under the key that its operation began with.
    fn make_step(&self, loaded: &Loaded, place: usize) -> Result<Step, Error> {
        let operation = &loaded.operation;
        let made = loaded.steps.first().ok_or(Error::Internal("no step"))?;
        let prefix = made.idempotency_key.rsplit_once(':').map_or("", |(prefix, _)| prefix);
        let parent = loaded.siblings.iter().find(|it| Some(it.id) == operation.refunds);
        self.engine.make_step(operation, &loaded.order, parent, place, prefix)
    }

    fn capped(&self, loaded: &Loaded, mutating: Option<u32>, now: Timestamp) -> Option<Timestamp> {
        let sent: Vec<(Timestamp, bool)> =
            loaded.attempts.iter().map(|it| (it.sent_at, it.step.is_some())).collect();
        self.engine.timing.capped_until(&sent, mutating, now)
    }

    fn gate(&self, provider: &str) -> Result<&Gate, Error> {
        self.gates.get(provider).ok_or(Error::UnknownProvider)
    }

    /// One request on the wire, within what is left of the lease.
    async fn exchange(&self, granted: &Granted) -> (Answer, Timestamp, Duration) {
        let started = Instant::now();
        let answer = self.exchange_once(granted).await;
        let ended_at = clock::now();
        let duration = started.elapsed();
        tracing::info!(
            operation_id = %granted.operation,
            business_state = %granted.state,
            transport_state = answer.transport.as_str(),
            verdict = answer.verdict.name(),
            http_status = answer.http_status,
            provider_request_id = answer.request_id,
            duration_ms = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX),
            step = granted.attempt.step.as_deref().unwrap_or("lookup"),
            "asked {}: {}", granted.provider, answer.transport
        );
        metrics::counter!("payonce_provider_requests_total", "provider" => granted.provider.clone(),
            "transport" => answer.transport.as_str(), "verdict" => answer.verdict.name())
        .increment(1);
        (answer, ended_at, duration)
    }

    async fn exchange_once(&self, granted: &Granted) -> Answer {
        let not_sent = || crate::provider::unsent(matches!(granted.request, Request::Lookup(_)));
        let (Ok(gate), Some(provider)) =
            (self.gate(&granted.provider), self.engine.provider(&granted.provider))
        else {
            return not_sent();
        };
        let Some(_permit) = gate.enter().await else { return not_sent() };
        // Waiting for a place used up some of the lease; a call that could outlive it is not begun.
        let left = granted.lease_until.since(clock::now());
        match &granted.request {
            Request::Send(_) if left < self.engine.timing.lease / 2 => not_sent(),
            Request::Send(call) => {
                let call = Call { time_left: call_time(left), ..call.clone() };
                let answer = provider.send(&call).await;
                if gate.ended(answer.transport == Transport::Answered) {
                    tracing::warn!(
                        provider = granted.provider,
                        "sends to {} pause: no answers",
                        granted.provider
                    );
                }
                if matches!(
                    answer.verdict,
                    Verdict::NotExecuted(domain::evidence::NotExecuted::Configuration)
                ) {
                    gate.open();
                }
                answer
            }
            Request::Lookup(question) => {
                let question = Question { time_left: call_time(left), ..question.clone() };
                provider.look_up(&question).await
            }
        }
    }

    /// Writes what was learned. If the database does not take it, the lease's end will tell.
    async fn record(
        &self,
        granted: &Granted,
        answer: (Answer, Timestamp, Duration),
    ) -> Result<(), Error> {
        let (answer, ended_at, duration) = answer;
        let end = AttemptEnd {
            ended_at,
            duration_ms: i64::try_from(duration.as_millis()).unwrap_or(i64::MAX),
            transport_state: answer.transport.as_str(),
            http_status: answer.http_status,
            provider_request_id: answer.request_id.clone(),
            provider_error: answer.provider_error.clone(),
            verdict: answer.verdict.name(),
            cached: answer.cached,
        };
        let engine = &self.engine;
        let mut work = engine.store.write().await?;
        work.end_attempt(granted.attempt.id, &end).await?;
        if let Some(word) = &answer.unlisted {
            let incident = format!("unlisted:{}:{word}", granted.provider);
            engine.alert(work.as_mut(), &incident, "unlisted", word, ended_at).await?;
        }
        if granted.place.is_some() && answer.http_status.is_some_and(|it| (200..300).contains(&it))
        {
            // Our settings are believed again: the next refusal is another incident.
            let incident = incident(Alert::Configuration, &granted.provider);
            work.close_alert(&incident, ended_at).await?;
        }
        let loaded = engine.load(work.as_mut(), granted.operation).await?;
        let now = clock::now();
        let own = loaded.operation.fence == granted.attempt.fence
            && loaded.operation.lease_owner.as_deref() == Some(&engine.owner)
            && now <= granted.lease_until;
        let sent_at = granted.attempt.sent_at;
        let evidence = match granted.place {
            Some(step) => Evidence::Answer {
                step,
                sent_at,
                own_lease: own,
                cached: answer.cached,
                verdict: answer.verdict,
            },
            None => Evidence::Lookup { sent_at, own_lease: own, verdict: answer.verdict },
        };
        let lease = if own { Lease::Release } else { Lease::Keep };
        let outcome = engine.apply(work.as_mut(), loaded, &evidence, lease, now).await?;
        crash::point("before_outcome_commit");
        work.commit().await?;
        crash::point("after_outcome_commit");
        engine.announce(&outcome);
        Ok(())
    }
}

/// Whether it still is to be looked at; somebody may have been faster.
fn is_due(loaded: &Loaded, now: Timestamp, horizon: Timestamp) -> bool {
    let operation = &loaded.operation;
    let due = operation.next_action_at.is_some_and(|at| at <= now || at > horizon);
    let free = operation.lease_until.is_none_or(|until| until <= now || until > horizon);
    due && free
}

/// The part of what is left of a lease that a call may use; the rest is for recording its answer.
fn call_time(left: Duration) -> Duration {
    left / 10 * 9
}

#[cfg(test)]
mod tests;
