//! The demo cards. No card number is ever typed here: a card is a token of the provider.

/// Whether a card does what cards do every day; the others show what the shop is built for.
pub fn is_ordinary(token: &str) -> bool {
    matches!(
        token,
        "tok_visa" | "tok_3ds" | "tok_hosted_card" | "tok_declined" | "tok_insufficient_funds"
    )
}

/// A card's name and what it will do.
pub fn card(token: &str) -> (&'static str, &'static str) {
    match token.split_once(':').map_or(token, |(_, token)| token) {
        "wallet" => ("Your PayPal account", "You approve the payment on PayPal's page."),
        "pm_card_visa" => ("Visa ending in 4242", "Pays at once."),
        "pm_card_visa_chargeDeclined" => ("A card that is declined", "The bank says no."),
        "pm_card_chargeDeclinedInsufficientFunds" => {
            ("A card without enough money", "The bank says no: insufficient funds.")
        }
        "pm_card_threeDSecure2Required" => {
            ("A card whose bank asks you (3-D Secure)", "You confirm on the bank's page.")
        }
        "pm_sim_lost_response" => (
            "A card whose answer gets lost",
            "The money is taken, and the provider's answer never arrives.",
        ),
        "pm_sim_processing" => {
            ("A card of a slow bank", "Processing for a few seconds, then paid.")
        }
        "pm_sim_500_executed" => (
            "A card charged behind a 500",
            "The money is taken, and the provider answers 500, for ever.",
        ),
        "pm_sim_cut_body" => {
            ("A card with half an answer", "The money is taken, and the answer breaks off.")
        }
        "tok_visa" => ("Visa ending in 4242", "Pays at once."),
        "tok_3ds" => ("A card whose bank asks you (3-D Secure)", "You confirm on the bank's page."),
        "tok_hosted_card" => (
            "A card you type yourself",
            "On the provider's own page: its number never comes near this shop.",
        ),
        "tok_declined" => ("A card that is declined", "The bank says no."),
        "tok_insufficient_funds" => {
            ("A card without enough money", "The bank says no: insufficient funds.")
        }
        "tok_lost_response" => (
            "A card whose answer gets lost",
            "The money is taken, and the provider's answer never arrives.",
        ),
        "tok_500_executed" => (
            "A card charged behind a 500",
            "The money is taken, and the provider answers 500, for ever.",
        ),
        "tok_never_arrives" => (
            "A card whose request gets lost",
            "Nothing is taken at first; the same request is sent again.",
        ),
        "tok_cut_body" => {
            ("A card with half an answer", "The money is taken, and the answer breaks off.")
        }
        "tok_processing" => ("A card of a slow bank", "Processing for a few seconds, then paid."),
        "tok_429" => (
            "A card in the rush hour",
            "The provider is busy and asks us to come back in two seconds.",
        ),
        "tok_wrong_amount" => {
            ("A card charged one cent too much", "The amounts differ, so a person has to look.")
        }
        "tok_unknown_status" => {
            ("A card with an unknown answer", "The provider's record has a word that nobody knows.")
        }
        _ => ("Another card", "As the provider decides."),
    }
}

/// What a provider's decline code means to the shopper.
pub fn decline(code: &str) -> &'static str {
    match code {
        "insufficient_funds" => "The bank says that there is not enough money on the card.",
        "expired_card" => "The card has expired.",
        _ => "The bank gave no further reason.",
    }
}
