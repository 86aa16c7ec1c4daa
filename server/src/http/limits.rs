//! Rates and streams: what keeps one visitor from taking what belongs to all.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use domain::id::CustomerId;

/// Streams of one viewer.
const STREAMS_PER_VIEWER: usize = 8;
/// Streams of all viewers.
const STREAMS_MAX: usize = 2000;

/// How many payments a session may post: a bucket that fills again, and holds half a minute's worth.
pub struct PayRate {
    per_minute: u32,
    buckets: Mutex<HashMap<CustomerId, (Instant, u64)>>,
}

/// What one payment takes out of a bucket: a minute in milliseconds, so that no fraction is lost.
const PAYMENT: u64 = 60_000;

impl PayRate {
    /// So many a minute for each session.
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute, buckets: Mutex::default() }
    }

    /// Takes one payment from a session's bucket, or says how long it takes until there is one.
    pub fn take(&self, customer: CustomerId) -> Result<(), Duration> {
        let now = Instant::now();
        let per_minute = u64::from(self.per_minute);
        let full = per_minute.div_ceil(2) * PAYMENT;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() > 10_000 {
            buckets.retain(|_, (at, _)| now.duration_since(*at) < Duration::from_secs(60));
        }
        let (at, left) = buckets.get(&customer).copied().unwrap_or((now, full));
        let gained = u64::try_from(now.duration_since(at).as_millis()).unwrap_or(u64::MAX);
        let left = left.saturating_add(gained.saturating_mul(per_minute)).min(full);
        let rest = left.checked_sub(PAYMENT);
        buckets.insert(customer, (now, rest.unwrap_or(left)));
        match rest {
            Some(_) => Ok(()),
            None => Err(Duration::from_millis((PAYMENT - left).div_ceil(per_minute))),
        }
    }
}

/// Open streams, counted.
#[derive(Default)]
pub struct Streams {
    all: AtomicUsize,
    by_viewer: Mutex<HashMap<String, usize>>,
}

/// One open stream; gives its place back when it ends.
pub struct Stream {
    streams: Arc<Streams>,
    viewer: String,
}

impl Streams {
    /// Takes a place; if there is none, the status says whether this viewer or all have too many.
    pub fn take(self: &Arc<Self>, viewer: &str) -> Result<Stream, StatusCode> {
        let mut by_viewer = self.by_viewer.lock().unwrap_or_else(PoisonError::into_inner);
        let own = by_viewer.get(viewer).copied().unwrap_or(0);
        if own >= STREAMS_PER_VIEWER {
            return Err(StatusCode::TOO_MANY_REQUESTS);
        }
        if self.all.load(Ordering::Relaxed) >= STREAMS_MAX {
            return Err(StatusCode::SERVICE_UNAVAILABLE);
        }
        by_viewer.insert(viewer.to_owned(), own + 1);
        self.all.fetch_add(1, Ordering::Relaxed);
        metrics::gauge!("payonce_streams_open").increment(1);
        Ok(Stream { streams: Arc::clone(self), viewer: viewer.to_owned() })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.streams.all.fetch_sub(1, Ordering::Relaxed);
        metrics::gauge!("payonce_streams_open").decrement(1);
        let mut by_viewer = self.streams.by_viewer.lock().unwrap_or_else(PoisonError::into_inner);
        match by_viewer.get_mut(&self.viewer) {
            Some(own) if *own > 1 => *own -= 1,
            Some(_) | None => drop(by_viewer.remove(&self.viewer)),
        }
    }
}

#[cfg(test)]
mod tests;
