//! The heart of the status page: what is known, what is not, and what happens next.
//!
//! Rendered to a string, so that the page and the live stream show the very same thing.

use domain::{
    money::Money,
    operation::State,
    order::OrderState,
    refund_request::AskedWhy,
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
        self, Lang,
        money::money,
        provider, say,
        status::{
            Control, Words, asked, asked_why, controls, doing, face_word, invoice, parcel, refund,
            words,
        },
        time::{date_of, day, iso, near},
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
pub fn render(lang: Lang, view: &CheckoutView, tokens: &[String]) -> Panel {
    let owner = Owner::new();
    let drawn = owner.with(|| {
        text::speak(lang);
        render_with(lang, view, tokens, None)
    });
    owner.cleanup();
    drawn
}

/// What is known, in one line.
pub fn heading(lang: Lang, view: &CheckoutView) -> String {
    words(lang, view).heading
}

/// The same with Stripe's own form in it, within a page that may load it.
pub fn render_with(
    lang: Lang,
    view: &CheckoutView,
    tokens: &[String],
    element: Option<Element>,
) -> Panel {
    Panel { heading: heading(lang, view), html: panel(lang, view, tokens, element).to_html() }
}

fn panel(
    lang: Lang,
    view: &CheckoutView,
    tokens: &[String],
    element: Option<Element>,
) -> impl IntoView + use<> {
    let words = words(lang, view);
    let controls = controls(view);
    let payment = &view.payment;
    let open = matches!(
        payment.face,
        Face::Sending | Face::Checking | Face::InReview | Face::ConfirmAtBank
    );
    let next = (!words.next.is_empty()).then(|| view! { <p class="next">{words.next}</p> });
    let promised = view.owner.as_ref().is_some_and(|owner| owner.mail_promised);
    let promise = promised.then(|| {
        view! { <p class="next" data-mail-promise>{say!(lang, status.label.mail_promise)}</p> }
    });
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
                        {say!(lang, status.label.order)} " " <strong>{view.reference.clone()}</strong>
                    </p>
                    <h1 id="status-heading" tabindex="-1">
                        {words.heading}
                    </h1>
                </div>
            </header>
            <div class="status-words">
                <p class="sentence">{words.sentence}</p>
                {next}
                {promise}
            </div>
            {action(lang, view, &controls)}
            {open.then(|| progress(lang, view))}
            {match &view.owner {
                Some(owner) => details(lang, view, owner, &controls, tokens, element).into_any(),
                None => view! { <p class="hint">{say!(lang, status.label.stranger)}</p> }.into_any(),
            }}
        </section>
    }
}

/// The one thing there is to do while an outcome is open: confirm at the bank, or look again.
fn action(lang: Lang, view: &CheckoutView, controls: &[Control]) -> Option<impl IntoView + use<>> {
    if controls.contains(&Control::Confirm) {
        let name = match view.payment.provider.as_str() {
            "paypal" => say!(lang, status.label.go_to_paypal),
            _ => say!(lang, status.label.go_to_bank),
        };
        let link = view! {
            <a
                class="button"
                href=view.payment.action_url.clone()
                rel="external"
                id="continue"
                data-action
            >
                {name}
            </a>
        };
        return Some(view! { <p>{link}</p> }.into_any());
    }
    controls.contains(&Control::CheckAgain).then(|| {
        let check = format!("/checkout/{}/check", view.checkout_id);
        view! {
            <p>
                <a class="button quiet" href=check id="check-again" data-check>
                    {say!(lang, status.label.check_again)}
                </a>
            </p>
        }
        .into_any()
    })
}

/// A moment with its name; a time of day is said in the reader's zone by an island.
fn moment(
    lang: Lang,
    name: &'static str,
    at: Option<Timestamp>,
    now: Timestamp,
) -> Option<impl IntoView + use<>> {
    at.map(|at| {
        let (text, is_clock) = near(lang, at, now);
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
fn progress(lang: Lang, view: &CheckoutView) -> impl IntoView + use<> {
    let (payment, now) = (&view.payment, view.now);
    // A check that is due this very moment is not promised for a moment that has passed.
    let next = payment.next_check_at.map(|at| at.max(now));
    let next_name = match (payment.face, payment.state) {
        (Face::Sending, State::RetryScheduled) => say!(lang, status.label.next_send),
        _ => say!(lang, status.label.next_check),
    };
    let person = matches!(payment.face, Face::Checking).then_some(payment.deadline_at);
    view! {
        <dl class="progress">
            {moment(lang, say!(lang, status.label.unknown_since), payment.unknown_since, now)} <div>
                <dt>{say!(lang, status.label.now)}</dt>
                <dd>{doing(lang, view)}</dd>
            </div>
            {moment(lang, say!(lang, status.label.last_check), payment.last_check_at, now)}
            {moment(lang, next_name, next, now)}
            {moment(lang, say!(lang, status.label.person_from), person, now)}
        </dl>
    }
}

/// What only the owner sees: the next attempt, the receipt, refunds, giving up.
fn details(
    lang: Lang,
    view: &CheckoutView,
    owner: &OwnerView,
    controls: &[Control],
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
    let may_give_up = controls.contains(&Control::GiveUp);
    let cancel = format!("/checkout/{}/cancel", view.checkout_id);
    view! {
        {paying
            .map(|paying| {
                view! {
                    <div class="next-attempt">
                        <h2>{say!(lang, status.label.pay_again)}</h2>
                        <PayForm paying=paying />
                    </div>
                }
            })}
        {asked_for(lang, view, owner)}
        {receipt(lang, view, owner)}
        {asking(lang, view, owner, controls)}
        {may_give_up
            .then(|| {
                view! {
                    <form class="give-up" method="post" action=cancel>
                        <button class="link" type="submit" id="give-up">
                            {say!(lang, status.label.give_up)}
                        </button>
                    </form>
                }
            })}
    }
}

/// A refund that was asked for, and what a person made of it.
fn asked_for(lang: Lang, view: &CheckoutView, owner: &OwnerView) -> Option<impl IntoView + use<>> {
    let paid = view.payment.face == Face::Paid;
    let request = owner.refund_request.as_ref().filter(|_| paid)?;
    let (state, text) = (request.state, asked(lang, request)?);
    Some(view! { <p class="notice" data-refund-request=state.as_str()>{text}</p> })
}

/// The form that asks for a refund.
fn asking(
    lang: Lang,
    view: &CheckoutView,
    owner: &OwnerView,
    controls: &[Control],
) -> Option<impl IntoView + use<>> {
    let number = owner.ask_refund.filter(|_| controls.contains(&Control::AskRefund));
    number.map(|number| {
        let path = format!("/checkout/{}/refund-request", view.checkout_id);
        let reasons = AskedWhy::ALL.iter().map(|why| {
            view! { <option value=why.as_str()>{asked_why(lang, *why)}</option> }
        });
        view! {
            <details class="ask-refund no-print" id="ask-refund">
                <summary>{say!(lang, status.asking.title)}</summary>
                <form method="post" action=path data-ask-refund>
                    <input type="hidden" name="number" value=number />
                    <label for="ask-reason">{say!(lang, status.asking.why)}</label>
                    <select name="reason" id="ask-reason">
                        <option value="">{say!(lang, status.asking.no_reason)}</option>
                        {reasons.collect_view()}
                    </select>
                    <p class="hint">{say!(lang, status.asking.hint)}</p>
                    <button class="button quiet" type="submit">
                        {say!(lang, status.asking.send)}
                    </button>
                </form>
            </details>
        }
    })
}

/// What was ordered; once it is paid, the receipt.
fn receipt(lang: Lang, view: &CheckoutView, owner: &OwnerView) -> impl IntoView + use<> {
    let payment = &view.payment;
    let paid = payment.face == Face::Paid;
    let taken = payment.effect.unwrap_or(owner.total);
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
        view! { <time datetime=iso(at) data-local="day">{day(lang, at)}</time> }.into_any()
    };
    let title =
        if paid { say!(lang, status.label.receipt) } else { say!(lang, status.label.your_order) };
    let mail_to = owner
        .mail_to
        .clone()
        .map(|to| fact(say!(lang, status.label.mail_to), view! { <bdi>{to}</bdi> }.into_any()));
    // Money that has to go back is no purchase to keep a receipt of.
    let kept = paid && view.order_state != OrderState::RefundDue;
    let hint = kept.then(|| {
        view! { <p class="hint no-print">{say!(lang, status.label.print_hint)}</p> }
    });
    view! {
        <div class="receipt" data-receipt=paid>
            <h2>{title}</h2>
            <dl class="facts">
                {fact(say!(lang, status.label.placed), when(owner.created_at))}
                {paid
                    .then(|| {
                        view! {
                            {fact(say!(lang, status.label.paid_at), when(payment.since))}
                            {fact(
                                say!(lang, status.label.paid_with),
                                provider(&payment.provider).into_any(),
                            )}
                            {fact(
                                say!(lang, status.label.reference),
                                view.reference.clone().into_any(),
                            )}
                        }
                    })}
                {other
                    .map(|effect| {
                        fact(say!(lang, status.label.taken), money(lang, effect).into_any())
                    })}
                {mail_to}
            </dl>
            <Lines lines=owner.lines.clone() total=owner.total />
            {partners(lang, view.order_state, owner)}
            {refunds(lang, &owner.refunds)}
            {paid.then(|| left_paid(lang, taken, &owner.refunds))}
            {hint}
        </div>
    }
}

/// The parcel and the invoice of a paid order.
fn partners(lang: Lang, order: OrderState, owner: &OwnerView) -> Option<impl IntoView + use<>> {
    let parcel = owner.parcel.map(|state| {
        ("parcel", say!(lang, status.label.parcel), parcel(lang, state, order), state)
    });
    let invoice = owner.invoice.as_ref().map(|(state, number)| {
        ("invoice", say!(lang, status.label.invoice), invoice(lang, *state, number), *state)
    });
    let rows: Vec<_> = [parcel, invoice].into_iter().flatten().collect();
    if rows.is_empty() {
        return None;
    }
    let rows = rows.into_iter().map(|(which, name, words, state)| {
        view! {
            <div data-partner=which data-state=state.as_str()>
                <dt>{name}</dt>
                <dd>{words.heading.clone()} {more(state, &words)}</dd>
            </div>
        }
    });
    let rows = rows.collect_view();
    Some(view! { <dl class="facts partners">{rows}</dl> })
}

/// The rest of a short word, while there is something to wait for or to know.
fn more(state: State, words: &Words) -> Option<impl IntoView + use<>> {
    let text = format!("{} {}", words.sentence, words.next);
    (state != State::Succeeded).then(|| view! { <span class="more">{text}</span> })
}

/// Money that goes back.
fn refunds(lang: Lang, refunds: &[RefundView]) -> Option<impl IntoView + use<>> {
    if refunds.is_empty() {
        return None;
    }
    let rows = refunds
        .iter()
        .map(|row| {
            let words = refund(lang, row);
            view! {
                <li data-state=row.state.as_str()>
                    <span>{money(lang, row.amount)}</span>
                    " "
                    {words.heading.clone()}
                    {sent_on(lang, row)}
                    {more(row.state, &words)}
                </li>
            }
        })
        .collect_view();
    Some(view! {
        <h3>{say!(lang, status.label.refunds)}</h3>
        <ul class="refunds">{rows}</ul>
    })
}

/// What stays paid of what was taken, once a part of it is known to have gone back.
fn left_paid(lang: Lang, taken: Money, refunds: &[RefundView]) -> Option<impl IntoView + use<>> {
    let gone =
        |it: &&RefundView| it.state == State::Succeeded && it.amount.currency == taken.currency;
    let back = refunds.iter().filter(gone).map(|it| it.amount.minor);
    let back = back.reduce(i64::saturating_add)?;
    // More can have gone back than came, by the bank and by us.
    let left = Money::new(taken.minor.saturating_sub(back).max(0), taken.currency);
    Some(view! {
        <p class="left-paid">
            {say!(lang, status.label.left_paid)} " " <strong>{money(lang, left)}</strong>
        </p>
    })
}

/// The day on which money went back, once it is known that it did.
fn sent_on(lang: Lang, row: &RefundView) -> Option<impl IntoView + use<>> {
    let day = date_of(lang, row.since);
    (row.state == State::Succeeded)
        .then(|| view! { ", " <time datetime=iso(row.since)>{day}</time> })
}

#[cfg(test)]
#[path = "../examples/gallery/samples.rs"]
pub(crate) mod samples;
#[cfg(test)]
pub(crate) mod tests;
