//! Objects, keys and the ledger of effects. Whatever happens to money is one transaction here.

mod own;
pub mod record;
mod refunds;
mod schema;
mod settle;

use serde_json::{Value, json};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use self::record::Payment;
pub use self::{
    own::{cancel, create},
    refunds::{Back, GivenBack, give_back},
    schema::prepare,
    settle::settle,
};
use crate::{
    Provider, faults::Hook, millis, now_ms, paypal, stripe, tokens::Card, webhooks, wire::Wire,
};

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

    /// The answer to a question whose object may not exist.
    pub fn found(object: Option<Value>) -> Option<Self> {
        object.map(|object| Self::json(200, &object))
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
    /// Whether it happens after that request, and not within it.
    pub later: bool,
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

/// A payment as the own wire shows it.
pub async fn payment(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
) -> sqlx::Result<Option<Value>> {
    let found = record::payment(db, id).await?.filter(|it| it.wire == Wire::ExamplePay);
    Ok(found.map(|it| show_payment(provider, &it)))
}

/// A payment of any wire, for the control API: in our own words, with the wire it belongs to.
pub fn neutral(provider: &Provider, payment: &Payment) -> Value {
    let mut shown = show_payment(provider, payment);
    shown["wire"] = json!(payment.wire.name());
    shown["charge"] = json!(payment.charge);
    shown
}

fn show_payment(provider: &Provider, it: &Payment) -> Value {
    let waits = it.status == "requires_action";
    json!({
        "id": it.id, "object": "payment", "account": provider.settings.account, "livemode": false,
        "reference": it.reference,
        "amount_minor": it.amount_minor,
        "currency": it.currency,
        "status": it.status,
        "decline_code": it.decline_code,
        "action_url": waits.then(|| provider.page(it.wire, &it.id)),
        "action_expires_at": it.action_expires_at.filter(|_| waits),
        "refunded_minor": it.refunded_minor,
        "created_at": it.created_at,
        "updated_at": it.updated_at,
    })
}

/// A refund as the own wire shows it.
pub async fn refund(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
) -> sqlx::Result<Option<Value>> {
    let row = sqlx::query("select * from refunds where id = ? and wire = 'examplepay'")
        .bind(id)
        .fetch_optional(db)
        .await?;
    row.map(|row| show_refund(provider, &row)).transpose()
}

/// A refund of any wire, for the control API.
pub async fn neutral_refund(
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
    db: &mut SqliteConnection,
    wire: Option<Wire>,
    reference: Option<&str>,
    created_after: i64,
) -> sqlx::Result<Vec<Payment>> {
    let sql = format!(
        "{} where (?1 is null or reference = ?1) and created_at > ?2 and (?3 is null or wire = ?3)
         order by created_at desc, rowid desc limit 500",
        record::PAYMENT
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(reference)
        .bind(created_after)
        .bind(wire.map(Wire::name))
        .fetch_all(db)
        .await?;
    rows.iter().map(Payment::try_from).collect()
}

/// Those of the own wire, as it shows them.
pub async fn own_payments(
    provider: &Provider,
    db: &mut SqliteConnection,
    reference: Option<&str>,
    created_after: i64,
) -> sqlx::Result<Vec<Value>> {
    let found = payments(db, Some(Wire::ExamplePay), reference, created_after).await?;
    Ok(found.iter().map(|it| show_payment(provider, it)).collect())
}

/// Refunds with this reference, newest first.
pub async fn refunds(
    provider: &Provider,
    db: &mut SqliteConnection,
    reference: Option<&str>,
) -> sqlx::Result<Vec<Value>> {
    let rows = sqlx::query("select * from refunds where (?1 is null or reference = ?1) and wire = 'examplepay' order by created_at desc, rowid desc")
        .bind(reference)
        .fetch_all(db)
        .await?;
    rows.iter().map(|row| show_refund(provider, row)).collect()
}

/// What becomes of a payment that reaches its bank.
pub struct Fate {
    /// Our word for where it stands.
    pub status: &'static str,
    /// Why the bank said no.
    pub decline: Option<&'static str>,
    /// What the record says it was.
    pub amount_minor: i64,
    /// Of what.
    pub currency: String,
    /// When it is decided.
    pub due: Option<i64>,
    /// And how.
    pub due_status: Option<&'static str>,
    /// Until when its shopper may act.
    pub expires: Option<i64>,
}

/// What a card makes of an amount.
pub fn fate(provider: &Provider, card: Card, (amount, currency): (i64, &str), now: i64) -> Fate {
    let settled = |status, decline| (status, decline, None);
    let (status, decline, due_status) = match card {
        Card::Succeeds | Card::WrongAmount | Card::WrongCurrency => settled("succeeded", None),
        Card::Declined(code) => settled("declined", Some(code)),
        Card::Confirms | Card::Hosted => settled("requires_action", None),
        Card::Processes { succeeds: true } => ("processing", None, Some("succeeded")),
        Card::Processes { succeeds: false } => ("processing", None, Some("declined")),
        Card::UnknownStatus => settled("under_review", None),
    };
    let other = if currency == "USD" { "EUR" } else { "USD" };
    Fate {
        status,
        decline,
        amount_minor: amount + i64::from(card == Card::WrongAmount),
        currency: if card == Card::WrongCurrency { other } else { currency }.to_owned(),
        due: due_status.map(|_| now + millis(provider.settings.processing)),
        due_status,
        expires: (status == "requires_action").then(|| now + millis(provider.settings.action)),
    }
}

/// Moves a payment to another status, with its effect and event.
///
/// What its bank only holds first is `authorized` when the bank agrees, and succeeds from there.
pub async fn turn(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    status: &str,
    asked: &Asked<'_>,
) -> sqlx::Result<()> {
    let before = record::payment(db, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    let agreed = matches!(before.status.as_str(), "authorized" | "succeeded");
    let status = match status {
        "succeeded" if before.held_first() && !agreed => "authorized",
        status => status,
    };
    let decline = match (status, before.status.as_str(), before.wire) {
        ("declined", "requires_action", Wire::Stripe) => Some("authentication_failed"),
        ("declined", _, _) => Some("generic_decline"),
        _ => None,
    };
    // What is decided over PayPal's wire is decided of a capture, a declined one too.
    let charged = matches!(status, "succeeded" | "authorized" | "processing")
        || (status == "declined" && before.wire == Wire::PayPal);
    let charge =
        before.charge.clone().or_else(|| before.wire.fresh_charge_id().filter(|_| charged));
    sqlx::query(
        "update payments set status = ?, decline_code = ?, charge = ?, due_at = null, updated_at = ? where id = ?",
    )
    .bind(status)
    .bind(decline)
    .bind(charge)
    .bind(now_ms())
    .bind(&before.id)
    .execute(&mut *db)
    .await?;
    let amount = before.amount_minor;
    let moved = match (before.status.as_str(), status) {
        ("succeeded", "reversed") => Some(("payment_reversal", -amount)),
        (before, "succeeded") if before != "succeeded" => Some(("charge", amount)),
        _ => None,
    };
    if let Some((kind, amount)) = moved {
        let money = (amount, before.currency.as_str());
        effect(db, (kind, &before.id, None), &before.reference, money, asked.key).await?;
    }
    if before.status != status {
        announce(provider, db, before.wire, &before.id, asked).await?;
    }
    Ok(())
}

/// Tells what became of a payment, in the words of its wire.
pub async fn announce(
    provider: &Provider,
    db: &mut SqliteConnection,
    wire: Wire,
    id: &str,
    asked: &Asked<'_>,
) -> sqlx::Result<()> {
    match wire {
        Wire::ExamplePay => {
            let object = payment(provider, db, id).await?.unwrap_or_default();
            webhooks::emit(provider, db, &object, asked).await
        }
        Wire::Stripe => stripe::events::intent(provider, db, id, asked).await,
        Wire::PayPal => paypal::events::order(provider, db, id, asked).await,
    }
}

/// Tells what became of a refund, in the words of its wire.
pub async fn announce_refund(
    provider: &Provider,
    db: &mut SqliteConnection,
    wire: Wire,
    id: &str,
    asked: &Asked<'_>,
) -> sqlx::Result<()> {
    match wire {
        Wire::ExamplePay => {
            let object = refund(provider, db, id).await?.unwrap_or_default();
            webhooks::emit(provider, db, &object, asked).await
        }
        Wire::Stripe => stripe::events::refund(provider, db, id, asked).await,
        Wire::PayPal => paypal::events::refund(provider, db, id, asked).await,
    }
}

/// Money moved: one line of the ledger, never changed.
pub async fn effect(
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
