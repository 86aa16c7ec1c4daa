//! A customer's orders.

use domain::view::OrderSummary;
use leptos::prelude::*;

use crate::{
    components::picture::Picture,
    text::{
        labels::{frame, orders as labels, shop, things},
        money::money,
        status::{face_word, short_order},
        time::{day, iso},
    },
};

/// Every order of this session, newest first.
#[component]
pub fn OrdersPage(
    /// The orders.
    orders: Vec<OrderSummary>,
) -> impl IntoView {
    if orders.is_empty() {
        return view! {
            <div class="empty">
                <Picture sku="caddy" />
                <h1>{labels::EMPTY}</h1>
                <p>{labels::EMPTY_TEXT}</p>
                <p>
                    <a class="button" href="/">
                        {shop::TO_THE_SHOP}
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
                        <time datetime=iso(order.created_at)>{day(order.created_at)}</time>
                        " · "
                        {things(order.count)}
                    </span>
                    <span class="tag">{short_order(order.order_state, order.face)}</span>
                    <span class="price">{money(order.total)}</span>
                </li>
            }
        })
        .collect_view();
    view! {
        <h1>{frame::ORDERS}</h1>
        <ul class="order-rows">{rows}</ul>
    }
    .into_any()
}
