//! Amounts as people write them.

use domain::money::Money;

/// An amount with its symbol and grouped thousands: €1,234.50, ¥4,800.
pub fn money(amount: Money) -> String {
    let decimal = amount.decimal();
    let (sign, digits) = match decimal.strip_prefix('-') {
        Some(digits) => ("−", digits),
        None => ("", decimal.as_str()),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let point = if part.is_empty() { "" } else { "." };
    format!("{sign}{}{grouped}{point}{part}", amount.currency.symbol())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::money::Currency;

    #[test]
    fn amounts_have_their_symbol_their_decimals_and_grouped_thousands() {
        let rows = [
            (Money::new(2990, Currency::EUR), "€29.90"),
            (Money::new(123_456_789, Currency::EUR), "€1,234,567.89"),
            (Money::new(5, Currency::EUR), "€0.05"),
            (Money::new(-2990, Currency::EUR), "−€29.90"),
            (Money::new(4800, Currency::JPY), "¥4,800"),
            (Money::new(800, Currency::JPY), "¥800"),
        ];
        for (amount, text) in rows {
            assert_eq!(money(amount), text);
        }
    }
}
