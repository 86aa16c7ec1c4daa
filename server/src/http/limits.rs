//! Time, headers, rates and streams: what keeps one visitor from taking what belongs to all.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use app::{Visitor, text::problem::Problem};
use axum::{
    Extension,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::id::CustomerId;
use futures::StreamExt;

use super::{Shop, answer};

/// How long a request may take; streams end by their own rules.
const REQUEST_TIME: Duration = Duration::from_secs(20);
/// How long the body of a request may take.
const BODY_TIME: Duration = Duration::from_secs(10);
/// Largest body of a form.
const FORM_MAX: usize = 64 * 1024;
/// Largest body of a webhook.
const WEBHOOK_MAX: usize = 256 * 1024;
/// Streams of one viewer.
const STREAMS_PER_VIEWER: usize = 8;
/// Streams of all viewers.
const STREAMS_MAX: usize = 2000;

/// Headers every answer carries.
pub async fn headers(State(shop): State<Shop>, request: Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    let unavailable = answer.status() == StatusCode::SERVICE_UNAVAILABLE;
    let headers = answer.headers_mut();
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
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if shop.https {
        let year = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
    if unavailable {
        headers.entry(header::RETRY_AFTER).or_insert(HeaderValue::from_static("5"));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    // A page brings its own with a nonce; everything else needs nothing at all.
    let nothing = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'";
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(nothing));
    answer
}

/// The time every request has until its answer begins.
pub async fn time(State(shop): State<Shop>, request: Request, next: Next) -> Response {
    let json = answer::wants_json(request.headers());
    match tokio::time::timeout(REQUEST_TIME, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            tracing::warn!("an answer took too long");
            let refusal = (StatusCode::SERVICE_UNAVAILABLE, Problem::Internal);
            answer::refuse(&shop, answer::stranger("/"), json, refusal).await
        }
    }
}

/// Why a body was not taken.
enum Unread {
    TooLarge,
    TooSlow,
    Broken,
}

/// Reads a whole body within its bounds. A larger one is read on for a while and thrown away, so
/// that the sender comes to read the answer.
async fn read(body: Body, most: usize) -> Result<Bytes, Unread> {
    let whole = async {
        let mut frames = body.into_data_stream();
        let (mut kept, mut length) = (Vec::new(), 0);
        while let Some(frame) = frames.next().await {
            let frame = frame.map_err(|_| Unread::Broken)?;
            length += frame.len();
            if length <= most {
                kept.extend_from_slice(&frame);
            } else if length > most * 16 {
                break;
            }
        }
        if length > most { Err(Unread::TooLarge) } else { Ok(Bytes::from(kept)) }
    };
    tokio::time::timeout(BODY_TIME, whole).await.unwrap_or(Err(Unread::TooSlow))
}

/// A form arrives whole, and soon, before anything looks at it.
pub async fn form(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let refusal = match read(body, FORM_MAX).await {
        Ok(body) => return next.run(Request::from_parts(parts, Body::from(body))).await,
        Err(Unread::TooLarge) => (StatusCode::PAYLOAD_TOO_LARGE, Problem::BodyTooLarge),
        Err(Unread::TooSlow) => {
            let what = "the form did not arrive completely in time";
            (StatusCode::REQUEST_TIMEOUT, Problem::Invalid(what.to_owned()))
        }
        Err(Unread::Broken) => {
            let what = "the form did not arrive completely";
            (StatusCode::BAD_REQUEST, Problem::Invalid(what.to_owned()))
        }
    };
    let json = answer::wants_json(&parts.headers);
    closing(answer::refuse(&shop, visitor, json, refusal).await)
}

/// A webhook's body arrives whole, and soon.
pub async fn webhook(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let refusal = match read(body, WEBHOOK_MAX).await {
        Ok(body) => return next.run(Request::from_parts(parts, Body::from(body))).await,
        Err(Unread::TooLarge) => StatusCode::PAYLOAD_TOO_LARGE,
        Err(Unread::TooSlow) => StatusCode::REQUEST_TIMEOUT,
        Err(Unread::Broken) => StatusCode::BAD_REQUEST,
    };
    closing(refusal.into_response())
}

/// What is left of the body is not read: the connection ends with this answer.
fn closing(mut answer: Response) -> Response {
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer
}

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
mod tests {
    use super::*;

    #[test]
    fn a_session_that_posts_too_much_has_to_wait_and_others_do_not() {
        let rate = PayRate::new(6);
        let (one, other) = (CustomerId(uuid::Uuid::new_v4()), CustomerId(uuid::Uuid::new_v4()));
        let taken: Vec<bool> = (0..4).map(|_| rate.take(one).is_ok()).collect();
        assert_eq!(taken, [true, true, true, false]);
        let wait = rate.take(one).unwrap_err();
        assert!(wait > Duration::from_secs(9) && wait <= Duration::from_secs(10), "{wait:?}");
        assert!(rate.take(other).is_ok());
    }

    #[test]
    fn a_viewer_has_eight_streams_and_an_ended_one_makes_room() {
        let streams = Arc::new(Streams::default());
        let mut open: Vec<_> = (0..8).map(|_| streams.take("one").unwrap()).collect();
        assert_eq!(streams.take("one").err(), Some(StatusCode::TOO_MANY_REQUESTS));
        assert!(streams.take("other").is_ok());
        open.pop();
        assert!(streams.take("one").is_ok());
    }

    #[test]
    fn all_viewers_together_have_a_bound_too() {
        let streams = Arc::new(Streams::default());
        let open: Vec<_> =
            (0..STREAMS_MAX).map(|n| streams.take(&(n / 8).to_string()).unwrap()).collect();
        assert_eq!(streams.take("late").err(), Some(StatusCode::SERVICE_UNAVAILABLE));
        drop(open);
        assert!(streams.take("late").is_ok());
    }
}
