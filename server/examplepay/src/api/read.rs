//! What a request body has to be; judged before any key is touched, and never stored.

use serde_json::{Value, json};

use crate::{
    desk::Act,
    ledger::{Made, NewPayment},
    tokens,
};

/// The answer to a parameter that is not right.
pub fn invalid(param: &str, message: &str) -> Made {
    Made::json(
        400,
        &json!({"error": {"type": "invalid_request", "param": param, "message": message}}),
    )
}

/// Reads a payment that is asked for.
pub fn read_create(body: &[u8]) -> Result<NewPayment, Made> {
    let body = object(body)?;
    let token = text(&body, "payment_token")?;
    if tokens::is_card_number(token) {
        let message = "This is a card number. Cards are typed on our own page only.";
        return Err(invalid("payment_token", message));
    }
    let card =
        tokens::card(token).ok_or_else(|| invalid("payment_token", "There is no such token."))?;
    let return_url = text(&body, "return_url")?;
    let web = return_url.starts_with("http://") || return_url.starts_with("https://");
    let plain = return_url.bytes().all(|it| it.is_ascii_graphic());
    if !web || !plain || return_url.len() > 2000 || return_url.contains('#') {
        let message = "A return URL begins with http:// or https:// and has no fragment.";
        return Err(invalid("return_url", message));
    }
    Ok(NewPayment {
        reference: reference(&body)?,
        amount_minor: amount_minor(&body)?,
        currency: currency(&body)?,
        token: token.to_owned(),
        card,
        return_url: return_url.to_owned(),
    })
}

/// Reads a refund that is asked for.
pub fn read_refund(body: &[u8]) -> Result<Act, Made> {
    let body = object(body)?;
    Ok(Act::Refund {
        of: text(&body, "payment")?.to_owned(),
        reference: reference(&body)?,
        amount_minor: amount_minor(&body)?,
        currency: currency(&body)?,
    })
}

fn object(body: &[u8]) -> Result<Value, Made> {
    serde_json::from_slice(body)
        .ok()
        .filter(Value::is_object)
        .ok_or_else(|| invalid("body", "The body has to be a JSON object."))
}

fn text<'a>(body: &'a Value, name: &str) -> Result<&'a str, Made> {
    body[name].as_str().ok_or_else(|| invalid(name, "This has to be given, as text."))
}

fn reference(body: &Value) -> Result<String, Made> {
    let reference = text(body, "reference")?;
    if reference.is_empty() || reference.len() > 120 {
        return Err(invalid("reference", "A reference has 1 to 120 characters."));
    }
    Ok(reference.to_owned())
}

fn amount_minor(body: &Value) -> Result<i64, Made> {
    body["amount_minor"].as_i64().filter(|it| (1..=99_999_999_999).contains(it)).ok_or_else(|| {
        invalid("amount_minor", "An amount is a whole number from 1 to 99999999999.")
    })
}

fn currency(body: &Value) -> Result<String, Made> {
    let currency = text(body, "currency")?;
    if currency.len() != 3 || !currency.bytes().all(|it| it.is_ascii_uppercase()) {
        return Err(invalid("currency", "A currency is three upper-case letters."));
    }
    Ok(currency.to_owned())
}
