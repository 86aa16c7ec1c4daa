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
mod tests;
