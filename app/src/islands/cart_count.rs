//! How many things are in the cart; asks again when the page comes back from the browser's memory.

use leptos::prelude::*;

/// The number beside "Cart".
#[island]
pub fn CartCount(
    /// The number when the page was made.
    count: u32,
    /// What the number counts, for screen readers.
    what: String,
) -> impl IntoView {
    let shown = RwSignal::new(count);
    #[cfg(feature = "hydrate")]
    Effect::new(move |_| super::browser::on_return(move || ask_again(shown)));
    view! {
        <span class="cart-count" data-cart-count=move || shown.get()>
            {move || shown.get()}
        </span>
        <span class="visually-hidden">{what}</span>
    }
}

#[cfg(feature = "hydrate")]
fn ask_again(shown: RwSignal<u32>) {
    use super::browser;
    leptos::task::spawn_local(async move {
        let answer = browser::ask("/cart/count", None).await;
        let count = answer.and_then(|it| it.json).and_then(|json| browser::number(&json, "count"));
        if let Some(count) = count {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a small count"
            )]
            shown.set(count as u32);
        }
    });
}
