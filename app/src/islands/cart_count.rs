//! How many things are in the cart; asks again when the page comes back from the browser's memory.

use leptos::prelude::*;

/// The number beside "Cart".
#[island]
pub fn CartCount(
    /// The number when the page was made.
    count: u32,
) -> impl IntoView {
    let (shown, _show) = signal(count);
    #[cfg(feature = "hydrate")]
    Effect::new(move |_| {
        use super::browser;
        let Some(window) = browser::window() else { return };
        browser::listen(&window, "pageshow", move |event| {
            use wasm_bindgen::JsCast;
            let persisted =
                event.dyn_ref::<web_sys::PageTransitionEvent>().is_some_and(|it| it.persisted());
            if persisted {
                leptos::task::spawn_local(async move {
                    let answer = browser::ask("/cart/count", None).await;
                    let count = answer
                        .and_then(|it| it.json)
                        .and_then(|json| browser::number(&json, "count"));
                    if let Some(count) = count {
                        #[expect(
                            clippy::cast_possible_truncation,
                            clippy::cast_sign_loss,
                            reason = "a small count"
                        )]
                        _show.set(count as u32);
                    }
                });
            }
        });
    });
    view! {
        <span class="cart-count" data-cart-count=move || shown.get() aria-label=move || format!("{} in it", shown.get())>
            {move || shown.get()}
        </span>
    }
}
