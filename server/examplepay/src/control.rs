//! The control API: faults to come, and what really happened. For tests and presenters only.

mod by_hand;

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::StatusCode,
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sqlx::{Column, Row, TypeInfo, ValueRef, sqlite::SqliteRow};

use crate::{
    Provider, api,
    faults::{self, Hook, Lookups, Script},
    fresh,
    ledger::{self, Asked, Back, GivenBack, record},
    now_ms, page, partners, paypal,
    serve::Mode,
    webhooks,
    wire::Wire,
};

type Shared = State<Arc<Provider>>;
type Answer = Result<Json<Value>, Trouble>;

/// What went wrong with a control call.
struct Trouble(StatusCode, String);

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        (self.0, Json(json!({"error": self.1}))).into_response()
    }
}

impl From<sqlx::Error> for Trouble {
    fn from(reason: sqlx::Error) -> Self {
        Self(StatusCode::INTERNAL_SERVER_ERROR, reason.to_string())
    }
}

fn bad(message: &str) -> Trouble {
    Trouble(StatusCode::BAD_REQUEST, message.to_owned())
}

fn door_named(name: &str) -> Result<Wire, Trouble> {
    Wire::named(name).ok_or_else(|| bad("door is examplepay, stripe, paypal or partners"))
}

/// The routes.
pub fn router(provider: Arc<Provider>) -> Router {
    Router::new()
        .route("/", get(overview))
        .route("/control/faults", post(add_faults))
        .route("/control/faults/clear", post(clear))
        .route("/control/lookups", post(lookups))
        .route("/control/report", post(report))
        .route("/control/outage", post(outage))
        .route("/control/webhooks", post(send_event))
        .route("/control/webhooks/mode", post(webhook_mode))
        .route("/control/payments", get(payments))
        .route("/control/payments/{id}", post(turn))
        .route("/control/payments/{id}/refund", post(dashboard_refund))
        .route("/control/ledger", get(effects))
        .route("/control/requests", get(requests))
        .route("/control/events", get(events))
        .route("/control/reset", post(reset))
        .with_state(provider)
}

async fn add_faults(State(provider): Shared, Json(script): Json<Script>) -> Answer {
    if let Some(trouble) = script.trouble() {
        return Err(bad(&trouble));
    }
    Ok(Json(json!({"id": provider.faults.add(script)})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClearBody {
    ids: Option<Vec<u64>>,
}

async fn clear(State(provider): Shared, body: Option<Json<ClearBody>>) -> Answer {
    match body.and_then(|Json(body)| body.ids) {
        Some(ids) => provider.faults.forget(&ids),
        None => provider.faults.clear(),
    }
    Ok(Json(json!({"cleared": true})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LookupsBody {
    not_found_for_ms: Option<u64>,
    status: Option<u16>,
    for_ms: Option<u64>,
    reference: Option<String>,
}

async fn lookups(State(provider): Shared, Json(body): Json<LookupsBody>) -> Answer {
    let (status, time) = match (body.not_found_for_ms, body.status) {
        (Some(ms), _) => (404, ms),
        (None, Some(status)) => (status, body.for_ms.unwrap_or(u64::from(u32::MAX))),
        (None, None) => {
            provider.faults.set_lookups(None);
            return Ok(Json(json!({"lookups": "truthful"})));
        }
    };
    let until = std::time::Instant::now() + Duration::from_millis(time);
    provider.faults.set_lookups(Some(Lookups { status, until, reference: body.reference }));
    Ok(Json(json!({"lookups": status, "for_ms": time})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportBody {
    lag_ms: u32,
}

async fn report(State(provider): Shared, Json(body): Json<ReportBody>) -> Answer {
    provider.faults.set_report_lag(Duration::from_millis(body.lag_ms.into()));
    Ok(Json(json!({"lag_ms": body.lag_ms})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OutageBody {
    mode: String,
    for_ms: Option<u64>,
    door: Option<String>,
}

async fn outage(State(provider): Shared, Json(body): Json<OutageBody>) -> Answer {
    let mode = match body.mode.as_str() {
        "refuse" => Mode::Refuse,
        "hang" => Mode::Hang,
        "off" => Mode::Open,
        _ => return Err(bad("mode is refuse, hang or off")),
    };
    let time = body.for_ms.map(Duration::from_millis);
    let partners = body.door.as_deref() == Some(partners::DOOR);
    if partners || body.door.is_none() {
        provider.doors.partners.set(mode, time);
    }
    let only = body.door.as_deref().filter(|_| !partners).map(door_named).transpose()?;
    let meant = |wire: &Wire| !partners && only.is_none_or(|only| only == *wire);
    for wire in Wire::ALL.into_iter().filter(meant) {
        provider.doors.of(wire).set(mode, time);
    }
    // A refusing door is shut before this call is answered, so that what follows meets it so.
    tokio::time::sleep(Duration::from_millis(20)).await;
    Ok(Json(json!({"outage": body.mode})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventBody {
    payment: Option<String>,
    refund: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    overrides: Map<String, Value>,
    signature: Option<String>,
    #[serde(default)]
    timestamp_offset_s: i64,
    event_id: Option<String>,
    copies: Option<u32>,
    raw: Option<Value>,
    door: Option<String>,
}

async fn send_event(State(provider): Shared, Json(body): Json<EventBody>) -> Answer {
    let id = body.payment.as_ref().or(body.refund.as_ref());
    let (wire, mut event) = match (&body.raw, id) {
        (Some(raw), _) => {
            let wire = body.door.as_deref().map(door_named).transpose()?;
            (wire.unwrap_or(Wire::ExamplePay), raw.clone())
        }
        (None, Some(id)) => {
            let mut db = provider.db.acquire().await?;
            let made = by_hand::event(&provider, &mut db, id, body.kind.as_deref()).await?;
            made.ok_or_else(|| bad("there is no such object"))?
        }
        (None, None) => return Err(bad("name a payment, a refund or a raw event")),
    };
    if body.raw.is_none() {
        for (name, value) in body.overrides {
            by_hand::object(wire, &mut event)[name] = value;
        }
        if let Some(id) = body.event_id {
            event["id"] = json!(id);
        }
    }
    let text = event.to_string();
    let time = now_ms() / 1000 + body.timestamp_offset_s;
    let kind = body.signature.as_deref().unwrap_or("good");
    let mut statuses = Vec::new();
    for _ in 0..body.copies.unwrap_or(1) {
        let headers = webhooks::headers(&provider, wire, kind, time, &text);
        statuses.push(webhooks::post(&provider, wire, &text, headers).await);
    }
    Ok(Json(json!({"event": event["id"], "statuses": statuses})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModeBody {
    mode: String,
}

async fn webhook_mode(State(provider): Shared, Json(body): Json<ModeBody>) -> Answer {
    match body.mode.as_str() {
        "normal" => provider.event_switch.set(false, false),
        "paused" => provider.event_switch.set(true, false),
        "off" => provider.event_switch.set(false, true),
        _ => return Err(bad("mode is normal, paused or off")),
    }
    provider.wake.notify_one();
    Ok(Json(json!({"webhooks": body.mode})))
}

#[derive(Deserialize)]
struct Find {
    reference: Option<String>,
    reference_prefix: Option<String>,
    key: Option<String>,
    path: Option<String>,
    object: Option<String>,
}

async fn payments(State(provider): Shared, Query(find): Query<Find>) -> Answer {
    let mut db = provider.db.acquire().await?;
    let found = ledger::payments(&mut db, None, find.reference.as_deref(), 0).await?;
    let shown: Vec<Value> = found.iter().map(|it| ledger::neutral(&provider, it)).collect();
    Ok(Json(json!({"payments": shown})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnBody {
    status: String,
    #[serde(default)]
    silent: bool,
}

async fn turn(
    State(provider): Shared,
    Path(id): Path<String>,
    Json(body): Json<TurnBody>,
) -> Answer {
    const WORDS: [&str; 7] =
        ["succeeded", "declined", "canceled", "processing", "reversed", "approved", "unapproved"];
    if !WORDS.contains(&body.status.as_str()) {
        return Err(bad(
            "status is succeeded, declined, canceled, processing, reversed, approved or unapproved",
        ));
    }
    let mut tx = provider.db.begin().await?;
    let before =
        record::payment(&mut tx, &id).await?.ok_or_else(|| bad("there is no such payment"))?;
    let paid = before.status == "succeeded";
    if paid && !["succeeded", "reversed"].contains(&body.status.as_str()) {
        return Err(bad("its money is in the ledger: refund or reverse it instead"));
    }
    if before.status == "reversed" || (body.status == "reversed" && !paid) {
        return Err(bad("only what has succeeded is reversed, and that is the end of it"));
    }
    let approvable = before.wire == Wire::PayPal && before.status == "created";
    if body.status == "approved" && !approvable {
        return Err(bad("only an order of PayPal's wire that nobody has approved is approved"));
    }
    let approved = before.wire == Wire::PayPal && before.status == "approved";
    if body.status == "unapproved" && !approved {
        return Err(bad("only an approval over PayPal's wire that was not captured is taken back"));
    }
    let hook = Hook { mode: body.silent.then_some(faults::Mode::Never), ..Hook::default() };
    let asked = Asked { key: "", request_id: "req_control", hook: &hook, later: true };
    if body.status == "unapproved" {
        ledger::turn(&provider, &mut tx, &id, "created", &asked).await?;
        paypal::events::unapproved(&provider, &mut tx, &id, &asked).await?;
    } else {
        ledger::turn(&provider, &mut tx, &id, &body.status, &asked).await?;
    }
    let now = record::payment(&mut tx, &id).await?;
    tx.commit().await?;
    Ok(Json(now.map(|it| ledger::neutral(&provider, &it)).unwrap_or_default()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RefundBody {
    amount_minor: i64,
}

async fn dashboard_refund(
    State(provider): Shared,
    Path(id): Path<String>,
    Json(body): Json<RefundBody>,
) -> Answer {
    let mut tx = provider.db.begin().await?;
    let hook = Hook::default();
    let key = fresh("dashboard");
    let asked = Asked { key: &key, request_id: "req_control", hook: &hook, later: true };
    // On PayPal's wire such a refund bears what its capture bore.
    let find = "select reference from payments where id = ? and wire = 'paypal'";
    let bears: Option<String> = sqlx::query_scalar(find).bind(&id).fetch_optional(&mut *tx).await?;
    let extra = bears.map_or(json!({}), |it| json!({"custom_id": it, "invoice_id": it}));
    let back = Back {
        reference: "dashboard",
        amount_minor: Some(body.amount_minor),
        currency: None,
        extra: &extra,
    };
    let given = ledger::give_back(&provider, &mut tx, &id, &back, &asked).await?;
    if given == GivenBack::NoPayment {
        return Err(bad("there is no such payment"));
    }
    let made = api::refund_answer(&provider, &mut tx, &given).await?;
    tx.commit().await?;
    let object: Value = serde_json::from_str(&made.body).unwrap_or_default();
    if made.status == 201 { Ok(Json(object)) } else { Err(bad(&made.body)) }
}

async fn effects(State(provider): Shared, Query(find): Query<Find>) -> Answer {
    let rows = sqlx::query(
        "select * from effects where (?1 is null or reference = ?1)
         and (?2 is null or substr(reference, 1, length(?2)) = ?2) order by id",
    )
    .bind(&find.reference)
    .bind(&find.reference_prefix)
    .fetch_all(&provider.db)
    .await?;
    let mut sums: Map<String, Value> = Map::new();
    for row in &rows {
        let (currency, amount): (String, i64) =
            (row.try_get("currency")?, row.try_get("amount_minor")?);
        let before = sums.get(&currency).and_then(Value::as_i64).unwrap_or(0);
        sums.insert(currency, json!(before + amount));
    }
    let effects: Vec<Value> = rows.iter().map(row_json).collect();
    Ok(Json(json!({"effects": effects, "sum_minor_by_currency": sums})))
}

async fn requests(State(provider): Shared, Query(find): Query<Find>) -> Answer {
    let rows = sqlx::query(
        "select *, reference as body_reference from requests where (?1 is null or key = ?1) and (?2 is null or path = ?2)
         and (?3 is null or substr(reference, 1, length(?3)) = ?3) order by seq",
    )
    .bind(&find.key)
    .bind(&find.path)
    .bind(&find.reference_prefix)
    .fetch_all(&provider.db)
    .await?;
    Ok(Json(json!({"requests": rows.iter().map(row_json).collect::<Vec<_>>()})))
}

async fn events(State(provider): Shared, Query(find): Query<Find>) -> Answer {
    let rows = sqlx::query(
        "select events.id, type, events.object, at, deliveries.due_at, tries, last_status, done_at
         from events left join deliveries on deliveries.event = events.id
         where (?1 is null or events.object = ?1) order by events.rowid, deliveries.id",
    )
    .bind(&find.object)
    .fetch_all(&provider.db)
    .await?;
    Ok(Json(json!({"events": rows.iter().map(row_json).collect::<Vec<_>>()})))
}

async fn reset(State(provider): Shared) -> Answer {
    provider.faults.clear();
    for wire in Wire::ALL {
        provider.doors.of(wire).set(Mode::Open, None);
    }
    provider.doors.partners.set(Mode::Open, None);
    provider.event_switch.set(false, false);
    let all =
        "delete from deliveries; delete from events; delete from effects; delete from refunds;
               delete from payments; delete from keys; delete from requests;";
    sqlx::raw_sql(all).execute(&provider.db).await?;
    sqlx::raw_sql(partners::FORGET).execute(&provider.db).await?;
    Ok(Json(json!({"reset": true})))
}

/// The ledger and the last requests, for a person.
async fn overview(State(provider): Shared) -> Result<Html<String>, Trouble> {
    let effects = sqlx::query("select at, kind, reference, amount_minor, currency, payment, idempotency_key from effects order by id desc limit 50")
        .fetch_all(&provider.db)
        .await?;
    let requests = sqlx::query("select seq, at_ms, method, path, key, executed, answered from requests order by seq desc limit 50")
        .fetch_all(&provider.db)
        .await?;
    let table = |title: &str, rows: &[SqliteRow]| {
        page::table(title, &rows.iter().map(row_json).collect::<Vec<_>>())
    };
    Ok(Html(page::frame(
        "ExamplePay control",
        &format!("{}{}", table("Effects", &effects), table("Requests", &requests)),
    )))
}

/// A row as JSON; the database knows only text and integers.
fn row_json(row: &SqliteRow) -> Value {
    let mut object = Map::new();
    for column in row.columns() {
        let (place, name) = (column.ordinal(), column.name());
        let integer = row
            .try_get_raw(place)
            .is_ok_and(|it| !it.is_null() && it.type_info().name() == "INTEGER");
        let value = match name {
            "executed" => json!(row.try_get::<i64, _>(place).unwrap_or(0) == 1),
            _ if integer => json!(row.try_get::<i64, _>(place).ok()),
            _ => json!(row.try_get::<Option<String>, _>(place).ok().flatten()),
        };
        object.insert(name.to_owned(), value);
    }
    Value::Object(object)
}
