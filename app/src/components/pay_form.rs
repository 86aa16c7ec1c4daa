//! The payment form: a plain post, the same for the first attempt and for those after a no.

use domain::{
    id::{CartId, CheckoutId},
    money::Money,
};
use leptos::prelude::*;

use crate::text::{cards::card, money::money};

/// What a payment form says besides the card.
#[derive(Clone, Debug)]
pub struct Paying {
    /// Which checkout.
    pub checkout_id: CheckoutId,
    /// Which cart.
    pub cart_id: CartId,
    /// Which version of it the shopper sees.
    pub cart_version: i64,
    /// What it costs.
    pub total: Money,
    /// Which payment of the order this is.
    pub attempt: u32,
    /// The cards to choose from, as the provider's tokens.
    pub tokens: Vec<String>,
}

/// The form. Works as it is; an island around it guards against repeats.
#[component]
pub fn PayForm(
    /// What it says.
    paying: Paying,
) -> impl IntoView {
    let cards = paying
        .tokens
        .iter()
        .enumerate()
        .map(|(place, token)| {
            let (name, what) = card(token);
            let id = format!("card-{token}");
            let hint = format!("hint-{token}");
            view! {
                <div class="card-choice">
                    <input
                        type="radio"
                        name="payment_token"
                        id=id.clone()
                        value=token.clone()
                        checked=place == 0
                        aria-describedby=hint.clone()
                        required
                    />
                    <label for=id>{name}</label>
                    <span class="hint" id=hint>
                        {what}
                    </span>
                </div>
            }
        })
        .collect_view();
    view! {
        <form class="pay-form" method="post" action=format!("/checkout/{}/pay", paying.checkout_id) data-pay-form>
            <input type="hidden" name="cart_id" value=paying.cart_id.to_string() />
            <input type="hidden" name="cart_version" value=paying.cart_version />
            <input type="hidden" name="amount_minor" value=paying.total.minor />
            <input type="hidden" name="currency" value=paying.total.currency.code() />
            <input type="hidden" name="attempt" value=paying.attempt />
            <fieldset>
                <legend>"Choose a card"</legend>
                {cards}
            </fieldset>
            <button class="button" type="submit" data-pay-control>
                "Pay " {money(paying.total)}
            </button>
        </form>
    }
}
