//! What keeps a provider from being stormed: a bulkhead, a rate, a circuit breaker, a switch.
//!
//! They decide whether a request may start now. None of them says anything about an outcome.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Requests to one provider at the same time.
const CONCURRENT_MAX: usize = 8;
/// The shortest time between two requests to one provider.
pub const SPACING: Duration = Duration::from_millis(20);
/// So many unanswered sends in a row open the circuit.
const UNANSWERED_MAX: u32 = 5;

/// One provider's gate.
pub struct Gate {
    permits: Arc<Semaphore>,
    inner: Mutex<Inner>,
    sends_off: AtomicBool,
    open_for: Duration,
}

struct Inner {
    next_start: Instant,
    unanswered: u32,
    open_until: Option<Instant>,
}

impl Gate {
    /// A gate whose circuit, once open, stays so for this long.
    pub fn new(open_for: Duration) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(CONCURRENT_MAX)),
            inner: Mutex::new(Inner {
                next_start: Instant::now(),
                unanswered: 0,
                open_until: None,
            }),
            sends_off: AtomicBool::new(false),
            open_for,
        }
    }

    /// Until when sends have to wait; lookups never do.
    pub fn sends_wait(&self) -> Option<Duration> {
        if self.sends_off.load(Ordering::Relaxed) {
            return Some(self.open_for);
        }
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.open_until?.checked_duration_since(Instant::now())
    }

    /// The operator's switch: stops sends, not lookups.
    pub fn switch_sends(&self, on: bool) {
        self.sends_off.store(!on, Ordering::Relaxed);
    }

    /// Waits for a place and for the rate.
    pub async fn enter(&self) -> Option<OwnedSemaphorePermit> {
        let permit = self.permits.clone().acquire_owned().await.ok()?;
        let wait = {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            let start = inner.next_start.max(Instant::now());
            inner.next_start = start + SPACING;
            start.saturating_duration_since(Instant::now())
        };
        tokio::time::sleep(wait).await;
        Some(permit)
    }

    /// Counts how a send ended on the wire; true if that opened the circuit.
    pub fn ended(&self, answered: bool) -> bool {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if answered {
            inner.unanswered = 0;
            inner.open_until = None;
            return false;
        }
        inner.unanswered += 1;
        // After the pause one more unanswered send opens it again at once.
        let opens = inner.unanswered >= UNANSWERED_MAX;
        if opens {
            inner.unanswered = UNANSWERED_MAX - 1;
            inner.open_until = Some(Instant::now() + self.open_for);
        }
        opens
    }

    /// Opens the circuit at once: our settings were refused.
    pub fn open(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.open_until = Some(Instant::now() + self.open_for);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_unanswered_sends_open_the_circuit_and_an_answer_closes_it() {
        let gate = Gate::new(Duration::from_secs(60));
        let opened: Vec<bool> = (0..5).map(|_| gate.ended(false)).collect();
        assert_eq!(opened, [false, false, false, false, true]);
        assert!(gate.sends_wait().is_some());
        gate.ended(true);
        assert_eq!(gate.sends_wait(), None);
    }

    #[test]
    fn the_switch_stops_sends_until_it_is_set_back() {
        let gate = Gate::new(Duration::from_secs(60));
        gate.switch_sends(false);
        assert!(gate.sends_wait().is_some());
        gate.switch_sends(true);
        assert_eq!(gate.sends_wait(), None);
    }
}
