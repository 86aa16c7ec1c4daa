//! The cart.

use domain::{
    catalogue::QUANTITY_MAX,
    view::{CartView, LineView},
};
use leptos::prelude::*;

use crate::{
    components::picture::Picture,
    text::{self, money::money, products, say},
};

/// What is in the cart, and the way to the checkout.
#[component]
pub fn CartPage(
    /// The cart; `None` where there is none yet.
    cart: Option<CartView>,
) -> impl IntoView {
    let lang = text::lang();
    let Some(cart) = cart.filter(|cart| !cart.lines.is_empty()) else {
        return view! {
            <div class="empty">
                <Picture sku="cups" />
                <h1>{say!(lang, shop.cart.empty)}</h1>
                <p>{say!(lang, shop.cart.empty_text)} " " <a href="/orders">{say!(lang, frame.orders)}</a> "."</p>
                <p>
                    <a class="button" href="/">
                        {say!(lang, shop.to_the_shop)}
                    </a>
                </p>
            </div>
        }
        .into_any();
    };
    let rows = cart.lines.into_iter().map(|line| view! { <CartLine line=line /> }).collect_view();
    view! {
        <h1>{say!(lang, shop.cart.title)}</h1>
        <ul class="cart-lines">{rows}</ul>
        <div class="cart-total">
            <p>
                <span>{say!(lang, shop.cart.total)}</span>
                <strong>{money(lang, cart.total)}</strong>
            </p>
            <p class="hint">{say!(lang, shop.cart.total_hint)}</p>
        </div>
        <p class="cart-go">
            <a href="/">{say!(lang, shop.back)}</a>
            <a class="button" href="/checkout">
                {say!(lang, shop.cart.check_out)}
            </a>
        </p>
    }
    .into_any()
}

/// One line, with the forms that change it.
#[component]
fn CartLine(line: LineView) -> impl IntoView {
    let lang = text::lang();
    let name = products::name(lang, line.sku.as_str());
    let sku = line.sku.to_string();
    let id = format!("quantity-{sku}");
    view! {
        <li class="cart-line" data-sku=sku.clone()>
            <Picture sku=sku.clone() />
            <div class="cart-what">
                <a href=format!("/products/{sku}")>{name}</a>
                <span class="unit">{say!(lang, shop.cart.each, price = money(lang, line.unit))}</span>
            </div>
            <span class="price">{money(lang, line.total)}</span>
            <div class="cart-change">
                <form class="quantity" method="post" action="/cart/lines">
                    <input type="hidden" name="sku" value=sku.clone() />
                    <label class="visually-hidden" for=id.clone()>
                        {say!(lang, shop.cart.how_many_of, name = name)}
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
                        {say!(lang, shop.cart.change)}
                        <span class="visually-hidden">{say!(lang, shop.cart.of_line, name = name)}</span>
                    </button>
                </form>
                <form method="post" action="/cart/lines">
                    <input type="hidden" name="sku" value=sku.clone() />
                    <input type="hidden" name="quantity" value="0" />
                    <button class="link" type="submit">
                        {say!(lang, shop.cart.remove)}
                        <span class="visually-hidden">{say!(lang, shop.cart.of_line, name = name)}</span>
                    </button>
                </form>
            </div>
        </li>
    }
    .into_any()
}
