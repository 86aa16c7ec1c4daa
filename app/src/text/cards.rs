//! The demo cards. No card number is ever typed here: a card is a token of the provider.

use super::{Lang, say};

/// Whether a card does what cards do every day; the others show what the shop is built for.
pub fn is_ordinary(token: &str) -> bool {
    matches!(
        token,
        "tok_visa" | "tok_3ds" | "tok_hosted_card" | "tok_declined" | "tok_insufficient_funds"
    )
}

/// Whether a token stands for a card that is typed nowhere: a test card. A wallet has its own page.
pub fn is_card(token: &str) -> bool {
    token.split_once(':').map_or(token, |(_, token)| token) != "wallet"
}

macro_rules! words {
    ($lang:expr, $card:ident) => {
        (say!($lang, checkout.cards.$card.name), say!($lang, checkout.cards.$card.what))
    };
}

/// A card's name and what it will do.
pub fn card(lang: Lang, token: &str) -> (&'static str, &'static str) {
    match token.split_once(':').map_or(token, |(_, token)| token) {
        "wallet" => words!(lang, wallet),
        "tok_visa" | "pm_card_visa" => words!(lang, visa),
        "tok_3ds" | "pm_card_threeDSecure2Required" => words!(lang, bank_asks),
        "tok_hosted_card" => words!(lang, hosted),
        "tok_declined" | "pm_card_visa_chargeDeclined" => words!(lang, declined),
        "tok_insufficient_funds" | "pm_card_chargeDeclinedInsufficientFunds" => {
            words!(lang, poor)
        }
        "tok_lost_response" | "pm_sim_lost_response" => words!(lang, lost_response),
        "tok_500_executed" | "pm_sim_500_executed" => words!(lang, behind_500),
        "tok_never_arrives" => words!(lang, never_arrives),
        "tok_cut_body" | "pm_sim_cut_body" => words!(lang, cut_body),
        "tok_processing" | "pm_sim_processing" => words!(lang, processing),
        "tok_429" => words!(lang, busy),
        "tok_wrong_amount" => words!(lang, wrong_amount),
        "tok_unknown_status" => words!(lang, unknown_status),
        _ => words!(lang, other),
    }
}

/// What a provider's decline code means to the shopper.
pub fn decline(lang: Lang, code: &str) -> &'static str {
    match code {
        "insufficient_funds" => say!(lang, checkout.decline.insufficient_funds),
        "expired_card" => say!(lang, checkout.decline.expired_card),
        _ => say!(lang, checkout.decline.other),
    }
}
