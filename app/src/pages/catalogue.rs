//! The front page: everything on sale.

use std::collections::HashMap;

use domain::{
    catalogue::{PRODUCTS, Product, Sku},
    money::Currency,
};
use leptos::prelude::*;

use crate::{
    components::picture::Picture,
    text::{self, money::money, products, say},
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
    let lang = text::lang();
    let tiles = PRODUCTS
        .iter()
        .map(|item| {
            let left = stock.get(&item.sku()).copied().unwrap_or(0);
            view! { <Tile item=item currency=currency left=left /> }
        })
        .collect_view();
    let reasons = [
        (say!(lang, shop.reasons.runs), say!(lang, shop.reasons.runs_why)),
        (say!(lang, shop.reasons.weekdays), say!(lang, shop.reasons.weekdays_why)),
        (say!(lang, shop.reasons.thirty), say!(lang, shop.reasons.thirty_why)),
    ];
    let reasons = reasons
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
                <h1>{say!(lang, shop.claim)}</h1>
                <p>{say!(lang, shop.claim_more)}</p>
            </div>
            <svg
                class="claim-picture"
                viewBox="0 0 460 340"
                aria-hidden="true"
                focusable="false"
                inner_html=text::art::hero()
            ></svg>
        </div>
        <h2>{say!(lang, shop.all)}</h2>
        <ul class="tiles">{tiles}</ul>
        <ul class="reasons">{reasons}</ul>
    }
    .into_any()
}

/// One product among the others.
#[component]
fn Tile(item: &'static Product, currency: Currency, left: u32) -> impl IntoView {
    let lang = text::lang();
    let words = products::words(lang, item.sku);
    let stock = match left {
        0 => Some(say!(lang, shop.sold_out).to_owned()),
        1..=FEW => Some(say!(lang, shop.only_left, count = left)),
        _ => None,
    };
    view! {
        <li class="tile" data-sku=item.sku data-sold-out=(left == 0).then_some("")>
            <Picture sku=item.sku />
            <h3>
                <a href=format!("/products/{}", item.sku)>{words.name}</a>
            </h3>
            <p class="tile-line">{words.line}</p>
            <p class="price">
                {item.price(currency).map(|price| money(lang, price))}
                {stock.map(|text| view! { <span class="tag">{text}</span> })}
            </p>
        </li>
    }
    .into_any()
}
