//! A post that could not be taken, explained to a person.

use leptos::prelude::*;

use crate::text::problem::{Problem, words};

/// What happened, what did not, and what to do.
#[component]
pub fn ProblemPage(
    /// Why.
    problem: Problem,
    /// The order's page, where the problem is about one that exists.
    order: Option<String>,
) -> impl IntoView {
    let (heading, explanation, todo) = words(&problem);
    view! {
        <div class="problem" role="alert">
            <h1>{heading}</h1>
            <p>{explanation}</p>
            <p>{todo}</p>
        </div>
        <p class="afterwards">
            {order.map(|path| view! { <a class="button" href=path>"To the order"</a> })} <a href="/cart">"Cart"</a>
            <a href="/orders">"My orders"</a> <a href="/">"Shop"</a>
        </p>
    }
}
