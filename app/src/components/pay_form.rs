//! The payment form: a plain post, the same for the first attempt and for those after a no.

use domain::{
    id::{CartId, CheckoutId},
    money::Money,
};
use leptos::{nonce::use_nonce, prelude::*};

use crate::text::{
    self,
    cards::{card, is_card, is_ordinary},
    money::money,
    provider, say,
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
    /// Stripe's own form, on a page that may load it.
    pub element: Option<Element>,
}

/// What Stripe's Payment Element needs on a page.
#[derive(Clone, Debug)]
pub struct Element {
    /// Where its script is.
    pub script: &'static str,
    /// The key that anybody may see.
    pub public_key: String,
    /// The amount in Stripe's units.
    pub amount: i64,
    /// The currency as Stripe writes it.
    pub currency: String,
}

/// The field for an address, on the form that makes the order.
#[derive(Clone, Default, Debug)]
pub struct MailField {
    /// What was typed before, and cannot be written to.
    pub unusable: Option<String>,
}

/// The choice that stands for it until it has yielded a token.
const ELEMENT: &str = "stripe:element";

/// The form. Works as it is; an island around it guards against repeats.
#[component]
pub fn PayForm(
    /// What it says.
    paying: Paying,
    /// Whether it asks where to write to.
    #[prop(optional_no_strip)]
    mail: Option<MailField>,
    /// What was chosen before, on a form that comes back.
    #[prop(optional_no_strip)]
    chosen: Option<String>,
) -> impl IntoView {
    let lang = text::lang();
    // A token of Stripe's own form is used up: the form comes back with that form chosen.
    let own_form = chosen.as_ref().is_some_and(|it| {
        it.starts_with("stripe:") && !paying.tokens.contains(it) && paying.element.is_some()
    });
    let chosen = if own_form { Some(ELEMENT.to_owned()) } else { chosen };
    let first = chosen.or_else(|| paying.tokens.first().cloned()).unwrap_or_default();
    let offered = paying.tokens.iter().any(|token| token == ELEMENT);
    let tokens: Vec<_> = paying.tokens.into_iter().filter(|token| token != ELEMENT).collect();
    let test_cards = tokens.iter().any(|token| is_card(token));
    let (own, others): (Vec<_>, Vec<_>) =
        tokens.into_iter().partition(|token| !token.contains(':'));
    let page = format!("/checkout/{}", paying.checkout_id);
    let element = match paying.element {
        Some(element) => Some(element_choice(element, &page, own_form).into_any()),
        // A page that was not loaded for it leads to one that is.
        None if offered => {
            let link = format!("{page}?with=stripe");
            Some(
                view! { <p><a href=link data-with-stripe>{say!(lang, checkout.by_stripe)}</a></p> }
                    .into_any(),
            )
        }
        None => None,
    };
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
                <legend>{say!(lang, checkout.choose)}</legend>
                {test_cards.then(|| view! { <p class="hint">{say!(lang, checkout.tokens_hint)}</p> })}
                {group("cards-ordinary".to_owned(), say!(lang, checkout.everyday).to_owned(), ordinary, &first)}
                {group("cards-trouble".to_owned(), say!(lang, checkout.trouble).to_owned(), trouble, &first)}
                {element}
                {others}
            </fieldset>
            {mail.map(mail_field)}
            <button class="button" type="submit" id="pay" data-pay-control data-busy=say!(lang, checkout.sending)>
                {say!(lang, checkout.pay, amount = money(lang, paying.total))}
            </button>
        </form>
    }
    .into_any()
}

/// Where the shopper wants to be written to, if anywhere.
fn mail_field(field: MailField) -> impl IntoView {
    let lang = text::lang();
    let wrong = field.unusable.is_some();
    let described = if wrong { "email-wrong email-hint" } else { "email-hint" };
    view! {
        <div class="mail-field" data-wrong=wrong>
            <label for="email">{say!(lang, checkout.mail)}</label>
            {wrong
                .then(|| {
                    view! {
                        <p class="wrong" id="email-wrong">
                            {say!(lang, checkout.mail_unusable)}
                        </p>
                    }
                })}
            <input
                type="email"
                name="email"
                id="email"
                value=field.unusable
                autocomplete="email"
                inputmode="email"
                autocapitalize="none"
                spellcheck="false"
                maxlength="254"
                aria-describedby=described
                aria-invalid=wrong.then_some("true")
            />
            <p class="hint" id="email-hint">
                {say!(lang, checkout.mail_hint)}
            </p>
        </div>
    }
}

/// The card form of Stripe's: a choice that works once its script is there.
fn element_choice(element: Element, page: &str, chosen: bool) -> impl IntoView + use<> {
    let lang = text::lang();
    let return_url = format!("{page}/return");
    view! {
        <div class="card-group">
            <label class="card-choice" data-card=ELEMENT>
                <input
                    type="radio"
                    name="payment_token"
                    id="card-element"
                    value=ELEMENT
                    checked=chosen
                    aria-labelledby="name-element"
                    aria-describedby="hint-element"
                    required
                    disabled
                />
                <span class="card-name" id="name-element">
                    {say!(lang, checkout.by_stripe)}
                </span>
                <span class="hint" id="hint-element">
                    {say!(lang, checkout.by_stripe_hint)}
                </span>
            </label>
            <div
                class="stripe-element"
                data-stripe-element
                data-key=element.public_key
                data-amount=element.amount
                data-currency=element.currency
                data-return-url=return_url
                data-unreachable=say!(lang, checkout.stripe_unreachable)
                hidden
            >
                <div data-stripe-mount></div>
                <p role="alert" data-stripe-says></p>
            </div>
        </div>
        <script nonce=use_nonce() src=element.script></script>
        <script nonce=use_nonce() inner_html=include_str!("pay_form/element.js")></script>
    }
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
    let open = tokens.iter().any(|token| token == first);
    if tokens.is_empty() {
        return None;
    }
    let lang = text::lang();
    let cards = tokens
        .into_iter()
        .map(|token| {
            let (name, what) = card(lang, &token);
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
                <details class="card-group" open=open>
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
