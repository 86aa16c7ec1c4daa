//! Payment methods: the test ones of this wire, and those that bring a fault of this simulator.

use crate::tokens::{self, Card};

/// A payment method that exists.
#[derive(Clone, Debug)]
pub struct Method {
    /// Its id on this wire.
    pub id: String,
    /// The own wire's token that behaves the same.
    pub token: String,
    /// What it does.
    pub card: Card,
}

/// The own wire's token for a payment method; `None` if there is no such method.
pub fn token(id: &str) -> Option<String> {
    let token = match id {
        "pm_card_visa" => "tok_visa",
        "pm_card_mastercard" => "tok_mastercard",
        "pm_card_visa_chargeDeclined" | "pm_card_chargeDeclined" => "tok_declined",
        "pm_card_chargeDeclinedInsufficientFunds"
        | "pm_card_visa_chargeDeclinedInsufficientFunds" => "tok_insufficient_funds",
        "pm_card_authenticationRequired" | "pm_card_threeDSecure2Required" => "tok_3ds",
        _ => {
            let fault = id.strip_prefix("pm_sim_")?;
            let plain = ["visa", "mastercard", "declined", "insufficient_funds", "3ds"];
            let mirrored = fault != "hosted_card" && !plain.contains(&fault);
            return mirrored
                .then(|| format!("tok_{fault}"))
                .filter(|it| tokens::card(it).is_some());
        }
    };
    Some(token.to_owned())
}

/// The payment method with this id.
pub fn method(id: &str) -> Option<Method> {
    let token = token(id)?;
    Some(Method { id: id.to_owned(), card: tokens::card(&token)?, token })
}
