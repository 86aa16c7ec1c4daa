//! What this wire shows: orders, captures, refunds, and its problems.

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::amount;
use crate::{
    Provider,
    clock::iso,
    ledger::{
        Made,
        record::{self, Payment, Refund},
    },
    wire::{Refusal, Wire},
};

/// Stands in a problem until the id of its answer is known.
pub const DEBUG_ID: &str = "debug-id-of-this-answer";

/// A problem in this wire's form.
pub fn problem(status: u16, name: &str, message: &str, details: &[Value]) -> Made {
    Made::json(
        status,
        &json!({"name": name, "message": message, "debug_id": DEBUG_ID, "details": details, "links": []}),
    )
}

/// A problem with one issue, and the field it is about.
pub fn issue(status: u16, issue: &str, field: Option<&str>) -> Made {
    let (name, message) = match status {
        400 => ("INVALID_REQUEST", "The request is not well formed."),
        404 => ("RESOURCE_NOT_FOUND", "There is no such resource."),
        409 => ("RESOURCE_CONFLICT", "The resource is in use."),
        _ => ("UNPROCESSABLE_ENTITY", "This cannot be done."),
    };
    let words = issue.to_lowercase().replace('_', " ");
    let mut detail = json!({"issue": issue, "description": format!("It is so: {words}.")});
    if let Some(field) = field {
        detail["field"] = json!(field);
        detail["location"] = json!("body");
    }
    problem(status, name, message, &[detail])
}

/// How this wire says no.
pub fn refusal(why: Refusal) -> Made {
    match why {
        Refusal::Unauthorized => {
            let message = "The access token is missing, not valid, or too old.";
            problem(401, "AUTHENTICATION_FAILURE", message, &[])
        }
        Refusal::NoSuchAddress | Refusal::NotFound => issue(404, "INVALID_RESOURCE_ID", None),
        Refusal::BadKey => issue(400, "INVALID_STRING_LENGTH", Some("PayPal-Request-Id")),
        Refusal::KeyMismatch => issue(422, "DUPLICATE_REQUEST_ID", Some("PayPal-Request-Id")),
        Refusal::KeyInUse => issue(409, "PREVIOUS_REQUEST_IN_PROGRESS", None),
        Refusal::RateLimited => problem(429, "RATE_LIMIT_REACHED", "Too many requests.", &[]),
        Refusal::NotDone => problem(503, "SERVICE_UNAVAILABLE", "Nothing was done.", &[]),
        Refusal::Later => problem(504, "GATEWAY_TIMEOUT", "It takes longer.", &[]),
        Refusal::Broken => problem(500, "INTERNAL_SERVER_ERROR", "Something broke here.", &[]),
        Refusal::Unavailable(status) => problem(status, "SERVICE_UNAVAILABLE", "Not now.", &[]),
    }
}

fn link(href: String, rel: &str, method: &str) -> Value {
    json!({"href": href, "rel": rel, "method": method})
}

/// The word of this wire for where an order stands.
fn status(it: &Payment) -> &'static str {
    match it.status.as_str() {
        "created" if it.extra["flow"] == "payment_source" => "PAYER_ACTION_REQUIRED",
        "created" => "CREATED",
        "approved" => "APPROVED",
        "canceled" => "VOIDED",
        // Also where the capture is pending or declined: only the capture tells that.
        _ => "COMPLETED",
    }
}

fn order_links(provider: &Provider, it: &Payment) -> Vec<Value> {
    let own = format!("{}/v2/checkout/orders/{}", provider.paypal_url, it.id);
    let page = provider.page(Wire::PayPal, &it.id);
    let mut links = vec![link(own.clone(), "self", "GET")];
    match status(it) {
        "CREATED" => links.push(link(page, "approve", "GET")),
        "PAYER_ACTION_REQUIRED" => links.push(link(page, "payer-action", "GET")),
        _ => {}
    }
    if matches!(status(it), "CREATED" | "APPROVED") {
        links.push(link(format!("{own}/capture"), "capture", "POST"));
    }
    links
}

/// The least that is told of an order.
pub fn minimal(provider: &Provider, it: &Payment) -> Value {
    let mut shown = json!({"id": it.id, "status": status(it), "links": order_links(provider, it)});
    if it.extra["flow"] == "payment_source" {
        shown["payment_source"] = json!({"paypal": {}});
    }
    shown
}

/// An order, with the captures and refunds it led to.
pub async fn order(
    provider: &Provider,
    db: &mut SqliteConnection,
    it: &Payment,
) -> sqlx::Result<Value> {
    let extra = &it.extra;
    let mut unit = json!({
        "reference_id": extra["reference_id"],
        "amount": amount::show(it.amount_minor, &it.currency),
        "payee": payee(),
    });
    for name in ["custom_id", "invoice_id", "description"] {
        if !extra[name].is_null() {
            unit[name] = extra[name].clone();
        }
    }
    if it.charge.is_some() {
        unit["payments"] = json!({"captures": [capture(provider, it)]});
        let refunds = refunds(db, &it.id).await?;
        if !refunds.is_empty() {
            let shown = refunds.iter().map(|refund| show_refund(provider, refund, it));
            unit["payments"]["refunds"] = shown.collect();
        }
    }
    let mut shown = json!({
        "id": it.id, "intent": "CAPTURE", "status": status(it), "purchase_units": [unit],
        "create_time": iso(it.created_at), "update_time": iso(it.updated_at),
        "links": order_links(provider, it),
    });
    if extra["flow"] == "payment_source" {
        shown["payment_source"] = json!({"paypal": {}});
    }
    if !matches!(status(it), "CREATED" | "PAYER_ACTION_REQUIRED" | "VOIDED") {
        shown["payer"] =
            json!({"payer_id": payer_id(&it.id), "email_address": "payer@example.test"});
        shown["payment_source"] = json!({"paypal": {"account_id": payer_id(&it.id), "email_address": "payer@example.test"}});
    }
    Ok(shown)
}

fn payee() -> Value {
    json!({"merchant_id": "PAYONCEMERCHANT", "email_address": "shop@example.test"})
}

/// Who pays; one payer for each order.
pub fn payer_id(order: &str) -> String {
    order.chars().rev().take(13).collect()
}

async fn refunds(db: &mut SqliteConnection, of: &str) -> sqlx::Result<Vec<Refund>> {
    let rows = sqlx::query("select * from refunds where payment = ? order by rowid")
        .bind(of)
        .fetch_all(db)
        .await?;
    rows.iter().map(Refund::try_from).collect()
}

/// The capture of an order.
pub fn capture(provider: &Provider, it: &Payment) -> Value {
    let id = it.charge.as_deref().unwrap_or_default();
    let own = format!("{}/v2/payments/captures/{id}", provider.paypal_url);
    let status = match it.status.as_str() {
        "processing" => "PENDING",
        "declined" => "DECLINED",
        // What was taken back by the bank has no word of its own here.
        "reversed" => "REFUNDED",
        _ if it.refunded_minor == 0 => "COMPLETED",
        _ if it.refunded_minor < it.amount_minor => "PARTIALLY_REFUNDED",
        _ => "REFUNDED",
    };
    let gross = amount::show(it.amount_minor, &it.currency);
    let mut shown = json!({
        "id": id, "status": status, "amount": gross, "final_capture": true,
        "seller_protection": {"status": "NOT_ELIGIBLE"}, "payee": payee(),
        "create_time": iso(it.updated_at), "update_time": iso(it.updated_at),
        "supplementary_data": {"related_ids": {"order_id": it.id}},
        "links": [
            link(own.clone(), "self", "GET"),
            link(format!("{own}/refund"), "refund", "POST"),
            link(format!("{}/v2/checkout/orders/{}", provider.paypal_url, it.id), "up", "GET"),
        ],
    });
    for name in ["custom_id", "invoice_id"] {
        if !it.extra[name].is_null() {
            shown[name] = it.extra[name].clone();
        }
    }
    match status {
        "PENDING" => shown["status_details"] = json!({"reason": "PENDING_REVIEW"}),
        "DECLINED" => {}
        _ => {
            let nothing = amount::show(0, &it.currency);
            shown["seller_receivable_breakdown"] =
                json!({"gross_amount": gross, "paypal_fee": nothing, "net_amount": gross});
        }
    }
    shown
}

/// A refund.
pub fn show_refund(provider: &Provider, it: &Refund, paid: &Payment) -> Value {
    let url = &provider.paypal_url;
    let capture = paid.charge.as_deref().unwrap_or_default();
    let status = match it.status.as_str() {
        "succeeded" => "COMPLETED",
        "failed" => "FAILED",
        _ => "PENDING",
    };
    let mut shown = json!({
        "id": it.id, "status": status, "amount": amount::show(it.amount_minor, &it.currency),
        "create_time": iso(it.created_at), "update_time": iso(it.updated_at),
        "links": [
            link(format!("{url}/v2/payments/refunds/{}", it.id), "self", "GET"),
            link(format!("{url}/v2/payments/captures/{capture}"), "up", "GET"),
        ],
    });
    for name in ["custom_id", "invoice_id", "note_to_payer"] {
        if !it.extra[name].is_null() {
            shown[name] = it.extra[name].clone();
        }
    }
    match (status, &it.failure_code) {
        ("PENDING", _) => shown["status_details"] = json!({"reason": "ECHECK"}),
        ("FAILED", Some(code)) => {
            shown["status_details"] = json!({"reason": code.to_uppercase()});
        }
        _ => {}
    }
    shown
}

/// What an earlier request made, as it is now.
pub async fn latest(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
) -> sqlx::Result<Made> {
    if let Some(refund) = record::refund(db, id).await? {
        let paid = record::payment(db, &refund.payment).await?.ok_or(sqlx::Error::RowNotFound)?;
        return Ok(Made::json(200, &show_refund(provider, &refund, &paid)));
    }
    let it = record::payment(db, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(Made::json(200, &order(provider, db, &it).await?))
}
