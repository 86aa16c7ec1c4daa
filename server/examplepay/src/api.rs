//! The merchant's API of the own wire: its addresses, and what each of them asks of the desk.

mod read;

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, Query, State},
    http::HeaderMap,
    response::Response,
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use self::read::{invalid, read_create, read_refund};
use crate::{
    Provider, answer,
    desk::{Act, Desk, Question, Request},
    ledger::{self, Asked, Back, GivenBack, Made},
    page, tokens,
    wire::Wire,
};

/// The routes.
pub fn router(provider: Arc<Provider>) -> Router {
    let wire = Wire::ExamplePay;
    Router::new()
        .route("/v1/payments", post(create_payment).get(find_payments))
        .route("/v1/payments/{id}", get(get_payment))
        .route("/v1/payments/{id}/cancel", post(cancel_payment))
        .route("/v1/refunds", post(create_refund).get(find_refunds))
        .route("/v1/refunds/{id}", get(get_refund))
        .with_state(Desk::new(Arc::clone(&provider), wire))
        .merge(page::router(provider))
        .fallback(async move || answer::nothing_here(wire))
        .layer(DefaultBodyLimit::max(64 * 1024))
        .layer(axum::middleware::map_response(move |it| answer::with_request_id(wire, it)))
}

async fn create_payment(State(desk): State<Desk>, headers: HeaderMap, body: Bytes) -> Response {
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |name: &str| told[name].as_str().map(str::to_owned);
    // A card number is not kept, not even to look for a script.
    let token = text("payment_token").filter(|token| !tokens::is_card_number(token));
    desk.mutate(
        &headers,
        Request {
            operation: "create_payment",
            path: "/v1/payments".to_owned(),
            reference: text("reference"),
            faulty: token.clone(),
            token,
            content: None,
            act: read_create(&body).map(Act::Create),
            body,
        },
    )
    .await
}

async fn cancel_payment(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let reference = desk.reference_of(&id).await;
    desk.mutate(
        &headers,
        Request {
            operation: "cancel_payment",
            path: format!("/v1/payments/{id}/cancel"),
            reference,
            token: None,
            faulty: None,
            content: None,
            body,
            act: Ok(Act::Cancel(id)),
        },
    )
    .await
}

async fn create_refund(State(desk): State<Desk>, headers: HeaderMap, body: Bytes) -> Response {
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    let reference = told["reference"].as_str().map(str::to_owned);
    let act = read_refund(&body);
    desk.mutate(
        &headers,
        Request {
            operation: "create_refund",
            path: "/v1/refunds".to_owned(),
            reference,
            token: None,
            faulty: None,
            content: None,
            body,
            act,
        },
    )
    .await
}

async fn get_payment(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let question = Question {
        operation: "get_payment",
        path: format!("/v1/payments/{id}"),
        query: None,
        reference: desk.reference_of(&id).await,
        headers: &headers,
    };
    desk.ask(question, async |provider| {
        let mut db = provider.db.acquire().await?;
        Ok(Made::found(ledger::payment(provider, &mut db, &id).await?))
    })
    .await
}

async fn get_refund(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let question = Question {
        operation: "get_refund",
        path: format!("/v1/refunds/{id}"),
        query: None,
        reference: desk.reference_of(&id).await,
        headers: &headers,
    };
    desk.ask(question, async |provider| {
        let mut db = provider.db.acquire().await?;
        Ok(Made::found(ledger::refund(provider, &mut db, &id).await?))
    })
    .await
}

#[derive(Deserialize)]
struct Find {
    reference: Option<String>,
    #[serde(default)]
    created_after: i64,
}

async fn find_payments(
    State(desk): State<Desk>,
    Query(find): Query<Find>,
    headers: HeaderMap,
) -> Response {
    let question = Question {
        operation: "find_payment",
        path: "/v1/payments".to_owned(),
        query: find.reference.clone(),
        reference: find.reference.clone(),
        headers: &headers,
    };
    desk.ask(question, async |provider| {
        let mut db = provider.db.acquire().await?;
        let found =
            ledger::own_payments(provider, &mut db, find.reference.as_deref(), find.created_after)
                .await?;
        Ok(Made::found(Some(json!({"data": found}))))
    })
    .await
}

async fn find_refunds(
    State(desk): State<Desk>,
    Query(find): Query<Find>,
    headers: HeaderMap,
) -> Response {
    let question = Question {
        operation: "find_refund",
        path: "/v1/refunds".to_owned(),
        query: find.reference.clone(),
        reference: find.reference.clone(),
        headers: &headers,
    };
    desk.ask(question, async |provider| {
        let mut db = provider.db.acquire().await?;
        let found = ledger::refunds(provider, &mut db, find.reference.as_deref()).await?;
        Ok(Made::found(Some(json!({"data": found}))))
    })
    .await
}

/// The answer to a request without a key.
pub fn keyless() -> Made {
    invalid("Idempotency-Key", "Every POST needs a key.")
}

/// Executes a refund of what was taken over this wire.
pub async fn refund(
    provider: &Provider,
    db: &mut SqliteConnection,
    of: &str,
    back: &Back<'_>,
    asked: &Asked<'_>,
) -> sqlx::Result<Made> {
    // What another wire took is not given back over this one.
    if ledger::payment(provider, db, of).await?.is_none() {
        return refund_answer(provider, db, &GivenBack::NoPayment).await;
    }
    let given = ledger::give_back(provider, db, of, back, asked).await?;
    refund_answer(provider, db, &given).await
}

/// What the merchant, or the dashboard, is told about a refund.
pub async fn refund_answer(
    provider: &Provider,
    db: &mut SqliteConnection,
    given: &GivenBack,
) -> sqlx::Result<Made> {
    Ok(match given {
        GivenBack::Refund(id) => {
            Made::json(201, &ledger::neutral_refund(provider, db, id).await?.unwrap_or_default())
        }
        GivenBack::NoPayment => Made::error(404, "not_found", "There is no such payment."),
        GivenBack::NotRefundable => {
            let message = "The payment has not succeeded in this currency.";
            Made::error(422, "payment_not_refundable", message)
        }
        GivenBack::Exceeds { .. } => {
            Made::error(422, "refund_exceeds_payment", "More than is left of the payment.")
        }
    })
}
