//! What is logged and counted about requests: no address as it was sent, no query, body or cookie.

use std::time::Instant;

use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderValue, Method},
    middleware::Next,
    response::Response,
};
use domain::id::CheckoutId;
use tracing::Instrument;

/// One line and two numbers a request; its id goes out with the answer.
pub async fn requests(request: Request, next: Next) -> Response {
    let id = uuid::Uuid::new_v4().to_string();
    let method = method(request.method());
    // The route and not the address: whatever somebody writes into one is not repeated.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let route = route.to_owned();
    let checkout = checkout(request.uri().path());
    let span = tracing::info_span!(
        "request",
        request.id = id,
        method,
        route,
        checkout.id = checkout.map(tracing::field::display)
    );
    let started = Instant::now();
    let mut answer = next.run(request).instrument(span.clone()).await;
    let (status, took) = (answer.status().as_u16(), started.elapsed());
    let duration_ms = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
    span.in_scope(|| tracing::debug!(status, duration_ms, "{method} {route}: {status}"));
    metrics::counter!("payonce_http_requests_total", "method" => method,
        "route" => route.clone(), "status" => status.to_string())
    .increment(1);
    metrics::histogram!("payonce_http_seconds", "route" => route).record(took.as_secs_f64());
    if let Ok(value) = HeaderValue::from_str(&id) {
        answer.headers_mut().insert("x-request-id", value);
    }
    answer
}

/// The methods of this shop by name; there is no end of others.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        _ => "other",
    }
}

fn checkout(path: &str) -> Option<CheckoutId> {
    path.strip_prefix("/checkout/")?.split('/').next()?.parse().ok()
}
