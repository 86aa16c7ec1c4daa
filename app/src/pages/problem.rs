//! A post that could not be taken, explained to a person.

use leptos::prelude::*;

use crate::text::{
    labels::{frame, problem::TO_ORDER},
    problem::{Problem, words},
};

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
        <div class="problem" data-problem>
            <h1>{heading}</h1>
            <p class="lead">{explanation}</p>
            <p>{todo}</p>
        </div>
        <p class="afterwards">
            {order
                .map(|path| {
                    view! {
                        <a class="button" href=path>
                            {TO_ORDER}
                        </a>
                    }
                })} <a href="/cart">{frame::CART}</a> <a href="/orders">{frame::ORDERS}</a>
            <a href="/">{frame::SHOP}</a>
        </p>
    }
    .into_any()
}
