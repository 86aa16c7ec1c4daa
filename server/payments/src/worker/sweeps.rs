//! What the worker looks after between operations: parked events, unpaid orders, alarms, the clock.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{
    order::{OrderNews, decide_order},
    schedule::{Timestamp, millis},
};

use crate::{
    Error, clock,
    engine::{Engine, order_transition},
    inbox, mails,
    store::{Goods, Work},
    sweep,
};

/// A jump of the wall clock beyond this is told to a person.
const CLOCK_JUMP: Duration = Duration::from_secs(300);

/// When each sweep ran last.
pub struct Sweeps {
    started: (Instant, Timestamp),
    begun: Instant,
    comparing: Arc<tokio::sync::Mutex<()>>,
    quick: Option<Instant>,
    slow: Option<Instant>,
}

impl Sweeps {
    /// None has run yet.
    pub fn new() -> Self {
        Self {
            started: (Instant::now(), clock::wall()),
            begun: Instant::now(),
            comparing: Arc::default(),
            quick: None,
            slow: None,
        }
    }

    /// Runs what is due. Trouble is logged and comes again with the next run.
    pub async fn run(&mut self, engine: &Arc<Engine>) {
        if due(&mut self.quick, Duration::from_millis(500)) {
            note("parked events", inbox::retry_parked(engine).await);
            note("alarms", alarms(engine).await);
            note("unpaid orders", expire(engine).await);
            note("mails about unknown outcomes", mails::tell_unknown(engine).await);
            note("the clock", self.watch_clock(engine).await);
        }
        if due(&mut self.slow, engine.timing.sweep.min(Duration::from_secs(30))) {
            note("stored bodies", erase(engine).await);
            self.compare(engine);
        }
    }

    /// The daily comparison asks providers, which may take long: it runs beside the worker.
    fn compare(&self, engine: &Arc<Engine>) {
        let (engine, running) = (Arc::clone(engine), Arc::clone(&self.comparing));
        let running_for = self.begun.elapsed();
        tokio::spawn(async move {
            let Ok(_alone) = running.try_lock() else { return };
            note("the comparison with the providers", sweep::run(&engine, running_for).await);
        });
    }

    /// Wall clock and monotonic clock should have gone equally far, and not be behind what is stored.
    async fn watch_clock(&mut self, engine: &Engine) -> Result<(), Error> {
        let behind = clock::now().since(clock::wall()) > CLOCK_JUMP;
        let what = "the machine's clock is behind times that are stored";
        incident(engine, "clock-behind", "clock_behind", what, behind, !behind).await?;
        let (instant, wall) = self.started;
        let now = clock::wall();
        let expected = wall.after(instant.elapsed());
        let jump = now.0.abs_diff(expected.0);
        self.started = (Instant::now(), now);
        if jump > millis(CLOCK_JUMP).unsigned_abs() {
            let mut work = engine.store.write().await?;
            let detail = format!("the clock jumped by {} s", jump / 1000);
            engine
                .alert(work.as_mut(), &format!("clock-jump:{now}"), "clock_jump", &detail, now)
                .await?;
            work.commit().await?;
        }
        Ok(())
    }
}

fn due(last: &mut Option<Instant>, every: Duration) -> bool {
    let due = last.is_none_or(|at| at.elapsed() >= every);
    if due {
        *last = Some(Instant::now());
    }
    due
}

fn note(what: &str, done: Result<(), Error>) {
    if let Err(reason) = done {
        tracing::warn!(
            reason = &reason as &dyn std::error::Error,
            "{what} could not be looked after; it comes again"
        );
    }
}

/// One incident per provider while outcomes stay unknown for too long.
async fn alarms(engine: &Engine) -> Result<(), Error> {
    let now = clock::now();
    let mut work = engine.store.read().await?;
    let oldest = work.oldest_unknown().await?;
    drop(work);
    for provider in &engine.providers {
        let name = provider.name();
        let since = oldest.iter().find(|(of, _)| of == name).map(|(_, since)| *since);
        let late = since.is_some_and(|since| now.since(since) >= engine.timing.unknown_alert);
        let name_of = format!("unknown-outcomes:{name}");
        let what = format!("outcomes at {name} are unknown for longer than they should be");
        incident(engine, &name_of, "unknown_outcomes", &what, late, since.is_none()).await?;
    }
    Ok(())
}

/// Tells a person once that something lasts, and notes when it is over.
async fn incident(
    engine: &Engine,
    name: &str,
    kind: &str,
    what: &str,
    lasts: bool,
    over: bool,
) -> Result<(), Error> {
    let mut work = engine.store.read().await?;
    let open = work.alert_is_open(name).await?;
    drop(work);
    if (lasts && !open) || (over && open) {
        let now = clock::now();
        let mut work = engine.store.write().await?;
        if lasts {
            engine.alert(work.as_mut(), name, kind, what, now).await?;
        } else {
            work.close_alert(name, now).await?;
        }
        work.commit().await?;
    }
    Ok(())
}

/// Unpaid orders without an open operation are given up after a while; their goods are free then.
async fn expire(engine: &Engine) -> Result<(), Error> {
    let before = clock::now().before(engine.timing.order_expiry);
    let mut work = engine.store.read().await?;
    let orders = work.unpaid_orders(before).await?;
    drop(work);
    for id in orders {
        let now = clock::now();
        let mut work = engine.store.write().await?;
        let Some(mut order) = work.order(id).await? else { continue };
        let mut operations = work.operations_of(id).await?;
        let open = operations.iter().any(crate::engine::unsettled);
        let state = decide_order(order.state, OrderNews::CancelAsked { open });
        let Some(last) = operations.last_mut().filter(|_| !open && state != order.state) else {
            continue;
        };
        order.state = state;
        order.sequence += 1;
        if order.goods == Goods::Reserved {
            work.release(&order.lines).await?;
            order.goods = Goods::Free;
        }
        let expected = last.version;
        last.version += 1;
        work.update_operation(last, expected).await?;
        work.insert_transition(&order_transition(last, &order, "expired", "clock", now)).await?;
        work.update_order(&order, now).await?;
        work.insert_outbox(&format!("order.{state}"), &id.to_string(), &order.reference, now)
            .await?;
        work.commit().await?;
        engine.hub.tell(order.checkout_id);
    }
    Ok(())
}

/// Bodies and tokens are not needed once nothing can be sent again.
async fn erase(engine: &Engine) -> Result<(), Error> {
    let mut work: Box<dyn Work> = engine.store.write().await?;
    let erased = work.erase_bodies(clock::now()).await?;
    work.commit().await?;
    if erased > 0 {
        tracing::debug!(erased, "erased stored bodies of settled operations");
    }
    Ok(())
}
