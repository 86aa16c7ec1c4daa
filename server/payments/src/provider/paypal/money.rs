//! PayPal's amounts: decimal strings, exact, in the currencies PayPal takes
//! (developer.paypal.com/reference/currency-codes).

use domain::{
    capability::MinorUnits,
    money::{Currency, Money},
};

use super::super::EncodeError;

/// What PayPal's page of currency codes says.
pub const UNITS: MinorUnits = MinorUnits {
    currencies: Some(&[
        "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "ILS", "JPY",
        "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "SEK", "SGD", "THB", "TWD", "USD",
    ]),
    usual: Some(2),
    no_decimals: &["HUF", "JPY", "TWD"],
    three_decimals: &[],
    whole_only: &[],
};

/// An amount as PayPal's requests carry it, such as `19.99`.
///
/// # Errors
/// PayPal cannot take it exactly; it is refused before an operation is opened.
pub fn to_paypal(amount: Money) -> Result<String, EncodeError> {
    let currency = amount.currency;
    let refused =
        |why: &str| Err(EncodeError::Amount(format!("PayPal cannot take {amount}: {why}")));
    if !UNITS.takes(currency) {
        return refused("not in this currency");
    }
    if amount.minor <= 0 {
        return refused("it is not above zero");
    }
    if UNITS.decimals(currency) >= currency.exponent() {
        return Ok(amount.decimal());
    }
    // All that is left are currencies without decimals there.
    match UNITS.to_provider(amount) {
        Some(whole) => Ok(whole.to_string()),
        None => refused("only whole units in this currency"),
    }
}

/// An amount out of PayPal's answers; `None` where it is none of that currency, exactly.
pub fn from_paypal(value: &str, code: &str) -> Option<Money> {
    let currency = Currency::from_code(code).ok()?;
    let digits = currency.exponent() as usize;
    let (whole, part) = value.split_once('.').unwrap_or((value, ""));
    let number = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
    if whole.is_empty() || !number(whole) || !number(part) {
        return None;
    }
    // Decimals beyond ours have to be zeros: PayPal may write `500.00` where there are none.
    let (kept, rest) = part.split_at(part.len().min(digits));
    if !rest.bytes().all(|it| it == b'0') {
        return None;
    }
    let minor: i64 = format!("{whole}{kept:0<digits$}").parse().ok()?;
    Some(Money::new(minor, currency))
}
