//! Stripe's minor units, which are ISO 4217's but for a few (docs.stripe.com/currencies).

use domain::money::{Currency, Money};

use super::super::EncodeError;

/// Currencies whose amounts Stripe counts in whole units.
const NO_DECIMALS: [&str; 15] = [
    "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF",
    "XOF", "XPF",
];
/// Currencies with three decimals, of which the last has to be 0.
const THREE_DECIMALS: [&str; 5] = ["BHD", "JOD", "KWD", "OMR", "TND"];
/// Currencies written with two decimals that have to be 00.
const WHOLE_ONLY: [&str; 4] = ["HUF", "ISK", "TWD", "UGX"];

fn decimals(currency: Currency) -> u32 {
    let code = currency.code();
    if NO_DECIMALS.contains(&code) {
        0
    } else if THREE_DECIMALS.contains(&code) {
        3
    } else {
        2
    }
}

/// An amount as Stripe's requests carry it.
///
/// # Errors
/// Stripe cannot take it exactly; it is refused before an operation is opened.
pub fn to_stripe(amount: Money) -> Result<i64, EncodeError> {
    let currency = amount.currency;
    let refused = || EncodeError::Amount(format!("Stripe cannot take exactly {amount}"));
    let (theirs, ours) = (decimals(currency), currency.exponent());
    let scaled = if theirs >= ours {
        amount.minor.checked_mul(10_i64.pow(theirs - ours)).ok_or_else(refused)?
    } else {
        let unit = 10_i64.pow(ours - theirs);
        if amount.minor % unit != 0 {
            return Err(refused());
        }
        amount.minor / unit
    };
    let step = if WHOLE_ONLY.contains(&currency.code()) {
        100
    } else if theirs == 3 {
        10
    } else {
        1
    };
    if scaled <= 0 || scaled % step != 0 { Err(refused()) } else { Ok(scaled) }
}

/// An amount out of Stripe's answers; `None` where it is no amount of that currency.
pub fn from_stripe(amount: i64, currency: &str) -> Option<Money> {
    let currency = Currency::from_code(&currency.to_uppercase()).ok()?;
    let (theirs, ours) = (decimals(currency), currency.exponent());
    let minor = if ours >= theirs {
        amount.checked_mul(10_i64.pow(ours - theirs))?
    } else {
        let unit = 10_i64.pow(theirs - ours);
        if amount % unit != 0 {
            return None;
        }
        amount / unit
    };
    Some(Money::new(minor, currency))
}
