//! Stripe's minor units, which are ISO 4217's but for a few (docs.stripe.com/currencies).

use domain::{
    capability::MinorUnits,
    money::{Currency, Money},
};

use super::super::EncodeError;

/// What Stripe's page of currencies says.
pub const UNITS: MinorUnits = MinorUnits {
    currencies: None,
    usual: Some(2),
    no_decimals: &[
        "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF",
        "XOF", "XPF",
    ],
    three_decimals: &["BHD", "JOD", "KWD", "OMR", "TND"],
    whole_only: &["HUF", "ISK", "TWD", "UGX"],
};

/// An amount as Stripe's requests carry it.
///
/// # Errors
/// Stripe cannot take it exactly; it is refused before an operation is opened.
pub fn to_stripe(amount: Money) -> Result<i64, EncodeError> {
    let refused = || EncodeError::Amount(format!("Stripe cannot take exactly {amount}"));
    UNITS.to_provider(amount).ok_or_else(refused)
}

/// An amount out of Stripe's answers; `None` where it is no amount of that currency.
pub fn from_stripe(amount: i64, currency: &str) -> Option<Money> {
    let currency = Currency::from_code(&currency.to_uppercase()).ok()?;
    UNITS.from_provider(amount, currency)
}
