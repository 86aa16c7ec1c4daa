//! Bodies arrive whole, and soon, before anything looks at them.

use std::time::Duration;

use app::{Visitor, text::problem::Problem};
use axum::{
    Extension,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::StreamExt;

use super::{Shop, answer};

/// How long the body of a request may take.
const BODY_TIME: Duration = Duration::from_secs(10);
/// Largest body of a form.
const FORM_MAX: usize = 64 * 1024;
/// Largest body of a webhook.
const WEBHOOK_MAX: usize = 256 * 1024;

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
