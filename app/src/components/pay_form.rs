//! The payment form: a plain post, the same for the first attempt and for those after a no.

use domain::{
    id::{CartId, CheckoutId},
    money::Money,
};
use leptos::prelude::*;

use crate::text::{
    cards::{card, is_ordinary},
    labels::{checkout as words, provider},
    money::money,
};

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
    let first = paying.tokens.first().cloned().unwrap_or_default();
    let (own, others): (Vec<_>, Vec<_>) =
        paying.tokens.into_iter().partition(|token| !token.contains(':'));
    let (ordinary, trouble): (Vec<_>, Vec<_>) =
        own.into_iter().partition(|token| is_ordinary(token));
    let others = by_provider(others)
        .into_iter()
        .map(|(name, tokens)| group(format!("cards-{name}"), provider(&name), tokens, &first));
    let others = others.collect_view();
    view! {
        <form
            class="pay-form"
            method="post"
            action=format!("/checkout/{}/pay", paying.checkout_id)
            data-pay-form
            data-pay-attempt=paying.attempt
        >
            <input type="hidden" name="cart_id" value=paying.cart_id.to_string() />
            <input type="hidden" name="cart_version" value=paying.cart_version />
            <input type="hidden" name="amount_minor" value=paying.total.minor />
            <input type="hidden" name="currency" value=paying.total.currency.code() />
            <input type="hidden" name="attempt" value=paying.attempt />
            <fieldset>
                <legend>{words::CHOOSE}</legend>
                {group("cards-ordinary".to_owned(), words::EVERYDAY.to_owned(), ordinary, &first)}
                {group("cards-trouble".to_owned(), words::TROUBLE.to_owned(), trouble, &first)}
                {others}
            </fieldset>
            <p class="hint">{words::TOKENS_HINT}</p>
            <button class="button" type="submit" id="pay" data-pay-control data-busy=words::SENDING>
                {words::PAY}
                " "
                {money(paying.total)}
            </button>
        </form>
    }
    .into_any()
}

/// Further providers with their tokens, in the order they come.
fn by_provider(tokens: Vec<String>) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for token in tokens {
        let name = token.split(':').next().unwrap_or_default().to_owned();
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, of_it)) => of_it.push(token),
            None => groups.push((name, vec![token])),
        }
    }
    groups
}

/// Some cards under a heading of their own.
fn group(id: String, title: String, tokens: Vec<String>, first: &str) -> Option<AnyView> {
    // A long list of another provider's is there for whoever asks for it.
    let folded = tokens.len() > 2 && tokens.iter().all(|token| token.contains(':'));
    if tokens.is_empty() {
        return None;
    }
    let cards = tokens
        .into_iter()
        .map(|token| {
            let (name, what) = card(&token);
            let (field, label, hint) =
                (format!("card-{token}"), format!("name-{token}"), format!("hint-{token}"));
            let chosen = token == first;
            view! {
                <label class="card-choice" data-card=token.clone()>
                    <input
                        type="radio"
                        name="payment_token"
                        id=field
                        value=token.clone()
                        checked=chosen
                        aria-labelledby=label.clone()
                        aria-describedby=hint.clone()
                        required
                    />
                    <span class="card-name" id=label>
                        {name}
                    </span>
                    <span class="hint" id=hint>
                        {what}
                    </span>
                </label>
            }
        })
        .collect_view();
    let heading = id.clone();
    if folded {
        return Some(
            view! {
                <details class="card-group">
                    <summary class="card-group-name">{title}</summary>
                    {cards}
                </details>
            }
            .into_any(),
        );
    }
    let group = view! {
        <div class="card-group" role="group" aria-labelledby=heading>
            <p class="card-group-name" id=id>
                {title}
            </p>
            {cards}
        </div>
    };
    Some(group.into_any())
}
