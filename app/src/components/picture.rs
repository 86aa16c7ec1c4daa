//! A product's drawing.

use leptos::prelude::*;

use crate::text::art;

/// The drawing on its ground; decorative, its name stands beside it.
#[component]
pub fn Picture(
    /// Which product.
    #[prop(into)]
    sku: String,
) -> impl IntoView {
    let drawing = art::product(&sku);
    view! {
        <div class="picture" data-sku=sku>
            <svg
                viewBox="0 0 200 200"
                aria-hidden="true"
                focusable="false"
                inner_html=drawing
            ></svg>
        </div>
    }
}
