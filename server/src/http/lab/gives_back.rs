//! Gives money back in the scenarios that are about that: as the shop's own people do.
//!
//! The lab is never beside real money, and only who has started a scenario gives back what it took.

use app::{Visitor, pages::lab::watch::Wish};
use axum::{
    Extension,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::Response,
};
use domain::{
    money::Money,
    view::{CheckoutView, Face},
};
use payments::RefundRequest;

use super::{Lab, list, nothing_here, own, runs::Run};
use crate::http::{Shop, answer, form::Form};

/// What may be given back now: one wish after the other.
pub fn wish(run: &Run, view: &CheckoutView) -> Option<Wish> {
    let owner = view.owner.as_ref().filter(|_| view.payment.face == Face::Paid)?;
    let made = owner.refunds.iter().filter(|it| !it.outside).count();
    let minor = *run.scenario.gives_back().get(made)?;
    Some(Wish { number: made + 1, amount: Money::new(minor, owner.total.currency) })
}

/// The address of a form is no page; the scenario is.
pub async fn page_instead(Path((id, _)): Path<(String, String)>) -> Response {
    super::page_instead(Path(id)).await
}

/// Gives money back. The same wish twice is one refund: each has an id from the beginning.
pub async fn refund(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path((id, number)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(lab) = shop.lab.clone() else { return nothing_here(&shop, visitor).await };
    if let Err((status, problem)) = Form::read(&headers, &body, &[]) {
        return answer::problem(&shop, visitor, status, problem, None).await;
    }
    let (run, view) = match own(&shop, &lab, &visitor, &id).await {
        Ok(Some((_, Some(run), Some(view)))) => (run, view),
        Ok(_) => return nothing_here(&shop, visitor).await,
        Err(reason) => return answer::error(&shop, visitor, false, &reason, None).await,
    };
    let place = format!("/lab/{}", run.checkout);
    // Whoever asks for another one than the next has asked for it before.
    let Some(wish) = wish(&run, &view).filter(|it| it.number.to_string() == number) else {
        return answer::see_other(&place);
    };
    let Some(request_id) = run.wishes.get(wish.number - 1).copied() else {
        return answer::see_other(&place);
    };
    let scripts = run.fault.of_refund(&format!("refund:{request_id}:"));
    let Some(scripts) = lab.control.install(&scripts).await else {
        return list(&shop, visitor, StatusCode::BAD_GATEWAY).await;
    };
    let given = shop
        .payments
        .refund(RefundRequest {
            refund_request_id: request_id,
            order: view.reference.clone(),
            amount_minor: wish.amount.minor,
            currency: wish.amount.currency,
            who: "lab".to_owned(),
            reason: format!("scenario {}", run.scenario),
        })
        .await;
    // Only now: a fault whose payment is settled is taken away by whoever looks.
    lab.runs.add_scripts(run.checkout, scripts);
    match given {
        Ok(_) => answer::see_other(&place),
        Err(reason) => {
            lab.calm(run.checkout).await;
            answer::error(&shop, visitor, false, &reason, None).await
        }
    }
}

impl Lab {
    /// Whether a refund that is done may still come back by itself.
    pub fn may_come_back(run: &Run, view: &CheckoutView) -> bool {
        let succeeded = |it: &domain::view::RefundView| {
            !it.outside && it.state == domain::operation::State::Succeeded
        };
        run.fault.token == "tok_refund_fails_later"
            && view.owner.as_ref().is_some_and(|owner| owner.refunds.iter().any(succeeded))
    }
}
