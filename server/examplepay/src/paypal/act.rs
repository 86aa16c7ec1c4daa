//! What this wire can ask for, done within one transaction: object, effect, event.

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::show::{self, issue};
use crate::{
    Provider,
    desk::{Keep, Outcome},
    ledger::{
        self, Asked, Back, GivenBack, Made,
        record::{self, Payment},
    },
    now_ms,
    tokens::{self, Card},
    wire::Wire,
};

/// What is asked for; its parameters were checked.
#[derive(Clone, Debug)]
pub enum Act {
    /// An order, for a payer to approve.
    Create(Box<NewOrder>),
    /// Take the money of an approved order.
    Capture(String),
    /// Give money back.
    Refund {
        /// Of which capture.
        capture: String,
        /// How much; `None` is all that is left.
        amount: Option<(i64, String)>,
        /// Whether only the least is told of it.
        least: bool,
        /// What only this wire knows.
        extra: Value,
    },
}

/// An order that is asked for.
#[derive(Clone, Debug)]
pub struct NewOrder {
    /// How much, in units of the ledger.
    pub amount_minor: i64,
    /// Of what.
    pub currency: String,
    /// The merchant's reference.
    pub reference: String,
    /// Where the payer goes back to.
    pub return_url: String,
    /// Whether the whole of it is told.
    pub representation: bool,
    /// What only this wire knows.
    pub extra: Value,
}

/// A payer's instrument that the payer's own bank refuses: the capture exists, and is declined.
pub const REFUSED: &str = "capture_declined";

/// Does what is asked.
pub async fn perform(
    provider: &Provider,
    db: &mut SqliteConnection,
    act: &Act,
    asked: &Asked<'_>,
) -> sqlx::Result<Outcome> {
    match act {
        Act::Create(new) => create(provider, db, new, asked).await,
        Act::Capture(id) => capture(provider, db, id, asked).await,
        Act::Refund { capture, amount, least, extra } => {
            let back = Back {
                reference: extra["custom_id"].as_str().unwrap_or_default(),
                amount_minor: amount.as_ref().map(|it| it.0),
                currency: amount.as_ref().map(|it| it.1.as_str()),
                extra,
            };
            refund(provider, db, capture, &back, *least, asked).await
        }
    }
}

/// Nothing came of it; its request id stays free.
fn nothing(made: Made) -> Outcome {
    Outcome { made, keep: Keep::Nothing }
}

/// The order with this id.
pub async fn order(db: &mut SqliteConnection, id: &str) -> sqlx::Result<Option<Payment>> {
    let found = record::payment(db, id).await?;
    Ok(found.filter(|it| it.wire == Wire::PayPal && it.id == id))
}

/// The payment with this capture.
pub async fn captured(db: &mut SqliteConnection, id: &str) -> sqlx::Result<Option<Payment>> {
    let found = record::payment(db, id).await?;
    Ok(found.filter(|it| it.wire == Wire::PayPal && it.charge.as_deref() == Some(id)))
}

async fn create(
    provider: &Provider,
    db: &mut SqliteConnection,
    new: &NewOrder,
    asked: &Asked<'_>,
) -> sqlx::Result<Outcome> {
    let (id, now) = (super::fresh_id(), now_ms());
    sqlx::query(
        "insert into payments (id, wire, reference, amount_minor, currency, status, token, return_url,
             idempotency_key, request_id, extra, action_expires_at, created_at, updated_at)
         values (?, 'paypal', ?, ?, ?, 'created', '', ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&id)
    .bind(&new.reference)
    .bind(new.amount_minor)
    .bind(&new.currency)
    .bind(&new.return_url)
    .bind(asked.key)
    .bind(asked.request_id)
    .bind(new.extra.to_string())
    .bind(now + crate::millis(provider.settings.action))
    .bind(now)
    .bind(now)
    .execute(&mut *db)
    .await?;
    let made = order(db, &id).await?.ok_or(sqlx::Error::RowNotFound)?;
    let shown = match new.representation {
        true => show::order(provider, db, &made).await?,
        false => show::minimal(provider, &made),
    };
    // An order that names its payment source is answered 200: it waits for its payer already.
    let status = if new.extra["flow"] == "payment_source" { 200 } else { 201 };
    Ok(Outcome { made: Made::json(status, &shown), keep: Keep::Object(id) })
}

async fn capture(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    asked: &Asked<'_>,
) -> sqlx::Result<Outcome> {
    let Some(before) = order(db, id).await? else {
        return Ok(nothing(issue(404, "INVALID_RESOURCE_ID", None)));
    };
    match before.status.as_str() {
        "approved" => {}
        "created" | "canceled" => return Ok(nothing(issue(422, "ORDER_NOT_APPROVED", None))),
        _ => return Ok(nothing(issue(422, "ORDER_ALREADY_CAPTURED", None))),
    }
    if invoiced(db, &before).await? {
        return Ok(nothing(issue(422, "DUPLICATE_INVOICE_ID", None)));
    }
    if before.token == "tok_declined" {
        // The payer may choose another instrument: the order waits for that.
        ledger::turn(provider, db, id, "created", asked).await?;
        return Ok(Outcome::answered(declined(provider, id)));
    }
    let card = match before.token.as_str() {
        REFUSED => Card::Declined("generic_decline"),
        token => tokens::card(token).unwrap_or(Card::Succeeds),
    };
    let now = now_ms();
    let fate = ledger::fate(provider, card, (before.amount_minor, &before.currency), now);
    sqlx::query(
        "update payments set status = ?, decline_code = ?, charge = ?, due_at = ?, due_status = ?,
             idempotency_key = ?, request_id = ?, updated_at = ? where id = ?",
    )
    .bind(fate.status)
    .bind(fate.decline)
    .bind(super::fresh_id())
    .bind(fate.due)
    .bind(fate.due_status)
    .bind(asked.key)
    .bind(asked.request_id)
    .bind(now)
    .bind(id)
    .execute(&mut *db)
    .await?;
    if fate.status == "succeeded" {
        let money = (before.amount_minor, before.currency.as_str());
        ledger::effect(db, ("charge", id, None), &before.reference, money, asked.key).await?;
    }
    ledger::announce(provider, db, Wire::PayPal, id, asked).await?;
    let made = order(db, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    let shown = show::order(provider, db, &made).await?;
    Ok(Outcome { made: Made::json(201, &shown), keep: Keep::Object(id.to_owned()) })
}

/// Whether another payment was taken under the same invoice.
async fn invoiced(db: &mut SqliteConnection, of: &Payment) -> sqlx::Result<bool> {
    let others: i64 = sqlx::query_scalar(
        "select count(*) from payments where wire = 'paypal' and id <> ?
         and json_extract(extra, '$.invoice_id') = ? and status in ('succeeded', 'processing', 'reversed')",
    )
    .bind(&of.id)
    .bind(of.extra["invoice_id"].as_str())
    .fetch_one(db)
    .await?;
    Ok(others > 0)
}

fn declined(provider: &Provider, id: &str) -> Made {
    let mut made = issue(422, "INSTRUMENT_DECLINED", None);
    if let Ok(mut body) = serde_json::from_str::<Value>(&made.body) {
        let page = provider.page(Wire::PayPal, id);
        body["links"] = json!([{"href": page, "rel": "redirect", "method": "GET"}]);
        made.body = body.to_string();
    }
    made
}

async fn refund(
    provider: &Provider,
    db: &mut SqliteConnection,
    capture: &str,
    back: &Back<'_>,
    least: bool,
    asked: &Asked<'_>,
) -> sqlx::Result<Outcome> {
    let Some(paid) = captured(db, capture).await? else {
        return Ok(nothing(issue(404, "INVALID_RESOURCE_ID", None)));
    };
    let given = match back.currency {
        Some(currency) if currency != paid.currency => {
            return Ok(nothing(issue(422, "REFUND_CAPTURE_CURRENCY_MISMATCH", None)));
        }
        _ => ledger::give_back(provider, db, &paid.id, back, asked).await?,
    };
    Ok(match given {
        GivenBack::Refund(id) => {
            let made = record::refund(db, &id).await?.ok_or(sqlx::Error::RowNotFound)?;
            let mut shown = show::show_refund(provider, &made, &paid);
            if least {
                shown =
                    json!({"id": shown["id"], "status": shown["status"], "links": shown["links"]});
            }
            Outcome { made: Made::json(201, &shown), keep: Keep::Object(id) }
        }
        GivenBack::Exceeds { left_minor: ..=0 } => {
            nothing(issue(422, "CAPTURE_FULLY_REFUNDED", None))
        }
        GivenBack::Exceeds { .. } => nothing(issue(422, "REFUND_AMOUNT_EXCEEDED", None)),
        GivenBack::NotRefundable if paid.status == "processing" => {
            nothing(issue(422, "PENDING_CAPTURE", None))
        }
        GivenBack::NotRefundable if paid.status == "reversed" => {
            nothing(issue(422, "REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK", None))
        }
        GivenBack::NoPayment | GivenBack::NotRefundable => {
            nothing(issue(422, "REFUND_NOT_ALLOWED", None))
        }
    })
}
