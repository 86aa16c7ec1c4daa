//! Puts together what both sides know of a checkout: the provider's own records, and the shop's.
//!
//! It only reads. A shop that is watched here behaves as one that is not.

use app::pages::lab::{
    naive::{Naive, Tried},
    timeline::{Line, What, in_order},
    watch::{Ledger, Watched, is_over},
};
use domain::{
    id::CheckoutId,
    schedule::Timestamp,
    view::{CheckoutView, Face},
};
use payments::{Payments, RequestView, TransitionView};

use super::{
    Lab,
    control::{Control, EventRow, PaymentRow, RequestRow},
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
/// What the page is about; parcels and invoices come after it.
const KINDS: [&str; 3] = ["payment", "refund", "external"];

/// What the provider has on record.
struct Provider {
    ledger: Ledger,
    requests: Vec<RequestRow>,
    events: Vec<EventRow>,
}

async fn provider(control: &Control, view: &CheckoutView) -> Option<Provider> {
    let own = format!("{}-", view.reference);
    let mut payments: Vec<PaymentRow> = Vec::new();
    for attempt in (1..=view.payment.attempt).rev() {
        payments.extend(control.payments(&format!("{own}{attempt}")).await?);
    }
    let (ledger, requests) = tokio::join!(control.ledger(&own, &payments), control.requests(&own));
    let mut events = Vec::new();
    for payment in payments.iter().rev() {
        events.extend(control.events(&payment.id).await?);
    }
    Some(Provider { ledger: ledger?, requests: requests?, events })
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
    let provider = provider(&lab.control, &view).await;
    let (sent, history) = shop(payments, id).await?;
    let began = history.first().map_or(view.now, |it| it.at);
    let naive = naive(&lab.control, run).await;
    let mut lines = of_shop(&sent, &history);
    if let Some(provider) = &provider {
        lines.extend(of_provider(provider));
    }
    in_order(&mut lines);
    let again_ms = again(&view, provider.as_ref(), &naive);
    Ok(Watched {
        faulty: run.is_some_and(|run| !run.scripts.is_empty()) && !is_over(&view),
        provider: provider.map(|it| it.ledger),
        shop: Some(view),
        lines,
        began,
        naive,
        again_ms,
    })
}

async fn shop(
    payments: &Payments,
    id: CheckoutId,
) -> Result<(Vec<RequestView>, Vec<TransitionView>), payments::Error> {
    let mut sent = payments.requests(id).await?;
    let mut history = payments.history(id, 0).await?;
    sent.retain(|it| KINDS.contains(&it.kind.as_str()));
    history.retain(|it| KINDS.contains(&it.kind.as_str()));
    Ok((sent, history))
}

async fn naive(control: &Control, run: Option<&Run>) -> Naive {
    match run.map(|run| &run.naive) {
        None | Some(NaiveRun::NotRun) => Naive::NotRun,
        Some(NaiveRun::Running) => Naive::Running,
        Some(NaiveRun::Trouble) => Naive::Trouble,
        Some(NaiveRun::Done { told_paid, tries, reference }) => Naive::Done(Tried {
            told_paid: *told_paid,
            tries: tries.clone(),
            // Read each time: what is processed for long is charged long after it was given up.
            ledger: control.ledger(reference, &[]).await,
        }),
    }
}

fn again(view: &CheckoutView, provider: Option<&Provider>, naive: &Naive) -> Option<u32> {
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
        (true, _) if provider.is_none_or(late) => Some(NEWS_MS),
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
        let what = What::Sent { step: request.step.clone(), replay: request.replay };
        lines.push(Line { at: request.sent_at, what });
        if let Some(at) = request.ended_at {
            let heard = What::Heard {
                transport: request.transport.clone(),
                status: request.http_status,
                verdict: request.verdict.clone().unwrap_or_default(),
            };
            lines.push(Line { at, what: heard });
        }
    }
    lines
}
