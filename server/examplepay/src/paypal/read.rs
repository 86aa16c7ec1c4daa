//! What a request has to be; judged before any key is touched, and never stored.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::{
    act::{Act, Confirm, NewOrder},
    amount,
    authorization::Ask,
    show::issue,
};
use crate::ledger::Made;

fn object(body: &[u8]) -> Result<Value, Made> {
    serde_json::from_slice(body)
        .ok()
        .filter(Value::is_object)
        .ok_or_else(|| issue(400, "MALFORMED_REQUEST_JSON", None))
}

/// A short text that may be left out.
fn text(of: &Value, name: &str, longest: usize, field: &str) -> Result<Option<String>, Made> {
    match &of[name] {
        Value::Null => Ok(None),
        Value::String(it) if (1..=longest).contains(&it.chars().count()) => Ok(Some(it.clone())),
        Value::String(_) => Err(issue(400, "INVALID_STRING_LENGTH", Some(field))),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(issue(400, "INVALID_PARAMETER_SYNTAX", Some(field)))
        }
    }
}

/// Whether the whole resource is asked for, and not the least of it.
pub fn representation(headers: &HeaderMap) -> bool {
    prefers(headers) == Some("return=representation")
}

/// Whether the least of a resource is asked for.
pub fn least(headers: &HeaderMap) -> bool {
    prefers(headers) == Some("return=minimal")
}

fn prefers(headers: &HeaderMap) -> Option<&str> {
    headers.get("prefer").and_then(|it| it.to_str().ok())
}

/// Reads an order that is asked for.
pub fn create(headers: &HeaderMap, body: &[u8]) -> Result<Act, Made> {
    let body = object(body)?;
    let intent = match body["intent"].as_str() {
        Some(it @ ("CAPTURE" | "AUTHORIZE")) => it,
        Some(_) => return Err(issue(422, "UNSUPPORTED_INTENT", Some("/intent"))),
        None => return Err(issue(400, "MISSING_REQUIRED_PARAMETER", Some("/intent"))),
    };
    let units = body["purchase_units"].as_array().map(Vec::as_slice).unwrap_or_default();
    let [unit] = units else {
        let what = if units.is_empty() {
            "MISSING_REQUIRED_PARAMETER"
        } else {
            "MAX_NUMBER_OF_PURCHASE_UNITS_EXCEEDED"
        };
        let status = if units.is_empty() { 400 } else { 422 };
        return Err(issue(status, what, Some("/purchase_units")));
    };
    let at = "/purchase_units/@reference_id=='default'";
    let (amount_minor, currency) = amount::read(&unit["amount"])
        .map_err(|(status, what)| issue(status, what, Some(&format!("{at}/amount/value"))))?;
    let source = &body["payment_source"]["paypal"];
    if source.is_object() && !headers.contains_key("paypal-request-id") {
        return Err(issue(400, "PAYPAL_REQUEST_ID_REQUIRED", Some("PayPal-Request-Id")));
    }
    let (context, flow) = if source.is_object() {
        (&source["experience_context"], "payment_source")
    } else {
        (&body["application_context"], "application_context")
    };
    let custom_id = text(unit, "custom_id", 127, &format!("{at}/custom_id"))?;
    Ok(Act::Create(Box::new(NewOrder {
        amount_minor,
        currency,
        reference: custom_id.clone().unwrap_or_default(),
        return_url: url(context, "return_url")?,
        representation: representation(headers),
        extra: json!({
            "intent": intent,
            "flow": flow,
            "cancel_url": url(context, "cancel_url")?,
            "reference_id": text(unit, "reference_id", 256, &format!("{at}/reference_id"))?
                .unwrap_or_else(|| "default".to_owned()),
            "custom_id": custom_id,
            "invoice_id": text(unit, "invoice_id", 127, &format!("{at}/invoice_id"))?,
            "description": text(unit, "description", 127, &format!("{at}/description"))?,
        }),
    })))
}

fn url(context: &Value, name: &str) -> Result<String, Made> {
    let Some(url) = text(context, name, 2000, name)? else { return Ok(String::new()) };
    let web = url.starts_with("http://") || url.starts_with("https://");
    if !web || !url.bytes().all(|it| it.is_ascii_graphic()) {
        return Err(issue(400, "INVALID_PARAMETER_SYNTAX", Some(name)));
    }
    Ok(url)
}

/// Reads how a payer comes to us and goes back.
pub fn confirm(id: &str, headers: &HeaderMap, body: &[u8]) -> Result<Act, Made> {
    let body = object(body)?;
    let sources = body["payment_source"].as_object();
    let sources =
        sources.ok_or_else(|| issue(400, "MISSING_REQUIRED_PARAMETER", Some("/payment_source")))?;
    let Some(source) = sources.get("paypal").filter(|it| it.is_object()) else {
        let what = match sources.is_empty() {
            true => "NO_PAYMENT_SOURCE_PROVIDED",
            false => "PAYMENT_SOURCE_CANNOT_BE_USED",
        };
        return Err(issue(422, what, Some("/payment_source")));
    };
    let context = &source["experience_context"];
    let needed = |name, what| match url(context, name)? {
        none if none.is_empty() => Err(issue(422, what, Some(name))),
        url => Ok(url),
    };
    let how = Confirm {
        return_url: needed("return_url", "RETURN_URL_REQUIRED")?,
        cancel_url: needed("cancel_url", "CANCEL_URL_REQUIRED")?,
        representation: representation(headers),
    };
    Ok(Act::Confirm(id.to_owned(), Box::new(how)))
}

/// Reads a body that may be left out.
fn optional(body: &[u8]) -> Result<Value, Made> {
    if body.is_empty() { Ok(json!({})) } else { object(body) }
}

/// Reads a capture: an empty body, or an object that says nothing of ours.
pub fn capture(id: &str, body: &[u8]) -> Result<Act, Made> {
    optional(body).map(|_| Act::Capture(id.to_owned()))
}

/// Reads an authorization, as a capture is read.
pub fn authorize(id: &str, body: &[u8]) -> Result<Act, Made> {
    optional(body).map(|_| Act::Authorize(id.to_owned()))
}

/// An amount that may be left out.
fn some_amount(body: &Value) -> Result<Option<(i64, String)>, Made> {
    let wrong = |(status, what)| issue(status, what, Some("/amount/value"));
    let given = Some(&body["amount"]).filter(|it| !it.is_null());
    given.map(amount::read).transpose().map_err(wrong)
}

/// Reads a capture of what is held. The first one is the final one here, so one that is not cannot
/// be asked for.
pub fn capture_authorization(id: &str, headers: &HeaderMap, body: &[u8]) -> Result<Act, Made> {
    let body = optional(body)?;
    match &body["final_capture"] {
        Value::Null | Value::Bool(true) => {}
        Value::Bool(false) => {
            return Err(issue(400, "INVALID_PARAMETER_VALUE", Some("/final_capture")));
        }
        Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            return Err(issue(400, "INVALID_PARAMETER_SYNTAX", Some("/final_capture")));
        }
    }
    text(&body, "note_to_payer", 255, "/note_to_payer")?;
    let what = Ask::Capture {
        amount: some_amount(&body)?,
        invoice_id: text(&body, "invoice_id", 127, "/invoice_id")?,
        least: least(headers),
    };
    Ok(Act::OfAuthorization(id.to_owned(), what))
}

/// Reads a void: it has nothing to say.
pub fn void(id: &str, headers: &HeaderMap, body: &[u8]) -> Result<Act, Made> {
    optional(body)?;
    let what = Ask::Void { representation: representation(headers) };
    Ok(Act::OfAuthorization(id.to_owned(), what))
}

/// Reads the wish to hold money for longer.
pub fn reauthorize(id: &str, body: &[u8]) -> Result<Act, Made> {
    some_amount(&optional(body)?)?;
    Ok(Act::OfAuthorization(id.to_owned(), Ask::Reauthorize))
}

/// Reads which event is delivered again, and where to.
pub fn resend(event: &str, body: &[u8]) -> Result<Act, Made> {
    let body = optional(body)?;
    let wrong = || issue(400, "INVALID_PARAMETER_SYNTAX", Some("/webhook_ids"));
    let given = Some(&body["webhook_ids"]).filter(|it| !it.is_null());
    let given = given.map(|it| it.as_array().ok_or_else(wrong)).transpose()?;
    let webhooks =
        given.into_iter().flatten().map(|it| it.as_str().map(str::to_owned).ok_or_else(wrong));
    Ok(Act::Resend { event: event.to_owned(), webhooks: webhooks.collect::<Result<_, _>>()? })
}

/// Reads a refund.
pub fn refund(capture: &str, headers: &HeaderMap, body: &[u8]) -> Result<Act, Made> {
    let body = optional(body)?;
    Ok(Act::Refund {
        capture: capture.to_owned(),
        amount: some_amount(&body)?,
        least: least(headers),
        extra: json!({
            "custom_id": text(&body, "custom_id", 127, "/custom_id")?,
            "invoice_id": text(&body, "invoice_id", 127, "/invoice_id")?,
            "note_to_payer": text(&body, "note_to_payer", 255, "/note_to_payer")?,
        }),
    })
}

/// The merchant's reference in a body, however wrong the rest of it is.
pub fn reference(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let id = body["purchase_units"][0]["custom_id"].as_str().or(body["custom_id"].as_str());
    id.map(str::to_owned)
}
