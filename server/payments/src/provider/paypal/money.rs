//! PayPal's amounts: decimal strings, exact, in the currencies PayPal takes
//! (developer.paypal.com/reference/currency-codes).

use domain::money::{Currency, Money};

use super::super::EncodeError;

/// What PayPal takes.
const CURRENCIES: [&str; 24] = [
    "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "ILS", "JPY",
    "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "SEK", "SGD", "THB", "TWD", "USD",
];
/// Those it takes without decimals.
const WHOLE: [&str; 3] = ["HUF", "JPY", "TWD"];

fn decimals(currency: Currency) -> u32 {
    if WHOLE.contains(&currency.code()) { 0 } else { 2 }
}

/// An amount as PayPal's requests carry it, such as `19.99`.
///
/// # Errors
/// PayPal cannot take it exactly; it is refused before an operation is opened.
pub fn to_paypal(amount: Money) -> Result<String, EncodeError> {
    let currency = amount.currency;
    let refused =
        |why: &str| Err(EncodeError::Amount(format!("PayPal cannot take {amount}: {why}")));
    if !CURRENCIES.contains(&currency.code()) {
        return refused("not in this currency");
    }
    if amount.minor <= 0 {
        return refused("it is not above zero");
    }
    let (theirs, ours) = (decimals(currency), currency.exponent());
    if theirs >= ours {
        return Ok(amount.decimal());
    }
    let unit = 10_i64.pow(ours - theirs);
    if amount.minor % unit != 0 {
        return refused("only whole units in this currency");
    }
    Ok((amount.minor / unit).to_string())
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
