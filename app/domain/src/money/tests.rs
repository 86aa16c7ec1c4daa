use super::*;

#[test]
fn an_amount_is_written_with_the_decimals_its_currency_has() {
    let kwd = Currency::from_code("KWD").unwrap();
    let rows = [
        (Money::new(1999, Currency::EUR), "19.99 EUR"),
        (Money::new(5, Currency::EUR), "0.05 EUR"),
        (Money::new(-5, Currency::EUR), "-0.05 EUR"),
        (Money::new(0, Currency::EUR), "0.00 EUR"),
        (Money::new(1999, Currency::JPY), "1999 JPY"),
        (Money::new(1234, kwd), "1.234 KWD"),
        (Money::new(i64::MIN, Currency::JPY), "-9223372036854775808 JPY"),
    ];
    for (money, text) in rows {
        assert_eq!(money.to_string(), text);
    }
}

#[test]
fn sums_refuse_mixed_currencies_and_overflow() {
    let one = Money::new(1, Currency::EUR);
    assert_eq!(one.plus(Money::new(1, Currency::JPY)), None);
    assert_eq!(Money::new(i64::MAX, Currency::EUR).plus(one), None);
    assert_eq!(Money::new(i64::MAX, Currency::EUR).times(2), None);
    assert_eq!(one.plus(one), Some(Money::new(2, Currency::EUR)));
}

#[test]
fn a_currency_is_only_what_the_standard_lists() {
    for code in ["", "eur", "EURO", "XXQ", "E\0R"] {
        assert!(Currency::from_code(code).is_err(), "{code:?}");
    }
    assert_eq!(Currency::from_code("EUR"), Ok(Currency::EUR));
}
