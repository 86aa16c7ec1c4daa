//! The front page: everything on sale.

use std::collections::HashMap;

use domain::{
    catalogue::{PRODUCTS, Sku},
    money::Currency,
};
use leptos::prelude::*;

use crate::{
    components::picture::Picture,
    text::{self, money::money, products::product},
};

/// The catalogue with today's prices and what is left.
#[component]
pub fn Catalogue(
    /// The visitor's price list.
    currency: Currency,
    /// What may still be sold.
    stock: HashMap<Sku, u32>,
) -> impl IntoView {
    let tiles = PRODUCTS
        .iter()
        .map(|item| {
            let (name, line, _) = product(item.sku);
            let left = stock.get(&item.sku()).copied().unwrap_or(0);
            view! {
                <li class="tile">
                    <a href=format!("/products/{}", item.sku)>
                        <Picture sku=item.sku />
                        <span class="tile-name">{name}</span>
                    </a>
                    <p>{line}</p>
                    <p class="price">
                        {item.price(currency).map(money)} " "
                        {(left == 0).then(|| view! { <span class="tag">"Sold out"</span> })}
                    </p>
                </li>
            }
        })
        .collect_view();
    view! {
        <div class="claim">
            <h1>{text::CLAIM}</h1>
            <p>{text::CLAIM_MORE}</p>
        </div>
        <ul class="tiles">{tiles}</ul>
    }
}
