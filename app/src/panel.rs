//! The heart of the status page: what is known, what is not, and what happens next.
//!
//! Rendered to a string, so that the page and the live stream show the very same thing.

use domain::{
    operation::State,
    order::OrderState,
    schedule::Timestamp,
    view::{CheckoutView, Face},
};
use leptos::prelude::*;

use crate::{
    components::{
        lines::Lines,
        pay_form::{PayForm, Paying},
    },
    text::{
        money::money,
        status::{doing, refund, words},
        time::{clock, day, iso},
    },
};

/// A rendered panel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Panel {
    /// What is known, in one line: the page's title, and what a screen reader is told.
    pub heading: String,
    /// The panel's HTML.
    pub html: String,
}

/// Renders what a viewer may see of a checkout. Pure: only stored facts are shown.
pub fn render(view: &CheckoutView, tokens: &[String]) -> Panel {
    let heading = words(view).heading.to_owned();
    let owner = Owner::new();
    let html = owner.with(|| panel(view, tokens).to_html());
    owner.cleanup();
    Panel { heading, html }
}

fn panel(view: &CheckoutView, tokens: &[String]) -> impl IntoView + use<> {
    let words = words(view);
    let payment = &view.payment;
    let alert = matches!(payment.face, Face::Declined).then_some("alert");
    let open = matches!(
        payment.face,
        Face::Sending | Face::Checking | Face::InReview | Face::ConfirmAtBank
    );
    let unknown = matches!(payment.face, Face::Checking | Face::InReview);
    let action = payment.action_url.clone();
    let check = format!("/checkout/{}/check", view.checkout_id);
    let next = (!words.next.is_empty()).then(|| view! { <p class="next">{words.next}</p> });
    view! {
        <section
            class="status-panel"
            data-panel
            data-state=payment.state.as_str()
            data-face=face_word(payment.face)
            data-order-state=view.order_state.as_str()
            data-sequence=view.sequence
            aria-labelledby="status-heading"
        >
            <header>
                <span class="status-mark" aria-hidden="true"></span>
                <h1 id="status-heading" tabindex="-1" role=alert>
                    {words.heading}
                </h1>
            </header>
            <p class="sentence">{words.sentence}</p>
            {action
                .map(|url| {
                    view! {
                        <p>
                            <a class="button" href=url rel="external" data-action>
                                "Continue to your bank"
                            </a>
                        </p>
                    }
                })}
            {next}
            {open.then(|| progress(view))}
            {unknown
                .then(|| {
                    view! {
                        <p>
                            <a class="button quiet" href=check data-check>
                                "Check again"
                            </a>
                        </p>
                    }
                })}
            <p class="reference">"Order " <strong>{view.reference.clone()}</strong></p>
            {details(view, tokens)}
        </section>
    }
}

/// The face in the spelling that styles and tests use.
fn face_word(face: Face) -> &'static str {
    match face {
        Face::Sending => "sending",
        Face::ConfirmAtBank => "confirm_at_bank",
        Face::Checking => "checking",
        Face::InReview => "in_review",
        Face::Paid => "paid",
        Face::Declined => "declined",
        Face::NotCompleted => "not_completed",
        Face::Reversed => "reversed",
    }
}

/// Since when it is open, what is being done, when it was asked and will be asked.
fn progress(view: &CheckoutView) -> impl IntoView + use<> {
    let payment = &view.payment;
    let row = |name: &'static str, at: Option<Timestamp>| {
        at.map(|at| {
            view! {
                <div>
                    <dt>{name}</dt>
                    <dd>
                        <time datetime=iso(at)>{clock(at)}</time>
                    </dd>
                </div>
            }
        })
    };
    // A check that is due this very moment is not promised for a moment that has passed.
    let next = payment.next_check_at.map(|at| at.max(view.now));
    view! {
        <dl class="progress">
            {row("Not known since", payment.unknown_since)} <div>
                <dt>"Now"</dt>
                <dd>{doing(view)}</dd>
            </div> {row("Last check", payment.last_check_at)} {row("Next check", next)}
            {matches!(payment.face, Face::Checking | Face::ConfirmAtBank)
                .then(|| row("A person looks at it from", Some(payment.deadline_at)))}
        </dl>
    }
}

/// What only the owner sees: the receipt, the next attempt, refunds, giving up.
fn details(view: &CheckoutView, tokens: &[String]) -> impl IntoView + use<> {
    let owner = view.owner.as_ref()?;
    let paid = view.payment.face == Face::Paid;
    let paying = owner.pay_attempt.map(|attempt| Paying {
        checkout_id: view.checkout_id,
        cart_id: owner.cart_id,
        cart_version: owner.cart_version,
        total: owner.total,
        attempt,
        tokens: tokens.to_vec(),
    });
    let may_give_up = view.order_state == OrderState::AwaitingPayment
        && !matches!(view.payment.face, Face::Checking | Face::InReview | Face::Sending);
    let cancel = format!("/checkout/{}/cancel", view.checkout_id);
    let refunds: Vec<(String, &'static str, State)> =
        owner.refunds.iter().map(|it| (money(it.amount), refund(it.state), it.state)).collect();
    let title = if paid { "Receipt" } else { "Your order" };
    Some(view! {
        {paying
            .map(|paying| {
                view! {
                    <div class="next-attempt">
                        <h2>"Pay this order"</h2>
                        <PayForm paying=paying />
                    </div>
                }
            })}
        <div class="receipt" data-receipt=paid>
            <h2>{title}</h2>
            <p class="placed">
                "Placed on " <time datetime=iso(owner.created_at)>{day(owner.created_at)}</time>
            </p>
            <Lines lines=owner.lines.clone() total=owner.total />
            {(!refunds.is_empty())
                .then(|| {
                    view! {
                        <h3>"Refunds"</h3>
                        <ul class="refunds">
                            {refunds
                                .into_iter()
                                .map(|(amount, text, state)| {
                                    view! {
                                        <li data-state=state.as_str()>
                                            <span>{amount}</span>
                                            " "
                                            {text}
                                        </li>
                                    }
                                })
                                .collect_view()}
                        </ul>
                    }
                })}
        </div>
        {may_give_up
            .then(|| {
                view! {
                    <form class="give-up" method="post" action=cancel>
                        <button class="link" type="submit">
                            "Give this order up"
                        </button>
                    </form>
                }
            })}
    })
}

#[cfg(test)]
mod tests;
