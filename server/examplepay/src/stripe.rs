//! The door where Stripe's wire is spoken: form bodies in, its objects and errors out.

pub mod act;
pub mod events;
mod form;
mod lists;
mod methods;
mod read;
pub mod search;
pub mod show;

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, RawQuery, State},
    http::HeaderMap,
    response::Response,
    routing::{get, post},
};
use base64::Engine;

use self::form::Params;
use crate::{
    Provider, answer,
    desk::{Act, Desk, Question, Request},
    ledger::{Made, record},
    page,
    wire::Wire,
};

/// The routes.
pub fn router(provider: Arc<Provider>) -> Router {
    let wire = Wire::Stripe;
    Router::new()
        .route("/v1/payment_intents", post(create).get(list_intents))
        .route(search::PATH, get(search_intents))
        .route("/v1/payment_intents/{id}", get(get_intent))
        .route("/v1/payment_intents/{id}/confirm", post(confirm))
        .route("/v1/payment_intents/{id}/capture", post(capture))
        .route("/v1/payment_intents/{id}/cancel", post(cancel))
        .route("/v1/charges/{id}", get(get_charge))
        .route("/v1/refunds", post(refund).get(list_refunds))
        .route("/v1/refunds/{id}", get(get_refund))
        .route("/v1/disputes", get(list_disputes))
        .route("/v1/events", get(list_events))
        .route("/v1/events/{id}", get(get_event))
        .with_state(Desk::new(Arc::clone(&provider), wire))
        .merge(page::router(provider))
        .fallback(async move || answer::nothing_here(wire))
        .layer(DefaultBodyLimit::max(64 * 1024))
        .layer(axum::middleware::map_response(move |it| answer::with_request_id(wire, it)))
}

/// Whether these credentials are right: the key as bearer, or as the user of Basic.
pub fn authorized(key: &str, headers: &HeaderMap) -> bool {
    let given = headers.get("authorization").map_or(&[][..], |it| it.as_bytes());
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("{key}:"));
    [format!("Bearer {key}"), format!("Basic {basic}")]
        .iter()
        .any(|wanted| bool::from(subtle::ConstantTimeEq::ct_eq(given, wanted.as_bytes())))
}

async fn create(State(desk): State<Desk>, headers: HeaderMap, body: Bytes) -> Response {
    let params = Params::read(&body);
    let method = read::named_method(&params);
    let confirmed = params.get("confirm") == Some("true");
    let request = Request {
        operation: "create_payment",
        path: "/v1/payment_intents".to_owned(),
        reference: read::reference(&params),
        faulty: method.as_deref().filter(|_| confirmed).and_then(methods::token),
        token: method,
        content: Some(params.canonical()),
        act: read::create(&params).map(Act::Stripe),
        body,
    };
    desk.mutate(&headers, request).await
}

async fn confirm(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let params = Params::read(&body);
    let method = match read::named_method(&params) {
        Some(method) => Some(method),
        None => kept_method(&desk, &id).await,
    };
    let request = Request {
        operation: "confirm_payment",
        path: format!("/v1/payment_intents/{id}/confirm"),
        reference: desk.reference_of(&id).await,
        faulty: method.as_deref().and_then(methods::token),
        token: method,
        content: Some(params.canonical()),
        act: read::confirm(&id, &params).map(Act::Stripe),
        body,
    };
    desk.mutate(&headers, request).await
}

/// The method that an intent has already.
async fn kept_method(desk: &Desk, id: &str) -> Option<String> {
    let mut db = desk.provider.db.acquire().await.ok()?;
    let intent = act::find(&mut db, id).await.ok()??;
    intent.extra["payment_method"].as_str().map(str::to_owned)
}

async fn capture(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let params = Params::read(&body);
    let request = Request {
        operation: "capture_payment",
        path: format!("/v1/payment_intents/{id}/capture"),
        reference: desk.reference_of(&id).await,
        token: None,
        faulty: None,
        content: Some(params.canonical()),
        act: read::capture(&id, &params).map(Act::Stripe),
        body,
    };
    desk.mutate(&headers, request).await
}

async fn cancel(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let params = Params::read(&body);
    let request = Request {
        operation: "cancel_payment",
        path: format!("/v1/payment_intents/{id}/cancel"),
        reference: desk.reference_of(&id).await,
        token: None,
        faulty: None,
        content: Some(params.canonical()),
        act: read::cancel(&id, &params).map(Act::Stripe),
        body,
    };
    desk.mutate(&headers, request).await
}

async fn refund(State(desk): State<Desk>, headers: HeaderMap, body: Bytes) -> Response {
    let params = Params::read(&body);
    let request = Request {
        operation: "create_refund",
        path: "/v1/refunds".to_owned(),
        reference: read::reference(&params),
        token: None,
        faulty: None,
        content: Some(params.canonical()),
        act: read::refund(&params).map(Act::Stripe),
        body,
    };
    desk.mutate(&headers, request).await
}

async fn get_intent(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let question = Question {
        operation: "get_payment",
        path: format!("/v1/payment_intents/{id}"),
        query: None,
        reference: desk.reference_of(&id).await,
        headers: &headers,
    };
    desk.ask(question, async |provider| {
        let mut db = provider.db.acquire().await?;
        let found = act::find(&mut db, &id).await?.filter(|it| it.id == id);
        let missing = || show::missing("intent", "payment_intent", &id);
        Ok(Some(found.map_or_else(missing, |it| Made::json(200, &show::intent(provider, &it)))))
    })
    .await
}

async fn get_charge(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let question = Question {
        operation: "get_capture",
        path: format!("/v1/charges/{id}"),
        query: None,
        reference: desk.reference_of(&id).await,
        headers: &headers,
    };
    desk.ask(question, async |provider| {
        let mut db = provider.db.acquire().await?;
        let found = act::find(&mut db, &id).await?.filter(|it| it.charge.as_ref() == Some(&id));
        let missing = || show::missing("charge", "charge", &id);
        Ok(Some(found.map_or_else(missing, |it| Made::json(200, &show::charge(&it)))))
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
        let found = record::refund(&mut db, &id).await?.filter(|it| it.wire == Wire::Stripe);
        let Some(refund) = found else {
            return Ok(Some(show::missing("refund", "refund", &id)));
        };
        let paid = record::payment(&mut db, &refund.payment).await?;
        let charge = paid.as_ref().and_then(|it| it.charge.as_deref());
        Ok(Some(Made::json(200, &show::refund(&refund, charge))))
    })
    .await
}

/// A question about a list.
fn listing<'a>(
    operation: &'static str,
    path: &str,
    query: Option<&String>,
    headers: &'a HeaderMap,
) -> Question<'a> {
    Question { operation, path: path.to_owned(), query: query.cloned(), reference: None, headers }
}

async fn list_intents(
    State(desk): State<Desk>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let params = Params::read(query.as_deref().unwrap_or_default().as_bytes());
    let question = listing("find_payment", "/v1/payment_intents", query.as_ref(), &headers);
    desk.ask(question, async |provider| lists::intents(provider, &params).await.map(Some)).await
}

async fn search_intents(
    State(desk): State<Desk>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let params = Params::read(query.as_deref().unwrap_or_default().as_bytes());
    let asked = search::read(&params);
    let mut question = listing("search_payment", search::PATH, query.as_ref(), &headers);
    question.reference = asked.as_ref().ok().and_then(|it| it.reference().map(str::to_owned));
    desk.ask(question, async |provider| match asked {
        Ok(asked) => search::intents(provider, &asked).await.map(Some),
        Err(made) => Ok(Some(made)),
    })
    .await
}

async fn list_refunds(
    State(desk): State<Desk>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let params = Params::read(query.as_deref().unwrap_or_default().as_bytes());
    let mut question = listing("find_refund", "/v1/refunds", query.as_ref(), &headers);
    if let Some(of) = params.get("payment_intent") {
        question.reference = desk.reference_of(of).await;
    }
    desk.ask(question, async |provider| lists::refunds(provider, &params).await.map(Some)).await
}

async fn list_disputes(
    State(desk): State<Desk>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let params = Params::read(query.as_deref().unwrap_or_default().as_bytes());
    let question = listing("find_dispute", "/v1/disputes", query.as_ref(), &headers);
    desk.ask(question, async |provider| lists::disputes(provider, &params).await.map(Some)).await
}

async fn list_events(
    State(desk): State<Desk>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let params = Params::read(query.as_deref().unwrap_or_default().as_bytes());
    let question = listing("find_event", "/v1/events", query.as_ref(), &headers);
    desk.ask(question, async |provider| lists::events(provider, &params).await.map(Some)).await
}

async fn get_event(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let question = listing("get_event", &format!("/v1/events/{id}"), None, &headers);
    desk.ask(question, async |provider| {
        let body: Option<String> =
            sqlx::query_scalar("select body from events where id = ? and wire = 'stripe'")
                .bind(&id)
                .fetch_optional(&provider.db)
                .await?;
        let content_type = "application/json".to_owned();
        Ok(Some(body.map_or_else(
            || show::missing("id", "event", &id),
            |body| Made { status: 200, body, content_type },
        )))
    })
    .await
}
