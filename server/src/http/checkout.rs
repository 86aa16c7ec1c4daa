//! Pressing Pay, and the page that says what became of it.

use std::sync::Arc;

use app::{
    Frame, Visitor,
    pages::status::StatusPage,
    panel,
    text::{self, Lang, problem::Problem, status::Note},
};
use axum::{
    Extension, Json,
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{
    id::{CartId, CheckoutId},
    money::Currency,
    refund_request::AskedWhy,
    view::CheckoutView,
};
use leptos::prelude::*;
use payments::{AskOutcome, Error, PayOutcome, PayRequest};
use serde_json::{Value, json};

use super::{
    Shop, answer,
    form::{Form, Refusal, invalid},
    own_form,
    pages::{self, Again},
};
use crate::mail;

/// Where a checkout's page is.
fn page_of(id: CheckoutId) -> String {
    format!("/checkout/{id}")
}

/// A checkout id from an address. Only its one canonical spelling names anything.
pub fn parse_id(text: &str) -> Option<CheckoutId> {
    text.parse::<CheckoutId>().ok().filter(|id| id.to_string() == text)
}

const FIELDS: [&str; 7] =
    ["cart_id", "cart_version", "amount_minor", "currency", "attempt", "payment_token", "email"];

/// Everything a payment form says.
struct PayForm {
    cart_id: CartId,
    cart_version: i64,
    amount_minor: i64,
    currency: Currency,
    attempt: u32,
    payment_token: String,
    /// What was typed as an address.
    email: String,
}

fn read(headers: &HeaderMap, body: &Bytes) -> Result<PayForm, Refusal> {
    let form = Form::read(headers, body, &FIELDS)?;
    let code = form.value::<String>("currency", "a currency")?;
    let amount_minor = form.value::<i64>("amount_minor", "a whole number")?;
    let attempt = form.value::<u32>("attempt", "a whole number from 1")?;
    if amount_minor <= 0 || attempt == 0 {
        return Err(invalid("amount and attempt must be above zero"));
    }
    Ok(PayForm {
        cart_id: form.value("cart_id", "a cart's id")?,
        cart_version: form.value("cart_version", "a whole number")?,
        amount_minor,
        currency: Currency::from_code(&code)
            .map_err(|_| invalid("currency must be an ISO 4217 code"))?,
        attempt,
        payment_token: form.value("payment_token", "one of the listed cards")?,
        email: form.text("email").unwrap_or_default().to_owned(),
    })
}

/// The shopper pressed Pay. Answered once it is committed, never after the provider.
pub async fn pay(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let json = answer::wants_json(&headers);
    let Some(checkout_id) = parse_id(&id) else {
        let refusal = invalid("a checkout's id is a UUID in its 36-character form");
        return answer::refuse(&shop, visitor, json, refusal).await;
    };
    let form = match read(&headers, &body) {
        Ok(form) => form,
        Err(refusal) => return answer::refuse(&shop, visitor, json, refusal).await,
    };
    // A visitor without a session owns no cart: it is a stranger, and nothing is written for one.
    let Some(customer) = visitor.customer else {
        return stranger(&shop, visitor, json, checkout_id).await;
    };
    if let Err(wait) = shop.pay_rate.take(customer) {
        let refusal = (StatusCode::TOO_MANY_REQUESTS, Problem::TooManyRequests);
        let answer = answer::refuse(&shop, visitor, json, refusal).await;
        return ([(header::RETRY_AFTER, (wait.as_secs() + 1).to_string())], answer).into_response();
    }
    let mail_to = match mail::address(&form.email) {
        Ok(mail_to) => mail_to,
        Err(mail::NoAddress) => match shop.payments.cart(customer).await {
            Ok(Some(cart)) if cart.id == form.cart_id && !cart.lines.is_empty() => {
                if json {
                    let refusal = (StatusCode::BAD_REQUEST, Problem::Mail);
                    return answer::refuse(&shop, visitor, json, refusal).await;
                }
                let again = Again { checkout_id, chosen: form.payment_token, typed: form.email };
                return pages::pay_form(&shop, visitor, cart, Some(again)).await;
            }
            // The cart is an order already, and its address stays what it is.
            Ok(_) => None,
            Err(reason) => return answer::error(&shop, visitor, json, &reason, None).await,
        },
    };
    let request = PayRequest {
        checkout_id,
        customer,
        cart_id: form.cart_id,
        cart_version: form.cart_version,
        amount_minor: form.amount_minor,
        currency: form.currency,
        attempt: form.attempt,
        payment_token: form.payment_token,
        mail_to,
        language: text::code(visitor.lang).to_owned(),
    };
    match shop.payments.pay(request).await {
        Ok(PayOutcome::NotYours) => stranger(&shop, visitor, json, checkout_id).await,
        Ok(PayOutcome::Accepted | PayOutcome::Stored) => accepted(json, checkout_id, ""),
        Ok(PayOutcome::OtherCardIgnored) => accepted(json, checkout_id, "?note=other-card"),
        Ok(PayOutcome::NoMorePayments) => accepted(json, checkout_id, "?note=no-payment"),
        Ok(PayOutcome::AlreadyPaying(first)) => accepted(json, first, "?note=already-paying"),
        Err(reason) => {
            let exists = matches!(reason, Error::Conflict | Error::OutOfStockForOrder(_));
            let order = exists.then(|| page_of(checkout_id));
            answer::error(&shop, visitor, json, &reason, order).await
        }
    }
}

fn accepted(json: bool, id: CheckoutId, note: &str) -> Response {
    let location = format!("{}{note}", page_of(id));
    if json {
        (StatusCode::ACCEPTED, Json(json!({"checkout_id": id, "location": location})))
            .into_response()
    } else {
        answer::see_other(&location)
    }
}

/// Somebody else's checkout, or nobody's: the page tells what a stranger may know.
async fn stranger(shop: &Shop, visitor: Visitor, json: bool, id: CheckoutId) -> Response {
    if json {
        return answer::problem_json(StatusCode::FORBIDDEN, "NOT_YOURS", &Problem::NotFound);
    }
    match shop.payments.checkout(id, visitor.customer).await {
        Ok(Some(_)) => answer::see_other(&page_of(id)),
        Ok(None) => {
            answer::problem(shop, visitor, StatusCode::FORBIDDEN, Problem::NotYours, None).await
        }
        Err(reason) => answer::error(shop, visitor, json, &reason, None).await,
    }
}

/// What an address may say after its question mark. It is only about what is shown, so nothing odd
/// in it keeps a page from anybody.
#[derive(Default)]
struct Notes {
    note: Option<String>,
    /// Which provider's own form is asked for.
    with: Option<String>,
}

impl Notes {
    fn read(query: Option<&str>) -> Self {
        let mut notes = Self::default();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match &*name {
                "note" => notes.note = Some(value.into_owned()),
                "with" => notes.with = Some(value.into_owned()),
                _ => {}
            }
        }
        notes
    }
}

fn notice(lang: Lang, notes: &Notes) -> Option<&'static str> {
    match notes.note.as_deref() {
        Some("other-card") => Some(Note::OtherCard.words(lang)),
        Some("no-payment") => Some(Note::NoPayment.words(lang)),
        Some("already-paying") => Some(Note::AlreadyPaying.words(lang)),
        Some("no-refund") => Some(Note::NoRefund.words(lang)),
        Some(_) | None => None,
    }
}

/// The status page: always the stored state.
pub async fn page(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let notes = Notes::read(query.as_deref());
    let Some(checkout_id) = parse_id(&id) else {
        return answer::problem(&shop, visitor, StatusCode::NOT_FOUND, Problem::NotFound, None)
            .await;
    };
    match shop.payments.checkout(checkout_id, visitor.customer).await {
        Ok(Some(view)) => {
            if !view.settled {
                shop.payments.wake(checkout_id);
            }
            let own = notes.with.as_deref() == Some("stripe");
            let notice = notice(visitor.lang, &notes);
            show(&shop, visitor, view, notice, own).await
        }
        Ok(None) => {
            answer::problem(&shop, visitor, StatusCode::NOT_FOUND, Problem::NoSuchOrder, None).await
        }
        Err(reason) => answer::error(&shop, visitor, false, &reason, None).await,
    }
}

async fn show(
    shop: &Shop,
    visitor: Visitor,
    view: CheckoutView,
    notice: Option<&'static str>,
    own: bool,
) -> Response {
    let paying = view.owner.as_ref().filter(|owner| own && owner.pay_attempt.is_some());
    let form = paying.and_then(|owner| own_form(shop, owner.total));
    let (element, hosts) = form.unzip();
    let frame = Frame {
        title: panel::heading(visitor.lang, &view),
        hosts: hosts.unwrap_or_default(),
        // Not while a form waits to be filled in; a refund on its way is waited for too.
        refresh: !view.settled && !view.payment.state.is_void(),
        islands: true,
        ..Frame::default()
    };
    let (checkout_id, sequence, settled) = (view.checkout_id, view.sequence, view.settled);
    let (lang, tokens) = (visitor.lang, Arc::clone(&shop.tokens));
    answer::page(shop, visitor, StatusCode::OK, frame, move || {
        let panel = panel::render_with(lang, &view, &tokens, element.clone());
        view! { <StatusPage checkout_id=checkout_id sequence=sequence settled=settled panel=panel notice=notice /> }
    })
    .await
}

/// What a stream or a poll is told.
pub fn told(shop: &Shop, lang: Lang, view: &CheckoutView) -> Value {
    let panel = panel::render(lang, view, &shop.tokens);
    json!({
        "sequence": view.sequence,
        "state": view.payment.state,
        "face": view.payment.face,
        "order_state": view.order_state,
        "heading": panel.heading,
        "html": panel.html,
        "end": view.settled,
    })
}

/// The polling fallback of the stream.
pub async fn status(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Response {
    let Some(checkout_id) = parse_id(&id) else {
        return answer::problem_json(StatusCode::BAD_REQUEST, "INVALID", &Problem::NotFound);
    };
    match shop.payments.checkout(checkout_id, visitor.customer).await {
        Ok(Some(view)) => Json(told(&shop, visitor.lang, &view)).into_response(),
        Ok(None) => answer::problem_json(StatusCode::NOT_FOUND, "NOT_FOUND", &Problem::NoSuchOrder),
        Err(reason) => answer::error(&shop, visitor, true, &reason, None).await,
    }
}

/// Back from the provider, "Check again", or a form's address: a hint that is worth a question, and
/// decides nothing.
pub async fn come_back(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Response {
    match parse_id(&id) {
        Some(checkout_id) => {
            shop.payments.wake(checkout_id);
            answer::see_other(&page_of(checkout_id))
        }
        None => {
            answer::problem(&shop, visitor, StatusCode::NOT_FOUND, Problem::NotFound, None).await
        }
    }
}

/// The address of a payment form, loaded again: the order if it was made, else the form.
pub async fn pay_again(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Response {
    if let Some(checkout_id) = parse_id(&id) {
        match shop.payments.checkout(checkout_id, visitor.customer).await {
            Ok(None) => return answer::see_other("/checkout"),
            Ok(Some(_)) => {}
            Err(reason) => return answer::error(&shop, visitor, false, &reason, None).await,
        }
    }
    come_back(State(shop), Extension(visitor), Path(id)).await
}

/// The owner gives the order up.
pub async fn cancel(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Err((status, problem)) = Form::read(&headers, &body, &[]) {
        return answer::problem(&shop, visitor, status, problem, None).await;
    }
    let (Some(checkout_id), Some(customer)) = (parse_id(&id), visitor.customer) else {
        return answer::problem(&shop, visitor, StatusCode::NOT_FOUND, Problem::NotFound, None)
            .await;
    };
    match shop.payments.cancel_order(checkout_id, customer).await {
        Ok(()) => answer::see_other(&page_of(checkout_id)),
        Err(reason) => answer::error(&shop, visitor, false, &reason, None).await,
    }
}

/// Which request a form for a refund makes, and why.
fn read_ask(headers: &HeaderMap, body: &Bytes) -> Result<(u32, Option<AskedWhy>), Refusal> {
    let form = Form::read(headers, body, &["number", "reason"])?;
    let number = form.value::<u32>("number", "a whole number from 1")?;
    let why = match form.text("reason").unwrap_or_default() {
        "" => None,
        word => Some(word.parse().map_err(|_| invalid("reason must be one of the list, or none"))?),
    };
    Ok((number, why))
}

/// The owner asks for a refund: a person is told, and nothing moves.
pub async fn ask_refund(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (number, why) = match read_ask(&headers, &body) {
        Ok(read) => read,
        Err((status, problem)) => {
            return answer::problem(&shop, visitor, status, problem, None).await;
        }
    };
    let (Some(checkout_id), Some(customer)) = (parse_id(&id), visitor.customer) else {
        return answer::problem(&shop, visitor, StatusCode::NOT_FOUND, Problem::NotFound, None)
            .await;
    };
    let page = page_of(checkout_id);
    match shop.payments.ask_refund(checkout_id, customer, number, why).await {
        Ok(AskOutcome::Asked | AskOutcome::Stored) => answer::see_other(&page),
        Ok(AskOutcome::NotPossible) => answer::see_other(&format!("{page}?note=no-refund")),
        Err(reason) => answer::error(&shop, visitor, false, &reason, None).await,
    }
}
