//! One product.

use domain::{
    catalogue::{Product, QUANTITY_MAX},
    money::Currency,
};
use leptos::prelude::*;

use crate::{
    components::picture::Picture,
    text::{self, money::money, products, say},
};

/// From how many on it is worth saying that few are left.
const FEW: u32 = 3;

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
    let lang = text::lang();
    let words = products::words(lang, item.sku);
    let few = (1..=FEW).contains(&left);
    let facts = words
        .facts
        .into_iter()
        .map(|(name, value)| {
            view! {
                <div>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                </div>
            }
        })
        .collect_view();
    view! {
        <article class="product">
            <Picture sku=item.sku />
            <div class="product-words">
                <h1>{words.name}</h1>
                <p class="lead">{words.line}</p>
                <p class="price">
                    {item.price(currency).map(|price| money(lang, price))}
                    {few.then(|| view! { <span class="tag">{say!(lang, shop.only_left, count = left)}</span> })}
                </p>
                <Buy sku=item.sku left=left />
                <p>{words.story}</p>
                <h2 class="small">{say!(lang, shop.facts)}</h2>
                <dl class="facts">{facts}</dl>
                <p>
                    <a href="/">{say!(lang, shop.back)}</a>
                </p>
            </div>
        </article>
    }
    .into_any()
}

/// The way into the cart, while there is something to sell.
#[component]
fn Buy(sku: &'static str, left: u32) -> impl IntoView {
    let lang = text::lang();
    if left == 0 {
        return view! { <p class="notice">{say!(lang, shop.sold_out_long)}</p> }.into_any();
    }
    view! {
        <form class="buy" method="post" action="/cart/lines">
            <input type="hidden" name="sku" value=sku />
            <input type="hidden" name="add" value="1" />
            <label for="quantity">{say!(lang, shop.how_many)}</label>
            <input
                id="quantity"
                name="quantity"
                type="number"
                min="1"
                max=left.min(QUANTITY_MAX)
                value="1"
                inputmode="numeric"
                required
            />
            <button class="button" type="submit">
                {say!(lang, shop.put_into_cart)}
            </button>
        </form>
    }
    .into_any()
}
