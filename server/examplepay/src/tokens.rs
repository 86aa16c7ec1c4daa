//! Test tokens: what a card does, and what goes wrong with its first request.

use crate::faults::{Execute, Hook, Mode, Reply, Step};

/// What becomes of a payment with this token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Card {
    /// The money is taken.
    Succeeds,
    /// The bank says no, with this code.
    Declined(&'static str),
    /// The bank asks the shopper.
    Confirms,
    /// The shopper types a card on our page.
    Hosted,
    /// It takes a while, then the money is taken or not.
    Processes {
        /// Whether it is taken in the end.
        succeeds: bool,
    },
    /// The record has another amount.
    WrongAmount,
    /// The record has another currency.
    WrongCurrency,
    /// The record has a word nobody has documented.
    UnknownStatus,
}

/// What a token stands for; `None` if there is no such token.
pub fn card(token: &str) -> Option<Card> {
    Some(match token {
        "tok_declined" => Card::Declined("generic_decline"),
        "tok_insufficient_funds" => Card::Declined("insufficient_funds"),
        "tok_3ds" => Card::Confirms,
        "tok_hosted_card" => Card::Hosted,
        "tok_processing" => Card::Processes { succeeds: true },
        "tok_processing_declined" => Card::Processes { succeeds: false },
        "tok_wrong_amount" => Card::WrongAmount,
        "tok_wrong_currency" => Card::WrongCurrency,
        "tok_unknown_status" => Card::UnknownStatus,
        "tok_visa"
        | "tok_mastercard"
        | "tok_lost_response"
        | "tok_lost_webhook"
        | "tok_cut_body"
        | "tok_500_executed"
        | "tok_never_arrives"
        | "tok_slow"
        | "tok_429"
        | "tok_html"
        | "tok_refund_pending"
        | "tok_refund_refused_later"
        | "tok_refund_fails_later" => Card::Succeeds,
        _ => return None,
    })
}

/// What goes wrong with the first request of a key that carries this token.
pub fn first_step(token: &str) -> Option<Step> {
    let answers = |answer| Step { answer, ..Step::default() };
    let status = |status, body: &str, content_type: &str| Reply::Status {
        status,
        body: body.to_owned(),
        content_type: Some(content_type.to_owned()),
        headers: [("Retry-After".to_owned(), "2".to_owned())]
            .into_iter()
            .filter(|_| status == 429)
            .collect(),
    };
    Some(match token {
        "tok_lost_response" => answers(Reply::DropBeforeHeaders),
        "tok_lost_webhook" => Step {
            webhook: Hook { mode: Some(Mode::Never), ..Hook::default() },
            ..answers(Reply::DropBeforeHeaders)
        },
        "tok_cut_body" => answers(Reply::CutMidBody),
        "tok_500_executed" => Step {
            save: true,
            ..answers(status(
                500,
                r#"{"error":{"type":"api_error","message":"something broke here"}}"#,
                "application/json",
            ))
        },
        "tok_never_arrives" => {
            Step { execute: Some(Execute::Now(false)), ..answers(Reply::DropBeforeHeaders) }
        }
        "tok_slow" => Step { delay_ms: 8000, ..Step::default() },
        "tok_429" => Step {
            execute: Some(Execute::Now(false)),
            ..answers(status(
                429,
                r#"{"error":{"type":"rate_limited","message":"too many requests"}}"#,
                "application/json",
            ))
        },
        "tok_html" => {
            answers(status(200, "<html><body><h1>Welcome</h1></body></html>", "text/html"))
        }
        _ => return None,
    })
}

/// Whether this is a card number, which nobody may send here.
pub fn is_card_number(text: &str) -> bool {
    let digits: Vec<u32> = text
        .chars()
        .filter(|it| !matches!(it, ' ' | '-'))
        .map_while(|it| it.to_digit(10))
        .collect();
    let plain = text.chars().all(|it| it.is_ascii_digit() || matches!(it, ' ' | '-'));
    let doubled = |(place, digit): (usize, &u32)| match (place % 2, *digit * 2) {
        (0, _) => *digit,
        (_, twice) if twice > 9 => twice - 9,
        (_, twice) => twice,
    };
    let sum: u32 = digits.iter().rev().enumerate().map(doubled).sum();
    plain && (13..=19).contains(&digits.len()) && sum.is_multiple_of(10)
}

/// A text without the card numbers in it, for the request log.
pub fn without_card_numbers(text: &str) -> String {
    let ours = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(ours) {
        let (before, word) = rest.split_at(start);
        let (word, after) = word.split_at(word.find(|it| !ours(it)).unwrap_or(word.len()));
        clean.push_str(before);
        // Cards begin with 3 to 6; times in milliseconds, which may look like one, do not.
        let card = word.starts_with(['3', '4', '5', '6']) && is_card_number(word);
        clean.push_str(if card { "[card]" } else { word });
        rest = after;
    }
    clean + rest
}

#[cfg(test)]
mod tests;
