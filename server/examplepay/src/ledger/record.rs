//! Payments and refunds as they are stored, for the doors that show them in their own words.

use serde_json::Value;
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use crate::wire::Wire;

/// A payment, whichever wire it came over.
#[derive(Clone, Debug)]
pub struct Payment {
    /// Its id.
    pub id: String,
    /// The wire it belongs to.
    pub wire: Wire,
    /// The merchant's reference.
    pub reference: String,
    /// How much, in the currency's own smallest unit.
    pub amount_minor: i64,
    /// Of what.
    pub currency: String,
    /// Our word for where it stands.
    pub status: String,
    /// Why the bank said no.
    pub decline_code: Option<String>,
    /// What it is paid with.
    pub token: String,
    /// Where the shopper goes back to.
    pub return_url: String,
    /// The id of its charge or capture, once there was one.
    pub charge: Option<String>,
    /// What only its own wire knows.
    pub extra: Value,
    /// How much was given back.
    pub refunded_minor: i64,
    /// The key of the last request that had an effect on it.
    pub idempotency_key: String,
    /// That request.
    pub request_id: String,
    /// Until when its shopper may act.
    pub action_expires_at: Option<i64>,
    /// When it was made.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
}

/// A refund, whichever wire it came over.
#[derive(Clone, Debug)]
pub struct Refund {
    /// Its id.
    pub id: String,
    /// The wire it belongs to.
    pub wire: Wire,
    /// Of which payment.
    pub payment: String,
    /// How much, in the currency's own smallest unit.
    pub amount_minor: i64,
    /// Of what.
    pub currency: String,
    /// Our word for where it stands.
    pub status: String,
    /// Why it failed.
    pub failure_code: Option<String>,
    /// What only its own wire knows.
    pub extra: Value,
    /// When it was made.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
}

impl Payment {
    /// Whether its bank only holds the money, for a capture that takes it.
    pub fn held_first(&self) -> bool {
        self.wire == Wire::Stripe && self.extra["capture_method"] == "manual"
    }

    /// How much its bank agreed to; after a capture of a part this is more than was taken.
    pub fn agreed_minor(&self) -> i64 {
        self.extra["authorized_minor"].as_i64().unwrap_or(self.amount_minor)
    }
}

fn wire(row: &SqliteRow) -> sqlx::Result<Wire> {
    let name: String = row.try_get("wire")?;
    Wire::named(&name).ok_or_else(|| sqlx::Error::Decode(format!("no wire {name}").into()))
}

fn extra(row: &SqliteRow) -> sqlx::Result<Value> {
    let text: String = row.try_get("extra")?;
    serde_json::from_str(&text).map_err(|reason| sqlx::Error::Decode(reason.into()))
}

/// The columns that `Payment` is read from.
pub const PAYMENT: &str = "select *, (select coalesce(sum(amount_minor), 0) from refunds
     where refunds.payment = payments.id and refunds.status = 'succeeded') as refunded_minor from payments";

impl TryFrom<&SqliteRow> for Payment {
    type Error = sqlx::Error;

    fn try_from(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            wire: wire(row)?,
            reference: row.try_get("reference")?,
            amount_minor: row.try_get("amount_minor")?,
            currency: row.try_get("currency")?,
            status: row.try_get("status")?,
            decline_code: row.try_get("decline_code")?,
            token: row.try_get("token")?,
            return_url: row.try_get("return_url")?,
            charge: row.try_get("charge")?,
            extra: extra(row)?,
            refunded_minor: row.try_get("refunded_minor")?,
            idempotency_key: row.try_get("idempotency_key")?,
            request_id: row.try_get("request_id")?,
            action_expires_at: row.try_get("action_expires_at")?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
        })
    }
}

impl TryFrom<&SqliteRow> for Refund {
    type Error = sqlx::Error;

    fn try_from(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            wire: wire(row)?,
            payment: row.try_get("payment")?,
            amount_minor: row.try_get("amount_minor")?,
            currency: row.try_get("currency")?,
            status: row.try_get("status")?,
            failure_code: row.try_get("failure_code")?,
            extra: extra(row)?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
        })
    }
}

/// The payment with this id, or with this charge.
pub async fn payment(db: &mut SqliteConnection, id: &str) -> sqlx::Result<Option<Payment>> {
    let row = sqlx::query(sqlx::AssertSqlSafe(format!("{PAYMENT} where id = ?1 or charge = ?1")))
        .bind(id)
        .fetch_optional(db)
        .await?;
    row.as_ref().map(Payment::try_from).transpose()
}

/// The refund with this id.
pub async fn refund(db: &mut SqliteConnection, id: &str) -> sqlx::Result<Option<Refund>> {
    let row = sqlx::query("select * from refunds where id = ?").bind(id).fetch_optional(db).await?;
    row.as_ref().map(Refund::try_from).transpose()
}
