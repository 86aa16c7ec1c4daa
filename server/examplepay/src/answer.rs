//! From what was made to what the client sees: whole, cut, late, or nothing at all.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::Response,
};
use futures::{StreamExt, stream};

use crate::{
    faults::{Reply, Step},
    ledger::Made,
    paypal,
    serve::Cut,
    wire::{Refusal, Wire},
};

/// What an answer says beside its body.
#[derive(Clone, Debug)]
pub struct Stamp {
    /// What is spoken.
    pub wire: Wire,
    /// Our id of the request.
    pub request_id: String,
    /// Headers that are given back as they came.
    pub echoes: Vec<(&'static str, String)>,
}

impl Stamp {
    /// For the answer to a request with these headers.
    pub fn new(wire: Wire, headers: &HeaderMap) -> Self {
        let echo = |name: &'static str| {
            headers.get(name).and_then(|it| it.to_str().ok()).map(|it| (name, it.to_owned()))
        };
        Self {
            wire,
            request_id: wire.fresh_request_id(),
            echoes: wire.echoes().iter().filter_map(|name| echo(name)).collect(),
        }
    }
}

/// The body, with the id of this answer where the wire's problems name it.
fn body_of(made: &Made, stamp: &Stamp) -> String {
    match stamp.wire {
        Wire::PayPal if made.status >= 400 => {
            made.body.replace(paypal::show::DEBUG_ID, &stamp.request_id)
        }
        Wire::ExamplePay | Wire::Stripe | Wire::PayPal => made.body.clone(),
    }
}

/// A plain answer.
pub fn plain(made: &Made, stamp: &Stamp, replayed: bool) -> Response {
    let mut answer = Response::new(Body::from(body_of(made, stamp)));
    *answer.status_mut() =
        StatusCode::from_u16(made.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    put(&mut answer, "content-type", &made.content_type);
    put(&mut answer, stamp.wire.request_id_header(), &stamp.request_id);
    for (name, value) in &stamp.echoes {
        put(&mut answer, name, value);
    }
    if replayed && stamp.wire.tells_replays() {
        put(&mut answer, "idempotent-replayed", "true");
    }
    answer
}

/// Gives every answer an id, those that no handler made too.
pub async fn with_request_id(wire: Wire, mut answer: Response) -> Response {
    if !answer.headers().contains_key(wire.request_id_header()) {
        put(&mut answer, wire.request_id_header(), &wire.fresh_request_id());
    }
    answer
}

/// The answer under an address that does not exist.
pub fn nothing_here(wire: Wire) -> Response {
    let stamp = Stamp::new(wire, &HeaderMap::new());
    plain(&wire.refusal(Refusal::NoSuchAddress), &stamp, false)
}

fn put(answer: &mut Response, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
        answer.headers_mut().insert(name, value);
    }
}

/// The answer a script wants instead, as the idempotency layer would keep it.
pub fn replacement(reply: &Reply) -> Option<Made> {
    match reply {
        Reply::Status { status, body, content_type, .. } => Some(Made {
            status: *status,
            body: body.clone(),
            content_type: content_type.clone().unwrap_or_else(|| "application/json".to_owned()),
        }),
        Reply::Normal
        | Reply::DropBeforeHeaders
        | Reply::CutMidBody
        | Reply::Never
        | Reply::HalfRead => None,
    }
}

/// How the request log names an answer.
pub fn name(step: &Step, made: &Made) -> String {
    match &step.answer {
        Reply::Normal | Reply::Status { .. } => made.status.to_string(),
        Reply::DropBeforeHeaders => "dropped".to_owned(),
        Reply::CutMidBody => "cut".to_owned(),
        Reply::Never => "never".to_owned(),
        Reply::HalfRead => "half_read".to_owned(),
    }
}

/// Sends the answer as the script wants it.
pub async fn deliver(step: &Step, made: &Made, stamp: &Stamp, replayed: bool) -> Response {
    tokio::time::sleep(Duration::from_millis(step.delay_ms)).await;
    match &step.answer {
        Reply::Normal => plain(made, stamp, replayed),
        Reply::Status { headers, .. } => {
            let mut answer = plain(made, stamp, replayed);
            for (name, value) in headers {
                put(&mut answer, name, value);
            }
            answer
        }
        Reply::DropBeforeHeaders | Reply::HalfRead => {
            let mut answer = Response::new(Body::empty());
            answer.extensions_mut().insert(Cut);
            answer
        }
        Reply::CutMidBody => {
            let bytes = Bytes::from(body_of(made, stamp));
            let half = bytes.slice(..bytes.len() / 2);
            let length = bytes.len().to_string();
            let cut = async {
                // What was written has to be on its way before the connection ends.
                tokio::time::sleep(Duration::from_millis(20)).await;
                Err(std::io::Error::other("cut on purpose"))
            };
            let body = Body::from_stream(stream::iter([Ok(half)]).chain(stream::once(cut)));
            let mut answer = plain(made, stamp, replayed);
            *answer.body_mut() = body;
            put(&mut answer, "content-length", &length);
            answer
        }
        Reply::Never => std::future::pending().await,
    }
}
