//! The door where PayPal's wire is spoken: tokens, orders that a payer approves, authorizations,
//! captures, refunds.

pub mod act;
mod amount;
mod authorization;
pub mod events;
mod page;
mod read;
pub mod report;
pub mod show;
pub mod sign;
pub mod token;

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, RawQuery, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};

use crate::{
    Provider, answer,
    desk::{Act, Desk, Entry, Question, Request, Sent},
    ledger::{Made, record},
    page::guarded,
    wire::Wire,
};

/// The routes.
pub fn router(provider: Arc<Provider>) -> Router {
    let wire = Wire::PayPal;
    let pages = Router::new()
        .route("/checkoutnow", get(page::view).post(page::decide))
        .layer(axum::middleware::map_response(guarded))
        .with_state(Arc::clone(&provider));
    Router::new()
        .route("/v1/oauth2/token", post(give_token))
        .route("/v2/checkout/orders", post(create))
        .route("/v2/checkout/orders/{id}", get(get_order))
        .route("/v2/checkout/orders/{id}/confirm-payment-source", post(confirm))
        .route("/v2/checkout/orders/{id}/capture", post(capture))
        .route("/v2/payments/captures/{id}", get(get_capture))
        .route("/v2/payments/captures/{id}/refund", post(refund))
        .route("/v2/payments/refunds/{id}", get(get_refund))
        .route("/v1/notifications/certs/{name}", get(certificate))
        .route("/v1/notifications/verify-webhook-signature", post(verify))
        .route("/v1/notifications/webhooks-events", get(list_events))
        .route("/v1/notifications/webhooks-events/{id}", get(get_event))
        .route("/v1/notifications/webhooks-events/{id}/resend", post(resend))
        .route("/v1/reporting/transactions", get(get_report))
        .merge(authorization::door::routes())
        .with_state(Desk::new(provider, wire))
        .merge(pages)
        .fallback(async move || answer::nothing_here(wire))
        .layer(DefaultBodyLimit::max(64 * 1024))
        .layer(axum::middleware::map_response(move |it| answer::with_request_id(wire, it)))
}

/// An id as this wire has them.
pub fn fresh_id() -> String {
    uuid::Uuid::new_v4().simple().to_string().to_uppercase().chars().take(17).collect()
}

fn question<'a>(
    operation: &'static str,
    path: String,
    reference: Option<String>,
    headers: &'a HeaderMap,
) -> Question<'a> {
    Question { operation, path, query: None, reference, headers }
}

async fn give_token(State(desk): State<Desk>, headers: HeaderMap, body: Bytes) -> Response {
    let question = question("token", "/v1/oauth2/token".to_owned(), None, &headers);
    let sent = Sent { method: "POST", body: Some(&body), open: true };
    desk.ask_with(question, sent, async |provider| {
        let (tokens, settings) = (&provider.paypal_tokens, &provider.settings);
        Ok(Some(token::answer(tokens, settings, &headers, &body)))
    })
    .await
}

/// The form that equal requests share: order and white space make no difference.
fn canonical(body: &[u8]) -> Option<String> {
    serde_json::from_slice::<Value>(body).ok().map(|it| it.to_string())
}

/// A mutating request to this wire.
fn request(
    operation: &'static str,
    path: String,
    reference: Option<String>,
    act: Result<act::Act, Made>,
    body: Bytes,
) -> Request {
    Request {
        operation,
        path,
        reference,
        token: None,
        faulty: None,
        content: canonical(&body),
        act: act.map(Act::PayPal),
        body,
    }
}

async fn create(State(desk): State<Desk>, headers: HeaderMap, body: Bytes) -> Response {
    let path = "/v2/checkout/orders".to_owned();
    let (reference, act) = (read::reference(&body), read::create(&headers, &body));
    desk.mutate(&headers, request("create_payment", path, reference, act, body)).await
}

async fn confirm(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = format!("/v2/checkout/orders/{id}/confirm-payment-source");
    let reference = desk.reference_of(&id).await;
    let act = read::confirm(&id, &headers, &body);
    desk.mutate(&headers, request("confirm_source", path, reference, act, body)).await
}

async fn capture(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = format!("/v2/checkout/orders/{id}/capture");
    let reference = desk.reference_of(&id).await;
    let act = read::capture(&id, &body);
    desk.mutate(&headers, request("capture_payment", path, reference, act, body)).await
}

async fn refund(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = format!("/v2/payments/captures/{id}/refund");
    let (reference, act) = (read::reference(&body), read::refund(&id, &headers, &body));
    desk.mutate(&headers, request("create_refund", path, reference, act, body)).await
}

async fn get_order(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let reference = desk.reference_of(&id).await;
    let path = format!("/v2/checkout/orders/{id}");
    desk.ask(question("get_payment", path, reference, &headers), async |provider| {
        let mut db = provider.db.acquire().await?;
        let Some(it) = act::order(&mut db, &id).await? else { return Ok(None) };
        Ok(Some(Made::json(200, &show::order(provider, &mut db, &it).await?)))
    })
    .await
}

async fn get_capture(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let reference = desk.reference_of(&id).await;
    let path = format!("/v2/payments/captures/{id}");
    desk.ask(question("get_capture", path, reference, &headers), async |provider| {
        let mut db = provider.db.acquire().await?;
        let found = act::captured(&mut db, &id).await?;
        Ok(Made::found(found.map(|it| show::capture(provider, &it))))
    })
    .await
}

async fn get_refund(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let reference = desk.reference_of(&id).await;
    let path = format!("/v2/payments/refunds/{id}");
    desk.ask(question("get_refund", path, reference, &headers), async |provider| {
        let mut db = provider.db.acquire().await?;
        let found = record::refund(&mut db, &id).await?.filter(|it| it.wire == Wire::PayPal);
        match found {
            Some(refund) => show::latest(provider, &mut db, &refund.id).await.map(Some),
            None => Ok(None),
        }
    })
    .await
}

async fn certificate(
    State(desk): State<Desk>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let path = format!("/v1/notifications/certs/{name}");
    let entry = Entry { method: "GET", path: &path, ..Entry::new(&headers, "") };
    let seq = desk.log(&entry).await;
    if name != sign::CERTIFICATE {
        desk.answered(seq, false, "404").await;
        return answer::nothing_here(Wire::PayPal);
    }
    desk.answered(seq, false, "200").await;
    ([("content-type", "application/x-pem-file")], sign::CERTIFICATES).into_response()
}

async fn verify(State(desk): State<Desk>, headers: HeaderMap, body: Bytes) -> Response {
    let path = "/v1/notifications/verify-webhook-signature".to_owned();
    let sent = Sent { method: "POST", body: Some(&body), open: false };
    desk.ask_with(question("verify_webhook", path, None, &headers), sent, async |provider| {
        let genuine = std::str::from_utf8(&body).is_ok_and(|it| sign::verified(provider, it));
        let word = if genuine { "SUCCESS" } else { "FAILURE" };
        Ok(Some(Made::json(200, &json!({"verification_status": word}))))
    })
    .await
}

async fn list_events(
    State(desk): State<Desk>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let path = "/v1/notifications/webhooks-events".to_owned();
    let asked = Question { query, ..question("find_event", path, None, &headers) };
    desk.ask(asked, async |provider| {
        let bodies: Vec<String> = sqlx::query_scalar(
            "select body from events where wire = 'paypal' order by rowid desc limit 300",
        )
        .fetch_all(&provider.db)
        .await?;
        let events: Vec<Value> =
            bodies.iter().filter_map(|it| serde_json::from_str(it).ok()).collect();
        let told = json!({"count": events.len(), "events": events, "links": []});
        Ok(Some(Made::json(200, &told)))
    })
    .await
}

/// The reference of what an event is about, for scripts.
async fn reference_of_event(desk: &Desk, id: &str) -> Option<String> {
    let find = "select object from events where id = ? and wire = 'paypal'";
    let found = sqlx::query_scalar(find).bind(id).fetch_optional(&desk.provider.db).await;
    let object: String = found.ok().flatten()?;
    desk.reference_of(&object).await
}

async fn get_event(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let reference = reference_of_event(&desk, &id).await;
    let path = format!("/v1/notifications/webhooks-events/{id}");
    desk.ask(question("get_event", path, reference, &headers), async |provider| {
        let body: Option<String> =
            sqlx::query_scalar("select body from events where id = ? and wire = 'paypal'")
                .bind(&id)
                .fetch_optional(&provider.db)
                .await?;
        let content_type = "application/json".to_owned();
        Ok(body.map(|body| Made { status: 200, body, content_type }))
    })
    .await
}

async fn resend(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = format!("/v1/notifications/webhooks-events/{id}/resend");
    let reference = reference_of_event(&desk, &id).await;
    let act = read::resend(&id, &body);
    desk.mutate(&headers, request("resend_event", path, reference, act, body)).await
}

async fn get_report(
    State(desk): State<Desk>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let path = "/v1/reporting/transactions".to_owned();
    let asked = Question { query: query.clone(), ..question("find_report", path, None, &headers) };
    desk.ask(asked, async |provider| {
        report::answer(provider, query.as_deref().unwrap_or_default()).await.map(Some)
    })
    .await
}
