//! Amounts of this wire: exact decimal strings, with decimals by its own rules.

use serde_json::{Value, json};

use crate::money;

/// The currencies that this wire knows.
const KNOWN: [&str; 24] = [
    "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "ILS", "JPY",
    "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "SEK", "SGD", "THB", "TWD", "USD",
];

/// The decimals of a currency by this wire's rules.
fn decimals(currency: &str) -> u32 {
    if matches!(currency, "HUF" | "JPY" | "TWD") { 0 } else { 2 }
}

/// An amount as this wire shows it.
pub fn show(minor: i64, currency: &str) -> Value {
    let places = decimals(currency);
    let amount = money::shown(minor, money::decimals(currency), places);
    let value = if places == 0 {
        amount.to_string()
    } else {
        format!("{}.{:02}", amount / 100, (amount % 100).abs())
    };
    json!({"currency_code": currency, "value": value})
}

/// An amount in the units of the ledger, or the status and issue that tell what is wrong.
pub fn read(amount: &Value) -> Result<(i64, String), (u16, &'static str)> {
    let currency = amount["currency_code"].as_str().ok_or((400, "MISSING_REQUIRED_PARAMETER"))?;
    let value = amount["value"].as_str().ok_or((400, "MISSING_REQUIRED_PARAMETER"))?;
    if currency.len() != 3 || !currency.bytes().all(|it| it.is_ascii_uppercase()) {
        return Err((400, "INVALID_PARAMETER_SYNTAX"));
    }
    if !KNOWN.contains(&currency) {
        return Err((422, "CURRENCY_NOT_SUPPORTED"));
    }
    let (whole, part) = value.split_once('.').unwrap_or((value, ""));
    let digits = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
    if value.starts_with('-') {
        return Err((422, "CANNOT_BE_ZERO_OR_NEGATIVE"));
    }
    if whole.is_empty()
        || whole.len() > 10
        || !digits(whole)
        || !digits(part)
        || value.ends_with('.')
    {
        return Err((400, "INVALID_PARAMETER_SYNTAX"));
    }
    let places = decimals(currency);
    if places == 0 && !part.is_empty() {
        return Err((422, "DECIMALS_NOT_SUPPORTED"));
    }
    if part.len() > 2 {
        return Err((422, "DECIMAL_PRECISION"));
    }
    let width = usize::try_from(places).unwrap_or(2);
    let units: i64 =
        format!("{whole}{part:0<width$}").parse().map_err(|_| (400, "INVALID_PARAMETER_SYNTAX"))?;
    if units == 0 {
        return Err((422, "CANNOT_BE_ZERO_OR_NEGATIVE"));
    }
    let minor = money::rescaled(units, places, money::decimals(currency))
        .ok_or((400, "INVALID_PARAMETER_SYNTAX"))?;
    Ok((minor, currency.to_owned()))
}
