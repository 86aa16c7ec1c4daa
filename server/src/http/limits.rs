//! Time, headers, rates and streams: what keeps one visitor from taking what belongs to all.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::id::CustomerId;

/// How long a request may take; streams end by their own rules.
const REQUEST_TIME: Duration = Duration::from_secs(20);
/// Streams of one viewer.
const STREAMS_PER_VIEWER: usize = 8;
/// Streams of all viewers.
const STREAMS_MAX: usize = 2000;

/// Headers every answer carries, and the time every request has.
pub async fn headers_and_time(request: Request, next: Next) -> Response {
    let mut answer = match tokio::time::timeout(REQUEST_TIME, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            (axum::http::StatusCode::SERVICE_UNAVAILABLE, "It took too long. Load the page again.")
                .into_response()
        }
    };
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            HeaderName::from_static("permissions-policy"),
            "camera=(), geolocation=(), microphone=(), payment=()",
        ),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    let headers = answer.headers_mut();
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    // A page brings its own with a nonce; everything else needs nothing at all.
    let nothing = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'";
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(nothing));
    answer
}

/// One line a request: method, path, status, time. No query, no body, no cookie.
pub async fn trace(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let started = Instant::now();
    let id = uuid::Uuid::new_v4();
    let mut answer = next.run(request).await;
    let status = answer.status().as_u16();
    let duration_ms = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
    tracing::debug!(request_id = %id, %method, path, status, duration_ms, "{method} {path}: {status}");
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        answer.headers_mut().insert("x-request-id", value);
    }
    answer
}

/// How many payments a session may post: a bucket that fills again.
pub struct PayRate {
    per_minute: u32,
    buckets: Mutex<HashMap<CustomerId, (Instant, u64)>>,
}

impl PayRate {
    /// A full bucket holds a minute's worth.
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute, buckets: Mutex::default() }
    }

    /// Takes one; false if there is none left.
    pub fn take(&self, customer: CustomerId) -> bool {
        let now = Instant::now();
        let full = u64::from(self.per_minute) * 60_000;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() > 10_000 {
            buckets.retain(|_, (at, _)| now.duration_since(*at) < Duration::from_secs(60));
        }
        // Counted in milliseconds of a minute's worth, so that no fraction is lost.
        let (at, left) = buckets.get(&customer).copied().unwrap_or((now, full));
        let gained = u64::try_from(now.duration_since(at).as_millis()).unwrap_or(u64::MAX);
        let left = left.saturating_add(gained.saturating_mul(u64::from(self.per_minute))).min(full);
        let granted = left >= 60_000;
        let rest = if granted { left - 60_000 } else { left };
        buckets.insert(customer, (now, rest));
        granted
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
    /// Takes a place; `None` if this viewer, or all of them, have too many.
    pub fn take(self: &Arc<Self>, viewer: &str) -> Option<Stream> {
        let mut by_viewer = self.by_viewer.lock().unwrap_or_else(PoisonError::into_inner);
        let own = by_viewer.get(viewer).copied().unwrap_or(0);
        if own >= STREAMS_PER_VIEWER || self.all.load(Ordering::Relaxed) >= STREAMS_MAX {
            return None;
        }
        by_viewer.insert(viewer.to_owned(), own + 1);
        self.all.fetch_add(1, Ordering::Relaxed);
        Some(Stream { streams: Arc::clone(self), viewer: viewer.to_owned() })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.streams.all.fetch_sub(1, Ordering::Relaxed);
        let mut by_viewer = self.streams.by_viewer.lock().unwrap_or_else(PoisonError::into_inner);
        match by_viewer.get_mut(&self.viewer) {
            Some(own) if *own > 1 => *own -= 1,
            Some(_) | None => drop(by_viewer.remove(&self.viewer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_posts_too_much_has_to_wait_and_others_do_not() {
        let rate = PayRate::new(3);
        let (one, other) = (CustomerId(uuid::Uuid::new_v4()), CustomerId(uuid::Uuid::new_v4()));
        let taken: Vec<bool> = (0..4).map(|_| rate.take(one)).collect();
        assert_eq!(taken, [true, true, true, false]);
        assert!(rate.take(other));
    }

    #[test]
    fn a_viewer_has_eight_streams_and_an_ended_one_makes_room() {
        let streams = Arc::new(Streams::default());
        let mut open: Vec<_> = (0..8).map(|_| streams.take("one").unwrap()).collect();
        assert!(streams.take("one").is_none());
        assert!(streams.take("other").is_some());
        open.pop();
        assert!(streams.take("one").is_some());
    }
}
