//! The checkout: what will be ordered, and the payment form.

use domain::{id::CheckoutId, view::CartView};
use leptos::prelude::*;

use crate::{
    components::{
        lines::Lines,
        pay_form::{Element, MailField, PayForm, Paying},
    },
    islands::pay_guard::PayGuard,
    text::{self, say},
};

/// The first payment form of a cart.
#[component]
pub fn CheckoutPage(
    /// What will be ordered; never empty.
    cart: CartView,
    /// The id that the form carries where no browser makes one.
    checkout_id: CheckoutId,
    /// The cards to choose from.
    tokens: Vec<String>,
    /// Stripe's own form, where it is set up.
    element: Option<Element>,
    /// The field for an address, empty or as it came back.
    mail: MailField,
    /// What was chosen before, on a form that comes back.
    chosen: Option<String>,
) -> impl IntoView {
    let lang = text::lang();
    let paying = Paying {
        checkout_id,
        cart_id: cart.id,
        cart_version: cart.version,
        total: cart.total,
        attempt: 1,
        tokens,
        element,
    };
    // What has to be looked at stands first, has the focus, and leads to its field.
    let summary = mail.unusable.is_some().then(|| {
        view! {
            <div
                class="error-summary"
                role="alert"
                tabindex="-1"
                autofocus
                aria-labelledby="summary-heading"
            >
                <h2 id="summary-heading">{say!(lang, checkout.summary)}</h2>
                <p>
                    <a href="#email">{say!(lang, checkout.mail_unusable)}</a>
                </p>
            </div>
        }
    });
    view! {
        {summary}
        <h1>{say!(lang, checkout.title)}</h1>
        <div class="checkout">
            <section class="checkout-order" aria-labelledby="order-heading">
                <h2 id="order-heading">{say!(lang, checkout.order)}</h2>
                <Lines lines=cart.lines.clone() total=cart.total />
                <p class="change-cart">
                    <a href="/cart">{say!(lang, checkout.change_cart)}</a>
                </p>
            </section>
            <section class="checkout-pay" aria-labelledby="pay-heading">
                <h2 id="pay-heading">{say!(lang, checkout.payment)}</h2>
                <PayGuard cart_id=cart.id.to_string() words=text::unknown_words(lang)>
                    <PayForm paying=paying mail=Some(mail) chosen=chosen />
                </PayGuard>
                <p class="hint">{say!(lang, checkout.once)}</p>
            </section>
        </div>
    }
    .into_any()
}
