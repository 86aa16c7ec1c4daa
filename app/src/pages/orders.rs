//! A customer's orders.

use domain::view::OrderSummary;
use leptos::prelude::*;

use crate::text::{
    money::money,
    status::short_order,
    time::{day, iso},
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
                <h1>"No orders yet"</h1>
                <p>"Orders belong to this browser: another one, or one whose cookies were cleared, does not show them here."</p>
                <p>
                    <a class="button" href="/">
                        "To the shop"
                    </a>
                </p>
            </div>
        }
        .into_any();
    }
    let rows = orders
        .into_iter()
        .map(|order| {
            let things = if order.count == 1 { "thing" } else { "things" };
            view! {
                <li class="order-row" data-order-state=order.order_state.as_str()>
                    <a href=format!("/checkout/{}", order.checkout_id)>{order.reference.clone()}</a>
                    <span class="order-when">
                        <time datetime=iso(order.created_at)>{day(order.created_at)}</time>
                    </span>
                    <span>{order.count} " " {things}</span>
                    <span class="price">{money(order.total)}</span>
                    <span class="tag">{short_order(order.order_state, order.face)}</span>
                </li>
            }
        })
        .collect_view();
    view! {
        <h1>"My orders"</h1>
        <ul class="order-rows">{rows}</ul>
    }
    .into_any()
}
