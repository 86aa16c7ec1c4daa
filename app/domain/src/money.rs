//! Money as integers with a currency; the only arithmetic is checked.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An ISO 4217 currency; its number of decimals comes from the standard's table, not from us.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Currency(iso_currency::Currency);

/// Why a text is not a currency.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an ISO 4217 currency code")]
pub struct UnknownCurrency(pub String);

impl Currency {
    /// The euro, two decimals.
    pub const EUR: Self = Self(iso_currency::Currency::EUR);
    /// The yen, no decimals.
    pub const JPY: Self = Self(iso_currency::Currency::JPY);

    /// The currency of an upper-case ISO 4217 code.
    ///
    /// # Errors
    /// The text is no code of the standard.
    pub fn from_code(code: &str) -> Result<Self, UnknownCurrency> {
        iso_currency::Currency::from_code(code)
            .map(Self)
            .ok_or_else(|| UnknownCurrency(code.chars().take(8).collect()))
    }

    /// The three letters of ISO 4217.
    pub fn code(self) -> &'static str {
        self.0.code()
    }

    /// The symbol people write, such as €.
    pub fn symbol(self) -> String {
        self.0.symbol().symbol
    }

    /// How many decimals the currency has: 2 for EUR, 0 for JPY, 3 for KWD.
    pub fn exponent(self) -> u32 {
        self.0.exponent().map_or(0, u32::from)
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Currency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?;
        Self::from_code(&code).map_err(serde::de::Error::custom)
    }
}

/// An exact amount of money.
///
/// `minor` counts the currency's smallest unit: 1999 is €19.99, and ¥1999.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Money {
    /// The amount in the smallest unit.
    pub minor: i64,
    /// Which currency's smallest unit.
    pub currency: Currency,
}

impl Money {
    /// An amount of so many smallest units.
    pub const fn new(minor: i64, currency: Currency) -> Self {
        Self { minor, currency }
    }

    /// The sum; `None` on mixed currencies or overflow.
    #[must_use]
    pub fn plus(self, other: Self) -> Option<Self> {
        if self.currency != other.currency {
            return None;
        }
        Some(Self::new(self.minor.checked_add(other.minor)?, self.currency))
    }

    /// So many times the amount; `None` on overflow.
    #[must_use]
    pub fn times(self, count: u32) -> Option<Self> {
        Some(Self::new(self.minor.checked_mul(i64::from(count))?, self.currency))
    }

    /// The amount as a plain decimal number without a currency: `19.99`, `1999`, `-0.05`.
    pub fn decimal(self) -> String {
        let digits = self.currency.exponent() as usize;
        let sign = if self.minor < 0 { "-" } else { "" };
        let text = format!("{:0width$}", self.minor.unsigned_abs(), width = digits + 1);
        let (whole, part) = text.split_at(text.len() - digits);
        if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.decimal(), self.currency)
    }
}

#[cfg(test)]
mod tests;
