//! Amounts as people write them.

use domain::money::Money;
use fixed_decimal::Decimal;
use icu_decimal::{DecimalFormatter, options::DecimalFormatterOptions};

use super::{Lang, say, time::locale};

/// An amount with its symbol and grouped thousands: €1,234.50, or 1 234,50 €.
pub fn money(lang: Lang, amount: Money) -> String {
    let decimal = amount.decimal();
    let (sign, digits) = match decimal.strip_prefix('-') {
        Some(digits) => ("−", digits),
        None => ("", decimal.as_str()),
    };
    let digits = grouped(lang, digits).unwrap_or_else(|| digits.to_owned());
    say!(
        lang,
        frame.money,
        sign = sign,
        symbol = amount.currency.symbol().to_string(),
        digits = digits
    )
}

/// Digits with the language's marks; `None` if the library does not know the language.
pub(super) fn grouped(lang: Lang, digits: &str) -> Option<String> {
    let options = DecimalFormatterOptions::default();
    let formatter = DecimalFormatter::try_new(locale(lang).into(), options).ok()?;
    Some(formatter.format(&digits.parse::<Decimal>().ok()?).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::money::Currency;

    #[test]
    fn amounts_have_their_symbol_their_decimals_and_grouped_thousands() {
        let rows = [
            (Money::new(2990, Currency::EUR), "€29.90", "29,90 €"),
            (Money::new(123_456_789, Currency::EUR), "€1,234,567.89", "1 234 567,89 €"),
            (Money::new(5, Currency::EUR), "€0.05", "0,05 €"),
            (Money::new(-2990, Currency::EUR), "−€29.90", "−29,90 €"),
            (Money::new(4800, Currency::JPY), "¥4,800", "4 800 ¥"),
            (Money::new(800, Currency::JPY), "¥800", "800 ¥"),
        ];
        for (amount, english, russian) in rows {
            assert_eq!(money(Lang::en, amount), english);
            // No line breaks within an amount: its spaces are such that hold together.
            let said = money(Lang::ru, amount);
            assert!(!said.contains(' '), "{said:?}");
            assert_eq!(said.replace(['\u{a0}', '\u{202f}'], " "), russian);
        }
    }
}
