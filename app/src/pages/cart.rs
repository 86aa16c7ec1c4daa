//! The cart.

use domain::{catalogue::QUANTITY_MAX, view::CartView};
use leptos::prelude::*;

use crate::{
    components::picture::Picture,
    text::{money::money, products::product},
};

/// What is in the cart, and the way to the checkout.
#[component]
pub fn CartPage(
    /// The cart; `None` where there is none yet.
    cart: Option<CartView>,
) -> impl IntoView {
    let Some(cart) = cart.filter(|cart| !cart.lines.is_empty()) else {
        return view! {
            <div class="empty">
                <h1>"Your cart is empty"</h1>
                <p>"If you have just paid, you find the order under " <a href="/orders">"My orders"</a> "."</p>
                <p>
                    <a class="button" href="/">
                        "To the shop"
                    </a>
                </p>
            </div>
        }
        .into_any();
    };
    let rows = cart
        .lines
        .iter()
        .map(|line| {
            let (name, _, _) = product(line.sku.as_str());
            let sku = line.sku.to_string();
            let id = format!("quantity-{sku}");
            view! {
                <li class="cart-line">
                    <Picture sku=sku.clone() />
                    <div class="cart-what">
                        <a href=format!("/products/{sku}")>{name}</a>
                        <span class="unit">{money(line.unit)} " each"</span>
                    </div>
                    <form class="quantity" method="post" action="/cart/lines">
                        <input type="hidden" name="sku" value=sku.clone() />
                        <label class="visually-hidden" for=id.clone()>
                            {format!("How many of {name}")}
                        </label>
                        <input id=id name="quantity" type="number" min="0" max=QUANTITY_MAX value=line.quantity inputmode="numeric" required />
                        <button class="quiet" type="submit" aria-label=format!("Change how many of {name}")>
                            "Change"
                        </button>
                    </form>
                    <span class="price">{money(line.total)}</span>
                </li>
            }
        })
        .collect_view();
    view! {
        <h1>"Your cart"</h1>
        <ul class="cart-lines">{rows}</ul>
        <p class="cart-total">
            <span>"Total"</span>
            <strong>{money(cart.total)}</strong>
        </p>
        <p class="cart-go">
            <a href="/">"Back to the shop"</a>
            <a class="button" href="/checkout">
                "Check out"
            </a>
        </p>
    }
    .into_any()
}
