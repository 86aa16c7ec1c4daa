//! What this wire shows: intents, charges, refunds, disputes, and its errors.

use serde_json::{Value, json};

use super::search;
use crate::{
    Provider,
    ledger::{
        Made,
        record::{Payment, Refund},
    },
    money,
    wire::{Refusal, Wire},
};

/// The version of the wire that objects and events are shown in.
pub const API_VERSION: &str = "2024-06-20";

/// The decimals of a currency by this wire's rules.
pub fn decimals(currency: &str) -> u32 {
    match currency {
        "BIF" | "CLP" | "DJF" | "GNF" | "JPY" | "KMF" | "KRW" | "MGA" | "PYG" | "RWF" | "VND"
        | "VUV" | "XAF" | "XOF" | "XPF" => 0,
        "BHD" | "JOD" | "KWD" | "OMR" | "TND" => 3,
        _ => 2,
    }
}

/// An amount in the units of this wire.
pub fn amount(minor: i64, currency: &str) -> i64 {
    money::shown(minor, money::decimals(currency), decimals(currency))
}

/// The answer to a parameter that is not right.
pub fn invalid(param: &str, code: &str, message: &str) -> Made {
    Made::json(
        400,
        &json!({"error": {"type": "invalid_request_error", "code": code, "param": param, "message": message}}),
    )
}

/// An error without a parameter.
pub fn error(status: u16, kind: &str, code: Option<&str>, message: &str) -> Made {
    let mut body = json!({"error": {"type": kind, "message": message}});
    if let Some(code) = code {
        body["error"]["code"] = json!(code);
    }
    Made::json(status, &body)
}

/// There is no such object.
pub fn missing(param: &str, what: &str, id: &str) -> Made {
    let message = format!("No such {what}: '{id}'");
    Made::json(
        404,
        &json!({"error": {"type": "invalid_request_error", "code": "resource_missing", "param": param, "message": message}}),
    )
}

/// How this wire says no.
pub fn refusal(why: Refusal) -> Made {
    let request = "invalid_request_error";
    match why {
        Refusal::Unauthorized => error(401, request, None, "The API key is missing or not valid."),
        Refusal::NoSuchAddress => error(404, request, None, "Unrecognized request URL."),
        Refusal::NotFound => missing("id", "object", "unknown"),
        Refusal::BadKey => error(400, request, None, "A key has 1 to 255 characters."),
        Refusal::KeyMismatch => {
            let message = "This key was used with other parameters, or at another address.";
            error(400, "idempotency_error", None, message)
        }
        Refusal::KeyInUse => {
            let message = "Another request with this key is being executed.";
            error(409, request, Some("idempotency_key_in_use"), message)
        }
        Refusal::RateLimited => error(429, request, Some("rate_limit"), "Too many requests."),
        Refusal::NotDone => error(503, "api_error", None, "Nothing was done."),
        Refusal::Later => error(504, "api_error", None, "It takes longer."),
        Refusal::Broken => error(500, "api_error", None, "Something broke here."),
        Refusal::Unavailable(status) => error(status, "api_error", None, "Not now."),
    }
}

/// What is found at an address while lookups find nothing.
pub fn nothing_found(path: &str) -> Made {
    if path == search::PATH { search_result(&[], None) } else { list(path, &[], false) }
}

/// What a search found; with the cursor of the next page where there is more.
pub fn search_result(data: &[Value], next_page: Option<&str>) -> Made {
    let more = next_page.is_some();
    Made::json(
        200,
        &json!({"object": "search_result", "data": data, "has_more": more, "next_page": next_page, "url": search::PATH}),
    )
}

/// A page of a list.
pub fn list(path: &str, data: &[Value], has_more: bool) -> Made {
    Made::json(200, &json!({"object": "list", "data": data, "has_more": has_more, "url": path}))
}

/// The word of this wire for where a payment stands.
fn status(it: &Payment) -> &str {
    match it.status.as_str() {
        "created" if it.extra["payment_method"].is_null() => "requires_payment_method",
        "created" => "requires_confirmation",
        "declined" => "requires_payment_method",
        "authorized" => "requires_capture",
        // What was charged back has succeeded all the same; the dispute tells the rest.
        "reversed" => "succeeded",
        other => other,
    }
}

/// A payment intent.
pub fn intent(provider: &Provider, it: &Payment) -> Value {
    let extra = &it.extra;
    let received = matches!(it.status.as_str(), "succeeded" | "reversed");
    let (agreed, taken) = (agreed(it), amount(it.amount_minor, &it.currency));
    let declined = it.status == "declined";
    let charged = it.charge.is_some() && it.status != "requires_action";
    json!({
        "id": it.id, "object": "payment_intent", "livemode": false,
        "amount": agreed,
        "amount_capturable": if it.status == "authorized" { agreed } else { 0 },
        "amount_details": {"tip": {}},
        "amount_received": if received { taken } else { 0 },
        "application": null, "application_fee_amount": null,
        "automatic_payment_methods": extra["automatic_payment_methods"],
        "canceled_at": (it.status == "canceled").then_some(it.updated_at / 1000),
        "cancellation_reason": extra["cancellation_reason"],
        "capture_method": extra["capture_method"],
        "client_secret": secret(it),
        "confirmation_method": "automatic",
        "created": it.created_at / 1000, "currency": it.currency.to_lowercase(),
        "customer": null, "description": extra["description"],
        "last_payment_error": declined.then(|| payment_error(it)),
        "latest_charge": it.charge.as_ref().filter(|_| charged),
        "metadata": extra["metadata"],
        "next_action": next_action(provider, it),
        "on_behalf_of": null,
        "payment_method": if declined { &Value::Null } else { &extra["payment_method"] },
        "payment_method_options": {}, "payment_method_types": ["card"], "processing": null,
        "receipt_email": null, "review": null, "setup_future_usage": null, "shipping": null,
        "source": null, "statement_descriptor": null, "statement_descriptor_suffix": null,
        "status": status(it), "transfer_data": null, "transfer_group": null,
    })
}

/// How much was asked for; what was taken of it may be less.
fn agreed(it: &Payment) -> i64 {
    amount(it.agreed_minor(), &it.currency)
}

/// What a browser would confirm an intent with.
pub fn secret(it: &Payment) -> String {
    format!("{}_secret_simulated", it.id)
}

fn next_action(provider: &Provider, it: &Payment) -> Value {
    if it.status != "requires_action" {
        return Value::Null;
    }
    let back = Some(&it.return_url).filter(|it| !it.is_empty());
    json!({
        "type": "redirect_to_url",
        "redirect_to_url": {"url": provider.page(Wire::Stripe, &it.id), "return_url": back},
    })
}

/// Why the last attempt failed.
pub fn payment_error(it: &Payment) -> Value {
    let method = json!({"id": it.extra["payment_method"], "object": "payment_method", "type": "card", "livemode": false});
    match it.decline_code.as_deref() {
        Some("authentication_failed") => json!({
            "type": "card_error", "code": "payment_intent_authentication_failure",
            "message": "The shopper did not confirm this payment.", "payment_method": method,
        }),
        code => json!({
            "type": "card_error", "code": "card_declined", "decline_code": code,
            "message": "The bank declined the card.", "charge": it.charge, "payment_method": method,
        }),
    }
}

/// The answer to a confirmation that the bank declined.
pub fn declined(provider: &Provider, it: &Payment) -> Made {
    let mut error = payment_error(it);
    error["payment_intent"] = intent(provider, it);
    Made::json(402, &json!({"error": error}))
}

/// The intent is not where this request needs it.
pub fn unexpected_state(provider: &Provider, it: &Payment, what: &str) -> Made {
    let message = format!("This PaymentIntent cannot be {what}: its status is {}.", status(it));
    Made::json(
        400,
        &json!({"error": {
            "type": "invalid_request_error", "code": "payment_intent_unexpected_state",
            "message": message, "payment_intent": intent(provider, it),
        }}),
    )
}

/// The charge of a payment.
pub fn charge(it: &Payment) -> Value {
    let amount_of = |minor| amount(minor, &it.currency);
    let captured = matches!(it.status.as_str(), "succeeded" | "reversed");
    // A charge that is only held has succeeded too: `captured` tells them apart.
    let paid = captured || it.status == "authorized";
    let status = match it.status.as_str() {
        _ if paid => "succeeded",
        "declined" => "failed",
        _ => "pending",
    };
    json!({
        "id": it.charge, "object": "charge", "livemode": false,
        "amount": agreed(it),
        "amount_captured": if captured { amount_of(it.amount_minor) } else { 0 },
        "amount_refunded": amount_of(it.refunded_minor),
        "balance_transaction": null, "captured": captured, "created": it.created_at / 1000,
        "currency": it.currency.to_lowercase(), "customer": null,
        "description": it.extra["description"], "disputed": it.status == "reversed",
        "failure_code": (status == "failed").then_some("card_declined"), "failure_message": null,
        "metadata": it.extra["metadata"], "paid": paid, "payment_intent": it.id,
        "payment_method": it.extra["payment_method"],
        "payment_method_details": {"type": "card", "card": {"brand": "visa", "last4": "4242"}},
        "refunded": captured && it.refunded_minor == it.amount_minor, "status": status,
    })
}

/// The dispute by which the bank took a payment back.
pub fn dispute(it: &Payment) -> Value {
    json!({
        "id": it.id.replacen("pi_", "dp_", 1), "object": "dispute", "livemode": false,
        "amount": amount(it.amount_minor, &it.currency), "balance_transactions": [],
        "charge": it.charge, "created": it.updated_at / 1000,
        "currency": it.currency.to_lowercase(), "is_charge_refundable": false,
        "metadata": {}, "payment_intent": it.id, "reason": "fraudulent", "status": "needs_response",
    })
}

/// The intent that a dispute is about, by their ids.
pub fn disputed(dispute: &str) -> String {
    dispute.replacen("dp_", "pi_", 1)
}

/// A refund.
pub fn refund(it: &Refund, charge: Option<&str>) -> Value {
    let failed = it.status == "failed";
    let mut shown = json!({
        "id": it.id, "object": "refund", "amount": amount(it.amount_minor, &it.currency),
        "balance_transaction": null, "charge": charge, "created": it.created_at / 1000,
        "currency": it.currency.to_lowercase(), "destination_details": {"type": "card", "card": {"type": "refund"}},
        "metadata": it.extra["metadata"].as_object().cloned().unwrap_or_default(),
        "payment_intent": it.payment, "reason": it.extra["reason"], "receipt_number": null,
        "source_transfer_reversal": null, "status": it.status, "transfer_reversal": null,
    });
    if failed {
        shown["failure_reason"] = json!("expired_or_canceled_card");
        shown["failure_balance_transaction"] = Value::Null;
    }
    if it.status == "pending" {
        shown["pending_reason"] = json!("processing");
    }
    shown
}
