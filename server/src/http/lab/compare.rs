//! Lets the naive shop meet the fault that this shop met, and keeps what came of it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use app::Visitor;
use app::pages::lab::{naive::Manner, scenario::Second};
use axum::{
    Extension,
    body::Bytes,
    extract::{Path, State},
    http::HeaderMap,
    response::Response,
};
use domain::{money::Money, schedule::Timestamp};

use super::{
    Lab, more, naive, nothing_here, own,
    runs::{NaiveRun, Run},
};
use crate::http::{Shop, answer, form::Form};

/// For so long something may come of a try that was given up.
const STILL_COMING: Duration = Duration::from_secs(10);

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::default().after(since)
}

/// Lets the naive shop meet the same fault, in a task of its own.
pub async fn let_naive_try(
    State(shop): State<Shop>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(lab) = shop.lab.clone() else { return nothing_here(&shop, visitor).await };
    if let Err((status, problem)) = Form::read(&headers, &body, &[]) {
        return answer::problem(&shop, visitor, status, problem, None).await;
    }
    let own = own(&shop, &lab, &visitor, &id).await;
    let (run, total) = match own {
        Ok(Some((_, Some(run), Some(view)))) => (run, view.owner.map(|it| it.total)),
        Ok(_) => return nothing_here(&shop, visitor).await,
        Err(reason) => return answer::error(&shop, visitor, false, &reason, None).await,
    };
    let place = format!("/lab/{}", run.checkout);
    if let Some(total) = total.filter(|_| lab.runs.begin_naive(run.checkout)) {
        tokio::spawn(async move { run_naive(&lab, &run, total).await });
    }
    answer::see_other(&place)
}

async fn run_naive(lab: &Lab, run: &Run, total: Money) {
    let id = uuid::Uuid::new_v4();
    let (prefix, reference) = (format!("naive:{id}:"), format!("naive-{id}-"));
    let fault = run.fault.clone().deaf();
    let first = naive::invoice_number(&format!("{reference}1"), 1);
    let scripts =
        [fault.scripts(&prefix), fault.of_refund(&prefix), fault.of_invoice(&first)].concat();
    let Some(scripts) = lab.control.install(&scripts).await else {
        return lab.runs.end_naive(run.checkout, NaiveRun::Trouble);
    };
    if fault.door && !lab.shut_door(id).await {
        lab.control.forget(&scripts).await;
        return lab.runs.end_naive(run.checkout, NaiveRun::Trouble);
    }
    let manner = Manner::of(Some(run.scenario), lab.time_scale);
    let second = run.scenario.second().map(|it| match it {
        Second::OtherAmount => more(total),
        Second::OtherId => total,
    });
    let (mut told_paid, mut tries, mut paid) = (false, Vec::new(), None);
    for (place, amount) in [Some(total), second].into_iter().flatten().enumerate() {
        let click = naive::Click {
            key_prefix: &prefix,
            reference: &format!("{reference}{}", place + 1),
            amount,
            token: run.fault.token,
            tried: tries.len(),
            manner,
        };
        let (payment, mut more) = naive::pay(&lab.api, &click).await;
        told_paid = payment.is_some();
        paid = payment;
        tries.append(&mut more);
    }
    let partner = lab.invoicing.as_ref().filter(|_| told_paid && fault.is_about_invoice());
    if let Some(partner) = partner {
        let click = naive::Click {
            key_prefix: &prefix,
            reference: &format!("{reference}1"),
            amount: total,
            token: run.fault.token,
            tried: tries.len(),
            manner,
        };
        tries.append(&mut naive::invoice(partner, &click).await);
    }
    let wishes = run.scenario.gives_back().iter().enumerate();
    for (place, minor) in wishes.filter(|_| told_paid) {
        let click = naive::Click {
            key_prefix: &prefix,
            reference: &format!("{reference}1-R{}", place + 1),
            amount: Money::new(*minor, total.currency),
            token: run.fault.token,
            tried: tries.len(),
            manner,
        };
        let of = paid.as_deref().unwrap_or_default();
        tries.append(&mut naive::give_back(&lab.api, &click, of).await);
    }
    lab.control.forget(&scripts).await;
    lab.open_door(id).await;
    let until = now().after(STILL_COMING.max(run.fault.lasts));
    lab.runs.end_naive(run.checkout, NaiveRun::Done { told_paid, tries, reference, until });
}
