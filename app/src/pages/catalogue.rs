//! The front page: everything on sale.

use std::collections::HashMap;

use domain::{
    catalogue::{PRODUCTS, Product, Sku},
    money::Currency,
};
use leptos::prelude::*;

use crate::{
    components::picture::Picture,
    text::{
        self,
        labels::{only_left, shop},
        money::money,
        products::product,
    },
};

/// From how many on it is worth saying that few are left.
const FEW: u32 = 3;

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
            let left = stock.get(&item.sku()).copied().unwrap_or(0);
            view! { <Tile item=item currency=currency left=left /> }
        })
        .collect_view();
    let reasons = shop::REASONS
        .map(|(what, why)| {
            view! {
                <li>
                    <h3>{what}</h3>
                    <p>{why}</p>
                </li>
            }
        })
        .collect_view();
    view! {
        <div class="claim">
            <div class="claim-words">
                <h1>{text::CLAIM}</h1>
                <p>{text::CLAIM_MORE}</p>
            </div>
            <svg
                class="claim-picture"
                viewBox="0 0 460 340"
                aria-hidden="true"
                focusable="false"
                inner_html=text::art::hero()
            ></svg>
        </div>
        <h2>{shop::ALL}</h2>
        <ul class="tiles">{tiles}</ul>
        <ul class="reasons">{reasons}</ul>
    }
    .into_any()
}

/// One product among the others.
#[component]
fn Tile(item: &'static Product, currency: Currency, left: u32) -> impl IntoView {
    let (name, line, _) = product(item.sku);
    let stock = match left {
        0 => Some(shop::SOLD_OUT.to_owned()),
        1..=FEW => Some(only_left(left)),
        _ => None,
    };
    view! {
        <li class="tile" data-sku=item.sku data-sold-out=(left == 0).then_some("")>
            <Picture sku=item.sku />
            <h3>
                <a href=format!("/products/{}", item.sku)>{name}</a>
            </h3>
            <p class="tile-line">{line}</p>
            <p class="price">
                {item.price(currency).map(money)}
                {stock.map(|text| view! { <span class="tag">{text}</span> })}
            </p>
        </li>
    }
    .into_any()
}
