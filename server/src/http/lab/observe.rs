//! Puts together what both sides know of a checkout: the provider's own records, and the shop's.
//!
//! It only reads. A shop that is watched here behaves as one that is not.

use std::time::Duration;

use app::pages::lab::{
    naive::{Manner, Naive, Tried},
    timeline::{Line, What, in_order},
    watch::{Ledger, Watched, is_over},
};
use domain::{
    id::CheckoutId,
    schedule::Timestamp,
    view::{CheckoutView, Face},
};
use payments::{Payments, RequestView, TransitionView, invoice_number};

use super::{
    Lab,
    control::{Control, EventRow, PaymentRow, RequestRow},
    gives_back,
    runs::{NaiveRun, Run},
};

/// How soon to look again while the payment is open.
const OPEN_MS: u32 = 500;
/// While only news are still on their way.
const NEWS_MS: u32 = 1000;
/// While a person is waited for, and lookups are rare.
const REVIEW_MS: u32 = 5000;
/// After so many refusals nobody waits for an event to be taken.
const TRIES_MAX: i64 = 3;
/// What happens late is seen a little after it is due.
const AFTER_IT: Duration = Duration::from_secs(1);
/// What the page is about; parcels and invoices come after it.
const KINDS: [&str; 3] = ["payment", "refund", "external"];
/// And in the one scenario that is about it.
const INVOICE: &str = "invoice";

/// What the provider has on record.
struct Provider {
    ledger: Ledger,
    requests: Vec<RequestRow>,
    events: Vec<EventRow>,
}

async fn provider(
    control: &Control,
    view: &CheckoutView,
    refunds: &[String],
    about_invoice: bool,
) -> Option<Provider> {
    let own = format!("{}-", view.reference);
    let mut payments: Vec<PaymentRow> = Vec::new();
    for attempt in (1..=view.payment.attempt).rev() {
        payments.extend(control.payments(&format!("{own}{attempt}")).await?);
    }
    let (ledger, requests) = tokio::join!(control.ledger(&own, &payments), control.requests(&own));
    let mut events = Vec::new();
    for object in payments.iter().rev().map(|it| &it.id).chain(refunds) {
        events.extend(control.events(object).await?);
    }
    let (mut ledger, mut requests) = (ledger?, requests?);
    if about_invoice {
        let number = invoice_number(&view.reference);
        ledger.invoices = Some(control.invoices(&number).await?);
        requests.extend(control.requests(&number).await?);
    }
    Some(Provider { ledger, requests, events })
}

/// Both sides at this moment.
///
/// # Errors
/// The shop's database did not answer.
pub async fn both(
    lab: &Lab,
    payments: &Payments,
    run: Option<&Run>,
    view: CheckoutView,
) -> Result<Watched, payments::Error> {
    let id = view.checkout_id;
    let refunds = refunds(payments, &view).await?;
    let about_invoice = run.is_some_and(|run| run.fault.is_about_invoice());
    let provider = provider(&lab.control, &view, &refunds, about_invoice).await;
    let (sent, history) = shop(payments, id, about_invoice).await?;
    let began = history.first().map_or(view.now, |it| it.at);
    let naive = naive(&lab.control, run).await;
    let mut lines = of_shop(&sent, &history);
    if let Some(provider) = &provider {
        lines.extend(of_provider(provider));
    }
    in_order(&mut lines);
    let late = run.is_some_and(|run| is_awaited(run, &view, began) || run.awaits_invoice(&view));
    let again_ms = again(&view, provider.as_ref(), &naive, late);
    Ok(Watched {
        about_invoice,
        faulty: run.is_some_and(|run| lab.is_faulty(run)) && !is_over(&view),
        wish: run.and_then(|run| gives_back::wish(run, &view)),
        provider: provider.map(|it| it.ledger),
        shop: Some(view),
        lines,
        began,
        naive,
        manner: Manner::of(run.map(|run| run.scenario), lab.time_scale),
        again_ms,
    })
}

/// The provider's ids of what goes back, as far as the shop knows them.
async fn refunds(payments: &Payments, view: &CheckoutView) -> Result<Vec<String>, payments::Error> {
    if view.owner.as_ref().is_none_or(|owner| owner.refunds.is_empty()) {
        return Ok(Vec::new());
    }
    let record = payments.record(&view.reference).await?;
    let operations = record.into_iter().flat_map(|it| it.operations);
    Ok(operations.filter(|it| it.kind == "refund").filter_map(|it| it.provider_id).collect())
}

async fn shop(
    payments: &Payments,
    id: CheckoutId,
    about_invoice: bool,
) -> Result<(Vec<RequestView>, Vec<TransitionView>), payments::Error> {
    let shown = |kind: &str| KINDS.contains(&kind) || (about_invoice && kind == INVOICE);
    let mut sent = payments.requests(id).await?;
    let mut history = payments.history(id, 0).await?;
    sent.retain(|it| shown(&it.kind));
    history.retain(|it| shown(&it.kind));
    Ok((sent, history))
}

async fn naive(control: &Control, run: Option<&Run>) -> Naive {
    match run.map(|run| &run.naive) {
        None | Some(NaiveRun::NotRun) => Naive::NotRun,
        Some(NaiveRun::Running) => Naive::Running,
        Some(NaiveRun::Trouble) => Naive::Trouble,
        Some(NaiveRun::Done { told_paid, tries, reference, .. }) => Naive::Done(Tried {
            told_paid: *told_paid,
            tries: tries.clone(),
            // Read each time: what is processed for long is charged long after it was given up.
            ledger: naive_ledger(control, reference).await,
        }),
    }
}

async fn naive_ledger(control: &Control, reference: &str) -> Option<Ledger> {
    let invoices = control.invoices(reference).await?;
    Some(Ledger { invoices: Some(invoices), ..control.ledger(reference, &[]).await? })
}

/// Whether something may still come of the fault or of the naive shop, although all is settled.
fn is_awaited(run: &Run, view: &CheckoutView, began: Timestamp) -> bool {
    let tried = match &run.naive {
        NaiveRun::Done { until, .. } => *until,
        NaiveRun::NotRun | NaiveRun::Running | NaiveRun::Trouble => began,
    };
    let lasts = run.fault.lasts;
    let until = if lasts.is_zero() { began } else { began.after(lasts + AFTER_IT) };
    view.now < tried.max(until) || Lab::may_come_back(run, view)
}

fn again(
    view: &CheckoutView,
    provider: Option<&Provider>,
    naive: &Naive,
    awaited: bool,
) -> Option<u32> {
    let late = |it: &Provider| {
        let waits = |event: &EventRow| {
            event.done_at.is_none() && event.due_at.is_some() && event.tries < Some(TRIES_MAX)
        };
        it.requests.iter().any(|it| it.answered == "pending") || it.events.iter().any(waits)
    };
    match (is_over(view), view.payment.face) {
        _ if *naive == Naive::Running => Some(OPEN_MS),
        (_, Face::InReview) => Some(REVIEW_MS),
        (false, _) => Some(OPEN_MS),
        (true, _) if awaited || provider.is_none_or(late) => Some(NEWS_MS),
        (true, _) => None,
    }
}

fn of_provider(provider: &Provider) -> Vec<Line> {
    let requests = provider.requests.iter().map(|it| Line {
        at: Timestamp(it.at_ms),
        what: What::Request {
            method: it.method.clone(),
            path: it.path.clone(),
            searches: it.query.is_some(),
            key: it.key.clone(),
            executed: it.executed,
            answered: it.answered.clone(),
        },
    });
    let mut lines: Vec<Line> = requests.collect();
    let mut told: Option<(&str, i64)> = None;
    for event in &provider.events {
        // Copies are deliveries of one event: it is made once.
        if told.replace((&event.kind, event.at)) != Some((&event.kind, event.at)) {
            let made = What::Made { kind: event.kind.clone(), addressed: event.tries.is_some() };
            lines.push(Line { at: Timestamp(event.at), what: made });
        }
        let tries = event.tries.unwrap_or(0);
        if tries > 0 {
            let at = event.done_at.or(event.due_at).unwrap_or(event.at);
            let delivered = What::Delivered {
                kind: event.kind.clone(),
                tries,
                status: event.last_status,
                taken: event.done_at.is_some(),
            };
            lines.push(Line { at: Timestamp(at), what: delivered });
        }
    }
    lines
}

fn of_shop(sent: &[RequestView], history: &[TransitionView]) -> Vec<Line> {
    let mut lines: Vec<Line> = history
        .iter()
        .map(|it| Line {
            at: it.at,
            what: What::Moved {
                kind: it.kind.clone(),
                number: it.operation_attempt,
                from: it.from,
                to: it.to,
                source: it.source.clone(),
                evidence: it.evidence.clone(),
            },
        })
        .collect();
    for request in sent {
        let what = What::Sent {
            kind: request.kind.clone(),
            step: request.step.clone(),
            replay: request.replay,
        };
        lines.push(Line { at: request.sent_at, what });
        if let Some(at) = request.ended_at {
            let heard = What::Heard {
                kind: request.kind.clone(),
                transport: request.transport.clone(),
                status: request.http_status,
                verdict: request.verdict.clone().unwrap_or_default(),
            };
            lines.push(Line { at, what: heard });
        }
    }
    lines
}
