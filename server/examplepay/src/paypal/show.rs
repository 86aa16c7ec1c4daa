//! What this wire shows: orders, authorizations, captures, refunds, and its problems.

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::{
    amount,
    authorization::{self, Held},
};
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

/// The least that is told of anything.
pub fn least(shown: &Value) -> Value {
    json!({"id": shown["id"], "status": shown["status"], "links": shown["links"]})
}

/// What an order was made for: to take money, or to hold it first.
pub fn intent(it: &Payment) -> &str {
    it.extra["intent"].as_str().unwrap_or("CAPTURE")
}

/// Whether an order has led to a capture; an authorization alone is none.
pub fn has_capture(it: &Payment) -> bool {
    let held = authorization::of(it).is_some();
    it.charge.is_some() && (!held || authorization::status(it) == "CAPTURED")
}

/// The word of this wire for where an order stands.
pub fn status(it: &Payment) -> &'static str {
    match it.status.as_str() {
        "created" if it.extra["flow"] == "payment_source" => "PAYER_ACTION_REQUIRED",
        "created" => "CREATED",
        "approved" => "APPROVED",
        "canceled" if authorization::of(it).is_none() => "VOIDED",
        // Also where the capture is pending or declined, or the authorization is void: only they
        // tell that.
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
        let next = if intent(it) == "AUTHORIZE" { "authorize" } else { "capture" };
        links.push(link(format!("{own}/{next}"), next, "POST"));
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

/// What an order led to, if to anything.
async fn payments(
    provider: &Provider,
    db: &mut SqliteConnection,
    it: &Payment,
) -> sqlx::Result<Option<Value>> {
    let mut shown = serde_json::Map::new();
    if let Some(held) = authorization::of(it) {
        let authorizations = json!([authorization(provider, it, &held)]);
        shown.insert("authorizations".to_owned(), authorizations);
    }
    if has_capture(it) {
        shown.insert("captures".to_owned(), json!([capture(provider, it)]));
        let mut refunds = refunds(db, &it.id).await?;
        // What lookups are to miss for a while is not shown here either.
        refunds.retain(|it| {
            let reference = it.extra["custom_id"].as_str();
            reference.is_none() || provider.faults.lookup_status(reference) != Some(404)
        });
        if !refunds.is_empty() {
            let refunds = refunds.iter().map(|refund| show_refund(provider, refund, it));
            shown.insert("refunds".to_owned(), refunds.collect());
        }
    }
    Ok((!shown.is_empty()).then_some(Value::Object(shown)))
}

/// An order, with the authorizations, captures and refunds it led to.
pub async fn order(
    provider: &Provider,
    db: &mut SqliteConnection,
    it: &Payment,
) -> sqlx::Result<Value> {
    let extra = &it.extra;
    // A capture may be of less, and of another invoice; the order stays what was approved.
    let (amount_minor, invoice_id) = match authorization::of(it) {
        Some(held) => (held.amount_minor, held.invoice_id),
        None => (it.amount_minor, &extra["invoice_id"]),
    };
    let mut unit = json!({
        "reference_id": extra["reference_id"],
        "amount": amount::show(amount_minor, &it.currency),
        "payee": payee(),
    });
    for (name, value) in [
        ("custom_id", &extra["custom_id"]),
        ("invoice_id", invoice_id),
        ("description", &extra["description"]),
    ] {
        if !value.is_null() {
            unit[name] = value.clone();
        }
    }
    if let Some(payments) = payments(provider, db, it).await? {
        unit["payments"] = payments;
    }
    let mut shown = json!({
        "id": it.id, "intent": intent(it), "status": status(it), "purchase_units": [unit],
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

/// The authorization of an order.
pub fn authorization(provider: &Provider, it: &Payment, held: &Held<'_>) -> Value {
    let own = format!("{}/v2/payments/authorizations/{}", provider.paypal_url, held.id);
    let status = authorization::status(it);
    let mut links = vec![link(own.clone(), "self", "GET")];
    if status == "CREATED" {
        let next = ["capture", "void", "reauthorize"];
        links.extend(next.map(|next| link(format!("{own}/{next}"), next, "POST")));
    }
    links.push(link(format!("{}/v2/checkout/orders/{}", provider.paypal_url, it.id), "up", "GET"));
    let mut shown = json!({
        "id": held.id, "status": status, "amount": amount::show(held.amount_minor, &it.currency),
        "seller_protection": {"status": "NOT_ELIGIBLE"}, "payee": payee(),
        "expiration_time": iso(held.until()),
        "create_time": iso(held.at), "update_time": iso(it.updated_at),
        "supplementary_data": {"related_ids": {"order_id": it.id}},
        "links": links,
    });
    for (name, value) in [("custom_id", &it.extra["custom_id"]), ("invoice_id", held.invoice_id)] {
        if !value.is_null() {
            shown[name] = value.clone();
        }
    }
    if status == "PENDING" {
        shown["status_details"] = json!({"reason": "PENDING_REVIEW"});
    }
    shown
}

/// The capture of an order.
pub fn capture(provider: &Provider, it: &Payment) -> Value {
    let id = it.charge.as_deref().unwrap_or_default();
    let url = &provider.paypal_url;
    let own = format!("{url}/v2/payments/captures/{id}");
    let up = match authorization::of(it) {
        Some(held) => format!("{url}/v2/payments/authorizations/{}", held.id),
        None => format!("{url}/v2/checkout/orders/{}", it.id),
    };
    let status = match it.status.as_str() {
        "processing" => "PENDING",
        "declined" => "DECLINED",
        "under_review" => "UNDER_REVIEW",
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
            link(up, "up", "GET"),
        ],
    });
    if let Some(held) = authorization::of(it) {
        shown["supplementary_data"]["related_ids"]["authorization_id"] = json!(held.id);
    }
    for name in ["custom_id", "invoice_id"] {
        if !it.extra[name].is_null() {
            shown[name] = it.extra[name].clone();
        }
    }
    match status {
        "PENDING" => shown["status_details"] = json!({"reason": "PENDING_REVIEW"}),
        "DECLINED" | "UNDER_REVIEW" => {}
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
    if let Some(it) = record::payment(db, id).await? {
        let shown = match it.id == id {
            true => order(provider, db, &it).await?,
            false => capture(provider, &it),
        };
        return Ok(Made::json(200, &shown));
    }
    let it = authorization::find(db, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    let held = authorization::of(&it).ok_or(sqlx::Error::RowNotFound)?;
    Ok(Made::json(200, &authorization(provider, &it, &held)))
}
