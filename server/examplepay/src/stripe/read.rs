//! What a request has to be; judged before any key is touched, and never stored.

use serde_json::{Value, json};

use super::{
    act::{Act, NewIntent},
    form::Params,
    methods::{Method, method},
    show::{decimals, invalid, missing},
};
use crate::{ledger::Made, money, tokens};

/// Parameters that are taken and mean nothing here.
const TOLERATED: [&str; 9] = [
    "confirmation_method",
    "error_on_requires_action",
    "off_session",
    "payment_method_options",
    "receipt_email",
    "shipping",
    "statement_descriptor",
    "statement_descriptor_suffix",
    "use_stripe_sdk",
];

/// Reads an intent that is asked for.
pub fn create(params: &Params) -> Result<Act, Made> {
    let known = [
        "amount",
        "automatic_payment_methods",
        "capture_method",
        "confirm",
        "currency",
        "description",
        "metadata",
        "payment_method",
        "payment_method_types",
        "return_url",
    ];
    params.only(&[&known[..], &TOLERATED[..]].concat())?;
    let currency = currency(params)?;
    let amount_minor = amount(params, &currency)?;
    let method = payment_method(params)?;
    let confirm = params.flag("confirm")?;
    if confirm && method.is_none() {
        let message = "A payment method is needed to confirm.";
        return Err(invalid("payment_method", "parameter_missing", message));
    }
    let automatic = params.nested("automatic_payment_methods");
    let automatic = (automatic.get("enabled") == Some(&json!("true"))).then(|| {
        let redirects = automatic.get("allow_redirects").cloned();
        json!({"enabled": true, "allow_redirects": redirects.unwrap_or(json!("always"))})
    });
    Ok(Act::Open(Box::new(NewIntent {
        amount_minor,
        currency,
        confirm,
        return_url: return_url(params)?,
        extra: json!({
            "metadata": metadata(params)?,
            "description": params.get("description"),
            "capture_method": capture_method(params)?,
            "automatic_payment_methods": automatic,
            "payment_method": method.as_ref().map(|it| &it.id),
        }),
        method,
    })))
}

/// Reads a confirmation.
pub fn confirm(id: &str, params: &Params) -> Result<Act, Made> {
    let known = ["confirmation_token", "payment_method", "payment_method_types", "return_url"];
    params.only(&[&known[..], &TOLERATED[..]].concat())?;
    Ok(Act::Confirm {
        id: id.to_owned(),
        method: payment_method(params)?,
        return_url: return_url(params)?,
    })
}

/// Reads a capture.
pub fn capture(id: &str, params: &Params) -> Result<Act, Made> {
    params.only(&["amount_to_capture", "statement_descriptor", "statement_descriptor_suffix"])?;
    let amount = params.integer("amount_to_capture")?;
    at_least_one("amount_to_capture", amount)?;
    Ok(Act::Capture { id: id.to_owned(), amount })
}

/// Reads a cancellation.
pub fn cancel(id: &str, params: &Params) -> Result<Act, Made> {
    params.only(&["cancellation_reason"])?;
    let reason = params.get("cancellation_reason");
    let known = ["abandoned", "duplicate", "fraudulent", "requested_by_customer"];
    if reason.is_some_and(|it| !known.contains(&it)) {
        let message = "There is no such reason.";
        return Err(invalid("cancellation_reason", "parameter_invalid_string", message));
    }
    Ok(Act::Cancel { id: id.to_owned(), reason: reason.map(str::to_owned) })
}

/// Reads a refund.
pub fn refund(params: &Params) -> Result<Act, Made> {
    params.only(&["amount", "charge", "metadata", "payment_intent", "reason"])?;
    let of = params.get("payment_intent").or(params.get("charge")).ok_or_else(|| {
        invalid("payment_intent", "parameter_missing", "A refund is of a payment intent.")
    })?;
    let amount = params.integer("amount")?;
    at_least_one("amount", amount)?;
    Ok(Act::Refund {
        of: of.to_owned(),
        amount,
        extra: json!({"metadata": metadata(params)?, "reason": params.get("reason")}),
    })
}

/// The merchant's reference among the metadata.
pub fn reference(params: &Params) -> Option<String> {
    params.get("metadata[reference]").map(str::to_owned)
}

/// The payment method that is named, if that is no card number.
pub fn named_method(params: &Params) -> Option<String> {
    params.get("payment_method").filter(|it| !tokens::is_card_number(it)).map(str::to_owned)
}

fn currency(params: &Params) -> Result<String, Made> {
    let currency = params
        .get("currency")
        .ok_or_else(|| invalid("currency", "parameter_missing", "A currency has to be given."))?;
    if currency.len() != 3 || !currency.bytes().all(|it| it.is_ascii_alphabetic()) {
        let message = "A currency is three letters.";
        return Err(invalid("currency", "parameter_invalid_string", message));
    }
    Ok(currency.to_uppercase())
}

/// The amount in the units of the ledger.
fn amount(params: &Params, currency: &str) -> Result<i64, Made> {
    let given = params
        .integer("amount")?
        .ok_or_else(|| invalid("amount", "parameter_missing", "An amount has to be given."))?;
    to_minor("amount", given, currency)
}

fn at_least_one(name: &str, given: Option<i64>) -> Result<(), Made> {
    match given {
        Some(..1) => Err(invalid(name, "parameter_invalid_integer", "This is at least 1.")),
        Some(1..) | None => Ok(()),
    }
}

/// The parameter `name`, an amount of this wire, in the units of the ledger.
pub fn to_minor(name: &str, given: i64, currency: &str) -> Result<i64, Made> {
    at_least_one(name, Some(given))?;
    if given > 99_999_999 {
        return Err(invalid(name, "amount_too_large", "This has at most eight digits."));
    }
    let wire = decimals(currency);
    if wire == 3 && given % 10 != 0 {
        let message = "The last digit of an amount with three decimals is 0.";
        return Err(invalid(name, "parameter_invalid_integer", message));
    }
    money::rescaled(given, wire, money::decimals(currency)).ok_or_else(|| {
        let message = "This currency has no such part.";
        invalid(name, "parameter_invalid_integer", message)
    })
}

fn payment_method(params: &Params) -> Result<Option<Method>, Made> {
    // A confirmation token stands for the method it is named after: `ctoken_pm_card_visa`.
    let token = params.get("confirmation_token").and_then(|it| it.strip_prefix("ctoken_"));
    let Some(id) = token.or(params.get("payment_method")) else { return Ok(None) };
    if tokens::is_card_number(id) {
        let message = "This is a card number. Cards are not sent here.";
        return Err(invalid("payment_method", "parameter_invalid_string", message));
    }
    let mut unknown = missing("payment_method", "PaymentMethod", id);
    unknown.status = 400;
    method(id).map(Some).ok_or(unknown)
}

fn return_url(params: &Params) -> Result<Option<String>, Made> {
    let Some(url) = params.get("return_url") else { return Ok(None) };
    let web = url.starts_with("http://") || url.starts_with("https://");
    if !web || !url.bytes().all(|it| it.is_ascii_graphic()) || url.len() > 2000 {
        return Err(invalid("return_url", "url_invalid", "A return URL begins with https://."));
    }
    Ok(Some(url.to_owned()))
}

fn capture_method(params: &Params) -> Result<&str, Made> {
    match params.get("capture_method") {
        None => Ok("automatic"),
        Some(method @ ("automatic" | "automatic_async" | "manual")) => Ok(method),
        Some(_) => {
            let message = "There is no such method: automatic, automatic_async, manual.";
            Err(invalid("capture_method", "parameter_invalid_string", message))
        }
    }
}

fn metadata(params: &Params) -> Result<Value, Made> {
    let metadata = params.nested("metadata");
    let long = |it: &Value| it.as_str().is_some_and(|it| it.chars().count() > 500);
    if metadata.len() > 50
        || metadata.iter().any(|(name, value)| name.chars().count() > 40 || long(value))
    {
        let message = "Metadata has at most 50 names of 40 and values of 500 characters.";
        return Err(invalid("metadata", "parameter_invalid_string", message));
    }
    Ok(Value::Object(metadata))
}
