//! The cart.

use domain::{
    catalogue::QUANTITY_MAX,
    view::{CartView, LineView},
};
use leptos::prelude::*;

use crate::{
    components::picture::Picture,
    text::{
        labels::{cart as labels, each, frame, how_many_of, of_line, shop},
        money::money,
        products::product,
    },
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
                <Picture sku="cups" />
                <h1>{labels::EMPTY}</h1>
                <p>{labels::EMPTY_TEXT} " " <a href="/orders">{frame::ORDERS}</a> "."</p>
                <p>
                    <a class="button" href="/">
                        {shop::TO_THE_SHOP}
                    </a>
                </p>
            </div>
        }
        .into_any();
    };
    let rows = cart.lines.into_iter().map(|line| view! { <CartLine line=line /> }).collect_view();
    view! {
        <h1>{labels::TITLE}</h1>
        <ul class="cart-lines">{rows}</ul>
        <div class="cart-total">
            <p>
                <span>{labels::TOTAL}</span>
                <strong>{money(cart.total)}</strong>
            </p>
            <p class="hint">{labels::TOTAL_HINT}</p>
        </div>
        <p class="cart-go">
            <a href="/">{shop::BACK}</a>
            <a class="button" href="/checkout">
                {labels::CHECK_OUT}
            </a>
        </p>
    }
    .into_any()
}

/// One line, with the forms that change it.
#[component]
fn CartLine(line: LineView) -> impl IntoView {
    let (name, _, _) = product(line.sku.as_str());
    let sku = line.sku.to_string();
    let id = format!("quantity-{sku}");
    view! {
        <li class="cart-line" data-sku=sku.clone()>
            <Picture sku=sku.clone() />
            <div class="cart-what">
                <a href=format!("/products/{sku}")>{name}</a>
                <span class="unit">{each(&money(line.unit))}</span>
            </div>
            <span class="price">{money(line.total)}</span>
            <div class="cart-change">
                <form class="quantity" method="post" action="/cart/lines">
                    <input type="hidden" name="sku" value=sku.clone() />
                    <label class="visually-hidden" for=id.clone()>
                        {how_many_of(name)}
                    </label>
                    <input
                        id=id
                        name="quantity"
                        type="number"
                        min="0"
                        max=QUANTITY_MAX
                        value=line.quantity
                        inputmode="numeric"
                        required
                    />
                    <button class="quiet" type="submit">
                        {labels::CHANGE}
                        <span class="visually-hidden">{of_line(name)}</span>
                    </button>
                </form>
                <form method="post" action="/cart/lines">
                    <input type="hidden" name="sku" value=sku.clone() />
                    <input type="hidden" name="quantity" value="0" />
                    <button class="link" type="submit">
                        {labels::REMOVE}
                        <span class="visually-hidden">{of_line(name)}</span>
                    </button>
                </form>
            </div>
        </li>
    }
    .into_any()
}
