//! The page where a payer approves an order, and with what. Nothing is taken here.

use std::sync::Arc;

use axum::{
    Form,
    extract::{Query, State},
    http::StatusCode,
    response::{Html, IntoResponse, Redirect, Response},
};
use serde::Deserialize;

use super::{act, amount, show};
use crate::{
    Provider,
    faults::Hook,
    ledger::{self, Asked, record::Payment},
    now_ms,
    page::{broken, escape, frame, gone},
};

/// What a payer can pay with, and the token that behaves so.
const FUNDING: [(&str, &str, &str); 11] = [
    ("balance", "Balance", "tok_visa"),
    ("declined", "A card that is declined at capture", "tok_declined"),
    ("refused", "An account whose capture is declined", act::REFUSED),
    ("pending", "A payment that is reviewed, then taken", "tok_processing"),
    ("pending_declined", "A payment that is reviewed, then declined", "tok_processing_declined"),
    ("wrong_amount", "Balance; one unit more is taken", "tok_wrong_amount"),
    ("wrong_currency", "Balance; another currency is taken", "tok_wrong_currency"),
    ("unknown_status", "A capture with a status nobody knows", "tok_unknown_status"),
    ("refund_pending", "Balance; refunds take a while", "tok_refund_pending"),
    ("refund_refused", "Balance; refunds take a while, then fail", "tok_refund_refused_later"),
    ("refund_fails", "Balance; refunds fail in the end", "tok_refund_fails_later"),
];

#[derive(Deserialize)]
pub struct Asking {
    token: String,
}

/// Shows what is to be approved.
pub async fn view(State(provider): State<Arc<Provider>>, Query(asking): Query<Asking>) -> Response {
    match find(&provider, &asking.token).await {
        Ok(Some(order)) => Html(page_of(&order)).into_response(),
        Ok(None) => gone(),
        Err(reason) => broken(&reason),
    }
}

async fn find(provider: &Provider, id: &str) -> sqlx::Result<Option<Payment>> {
    let mut db = provider.db.acquire().await?;
    act::order(&mut db, id).await
}

fn over(order: &Payment) -> bool {
    order.action_expires_at.is_some_and(|at| now_ms() >= at)
}

fn page_of(order: &Payment) -> String {
    let title = "Approve a payment";
    let back = match order.extra["cancel_url"].as_str().unwrap_or_default() {
        "" => String::new(),
        url => {
            let url = with(url, &format!("token={}", order.id));
            format!("<p><a href=\"{}\">Cancel and return to the shop</a></p>", escape(&url))
        }
    };
    if order.status != "created" {
        return frame(title, "<p>This order waits for no approval.</p>");
    }
    if over(order) {
        let words = "<p>The time to approve this order is over. No money was taken.</p>";
        return frame(title, &format!("{words}{back}"));
    }
    let shown = amount::show(order.amount_minor, &order.currency);
    let value = shown["value"].as_str().unwrap_or_default();
    let facts = format!(
        "<dl><dt>Amount</dt><dd>{} {}</dd><dt>Reference</dt><dd>{}</dd></dl>",
        escape(value),
        escape(&order.currency),
        escape(&order.reference)
    );
    let options: String = FUNDING
        .iter()
        .map(|(name, words, _)| format!("<option value=\"{name}\">{words}</option>"))
        .collect();
    let fields = format!(
        "<input type=\"hidden\" name=\"token\" value=\"{}\">\
         <label>Pay with<select name=\"funding\">{options}</select></label>\
         <button class=\"main\" name=\"act\" value=\"approve\">Approve</button>\
         <button name=\"act\" value=\"cancel\">Cancel</button>",
        escape(&order.id)
    );
    frame(
        title,
        &format!("{facts}<form method=\"post\" action=\"/checkoutnow\">{fields}</form>{back}"),
    )
}

#[derive(Deserialize)]
pub struct Decision {
    token: String,
    act: String,
    #[serde(default)]
    funding: String,
}

/// Takes a payer's decision, and leads back to the shop.
pub async fn decide(
    State(provider): State<Arc<Provider>>,
    Form(decision): Form<Decision>,
) -> Response {
    let order = match find(&provider, &decision.token).await {
        Ok(Some(order)) => order,
        Ok(None) => return gone(),
        Err(reason) => return broken(&reason),
    };
    if decision.act == "cancel" {
        let cancel = order.extra["cancel_url"].as_str().unwrap_or_default().to_owned();
        return lead(&cancel, &format!("token={}", order.id));
    }
    let back = format!("token={}&PayerID={}", order.id, show::payer_id(&order.id));
    // A second click on the same button gets where the first one went.
    if order.status == "approved" {
        return lead(&order.return_url, &back);
    }
    if order.status != "created" || over(&order) {
        return (StatusCode::CONFLICT, Html(page_of(&order))).into_response();
    }
    let name = if decision.funding.is_empty() { "balance" } else { decision.funding.as_str() };
    let Some((_, _, token)) = FUNDING.iter().find(|it| it.0 == name) else {
        return (StatusCode::BAD_REQUEST, Html(page_of(&order))).into_response();
    };
    match approve(&provider, &order.id, token).await {
        Ok(()) => lead(&order.return_url, &back),
        Err(reason) => broken(&reason),
    }
}

async fn approve(provider: &Provider, id: &str, token: &str) -> sqlx::Result<()> {
    let mut tx = provider.db.begin().await?;
    let waits = act::order(&mut tx, id).await?.filter(|it| it.status == "created");
    if let Some(order) = waits {
        sqlx::query("update payments set token = ? where id = ?")
            .bind(token)
            .bind(id)
            .execute(&mut *tx)
            .await?;
        let hook = Hook::default();
        let (key, request_id) = (&order.idempotency_key, &order.request_id);
        let asked = Asked { key, request_id, hook: &hook, later: true };
        ledger::turn(provider, &mut tx, id, "approved", &asked).await?;
    }
    tx.commit().await
}

fn with(url: &str, told: &str) -> String {
    let sep = if url.contains('?') { '&' } else { '?' };
    format!("{url}{sep}{told}")
}

fn lead(url: &str, told: &str) -> Response {
    if url.is_empty() {
        return Html(frame("ExamplePay", "<p>That is all. This page can be closed.</p>"))
            .into_response();
    }
    Redirect::to(&with(url, told)).into_response()
}
