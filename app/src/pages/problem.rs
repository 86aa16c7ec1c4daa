//! A post that could not be taken, explained to a person.

use leptos::prelude::*;

use crate::components::picture::Picture;
use crate::text::{
    self,
    problem::{Problem, way, words},
    say,
};

/// What happened, what did not, and what to do.
#[component]
pub fn ProblemPage(
    /// Why.
    problem: Problem,
    /// The order's page, where the problem is about one that exists.
    order: Option<String>,
) -> impl IntoView {
    let lang = text::lang();
    let words = words(lang, &problem);
    let (path, name) = way(lang, &problem);
    let (path, name) =
        order.map_or((path.to_owned(), name), |order| (order, say!(lang, problem.to_order)));
    view! {
        <div class="problem" data-problem>
            <Picture sku="tray" />
            <h1>{words.heading}</h1>
            <p class="lead">{words.text}</p>
            <p>{words.todo}</p>
            {words
                .detail
                .map(|detail| {
                    view! {
                        <p class="hint">
                            {say!(lang, problem.detail)} " " <code lang="en">{detail}</code>
                        </p>
                    }
                })}
            <p>
                <a class="button" href=path>
                    {name}
                </a>
            </p>
        </div>
        <p class="afterwards">
            <a href="/cart">{say!(lang, frame.cart)}</a>
            <a href="/orders">{say!(lang, frame.orders)}</a>
            <a href="/">{say!(lang, frame.shop)}</a>
        </p>
    }
    .into_any()
}
