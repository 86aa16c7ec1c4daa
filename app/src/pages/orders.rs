//! A customer's orders.

use domain::view::OrderSummary;
use leptos::prelude::*;

use crate::{
    components::picture::Picture,
    text::{
        self,
        money::money,
        say,
        status::{face_word, short},
        time::{day, iso},
    },
};

/// Every order of this session, newest first.
#[component]
pub fn OrdersPage(
    /// The orders.
    orders: Vec<OrderSummary>,
) -> impl IntoView {
    let lang = text::lang();
    if orders.is_empty() {
        return view! {
            <div class="empty">
                <Picture sku="caddy" />
                <h1>{say!(lang, shop.orders.empty)}</h1>
                <p>{say!(lang, shop.orders.empty_text)}</p>
                <p>
                    <a class="button" href="/">
                        {say!(lang, shop.to_the_shop)}
                    </a>
                </p>
            </div>
        }
        .into_any();
    }
    let rows = orders
        .into_iter()
        .map(|order| {
            view! {
                <li
                    class="order-row"
                    data-face=face_word(order.face)
                    data-order-state=order.order_state.as_str()
                >
                    <a href=format!("/checkout/{}", order.checkout_id)>{order.reference}</a>
                    <span class="order-when">
                        <time datetime=iso(order.created_at) data-local="day">{day(lang, order.created_at)}</time>
                        " · "
                        {say!(lang, shop.orders.things, count = order.count)}
                    </span>
                    <span class="tag">{short(lang, order.order_state, order.face, &order.provider)}</span>
                    <span class="price">{money(lang, order.total)}</span>
                </li>
            }
        })
        .collect_view();
    view! {
        <h1>{say!(lang, shop.orders.title)}</h1>
        <ul class="order-rows">{rows}</ul>
    }
    .into_any()
}
