//! What every answer carries, and how long it may take to begin.

use std::time::Duration;

use app::text::problem::Problem;
use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tower::ServiceExt;
use tower_http::compression::Compression;

use super::{Shop, answer, session};

/// How long a request may take; streams end by their own rules.
const REQUEST_TIME: Duration = Duration::from_secs(20);

/// Headers every answer carries.
pub async fn set(State(shop): State<Shop>, request: Request, next: Next) -> Response {
    let mut answer = compressed(request, next).await;
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
    // What a page says depends on who asks, and in which language.
    if is_page(headers) {
        headers.append(header::VARY, HeaderValue::from_static("accept-language, cookie"));
    }
    // A page brings its own with a nonce; everything else needs nothing at all.
    let nothing = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'";
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(nothing));
    answer
}

/// Pages are compressed on their way. Files were compressed when they were built, and a stream is
/// told as it happens.
async fn compressed(request: Request, next: Next) -> Response {
    let pages = |_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions| is_page(headers);
    let Ok(answer) = Compression::new(next).compress_when(pages).oneshot(request).await;
    let (head, body) = answer.into_parts();
    let body = Body::new(body);
    if !is_page(&head.headers) {
        return Response::from_parts(head, body);
    }
    // It is in memory anyway: so it is sent whole and with its length, not piece by piece.
    match to_bytes(body, usize::MAX).await {
        Ok(whole) => Response::from_parts(head, Body::from(whole)),
        Err(reason) => {
            tracing::error!(%reason, "a page could not be compressed");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Whether it is a page that a person reads.
fn is_page(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    kind.is_some_and(|it| it.as_bytes().starts_with(b"text/html"))
}

/// The time every request has until its answer begins.
pub async fn time(State(shop): State<Shop>, request: Request, next: Next) -> Response {
    let json = answer::wants_json(request.headers());
    let lang = session::language(request.headers());
    match tokio::time::timeout(REQUEST_TIME, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            tracing::warn!("an answer took too long");
            let refusal = (StatusCode::SERVICE_UNAVAILABLE, Problem::Internal);
            answer::refuse(&shop, answer::stranger(lang, "/"), json, refusal).await
        }
    }
}
