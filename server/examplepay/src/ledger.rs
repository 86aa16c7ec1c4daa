//! Objects, keys and the ledger of effects. Whatever happens to money is one transaction here.

mod settle;

use serde_json::{Value, json};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

pub use self::settle::settle;
use crate::{Provider, faults::Hook, fresh, millis, now_ms, tokens::Card, webhooks};

/// The tables. Times are milliseconds since 1970.
pub const SCHEMA: &str = "
create table if not exists payments (
    id text primary key, reference text not null, amount_minor integer not null, currency text not null,
    status text not null, decline_code text, token text not null, return_url text not null,
    idempotency_key text not null, request_id text not null, action_expires_at integer, hosted integer not null default 0,
    due_at integer, due_status text, created_at integer not null, updated_at integer not null
) strict;
create index if not exists payments_reference on payments (reference);
create table if not exists refunds (
    id text primary key, payment text not null references payments (id), reference text not null,
    amount_minor integer not null, currency text not null, status text not null, failure_code text,
    idempotency_key text not null, request_id text not null, due_at integer, due_status text,
    created_at integer not null, updated_at integer not null
) strict;
create index if not exists refunds_reference on refunds (reference);
create table if not exists keys (
    idempotency_key text primary key, fingerprint text not null, status integer, body text,
    content_type text, created_at integer not null
) strict;
create table if not exists effects (
    id integer primary key, kind text not null check (kind in ('charge', 'refund', 'refund_reversal', 'payment_reversal')),
    payment text not null, refund text, reference text not null, amount_minor integer not null,
    currency text not null, idempotency_key text not null, at integer not null
) strict;
create table if not exists events (
    id text primary key, object text not null, type text not null, body text not null, at integer not null
) strict;
create table if not exists deliveries (
    id integer primary key, event text not null, object text not null, body text not null, signature text not null,
    due_at integer, tries integer not null default 0, last_status integer, done_at integer
) strict;
create table if not exists requests (
    seq integer primary key, at_ms integer not null, method text not null, path text not null, query text,
    key text, reference text, body_sha256 text, executed integer not null default 0,
    answered text not null default 'pending', request_id text not null
) strict;
";

/// An answer that the idempotency layer can keep.
#[derive(Clone, Debug)]
pub struct Made {
    /// The status.
    pub status: u16,
    /// The body, byte for byte.
    pub body: String,
    /// Its type.
    pub content_type: String,
}

impl Made {
    /// A JSON answer.
    pub fn json(status: u16, body: &Value) -> Self {
        Self { status, body: body.to_string(), content_type: "application/json".to_owned() }
    }

    /// An error with a type.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        Self::json(status, &json!({"error": {"type": kind, "message": message}}))
    }
}

/// Who asked for something.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The key.
    pub key: &'a str,
    /// Our id of the request.
    pub request_id: &'a str,
    /// What happens to the event.
    pub hook: &'a Hook,
}

/// A payment that is asked for; checked already.
#[derive(Clone, Debug)]
pub struct NewPayment {
    /// The merchant's reference.
    pub reference: String,
    /// How much.
    pub amount_minor: i64,
    /// Of what.
    pub currency: String,
    /// The card.
    pub token: String,
    /// What the card does.
    pub card: Card,
    /// Where the shopper goes back to.
    pub return_url: String,
}

/// A payment as the wire shows it.
pub async fn payment(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
) -> sqlx::Result<Option<Value>> {
    let row = sqlx::query("select * from payments where id = ?")
        .bind(id)
        .fetch_optional(&mut *db)
        .await?;
    match row {
        Some(row) => Ok(Some(show_payment(provider, db, &row).await?)),
        None => Ok(None),
    }
}

async fn show_payment(
    provider: &Provider,
    db: &mut SqliteConnection,
    row: &SqliteRow,
) -> sqlx::Result<Value> {
    let (id, status): (String, String) = (row.try_get("id")?, row.try_get("status")?);
    let refunded: i64 = sqlx::query_scalar(
        "select coalesce(sum(amount_minor), 0) from refunds where payment = ? and status = 'succeeded'",
    )
    .bind(&id)
    .fetch_one(db)
    .await?;
    let waits = status == "requires_action";
    Ok(json!({
        "id": id, "object": "payment", "account": provider.settings.account, "livemode": false,
        "reference": row.try_get::<String, _>("reference")?,
        "amount_minor": row.try_get::<i64, _>("amount_minor")?,
        "currency": row.try_get::<String, _>("currency")?,
        "status": status,
        "decline_code": row.try_get::<Option<String>, _>("decline_code")?,
        "action_url": waits.then(|| format!("{}/confirm/{id}", provider.public_url)),
        "action_expires_at": row.try_get::<Option<i64>, _>("action_expires_at")?.filter(|_| waits),
        "refunded_minor": refunded,
        "created_at": row.try_get::<i64, _>("created_at")?,
        "updated_at": row.try_get::<i64, _>("updated_at")?,
    }))
}

/// A refund as the wire shows it.
pub async fn refund(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
) -> sqlx::Result<Option<Value>> {
    let row = sqlx::query("select * from refunds where id = ?").bind(id).fetch_optional(db).await?;
    row.map(|row| show_refund(provider, &row)).transpose()
}

fn show_refund(provider: &Provider, row: &SqliteRow) -> sqlx::Result<Value> {
    Ok(json!({
        "id": row.try_get::<String, _>("id")?, "object": "refund",
        "account": provider.settings.account, "livemode": false,
        "payment": row.try_get::<String, _>("payment")?,
        "reference": row.try_get::<String, _>("reference")?,
        "amount_minor": row.try_get::<i64, _>("amount_minor")?,
        "currency": row.try_get::<String, _>("currency")?,
        "status": row.try_get::<String, _>("status")?,
        "failure_code": row.try_get::<Option<String>, _>("failure_code")?,
        "created_at": row.try_get::<i64, _>("created_at")?,
        "updated_at": row.try_get::<i64, _>("updated_at")?,
    }))
}

/// Payments that match, newest first.
pub async fn payments(
    provider: &Provider,
    db: &mut SqliteConnection,
    reference: Option<&str>,
    created_after: i64,
) -> sqlx::Result<Vec<Value>> {
    let rows = sqlx::query(
        "select * from payments where (?1 is null or reference = ?1) and created_at > ?2
         order by created_at desc, rowid desc limit 500",
    )
    .bind(reference)
    .bind(created_after)
    .fetch_all(&mut *db)
    .await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in &rows {
        all.push(show_payment(provider, db, row).await?);
    }
    Ok(all)
}

/// Refunds with this reference, newest first.
pub async fn refunds(
    provider: &Provider,
    db: &mut SqliteConnection,
    reference: Option<&str>,
) -> sqlx::Result<Vec<Value>> {
    let rows = sqlx::query("select * from refunds where (?1 is null or reference = ?1) order by created_at desc, rowid desc")
        .bind(reference)
        .fetch_all(db)
        .await?;
    rows.iter().map(|row| show_refund(provider, row)).collect()
}

/// Executes a payment: object, effect, event.
pub async fn create(
    provider: &Provider,
    db: &mut SqliteConnection,
    new: &NewPayment,
    asked: &Asked<'_>,
) -> sqlx::Result<Made> {
    let now = now_ms();
    let id = fresh("pay");
    let (status, decline) = match new.card {
        Card::Succeeds | Card::WrongAmount | Card::WrongCurrency => ("succeeded", None),
        Card::Declined(code) => ("declined", Some(code)),
        Card::Confirms | Card::Hosted => ("requires_action", None),
        Card::Processes { .. } => ("processing", None),
        Card::UnknownStatus => ("under_review", None),
    };
    let amount = new.amount_minor + i64::from(new.card == Card::WrongAmount);
    let other = if new.currency == "USD" { "EUR" } else { "USD" };
    let currency = if new.card == Card::WrongCurrency { other } else { &new.currency };
    let due = matches!(new.card, Card::Processes { .. })
        .then(|| now + millis(provider.settings.processing));
    let due_status = match new.card {
        Card::Processes { succeeds: true } => Some("succeeded"),
        Card::Processes { succeeds: false } => Some("declined"),
        Card::Succeeds
        | Card::Declined(_)
        | Card::Confirms
        | Card::Hosted
        | Card::WrongAmount
        | Card::WrongCurrency
        | Card::UnknownStatus => None,
    };
    let expires = (status == "requires_action").then(|| now + millis(provider.settings.action));
    sqlx::query(
        "insert into payments (id, reference, amount_minor, currency, status, decline_code, token, return_url,
             idempotency_key, request_id, action_expires_at, hosted, due_at, due_status, created_at, updated_at)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&id)
    .bind(&new.reference)
    .bind(amount)
    .bind(currency)
    .bind(status)
    .bind(decline)
    .bind(&new.token)
    .bind(&new.return_url)
    .bind(asked.key)
    .bind(asked.request_id)
    .bind(expires)
    .bind(new.card == Card::Hosted)
    .bind(due)
    .bind(due_status)
    .bind(now)
    .bind(now)
    .execute(&mut *db)
    .await?;
    if status == "succeeded" {
        effect(db, ("charge", &id, None), &new.reference, (amount, currency), asked.key).await?;
    }
    let object = payment(provider, db, &id).await?.unwrap_or_default();
    if status != "under_review" {
        webhooks::emit(provider, db, &object, asked).await?;
    }
    Ok(match decline {
        Some(code) => Made::json(
            402,
            &json!({"error": {"type": "card_declined", "code": code, "message": "The bank declined the card.", "payment": object}}),
        ),
        None => Made::json(201, &object),
    })
}

/// Cancels a payment that nobody has paid.
pub async fn cancel(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    asked: &Asked<'_>,
) -> sqlx::Result<Made> {
    let Some(object) = payment(provider, db, id).await? else {
        return Ok(Made::error(404, "not_found", "There is no such payment."));
    };
    match object["status"].as_str() {
        Some("canceled") => Ok(Made::json(200, &object)),
        Some("succeeded" | "declined" | "reversed") => Ok(Made::json(
            409,
            &json!({"error": {"type": "not_cancelable", "message": "It is settled.", "payment": object}}),
        )),
        _ => {
            let object = turn(provider, db, id, "canceled", asked).await?;
            Ok(Made::json(200, &object))
        }
    }
}

/// Moves a payment to another status, with its effect and event.
pub async fn turn(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    status: &str,
    asked: &Asked<'_>,
) -> sqlx::Result<Value> {
    let row =
        sqlx::query("select status, reference, amount_minor, currency from payments where id = ?")
            .bind(id)
            .fetch_one(&mut *db)
            .await?;
    let before: String = row.try_get("status")?;
    let decline = (status == "declined").then_some("generic_decline");
    sqlx::query("update payments set status = ?, decline_code = ?, due_at = null, updated_at = ? where id = ?")
        .bind(status)
        .bind(decline)
        .bind(now_ms())
        .bind(id)
        .execute(&mut *db)
        .await?;
    let amount: i64 = row.try_get("amount_minor")?;
    let moved = match (before.as_str(), status) {
        ("succeeded", "reversed") => Some(("payment_reversal", -amount)),
        (before, "succeeded") if before != "succeeded" => Some(("charge", amount)),
        _ => None,
    };
    if let Some((kind, amount)) = moved {
        let (reference, currency): (String, String) =
            (row.try_get("reference")?, row.try_get("currency")?);
        effect(db, (kind, id, None), &reference, (amount, &currency), asked.key).await?;
    }
    let object = payment(provider, db, id).await?.unwrap_or_default();
    if before != status {
        webhooks::emit(provider, db, &object, asked).await?;
    }
    Ok(object)
}

/// Executes a refund. Succeeded and pending ones together never exceed what was paid.
pub async fn give_back(
    provider: &Provider,
    db: &mut SqliteConnection,
    of: &str,
    reference: &str,
    amount: (i64, &str),
    asked: &Asked<'_>,
) -> sqlx::Result<Made> {
    let row =
        sqlx::query("select status, amount_minor, currency, token from payments where id = ?")
            .bind(of)
            .fetch_optional(&mut *db)
            .await?;
    let Some(row) = row else {
        return Ok(Made::error(404, "not_found", "There is no such payment."));
    };
    let (status, currency, token): (String, String, String) =
        (row.try_get("status")?, row.try_get("currency")?, row.try_get("token")?);
    if status != "succeeded" || currency != amount.1 {
        return Ok(Made::error(
            422,
            "payment_not_refundable",
            "The payment has not succeeded in this currency.",
        ));
    }
    let taken: i64 = row.try_get("amount_minor")?;
    let returned: i64 = sqlx::query_scalar(
        "select coalesce(sum(amount_minor), 0) from refunds where payment = ? and status in ('succeeded', 'pending')",
    )
    .bind(of)
    .fetch_one(&mut *db)
    .await?;
    if returned + amount.0 > taken {
        return Ok(Made::error(422, "refund_exceeds_payment", "More than is left of the payment."));
    }
    let now = now_ms();
    let id = fresh("re");
    let later = Some(now + millis(provider.settings.processing));
    let (status, due_at, due_status) = match token.as_str() {
        "tok_refund_pending" => ("pending", later, Some("succeeded")),
        "tok_refund_fails_later" => ("succeeded", later, Some("failed")),
        _ => ("succeeded", None, None),
    };
    sqlx::query(
        "insert into refunds (id, payment, reference, amount_minor, currency, status, idempotency_key, request_id,
             due_at, due_status, created_at, updated_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&id)
    .bind(of)
    .bind(reference)
    .bind(amount.0)
    .bind(amount.1)
    .bind(status)
    .bind(asked.key)
    .bind(asked.request_id)
    .bind(due_at)
    .bind(due_status)
    .bind(now)
    .bind(now)
    .execute(&mut *db)
    .await?;
    if status == "succeeded" {
        effect(db, ("refund", of, Some(&id)), reference, (-amount.0, amount.1), asked.key).await?;
    }
    let object = refund(provider, db, &id).await?.unwrap_or_default();
    webhooks::emit(provider, db, &object, asked).await?;
    Ok(Made::json(201, &object))
}

async fn effect(
    db: &mut SqliteConnection,
    (kind, payment, refund): (&str, &str, Option<&str>),
    reference: &str,
    (amount, currency): (i64, &str),
    key: &str,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into effects (kind, payment, refund, reference, amount_minor, currency, idempotency_key, at)
         values (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(kind)
    .bind(payment)
    .bind(refund)
    .bind(reference)
    .bind(amount)
    .bind(currency)
    .bind(key)
    .bind(now_ms())
    .execute(db)
    .await?;
    Ok(())
}
