//! The status page of a checkout: the panel, kept live.

use domain::id::CheckoutId;
use leptos::prelude::*;

use crate::{
    islands::live_status::LiveStatus,
    panel::Panel,
    text::labels::{frame, shop, status as labels, unknown},
};

/// The stored state, and what follows it.
#[component]
pub fn StatusPage(
    /// Which checkout.
    checkout_id: CheckoutId,
    /// The newest change that is shown.
    sequence: i64,
    /// Nothing can change any more.
    settled: bool,
    /// The panel as it is now.
    panel: Panel,
    /// What the post that led here has to say.
    notice: Option<&'static str>,
) -> impl IntoView {
    view! {
        {notice
            .map(|text| {
                view! {
                    <p class="notice" role="status" data-notice>
                        {text}
                    </p>
                }
            })}
        <LiveStatus
            checkout_id=checkout_id.to_string()
            sequence=sequence
            settled=settled
            heading=panel.heading
            offline=labels::OFFLINE.to_owned()
            words=unknown::words()
        >
            <div class="panel-slot" data-panel-slot inner_html=panel.html></div>
        </LiveStatus>
        <p class="afterwards">
            <a href="/">{shop::BACK}</a>
            <a href="/orders">{frame::ORDERS}</a>
        </p>
    }
    .into_any()
}
