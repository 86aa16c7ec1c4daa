//! The addresses of authorizations, and what each of them asks of the desk.

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::HeaderMap,
    response::Response,
    routing::{get, post},
};

use super::{super::read, find, of};
use crate::{
    desk::Desk,
    ledger::Made,
    paypal::{act::Act, question, request, show},
};

/// The routes.
pub fn routes() -> Router<Desk> {
    Router::new()
        .route("/v2/checkout/orders/{id}/authorize", post(authorize))
        .route("/v2/payments/authorizations/{id}", get(get_authorization))
        .route("/v2/payments/authorizations/{id}/capture", post(capture))
        .route("/v2/payments/authorizations/{id}/void", post(void))
        .route("/v2/payments/authorizations/{id}/reauthorize", post(reauthorize))
}

/// The reference of the payment with this authorization, for scripts.
async fn reference_of(desk: &Desk, id: &str) -> Option<String> {
    let mut db = desk.provider.db.acquire().await.ok()?;
    find(&mut db, id).await.ok()?.map(|it| it.reference)
}

async fn authorize(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = format!("/v2/checkout/orders/{id}/authorize");
    let reference = desk.reference_of(&id).await;
    let act = read::authorize(&id, &body);
    desk.mutate(&headers, request("authorize_payment", path, reference, act, body)).await
}

async fn get_authorization(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let reference = reference_of(&desk, &id).await;
    let path = format!("/v2/payments/authorizations/{id}");
    desk.ask(question("get_authorization", path, reference, &headers), async |provider| {
        let mut db = provider.db.acquire().await?;
        let found = find(&mut db, &id).await?;
        let shown = |it| of(it).map(|held| show::authorization(provider, it, &held));
        Ok(Made::found(found.as_ref().and_then(shown)))
    })
    .await
}

/// A POST to something under an authorization.
async fn ask(
    desk: &Desk,
    (operation, id, word): (&'static str, &str, &str),
    headers: &HeaderMap,
    act: Result<Act, Made>,
    body: Bytes,
) -> Response {
    let path = format!("/v2/payments/authorizations/{id}/{word}");
    let reference = reference_of(desk, id).await;
    desk.mutate(headers, request(operation, path, reference, act, body)).await
}

async fn capture(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let act = read::capture_authorization(&id, &headers, &body);
    ask(&desk, ("capture_authorization", &id, "capture"), &headers, act, body).await
}

async fn void(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let act = read::void(&id, &headers, &body);
    ask(&desk, ("void_authorization", &id, "void"), &headers, act, body).await
}

async fn reauthorize(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let act = read::reauthorize(&id, &body);
    ask(&desk, ("reauthorize", &id, "reauthorize"), &headers, act, body).await
}
