//! Keeps the status panel true: follows the stream of committed changes, polls where it is lost.

use leptos::prelude::*;

use super::pay_guard::{PayUnknown, UnknownWords};

/// The panel, live. Without wasm it is what the server drew.
#[component]
pub fn LiveStatus(
    /// Which checkout.
    checkout_id: String,
    /// The newest change that is shown.
    sequence: i64,
    /// Nothing can change any more.
    settled: bool,
    /// What is known, in one line.
    heading: String,
    /// What is said while the browser has no network.
    offline: String,
    /// What is said while a post from here is not answered.
    words: UnknownWords,
    /// The panel.
    children: Children,
) -> impl IntoView {
    // The two that speak are there, and empty, before they have anything to say.
    view! {
        <div
            class="live-status"
            data-page=format!("/checkout/{checkout_id}")
            data-sequence=sequence
            data-settled=settled
            data-heading=heading
        >
            <p
                class="visually-hidden"
                role="status"
                aria-live="polite"
                aria-atomic="true"
                data-spoken
            ></p>
            <p class="visually-hidden" role="alert" data-alert></p>
            <div class="offline-slot" role="status" aria-live="polite" aria-atomic="true">
                <p class="notice" data-offline hidden>
                    {offline}
                </p>
            </div>
            {children()}
            <PayUnknown words=words alone=true />
        </div>
        <Follow />
    }
    .into_any()
}

/// Brings it to life. What it needs to know stands in the page, so that it brings nothing along.
#[island]
fn Follow() -> impl IntoView {
    #[cfg(feature = "hydrate")]
    super::follow::start();
}
