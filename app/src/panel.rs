//! The heart of the status page: what is known, what is not, and what happens next.
//!
//! Rendered to a string, so that the page and the live stream show the very same thing.

use domain::{
    operation::State,
    order::OrderState,
    schedule::Timestamp,
    view::{CheckoutView, Face, OwnerView, RefundView},
};
use leptos::prelude::*;

use crate::{
    components::{
        lines::Lines,
        pay_form::{Element, PayForm, Paying},
    },
    text::{
        labels::{provider, status as labels},
        money::money,
        status::{doing, face_word, invoice, parcel, refund, words},
        time::{day, iso, near},
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
    let owner = Owner::new();
    let drawn = owner.with(|| render_with(view, tokens, None));
    owner.cleanup();
    drawn
}

/// What is known, in one line.
pub fn heading(view: &CheckoutView) -> String {
    words(view).heading.to_owned()
}

/// The same with Stripe's own form in it, within a page that may load it.
pub fn render_with(view: &CheckoutView, tokens: &[String], element: Option<Element>) -> Panel {
    Panel { heading: heading(view), html: panel(view, tokens, element).to_html() }
}

fn panel(
    view: &CheckoutView,
    tokens: &[String],
    element: Option<Element>,
) -> impl IntoView + use<> {
    let words = words(view);
    let payment = &view.payment;
    let open = matches!(
        payment.face,
        Face::Sending | Face::Checking | Face::InReview | Face::ConfirmAtBank
    );
    let next = (!words.next.is_empty()).then(|| view! { <p class="next">{words.next}</p> });
    view! {
        <section
            class="status-panel"
            data-panel
            data-state=payment.state.as_str()
            data-face=face_word(payment.face)
            data-order-state=view.order_state.as_str()
            data-attempt=payment.attempt
            data-sequence=view.sequence
            aria-labelledby="status-heading"
        >
            <header>
                <span class="status-mark" aria-hidden="true"></span>
                <div>
                    <p class="reference">
                        {labels::ORDER} " " <strong>{view.reference.clone()}</strong>
                    </p>
                    <h1 id="status-heading" tabindex="-1">
                        {words.heading}
                    </h1>
                </div>
            </header>
            <div class="status-words">
                <p class="sentence">{words.sentence}</p>
                {next}
            </div>
            {action(view)}
            {open.then(|| progress(view))}
            {match &view.owner {
                Some(owner) => details(view, owner, tokens, element).into_any(),
                None => view! { <p class="hint">{labels::STRANGER}</p> }.into_any(),
            }}
        </section>
    }
}

/// The one thing there is to do while an outcome is open: confirm at the bank, or look again.
fn action(view: &CheckoutView) -> Option<impl IntoView + use<>> {
    if let Some(url) = view.payment.action_url.clone() {
        let link = view! {
            <a class="button" href=url rel="external" id="continue" data-action>
                {if view.payment.provider == "paypal" {
                    labels::CONTINUE_TO_PAYPAL
                } else {
                    labels::CONTINUE
                }}
            </a>
        };
        return Some(view! { <p>{link}</p> }.into_any());
    }
    let unknown = matches!(view.payment.face, Face::Checking | Face::InReview);
    unknown.then(|| {
        let check = format!("/checkout/{}/check", view.checkout_id);
        view! {
            <p>
                <a class="button quiet" href=check id="check-again" data-check>
                    {labels::CHECK_AGAIN}
                </a>
            </p>
        }
        .into_any()
    })
}

/// A moment with its name; a time of day is said in the reader's zone by an island.
fn moment(
    name: &'static str,
    at: Option<Timestamp>,
    now: Timestamp,
) -> Option<impl IntoView + use<>> {
    at.map(|at| {
        let (text, is_clock) = near(at, now);
        view! {
            <div>
                <dt>{name}</dt>
                <dd>
                    <time datetime=iso(at) data-local=if is_clock { "clock" } else { "day" }>
                        {text}
                    </time>
                </dd>
            </div>
        }
    })
}

/// Since when it is open, what is being done, when it was asked and will be asked.
fn progress(view: &CheckoutView) -> impl IntoView + use<> {
    let (payment, now) = (&view.payment, view.now);
    // A check that is due this very moment is not promised for a moment that has passed.
    let next = payment.next_check_at.map(|at| at.max(now));
    let person = matches!(payment.face, Face::Checking).then_some(payment.deadline_at);
    view! {
        <dl class="progress">
            {moment(labels::UNKNOWN_SINCE, payment.unknown_since, now)} <div>
                <dt>{labels::NOW}</dt>
                <dd>{doing(view)}</dd>
            </div> {moment(labels::LAST_CHECK, payment.last_check_at, now)}
            {moment(labels::NEXT_CHECK, next, now)} {moment(labels::PERSON_FROM, person, now)}
        </dl>
    }
}

/// What only the owner sees: the next attempt, the receipt, refunds, giving up.
fn details(
    view: &CheckoutView,
    owner: &OwnerView,
    tokens: &[String],
    element: Option<Element>,
) -> impl IntoView + use<> {
    let paying = owner.pay_attempt.map(|attempt| Paying {
        checkout_id: view.checkout_id,
        cart_id: owner.cart_id,
        cart_version: owner.cart_version,
        total: owner.total,
        attempt,
        tokens: tokens.to_vec(),
        element,
    });
    let on_its_way = match view.payment.face {
        // Proven not executed: it may still end as a nothing at once.
        Face::Sending => view.payment.state != State::RetryScheduled,
        Face::Checking | Face::InReview => true,
        Face::ConfirmAtBank | Face::Paid | Face::Declined | Face::NotCompleted | Face::Reversed => {
            false
        }
    };
    let may_give_up = view.order_state == OrderState::AwaitingPayment && !on_its_way;
    let cancel = format!("/checkout/{}/cancel", view.checkout_id);
    view! {
        {paying
            .map(|paying| {
                view! {
                    <div class="next-attempt">
                        <h2>{labels::PAY_AGAIN}</h2>
                        <PayForm paying=paying />
                    </div>
                }
            })}
        {receipt(view, owner)}
        {may_give_up
            .then(|| {
                view! {
                    <form class="give-up" method="post" action=cancel>
                        <button class="link" type="submit" id="give-up">
                            {labels::GIVE_UP}
                        </button>
                    </form>
                }
            })}
    }
}

/// What was ordered; once it is paid, the receipt.
fn receipt(view: &CheckoutView, owner: &OwnerView) -> impl IntoView + use<> {
    let payment = &view.payment;
    let paid = payment.face == Face::Paid;
    let other = payment.effect.filter(|effect| paid && *effect != owner.total);
    let fact = |name: &'static str, value: AnyView| {
        view! {
            <div>
                <dt>{name}</dt>
                <dd>{value}</dd>
            </div>
        }
    };
    let when = |at: Timestamp| {
        view! { <time datetime=iso(at) data-local="day">{day(at)}</time> }.into_any()
    };
    view! {
        <div class="receipt" data-receipt=paid>
            <h2>{if paid { labels::RECEIPT } else { labels::YOUR_ORDER }}</h2>
            <dl class="facts">
                {fact(labels::PLACED, when(owner.created_at))}
                {paid
                    .then(|| {
                        view! {
                            {fact(labels::PAID_AT, when(payment.since))}
                            {fact(labels::PAID_WITH, provider(&payment.provider).into_any())}
                            {fact(labels::REFERENCE, view.reference.clone().into_any())}
                        }
                    })}
                {other.map(|effect| fact(labels::TAKEN, money(effect).into_any()))}
            </dl>
            <Lines lines=owner.lines.clone() total=owner.total />
            {partners(owner)}
            {refunds(&owner.refunds)}
            {paid.then(|| view! { <p class="hint no-print">{labels::PRINT_HINT}</p> })}
        </div>
    }
}

/// The parcel and the invoice of a paid order.
fn partners(owner: &OwnerView) -> Option<impl IntoView + use<>> {
    let parcel = owner.parcel.map(|state| (labels::PARCEL, parcel(state).to_owned(), state));
    let invoice = owner
        .invoice
        .as_ref()
        .map(|(state, number)| (labels::INVOICE, invoice(*state, number), *state));
    let rows: Vec<_> = [parcel, invoice].into_iter().flatten().collect();
    if rows.is_empty() {
        return None;
    }
    let rows = rows.into_iter().map(|(name, words, state)| {
        view! {
            <div data-partner=name data-state=state.as_str()>
                <dt>{name}</dt>
                <dd>{words}</dd>
            </div>
        }
    });
    let rows = rows.collect_view();
    Some(view! { <dl class="facts">{rows}</dl> })
}

/// Money that goes back.
fn refunds(refunds: &[RefundView]) -> Option<impl IntoView + use<>> {
    if refunds.is_empty() {
        return None;
    }
    let rows = refunds
        .iter()
        .map(|row| {
            view! {
                <li data-state=row.state.as_str()>
                    <span>{money(row.amount)}</span>
                    " "
                    {refund(row.state)}
                </li>
            }
        })
        .collect_view();
    Some(view! {
        <h3>{labels::REFUNDS}</h3>
        <ul class="refunds">{rows}</ul>
    })
}

#[cfg(test)]
mod tests;
