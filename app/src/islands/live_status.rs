//! Keeps the status panel true: follows the stream of committed changes, polls where it is lost.

use leptos::{html, prelude::*};

use super::pay_guard::{PayUnknown, UnknownWords};

/// The panel, live. Without wasm it is what the server drew.
#[island]
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
    let root = NodeRef::<html::Div>::new();
    #[cfg(feature = "hydrate")]
    Effect::new(move |_| {
        if let Some(root) = root.get() {
            let path = format!("/checkout/{checkout_id}");
            super::follow::start(&root, path, sequence, settled, heading.clone());
        }
    });
    #[cfg(not(feature = "hydrate"))]
    let _only_in_the_browser = (&checkout_id, sequence, settled, &heading);
    // The two that speak are there, and empty, before they have anything to say.
    view! {
        <div class="live-status" node_ref=root>
            <p
                class="visually-hidden"
                role="status"
                aria-live="polite"
                aria-atomic="true"
                data-spoken
            ></p>
            <p class="visually-hidden" role="alert" data-alert></p>
            <p class="notice" data-offline hidden>
                {offline}
            </p>
            {children()}
            <PayUnknown words=words />
        </div>
    }
}
