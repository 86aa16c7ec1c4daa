//! The islands, brought to life in the browser.

use wasm_bindgen::prelude::wasm_bindgen;

/// Called by the page's script once the wasm has arrived.
#[wasm_bindgen]
pub fn hydrate() {
    // The islands register themselves by being linked in.
    use app as _;
    leptos::mount::hydrate_islands();
}
