//! Counts what a visitor has played: what the wire lost, and what became of the payments.

use std::time::Duration;

use app::{
    Visitor,
    pages::lab::{
        numbers::{Numbers, NumbersPage},
        scenario::Told,
    },
    text::lab as words,
};
use axum::{Extension, extract::State, http::StatusCode, response::Response};
use domain::{
    id::{CheckoutId, CustomerId},
    operation::State as OperationState,
    view::Face,
};
use leptos::prelude::*;
use payments::{Payments, RequestView, TransitionView};

use super::{frame, nothing_here};
use crate::http::{Shop, answer};

const PAYMENT: &str = "payment";
/// How a request ends that was sent and that nobody answered.
const UNANSWERED: [&str; 2] = ["timed_out", "connection_lost"];
/// How one ends of which no byte left: it lost no answer.
const NOT_SENT: &str = "not_sent";

/// The page.
pub async fn page(State(shop): State<Shop>, Extension(visitor): Extension<Visitor>) -> Response {
    let Some(lab) = &shop.lab else { return nothing_here(&shop, visitor).await };
    let checkouts = visitor.customer.map(|it| lab.runs.checkouts(it)).unwrap_or_default();
    let numbers = match count(&shop.payments, visitor.customer, &checkouts).await {
        Ok(numbers) => numbers,
        Err(reason) => return answer::error(&shop, visitor, false, &reason, None).await,
    };
    let frame = frame(words::told(visitor.lang, Told::Numbers).title);
    answer::page(&shop, visitor, StatusCode::OK, frame, move || {
        view! { <NumbersPage numbers=numbers.clone() /> }
    })
    .await
}

async fn count(
    payments: &Payments,
    customer: Option<CustomerId>,
    checkouts: &[CheckoutId],
) -> Result<Numbers, payments::Error> {
    let mut numbers = Numbers::default();
    for checkout in checkouts {
        let Some(view) = payments.checkout(*checkout, customer).await? else { continue };
        let mut sent = payments.requests(*checkout).await?;
        let mut history = payments.history(*checkout, 0).await?;
        sent.retain(|it| it.kind == PAYMENT && it.transport != NOT_SENT);
        history.retain(|it| it.kind == PAYMENT);
        add(&mut numbers, view.payment.face, &sent, &history);
    }
    numbers.unknown_times.sort_unstable();
    Ok(numbers)
}

fn add(numbers: &mut Numbers, face: Face, sent: &[RequestView], history: &[TransitionView]) {
    let unanswered = |it: &&RequestView| UNANSWERED.contains(&it.transport.as_str());
    let lost = sent.iter().filter(unanswered).any(|it| it.step.is_some());
    let paid = matches!(face, Face::Paid);
    numbers.payments += 1;
    numbers.requests += sent.len();
    numbers.unanswered += sent.iter().filter(unanswered).count();
    numbers.lost += usize::from(lost);
    numbers.lost_paid += usize::from(lost && paid);
    match face {
        Face::Paid => numbers.paid += 1,
        Face::Declined => numbers.declined += 1,
        Face::NotCompleted | Face::Reversed => numbers.ended += 1,
        Face::Sending | Face::ConfirmAtBank | Face::Checking | Face::InReview => {
            numbers.open += 1;
        }
    }
    let time = unknown_for(history);
    if !time.is_zero() {
        numbers.unknown_times.push(time);
    }
}

/// For how long its outcome was not known, and is known now.
fn unknown_for(history: &[TransitionView]) -> Duration {
    let (mut all, mut since) = (Duration::ZERO, None);
    for step in history {
        let open =
            matches!(step.to, OperationState::PendingConfirmation | OperationState::RequiresReview);
        match (since, open) {
            (None, true) => since = Some(step.at),
            (Some(began), false) => {
                all += step.at.since(began);
                since = None;
            }
            _ => {}
        }
    }
    all
}
