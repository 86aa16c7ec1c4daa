//! The status page of a checkout: the panel, kept live.

use domain::id::CheckoutId;
use leptos::prelude::*;

use crate::{
    islands::live_status::LiveStatus,
    panel::Panel,
    text::{self, say},
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
    let lang = text::lang();
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
            offline=say!(lang, status.label.offline).to_owned()
            words=text::unknown_words(lang)
        >
            <div class="panel-slot" data-panel-slot inner_html=panel.html></div>
        </LiveStatus>
        <p class="afterwards">
            <a href="/">{say!(lang, shop.back)}</a>
            <a href="/orders">{say!(lang, frame.orders)}</a>
        </p>
    }
    .into_any()
}
