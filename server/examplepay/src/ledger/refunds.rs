//! Money that is given back, over whichever wire it was taken.

use serde_json::Value;
use sqlx::SqliteConnection;

use super::{Asked, announce_refund, effect, record};
use crate::{Provider, millis, now_ms};

/// A refund that is asked for; checked already.
#[derive(Clone, Debug)]
pub struct Back<'a> {
    /// The merchant's reference.
    pub reference: &'a str,
    /// How much; `None` is all that is left.
    pub amount_minor: Option<i64>,
    /// Of what; `None` is what was paid.
    pub currency: Option<&'a str>,
    /// What only its own wire knows.
    pub extra: &'a Value,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenBack {
    /// The refund with this id was made.
    Refund(String),
    /// There is no such payment.
    NoPayment,
    /// The payment has not succeeded, or not in this currency.
    NotRefundable,
    /// More than is left.
    Exceeds {
        /// What is left.
        left_minor: i64,
    },
}

/// Executes a refund. Succeeded and pending ones together never exceed what was paid.
pub async fn give_back(
    provider: &Provider,
    db: &mut SqliteConnection,
    of: &str,
    back: &Back<'_>,
    asked: &Asked<'_>,
) -> sqlx::Result<GivenBack> {
    let Some(paid) = record::payment(db, of).await? else { return Ok(GivenBack::NoPayment) };
    if paid.status != "succeeded" || back.currency.is_some_and(|it| it != paid.currency) {
        return Ok(GivenBack::NotRefundable);
    }
    let returned: i64 = sqlx::query_scalar(
        "select coalesce(sum(amount_minor), 0) from refunds where payment = ? and status in ('succeeded', 'pending')",
    )
    .bind(&paid.id)
    .fetch_one(&mut *db)
    .await?;
    let left_minor = paid.amount_minor - returned;
    let amount = back.amount_minor.unwrap_or(left_minor);
    if amount > left_minor || left_minor <= 0 {
        return Ok(GivenBack::Exceeds { left_minor });
    }
    let now = now_ms();
    let id = paid.wire.fresh_refund_id();
    let later = Some(now + millis(provider.settings.processing));
    let (status, due_at, due_status) = match paid.token.as_str() {
        "tok_refund_pending" => ("pending", later, Some("succeeded")),
        "tok_refund_refused_later" => ("pending", later, Some("failed")),
        "tok_refund_fails_later" => ("succeeded", later, Some("failed")),
        _ => ("succeeded", None, None),
    };
    sqlx::query(
        "insert into refunds (id, wire, payment, reference, amount_minor, currency, status, idempotency_key,
             request_id, due_at, due_status, extra, created_at, updated_at)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&id)
    .bind(paid.wire.name())
    .bind(&paid.id)
    .bind(back.reference)
    .bind(amount)
    .bind(&paid.currency)
    .bind(status)
    .bind(asked.key)
    .bind(asked.request_id)
    .bind(due_at)
    .bind(due_status)
    .bind(back.extra.to_string())
    .bind(now)
    .bind(now)
    .execute(&mut *db)
    .await?;
    if status == "succeeded" {
        let money = (-amount, paid.currency.as_str());
        effect(db, ("refund", &paid.id, Some(&id)), back.reference, money, asked.key).await?;
    }
    announce_refund(provider, db, paid.wire, &id, asked).await?;
    Ok(GivenBack::Refund(id))
}
