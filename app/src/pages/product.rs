//! One product.

use domain::{
    catalogue::{Product, QUANTITY_MAX},
    money::Currency,
};
use leptos::prelude::*;

use crate::{
    components::picture::Picture,
    text::{money::money, products::product},
};

/// A product with its story and the way into the cart.
#[component]
pub fn ProductPage(
    /// Which.
    item: &'static Product,
    /// The visitor's price list.
    currency: Currency,
    /// How many may still be sold.
    left: u32,
) -> impl IntoView {
    let (name, line, story) = product(item.sku);
    let buy = if left == 0 {
        view! { <p class="tag">"Sold out. An order that is given up brings some back."</p> }
            .into_any()
    } else {
        let most = left.min(QUANTITY_MAX);
        view! {
            <form class="buy" method="post" action="/cart/lines">
                <input type="hidden" name="sku" value=item.sku />
                <input type="hidden" name="add" value="1" />
                <label for="quantity">"How many"</label>
                <input id="quantity" name="quantity" type="number" min="1" max=most value="1" inputmode="numeric" required />
                <button class="button" type="submit">
                    "Put into the cart"
                </button>
            </form>
        }
        .into_any()
    };
    view! {
        <article class="product">
            <Picture sku=item.sku />
            <div>
                <h1>{name}</h1>
                <p class="lead">{line}</p>
                <p class="price">{item.price(currency).map(money)}</p>
                {buy}
                <p>{story}</p>
                <p>
                    <a href="/">"Back to the shop"</a>
                </p>
            </div>
        </article>
    }
}
