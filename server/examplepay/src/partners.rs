//! A shop's two partners behind one more door: one writes invoices, one takes parcels.
//!
//! They promise less than the payments' API, each in its own way. Invoicing knows no keys, but
//! writes a number once and can be asked for it, after a while. Shipping knows nothing but a POST:
//! each one is another parcel. Faults, lookups and outages apply to both as they do to payments.

mod effects;
mod invoices;
mod log;
mod read;
mod shipments;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, State},
    http::HeaderMap,
    response::Response,
    routing::{get, post},
};
use serde_json::json;
use sqlx::SqlitePool;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::{invoices::NewInvoice, log::Entry, shipments::NewShipment};
use crate::{
    Provider, Settings, StartError,
    answer::{self, Stamp},
    faults::{About, Execute, Later, Step},
    fresh,
    ledger::Made,
    serve::{self, Door, Guarded},
    wire::Wire,
};

/// The name of this door, in the request log and in the control API.
pub const DOOR: &str = "partners";

/// Their own tables. Times are milliseconds since 1970.
const SCHEMA: &str = "
create table if not exists invoices (
    id text primary key, number text not null unique, amount_minor integer not null, currency text not null,
    buyer_reference text not null, lines text not null, status text not null, created_at integer not null,
    saved_status integer, saved_body text, saved_type text
) strict;
create table if not exists shipments (
    id text primary key, reference text not null, recipient_reference text not null, items text not null,
    status text not null, created_at integer not null
) strict;
create table if not exists partner_effects (
    seq integer primary key, kind text not null check (kind in ('invoice', 'shipment')), reference text not null,
    id text not null, number text, amount_minor integer, currency text, at integer not null
) strict;
";

/// Forgets all that the partners did.
pub const FORGET: &str =
    "delete from partner_effects; delete from invoices; delete from shipments;";

/// Makes the partners' tables.
pub async fn prepare(db: &SqlitePool) -> sqlx::Result<()> {
    sqlx::raw_sql(SCHEMA).execute(db).await.map(drop)
}

/// What comes in at the partners' door.
#[derive(Clone)]
struct Entrance(Arc<Provider>);

impl Guarded for Entrance {
    fn door(&self) -> &Door {
        &self.0.doors.partners
    }
}

/// Listens, if the partners are wanted.
pub async fn listen(settings: &Settings) -> Result<Option<(TcpListener, SocketAddr)>, StartError> {
    let Some(at) = settings.partners_addr else { return Ok(None) };
    let listener = serve::listen(at, "EXAMPLEPAY_PARTNERS_ADDR").await?;
    let addr = serve::local(&listener, at);
    Ok(Some((listener, addr)))
}

/// Serves both partners until the end.
pub async fn open(
    (listener, addr): (TcpListener, SocketAddr),
    provider: Arc<Provider>,
    stop: CancellationToken,
) {
    let router = router(Arc::clone(&provider));
    serve::api(listener, addr, router, Entrance(provider), stop).await;
}

fn router(provider: Arc<Provider>) -> Router {
    Router::new()
        .route("/invoicing/invoices", post(create_invoice))
        .route("/invoicing/invoices/{number}", get(get_invoice))
        .route("/shipping/shipments", post(create_shipment))
        .with_state(provider)
        .fallback(async || {
            let nothing = refusal(404, "not_found", "There is nothing under this address.");
            answer::plain(&nothing, &stamp(), false)
        })
        .layer(DefaultBodyLimit::max(64 * 1024))
        .layer(axum::middleware::map_response(|it| answer::with_request_id(Wire::ExamplePay, it)))
}

/// The control API's view of what the partners really did.
pub fn control(provider: Arc<Provider>) -> Router {
    Router::new().route("/control/partners/ledger", get(effects::show)).with_state(provider)
}

/// What is asked for; its parameters were checked.
#[derive(Clone)]
enum Act {
    Invoice(NewInvoice),
    Shipment(NewShipment),
}

/// One mutating request, read and not yet judged.
struct Request {
    operation: &'static str,
    path: &'static str,
    reference: Option<String>,
    body: Bytes,
    headers: HeaderMap,
    act: Result<Act, Made>,
}

/// What became of a request, and whether this very request made something.
struct Done {
    made: Made,
    executed: bool,
}

async fn create_invoice(
    State(provider): State<Arc<Provider>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = Request {
        operation: "create_invoice",
        path: "/invoicing/invoices",
        reference: read::named(&body, "invoiceNumber"),
        act: invoices::read(&body).map(Act::Invoice),
        body,
        headers,
    };
    mutate(provider, request).await
}

async fn create_shipment(
    State(provider): State<Arc<Provider>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = Request {
        operation: "create_shipment",
        path: "/shipping/shipments",
        reference: read::named(&body, "reference"),
        act: shipments::read(&body).map(Act::Shipment),
        body,
        headers,
    };
    mutate(provider, request).await
}

async fn get_invoice(
    State(provider): State<Arc<Provider>>,
    Path(number): Path<String>,
    headers: HeaderMap,
) -> Response {
    let stamp = stamp();
    let entry = Entry {
        method: "GET",
        path: &format!("/invoicing/invoices/{number}"),
        reference: Some(&number),
        body: None,
        headers: &headers,
        request_id: &stamp.request_id,
    };
    let seq = log::note(&provider, &entry).await;
    if !authorized(&provider, &headers) {
        log::answered(&provider, seq, false, "401").await;
        return answer::plain(&unauthorized(), &stamp, false);
    }
    let about = About {
        door: DOOR,
        operation: "get_invoice",
        reference: Some(&number),
        ..About::default()
    };
    let step = provider.faults.next(&about).unwrap_or_default();
    let made = match provider.faults.lookup_status(Some(&number)) {
        Some(404) => invoices::not_found(&number),
        Some(status) => refusal(status, "unavailable", "Not now."),
        None => match invoices::find(&provider, &number).await {
            Ok(Some(found)) => Made::json(200, &found),
            Ok(None) => invoices::not_found(&number),
            Err(reason) => broken(&reason),
        },
    };
    let made = answer::replacement(&step.answer).unwrap_or(made);
    log::answered(&provider, seq, false, &answer::name(&step, &made)).await;
    answer::deliver(&step, &made, &stamp, false).await
}

/// A client that hangs up meanwhile stops nothing: what was begun is finished and logged.
async fn mutate(provider: Arc<Provider>, request: Request) -> Response {
    let stamp = stamp();
    let id = stamp.request_id.clone();
    let judged = tokio::spawn(async move { judge(&provider, request, &id).await }).await;
    match judged {
        Ok((step, made)) => answer::deliver(&step, &made, &stamp, false).await,
        Err(reason) => answer::plain(&broken(&reason), &stamp, false),
    }
}

async fn judge(provider: &Arc<Provider>, request: Request, request_id: &str) -> (Step, Made) {
    let reference = request.reference.as_deref();
    let entry = Entry {
        method: "POST",
        path: request.path,
        reference,
        body: Some(&request.body),
        headers: &request.headers,
        request_id,
    };
    let seq = log::note(provider, &entry).await;
    if !authorized(provider, &request.headers) {
        log::answered(provider, seq, false, "401").await;
        return (Step::default(), unauthorized());
    }
    let about = About { door: DOOR, operation: request.operation, reference, ..About::default() };
    let step = provider.faults.next(&about).unwrap_or_default();
    let mut done = match (request.act, step.execution()) {
        (Err(made), _) => nothing(made),
        (Ok(_), Execute::Now(false)) => nothing(refusal(503, "unavailable", "Nothing was done.")),
        (Ok(act), Execute::Later(Later::Later)) => {
            execute_later(Arc::clone(provider), act, step.clone(), seq);
            nothing(refusal(504, "timeout", "It takes longer."))
        }
        (Ok(act), Execute::Now(true)) => {
            execute(provider, &act, &step).await.unwrap_or_else(|reason| nothing(broken(&reason)))
        }
    };
    if let Some(made) = answer::replacement(&step.answer) {
        done.made = made;
    }
    log::answered(provider, seq, done.executed, &answer::name(&step, &done.made)).await;
    (step, done.made)
}

/// Nothing is kept for it meanwhile: another request may be faster, as there are no keys.
fn execute_later(provider: Arc<Provider>, act: Act, step: Step, seq: i64) {
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(step.execute_after_ms)).await;
        match execute(&provider, &act, &step).await {
            Ok(done) if done.executed => log::executed(&provider, seq).await,
            Ok(_) => {}
            Err(reason) => tracing::warn!(%reason, "a late execution did not happen"),
        }
    });
}

async fn execute(provider: &Provider, act: &Act, step: &Step) -> sqlx::Result<Done> {
    let mut tx = provider.db.begin().await?;
    let done = match act {
        Act::Invoice(new) => {
            // Hidden before it is there, so that no lookup slips in between.
            if let Some(hide) = &step.lookup {
                provider.faults.hide(&new.number, Duration::from_millis(hide.not_found_for_ms));
            }
            let saved = if step.save { answer::replacement(&step.answer) } else { None };
            invoices::create(&mut tx, new, saved.as_ref()).await?
        }
        Act::Shipment(new) => shipments::create(&mut tx, new).await?,
    };
    tx.commit().await?;
    Ok(done)
}

fn authorized(provider: &Provider, headers: &HeaderMap) -> bool {
    let wanted = format!("Bearer {}", provider.settings.partners_api_key);
    let given = headers.get("authorization").map_or(&[][..], |it| it.as_bytes());
    bool::from(subtle::ConstantTimeEq::ct_eq(given, wanted.as_bytes()))
}

/// What an answer says beside its body: these two know neither keys nor replays.
fn stamp() -> Stamp {
    Stamp { wire: Wire::ExamplePay, request_id: fresh("req"), echoes: Vec::new() }
}

fn nothing(made: Made) -> Done {
    Done { made, executed: false }
}

/// The partners' way to say no: a word, and a sentence for people.
fn refusal(status: u16, word: &str, message: &str) -> Made {
    Made::json(status, &json!({"error": word, "message": message}))
}

fn unauthorized() -> Made {
    refusal(401, "unauthorized", "The API key is not valid.")
}

fn broken(reason: &dyn std::fmt::Display) -> Made {
    tracing::warn!(%reason, "a partner did not do what was asked");
    refusal(500, "api_error", "Something broke here.")
}
