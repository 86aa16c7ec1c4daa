//! Authorizations: money of an order that is held for the shop, then taken once, or let go.

pub mod door;

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::{
    act::{self, nothing},
    show::{self, issue},
};
use crate::{
    Provider,
    desk::{Keep, Outcome},
    ledger::{
        self, Asked, Made,
        record::{self, Payment},
    },
    now_ms,
    wire::Wire,
};

/// How long money can be held.
const HELD_MS: i64 = 29 * 24 * 3600 * 1000;

/// What is asked of an authorization.
#[derive(Clone, Debug)]
pub enum Ask {
    /// Take the money, or some of it; what is left is let go.
    Capture {
        /// How much; `None` is all that is held.
        amount: Option<(i64, String)>,
        /// Of which invoice; `None` is that of the order.
        invoice_id: Option<String>,
        /// Whether only the least is told of it.
        least: bool,
    },
    /// Let it go.
    Void {
        /// Whether the authorization is told, and not nothing.
        representation: bool,
    },
    /// Hold it for longer.
    Reauthorize,
}

/// An authorization as its order keeps it. A capture changes the order's own amount and invoice:
/// what was held is here.
pub struct Held<'a> {
    /// Its id.
    pub id: &'a str,
    /// How much.
    pub amount_minor: i64,
    /// The invoice of the order, or null.
    pub invoice_id: &'a Value,
    /// When it was made.
    pub at: i64,
}

impl Held<'_> {
    /// When it expires.
    pub fn until(&self) -> i64 {
        self.at.saturating_add(HELD_MS)
    }
}

/// The authorization of an order, once there was one.
pub fn of(it: &Payment) -> Option<Held<'_>> {
    let kept = &it.extra["authorization"];
    Some(Held {
        id: kept["id"].as_str()?,
        amount_minor: kept["amount_minor"].as_i64()?,
        invoice_id: &kept["invoice_id"],
        at: kept["at"].as_i64()?,
    })
}

/// The word of this wire for where the authorization of an order stands.
pub fn status(it: &Payment) -> &'static str {
    match it.status.as_str() {
        "authorized" => "CREATED",
        "processing" => "PENDING",
        "canceled" => "VOIDED",
        "succeeded" | "reversed" => "CAPTURED",
        "under_review" => "UNDER_REVIEW",
        _ => "DENIED",
    }
}

/// The payment with this authorization.
pub async fn find(db: &mut SqliteConnection, id: &str) -> sqlx::Result<Option<Payment>> {
    let sql = format!(
        "{} where wire = 'paypal' and json_extract(extra, '$.authorization.id') = ?",
        record::PAYMENT
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(id).fetch_optional(db).await?;
    row.as_ref().map(Payment::try_from).transpose()
}

/// Holds the money of an approved order. Nothing moves, so the ledger of effects has no line of it.
pub async fn authorize(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    asked: &Asked<'_>,
) -> sqlx::Result<Outcome> {
    let before = match act::approved(provider, db, (id, "AUTHORIZE"), asked).await? {
        Ok(before) => before,
        Err(instead) => return Ok(instead),
    };
    let now = now_ms();
    let fate = act::fate(provider, &before, now);
    let held = |word| if word == "succeeded" { "authorized" } else { word };
    let mut extra = before.extra;
    extra["authorization"] = json!({
        "id": super::fresh_id(), "amount_minor": before.amount_minor,
        "invoice_id": extra["invoice_id"], "at": now,
    });
    sqlx::query(
        "update payments set status = ?, decline_code = ?, extra = ?, due_at = ?, due_status = ?,
             idempotency_key = ?, request_id = ?, updated_at = ? where id = ?",
    )
    .bind(held(fate.status))
    .bind(fate.decline)
    .bind(extra.to_string())
    .bind(fate.due)
    .bind(fate.due_status.map(held))
    .bind(asked.key)
    .bind(asked.request_id)
    .bind(now)
    .bind(id)
    .execute(&mut *db)
    .await?;
    ledger::announce(provider, db, Wire::PayPal, id, asked).await?;
    let made = act::order(db, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    let shown = show::order(provider, db, &made).await?;
    Ok(Outcome { made: Made::json(201, &shown), keep: Keep::Object(id.to_owned()) })
}

/// Does what is asked of the authorization with this id.
pub async fn ask(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    what: &Ask,
    asked: &Asked<'_>,
) -> sqlx::Result<Outcome> {
    let Some(before) = find(db, id).await? else {
        return Ok(nothing(issue(404, "INVALID_RESOURCE_ID", None)));
    };
    if let Some(refused) = refused(what, status(&before)) {
        return Ok(nothing(issue(422, refused, None)));
    }
    match what {
        Ask::Capture { amount, invoice_id, least } => {
            let amount = amount.as_ref().map(|(minor, currency)| (*minor, currency.as_str()));
            let taken = Taken { amount, invoice_id: invoice_id.as_deref(), least: *least };
            capture(provider, db, before, &taken, asked).await
        }
        Ask::Void { representation } => {
            void(provider, db, id, &before, *representation, asked).await
        }
        // Within three days it is too soon, and no run of this provider takes longer.
        Ask::Reauthorize => Ok(nothing(issue(422, "REAUTHORIZATION_TOO_SOON", None))),
    }
}

/// Why nothing more is done with an authorization that stands so.
fn refused(what: &Ask, status: &str) -> Option<&'static str> {
    match (what, status) {
        (_, "CREATED") | (Ask::Void { .. }, "PENDING") => None,
        (Ask::Void { .. }, "CAPTURED") => Some("PREVIOUSLY_CAPTURED"),
        (Ask::Void { .. }, "VOIDED") => Some("PREVIOUSLY_VOIDED"),
        (Ask::Void { .. }, _) => Some("CANNOT_BE_VOIDED"),
        (Ask::Capture { .. } | Ask::Reauthorize, "CAPTURED") => {
            Some("AUTHORIZATION_ALREADY_CAPTURED")
        }
        (Ask::Capture { .. } | Ask::Reauthorize, "VOIDED") => Some("AUTHORIZATION_VOIDED"),
        (Ask::Capture { .. } | Ask::Reauthorize, "DENIED") => Some("AUTHORIZATION_DENIED"),
        // While it is reviewed, there is no narrower word.
        (Ask::Capture { .. } | Ask::Reauthorize, _) => Some("TRANSACTION_REFUSED"),
    }
}

/// What is taken of what is held.
struct Taken<'a> {
    amount: Option<(i64, &'a str)>,
    invoice_id: Option<&'a str>,
    least: bool,
}

async fn capture(
    provider: &Provider,
    db: &mut SqliteConnection,
    before: Payment,
    taken: &Taken<'_>,
    asked: &Asked<'_>,
) -> sqlx::Result<Outcome> {
    let refused = |what| Ok(nothing(issue(422, what, None)));
    let (amount, currency) = taken.amount.unwrap_or((before.amount_minor, &before.currency));
    if currency != before.currency {
        return refused("AUTH_CAPTURE_CURRENCY_MISMATCH");
    }
    if amount > before.amount_minor {
        return refused("MAX_CAPTURE_AMOUNT_EXCEEDED");
    }
    let invoice = taken.invoice_id.or(before.extra["invoice_id"].as_str());
    if act::invoiced(db, &before.id, invoice).await? {
        return refused("DUPLICATE_INVOICE_ID");
    }
    let mut extra = before.extra.clone();
    extra["invoice_id"] = json!(invoice);
    // From here on the payment is of what is taken, which is also what refunds are bounded by.
    sqlx::query(
        "update payments set amount_minor = ?, extra = ?, idempotency_key = ?, request_id = ? where id = ?",
    )
    .bind(amount)
    .bind(extra.to_string())
    .bind(asked.key)
    .bind(asked.request_id)
    .bind(&before.id)
    .execute(&mut *db)
    .await?;
    ledger::turn(provider, db, &before.id, "succeeded", asked).await?;
    let made = act::order(db, &before.id).await?.ok_or(sqlx::Error::RowNotFound)?;
    let id = made.charge.clone().ok_or(sqlx::Error::RowNotFound)?;
    let shown = show::capture(provider, &made);
    let shown = if taken.least { show::least(&shown) } else { shown };
    Ok(Outcome { made: Made::json(201, &shown), keep: Keep::Object(id) })
}

async fn void(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    before: &Payment,
    representation: bool,
    asked: &Asked<'_>,
) -> sqlx::Result<Outcome> {
    ledger::turn(provider, db, &before.id, "canceled", asked).await?;
    let made = match representation {
        true => show::latest(provider, db, id).await?,
        false => {
            Made { status: 204, body: String::new(), content_type: "application/json".to_owned() }
        }
    };
    Ok(Outcome { made, keep: Keep::Object(id.to_owned()) })
}
