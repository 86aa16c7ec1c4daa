//! What the shop's own people may ask and do, as JSON with a bearer token.
//!
//! Off without `PAYONCE_OPERATOR_TOKEN`. Whoever holds the token may give money back and decide what
//! is in review, and may never charge.

use axum::{
    Json,
    extract::{Path, State, rejection::JsonRejection},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{
    evidence::Act,
    id::OperationId,
    money::Currency,
    refund_request::{DeclinedWhy, RequestState},
};
use payments::{Error, RefundRequest, ReviewDecision, ReviewOutcome};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use super::Shop;

/// A refund that is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefundBody {
    /// Made once by whoever asks; the same id is the same refund, however often it is sent.
    refund_request_id: Uuid,
    /// How much, in the smallest unit of the currency.
    amount_minor: i64,
    currency: String,
    /// Why: for the audit.
    reason: String,
}

fn problem(status: StatusCode, code: &str, detail: &str) -> Response {
    let body =
        json!({"type": "about:blank", "status": status.as_u16(), "code": code, "detail": detail});
    let kind = [(header::CONTENT_TYPE, "application/problem+json")];
    (status, kind, body.to_string()).into_response()
}

/// The answer to whoever does not hold the operator's token; without one set there is no such
/// address.
fn refuses(shop: &Shop, headers: &HeaderMap) -> Option<Response> {
    let Some(token) = &shop.operator_token else {
        return Some(problem(StatusCode::NOT_FOUND, "NOT_FOUND", "there is no such address"));
    };
    let given = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
    let given = given.and_then(|it| it.strip_prefix("Bearer ")).unwrap_or_default();
    if bool::from(given.as_bytes().ct_eq(token.expose_secret().as_bytes())) {
        None
    } else {
        let detail = "give the operator's token: Authorization: Bearer <token>";
        Some(problem(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", detail))
    }
}

/// What whoever holds the token has sent; the answer to anybody else, and to what cannot be read.
fn admitted<T>(
    shop: &Shop,
    headers: &HeaderMap,
    body: Result<Json<T>, JsonRejection>,
) -> Result<T, Box<Response>> {
    if let Some(refusal) = refuses(shop, headers) {
        return Err(Box::new(refusal));
    }
    body.map(|Json(body)| body).map_err(|reason| {
        Box::new(problem(StatusCode::BAD_REQUEST, "INVALID", &reason.body_text()))
    })
}

/// The reason of an act, for the audit; the answer to one that says nothing, or too much.
fn reason_of(given: &str) -> Result<String, Box<Response>> {
    let reason = given.trim();
    if reason.is_empty() || reason.len() > 500 {
        let detail = "a reason has 1 to 500 characters";
        return Err(Box::new(problem(StatusCode::BAD_REQUEST, "INVALID", detail)));
    }
    Ok(reason.to_owned())
}

fn refused(reason: &Error) -> Response {
    match reason {
        Error::NotFound => problem(StatusCode::NOT_FOUND, "NOT_FOUND", "there is no such order"),
        Error::Conflict => problem(
            StatusCode::UNPROCESSABLE_ENTITY,
            "IDEMPOTENCY_CONFLICT",
            "this refund_request_id was used for another refund; nothing was done",
        ),
        Error::Invalid(why) => problem(StatusCode::UNPROCESSABLE_ENTITY, "INVALID", why),
        Error::Busy => problem(
            StatusCode::SERVICE_UNAVAILABLE,
            "BUSY",
            "the shop is stopping, and whether this was taken is not known: the same request again is safe",
        ),
        Error::CartChanged
        | Error::EmptyCart
        | Error::OutOfStock(_)
        | Error::OutOfStockForOrder(_)
        | Error::TooManyOfOne
        | Error::Stale
        | Error::Overflow
        | Error::Signature
        | Error::UnknownProvider
        | Error::WebhooksOff
        | Error::MalformedEvent
        | Error::Encode(_)
        | Error::Internal(_)
        | Error::Store(_) => {
            tracing::error!(
                reason = reason as &dyn std::error::Error,
                "whether an act of the shop's people was recorded is not known"
            );
            let detail = "it may or may not be recorded; send the very same again: it is one act, however often it is sent";
            problem(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail)
        }
    }
}

/// `POST /api/orders/{reference}/refunds`: 202 once it is committed, never after the provider.
pub async fn refund(
    State(shop): State<Shop>,
    Path(order): Path<String>,
    headers: HeaderMap,
    body: Result<Json<RefundBody>, JsonRejection>,
) -> Response {
    let body = match admitted(&shop, &headers, body) {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let Ok(currency) = Currency::from_code(&body.currency) else {
        let detail = "currency must be an ISO 4217 code";
        return problem(StatusCode::BAD_REQUEST, "INVALID", detail);
    };
    let reason = match reason_of(&body.reason) {
        Ok(reason) => reason,
        Err(refusal) => return *refusal,
    };
    let wish = RefundRequest {
        refund_request_id: body.refund_request_id,
        order,
        amount_minor: body.amount_minor,
        currency,
        who: "operator".to_owned(),
        reason,
    };
    match shop.payments.refund(wish).await {
        Ok(done) => {
            let body = json!({
                "operation": done.operation.to_string(), "state": done.state.as_str(),
                "amount_minor": done.amount.minor, "currency": done.amount.currency.code(),
                "repeated": done.repeated,
            });
            (StatusCode::ACCEPTED, Json(body)).into_response()
        }
        Err(reason) => refused(&reason),
    }
}

/// A decision about an operation in review.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionBody {
    operation: OperationId,
    /// `accept_effect`, `refund_effect` or `cancel`.
    act: String,
    /// The effect that is on record, repeated: whoever decides has looked at it. Null where there
    /// is none.
    effect_minor: Option<i64>,
    /// Why: for the audit.
    reason: String,
}

/// `POST /api/orders/{reference}/decisions`: only on what a fresh question has shown.
pub async fn decide(
    State(shop): State<Shop>,
    Path(order): Path<String>,
    headers: HeaderMap,
    body: Result<Json<DecisionBody>, JsonRejection>,
) -> Response {
    let body = match admitted(&shop, &headers, body) {
        Ok(body) => body,
        Err(refusal) => return *refusal,
    };
    let Ok(act) = body.act.parse::<Act>() else {
        let detail = "act is accept_effect, refund_effect or cancel";
        return problem(StatusCode::BAD_REQUEST, "INVALID", detail);
    };
    let reason = match reason_of(&body.reason) {
        Ok(reason) => reason,
        Err(refusal) => return *refusal,
    };
    let wish = ReviewDecision {
        order,
        operation: body.operation,
        act,
        seen_minor: body.effect_minor,
        who: "operator".to_owned(),
        reason,
    };
    let conflict = |code, detail: &str| problem(StatusCode::CONFLICT, code, detail);
    match shop.payments.decide(&wish).await {
        Ok(ReviewOutcome::Decided(state)) => {
            Json(json!({"operation": wish.operation, "state": state.as_str()})).into_response()
        }
        Ok(ReviewOutcome::AskedFirst) => conflict(
            "ASKED_FIRST",
            "nothing is decided: the provider is being asked what is true now; read the order again, and send this again when looked_up_at_ms is later than since_ms",
        ),
        Ok(ReviewOutcome::OtherEffect(found)) => {
            let found = found.map_or_else(|| "none".to_owned(), |found| found.to_string());
            let detail = format!(
                "nothing is decided: the effect on record is {found}; look at it, and give its amount as effect_minor"
            );
            conflict("OTHER_EFFECT", &detail)
        }
        Ok(ReviewOutcome::NotInReview(state)) => {
            let detail =
                format!("nothing is decided: the operation is {state}, and no person is asked");
            conflict("NOT_IN_REVIEW", &detail)
        }
        Ok(ReviewOutcome::NotAllowed) => problem(
            StatusCode::UNPROCESSABLE_ENTITY,
            "NOT_ALLOWED",
            "nothing is decided: an effect that is on record is accepted or given back, and only an operation of which the provider shows nothing is canceled",
        ),
        Err(reason) => refused(&reason),
    }
}

/// A no to a shopper's request for a refund.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclineBody {
    /// Why, as one of the codes whose words the shopper reads.
    reason: DeclinedWhy,
}

/// `POST /api/orders/{reference}/refund-request/decline`: the order's page says so, and why.
pub async fn decline(
    State(shop): State<Shop>,
    Path(order): Path<String>,
    headers: HeaderMap,
    body: Result<Json<DeclineBody>, JsonRejection>,
) -> Response {
    let reason = match admitted(&shop, &headers, body) {
        Ok(body) => body.reason,
        Err(refusal) => return *refusal,
    };
    match shop.payments.decline_refund(&order, reason, "operator").await {
        Ok(repeated) => {
            let body = json!({
                "order": order, "state": RequestState::Declined.as_str(),
                "reason": reason.as_str(), "repeated": repeated,
            });
            Json(body).into_response()
        }
        Err(reason) => refused(&reason),
    }
}

/// `GET /api/orders/{reference}`: where the order and each of its operations stands.
pub async fn order(
    State(shop): State<Shop>,
    Path(reference): Path<String>,
    headers: HeaderMap,
) -> Response {
    if let Some(refusal) = refuses(&shop, &headers) {
        return refusal;
    }
    match shop.payments.record(&reference).await {
        Ok(Some(record)) => {
            let operations: Vec<Value> = record
                .operations
                .iter()
                .map(|it| {
                    json!({
                        "operation": it.id.to_string(), "kind": it.kind, "attempt": it.attempt,
                        "provider": it.provider, "provider_operation_id": it.provider_id,
                        "state": it.state.as_str(), "amount_minor": it.amount.minor,
                        "currency": it.amount.currency.code(), "since_ms": it.since.0,
                        "review_reason": it.review_reason.map(|why| why.as_str()),
                        "effect_minor": it.effect.map(|effect| effect.minor),
                        "effect_currency": it.effect.map(|effect| effect.currency.code()),
                        "looked_up_at_ms": it.looked_up_at.map(|at| at.0),
                    })
                })
                .collect();
            let body = json!({
                "order": reference, "state": record.state.as_str(),
                "amount_minor": record.amount.minor, "currency": record.amount.currency.code(),
                "refundable_minor": record.refundable.minor, "operations": operations,
                "refund_request": record.refund_request.map(|it| json!({
                    "number": it.number, "state": it.state.as_str(), "asked_at_ms": it.asked_at.0,
                    "reason": it.asked_why.map(|why| why.as_str()),
                    "declined_reason": it.declined_why.map(|why| why.as_str()),
                })),
            });
            Json(body).into_response()
        }
        Ok(None) => refused(&Error::NotFound),
        Err(reason) => refused(&reason),
    }
}
