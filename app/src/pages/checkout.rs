//! The checkout: what will be ordered, and the payment form.

use domain::{id::CheckoutId, view::CartView};
use leptos::prelude::*;

use crate::{
    components::{
        lines::Lines,
        pay_form::{PayForm, Paying},
    },
    islands::pay_guard::PayGuard,
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
) -> impl IntoView {
    let paying = Paying {
        checkout_id,
        cart_id: cart.id,
        cart_version: cart.version,
        total: cart.total,
        attempt: 1,
        tokens,
    };
    view! {
        <h1>"Checkout"</h1>
        <div class="checkout">
            <section aria-labelledby="order-heading">
                <h2 id="order-heading">"Your order"</h2>
                <Lines lines=cart.lines.clone() total=cart.total />
                <p>
                    <a href="/cart">"Change the cart"</a>
                </p>
            </section>
            <section aria-labelledby="pay-heading">
                <h2 id="pay-heading">"Payment"</h2>
                <PayGuard cart_id=cart.id.to_string()>
                    <PayForm paying=paying />
                </PayGuard>
                <p class="hint">
                    "You can press Pay only once for this cart, whatever happens on the way: a second press, a lost connection or another tab lead to the same order."
                </p>
            </section>
        </div>
    }
}
