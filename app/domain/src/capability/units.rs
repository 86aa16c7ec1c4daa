//! How a provider counts money: ISO 4217's minor units, and where a provider's differ.

use crate::money::{Currency, Money};

/// A provider's minor units, by currency code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MinorUnits {
    /// The currencies it takes; `None` where it refuses none of ours.
    pub currencies: Option<&'static [&'static str]>,
    /// How many decimals a currency has that is in none of these lists; `None` as many as in ISO
    /// 4217.
    pub usual: Option<u32>,
    /// Counted in whole units.
    pub no_decimals: &'static [&'static str],
    /// Three decimals, of which the last has to be 0.
    pub three_decimals: &'static [&'static str],
    /// Written with decimals, which have to be zeros.
    pub whole_only: &'static [&'static str],
}

impl MinorUnits {
    /// As ISO 4217 has them, in every currency.
    pub const ISO: Self = Self {
        currencies: None,
        usual: None,
        no_decimals: &[],
        three_decimals: &[],
        whole_only: &[],
    };

    /// Whether it takes this currency at all.
    pub fn takes(&self, currency: Currency) -> bool {
        self.currencies.is_none_or(|it| it.contains(&currency.code()))
    }

    /// How many decimals it counts.
    pub fn decimals(&self, currency: Currency) -> u32 {
        let code = currency.code();
        if self.no_decimals.contains(&code) {
            0
        } else if self.three_decimals.contains(&code) {
            3
        } else {
            self.usual.unwrap_or_else(|| currency.exponent())
        }
    }

    /// An amount above zero in the provider's minor units; `None` where it cannot be taken exactly.
    pub fn to_provider(&self, amount: Money) -> Option<i64> {
        let currency = amount.currency;
        let (theirs, ours) = (self.decimals(currency), currency.exponent());
        let scaled = rescale(amount.minor, ours, theirs)?;
        let step = if self.whole_only.contains(&currency.code()) {
            10_i64.checked_pow(theirs)?
        } else if self.three_decimals.contains(&currency.code()) {
            10
        } else {
            1
        };
        (self.takes(currency) && scaled > 0 && scaled % step == 0).then_some(scaled)
    }

    /// The provider's minor units as an amount; `None` where ours cannot say it exactly.
    pub fn from_provider(&self, minor: i64, currency: Currency) -> Option<Money> {
        let minor = rescale(minor, self.decimals(currency), currency.exponent())?;
        Some(Money::new(minor, currency))
    }
}

fn rescale(minor: i64, from: u32, to: u32) -> Option<i64> {
    let unit = 10_i64.checked_pow(from.abs_diff(to))?;
    if to >= from { minor.checked_mul(unit) } else { (minor % unit == 0).then_some(minor / unit) }
}
