//! Forms, read strictly: known fields, once each, of the right shape, and no card number anywhere.

use std::{collections::BTreeMap, str::FromStr};

use app::text::problem::Problem;
use axum::{
    body::Bytes,
    http::{HeaderMap, StatusCode, header},
};
use domain::id::CheckoutId;

/// Why a form is not taken.
pub type Refusal = (StatusCode, Problem);

/// The longest value of a field of this shop.
const VALUE_MAX: usize = 512;

/// A form's fields.
#[derive(Debug)]
pub struct Form(BTreeMap<String, String>);

/// A value that cannot be, in words.
pub fn invalid(what: impl Into<String>) -> Refusal {
    (StatusCode::BAD_REQUEST, Problem::Invalid(what.into()))
}

impl Form {
    /// Reads a body that may have these fields and no others.
    pub fn read(headers: &HeaderMap, body: &Bytes, known: &[&str]) -> Result<Self, Refusal> {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or("");
        let essence = kind.split(';').next().unwrap_or("").trim();
        let empty = body.is_empty() && kind.is_empty();
        if !empty && !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, Problem::NotAForm));
        }
        let mut fields = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(body) {
            if name.is_empty() && value.is_empty() {
                continue;
            }
            if has_card_number(&value) || has_card_number(&name) {
                return Err(invalid(
                    "a card number must never be sent to the shop; it was not kept",
                ));
            }
            let Some(known) = known.iter().find(|known| **known == name) else {
                return Err(invalid("the form has a field that this shop does not know"));
            };
            if value.len() > VALUE_MAX || value.contains(['\0', '\u{fffd}']) {
                return Err(invalid(format!(
                    "the value of {known} is too long or has impossible characters"
                )));
            }
            if fields.insert((*known).to_owned(), value.into_owned()).is_some() {
                return Err(invalid(format!("the form has {known} twice")));
            }
        }
        Ok(Self(fields))
    }

    /// A field as text, if it is there.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A field that must be there and be written exactly as this kind of value is.
    pub fn value<T: FromStr + ToString>(&self, name: &str, what: &str) -> Result<T, Refusal> {
        let text = self.text(name).ok_or_else(|| invalid(format!("the form has no {name}")))?;
        let value = text.parse::<T>().map_err(|_| invalid(format!("{name} must be {what}")))?;
        // "+1", "01" and other spellings of a value are not taken for it.
        if value.to_string().eq_ignore_ascii_case(text) {
            Ok(value)
        } else {
            Err(invalid(format!("{name} must be {what}")))
        }
    }
}

/// Whether 13 to 19 digits in a row, spaces and dashes between them allowed, have the check digit
/// of a card number. An id is none, although it may look like one, also within a path.
fn has_card_number(text: &str) -> bool {
    text.split(['/', '?', '&', '=']).filter(|part| part.parse::<CheckoutId>().is_err()).any(
        |part| {
            let bare: String = part.chars().filter(|it| !matches!(it, ' ' | '-')).collect();
            bare.split(|it: char| !it.is_ascii_digit()).any(|row| {
                let digits: Vec<u32> = row.chars().filter_map(|it| it.to_digit(10)).collect();
                match digits.len() {
                    0..13 => false,
                    13..=19 => has_check_digit(&digits),
                    // Somewhere within a longer row.
                    _ => (13..=19).any(|length| digits.windows(length).any(has_check_digit)),
                }
            })
        },
    )
}

fn has_check_digit(digits: &[u32]) -> bool {
    let weighed =
        digits.iter().rev().enumerate().map(|(place, digit)| match (place % 2, digit * 2) {
            (0, _) => *digit,
            (_, twice) if twice > 9 => twice - 9,
            (_, twice) => twice,
        });
    weighed.sum::<u32>().is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn read(body: &str) -> Result<Form, Refusal> {
        let mut headers = HeaderMap::new();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/x-www-form-urlencoded"),
        );
        Form::read(&headers, &Bytes::copy_from_slice(body.as_bytes()), &["quantity", "sku"])
    }

    #[test]
    fn quantities_are_plain_whole_numbers() {
        for bad in ["-1", "1.5", "1e3", "+1", "01", "", "9223372036854775808", "%00", "one", "1%20"]
        {
            let form = read(&format!("quantity={bad}"));
            let value = form.and_then(|form| form.value::<u32>("quantity", "a whole number"));
            assert_eq!(value.map_err(|it| it.0), Err(StatusCode::BAD_REQUEST), "{bad}");
        }
        assert_eq!(read("quantity=0").unwrap().value::<u32>("quantity", "a number"), Ok(0));
        assert_eq!(read("quantity=20").unwrap().value::<u32>("quantity", "a number"), Ok(20));
    }

    #[test]
    fn unknown_doubled_long_and_card_like_values_are_refused() {
        let long = format!("sku={}", "a".repeat(10_000));
        for bad in [
            "price=1",
            "sku=a&sku=b",
            "sku=a%00b",
            "sku=%ff",
            "sku=4242424242424242",
            "sku=4242+4242+4242+4242",
            "sku=4242-4242-4242-4242",
            "sku=card:+4242424242424242,+12/29",
            "sku=42424242424242421234",
            "4242424242424242=1",
            &long,
        ] {
            assert_eq!(
                read(bad).map_err(|it| it.0).map(|_| ()),
                Err(StatusCode::BAD_REQUEST),
                "{bad}"
            );
        }
        let said = format!("{:?}", read("sku=4242424242424242"));
        assert!(!said.contains("4242"), "a refusal does not repeat the number");
    }

    #[test]
    fn ids_amounts_and_cards_of_the_provider_are_no_card_numbers() {
        for good in [
            "12345678-1234-4234-8234-123456789010",
            "/checkout/12345678-1234-4234-8234-123456789010?x",
            "tok_visa",
            "1999",
            "4242424242424241",
        ] {
            assert!(!has_card_number(good), "{good}");
        }
    }

    #[test]
    fn other_content_types_are_refused() {
        for kind in ["text/plain", "multipart/form-data; boundary=x", "application/json"] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
            let refused = Form::read(&headers, &Bytes::from_static(b"sku=a"), &["sku"]);
            assert_eq!(
                refused.map_err(|it| it.0).map(|_| ()),
                Err(StatusCode::UNSUPPORTED_MEDIA_TYPE),
                "{kind}"
            );
        }
    }
}
