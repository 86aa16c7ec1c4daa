//! Lets the naive shop meet the fault that this shop met, and keeps what came of it.

use app::Visitor;
use app::pages::lab::scenario::Scenario;
use axum::{
    Extension,
    body::Bytes,
    extract::{Path, State},
    http::HeaderMap,
    response::Response,
};
use domain::money::Money;

use super::{
    Lab, more, naive, nothing_here, own,
    runs::{NaiveRun, Run},
};
use crate::http::{Shop, answer, form::Form};

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
    let scripts = run.fault.clone().deaf().scripts(&prefix);
    let Some(scripts) = lab.control.install(&scripts).await else {
        return lab.runs.end_naive(run.checkout, NaiveRun::Trouble);
    };
    let twice = run.scenario == Scenario::OtherPayload;
    let amounts = [Some(total), twice.then(|| more(total))];
    let (mut told_paid, mut tries) = (false, Vec::new());
    for (place, amount) in amounts.into_iter().flatten().enumerate() {
        let click = naive::Click {
            key_prefix: &prefix,
            reference: &format!("{reference}{}", place + 1),
            amount,
            token: run.fault.token,
            tried: tries.len(),
        };
        let (paid, mut more) = naive::pay(&lab.api, &click).await;
        told_paid = paid;
        tries.append(&mut more);
    }
    lab.control.forget(&scripts).await;
    lab.runs.end_naive(run.checkout, NaiveRun::Done { told_paid, tries, reference });
}
