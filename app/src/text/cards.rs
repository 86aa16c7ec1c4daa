//! The demo cards. No card number is ever typed here: a card is a token of the provider.

/// A card's name and what it will do.
pub fn card(token: &str) -> (&'static str, &'static str) {
    match token {
        "tok_visa" => ("Visa ending in 4242", "Pays at once."),
        "tok_lost_response" => {
            ("The answer gets lost", "The money is taken, and the provider's answer never arrives.")
        }
        "tok_declined" => ("A declined card", "The bank says no."),
        "tok_insufficient_funds" => ("Not enough money", "The bank says no: insufficient funds."),
        "tok_3ds" => ("The bank asks you first", "You confirm on the bank's page."),
        "tok_hosted_card" => ("Type a card", "On the provider's own page, never here."),
        "tok_processing" => ("A slow bank", "Processing for a few seconds, then paid."),
        "tok_500_executed" => (
            "A 500 after the charge",
            "The money is taken, and the provider answers 500, for ever.",
        ),
        "tok_never_arrives" => {
            ("The request gets lost", "Nothing is taken at first; the same request is sent again.")
        }
        "tok_cut_body" => ("Half an answer", "The money is taken, and the answer breaks off."),
        "tok_429" => ("A busy provider", "Told to come back in two seconds."),
        "tok_wrong_amount" => {
            ("Another amount", "The provider takes one cent more: a person has to look.")
        }
        "tok_unknown_status" => {
            ("A word nobody knows", "The provider's record says something undocumented.")
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
