//! What this wire can ask for, done within one transaction: object, effect, event.

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::{
    authorization::{self, Ask},
    show::{self, issue},
};
use crate::{
    Provider,
    desk::{Keep, Outcome},
    ledger::{
        self, Asked, Back, Fate, GivenBack, Made,
        record::{self, Payment},
    },
    now_ms,
    tokens::{self, Card},
    webhooks,
    wire::Wire,
};

/// What is asked for; its parameters were checked.
#[derive(Clone, Debug)]
pub enum Act {
    /// An order, for a payer to approve.
    Create(Box<NewOrder>),
    /// Let the payer of this order come to us.
    Confirm(String, Box<Confirm>),
    /// Take the money of an approved order.
    Capture(String),
    /// Hold the money of an approved order.
    Authorize(String),
    /// Whatever can be asked of the authorization with this id.
    OfAuthorization(String, Ask),
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
    /// Deliver an event again.
    Resend {
        /// Which one.
        event: String,
        /// To which webhooks; none is all.
        webhooks: Vec<String>,
    },
}

/// How an order's payer comes to us and goes back.
#[derive(Clone, Debug)]
pub struct Confirm {
    /// Where to, with an approval.
    pub return_url: String,
    /// Where to, without one.
    pub cancel_url: String,
    /// Whether the whole order is told.
    pub representation: bool,
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
        Act::Confirm(id, how) => confirm(provider, db, id, how).await,
        Act::Capture(id) => capture(provider, db, id, asked).await,
        Act::Authorize(id) => authorization::authorize(provider, db, id, asked).await,
        Act::OfAuthorization(id, what) => authorization::ask(provider, db, id, what, asked).await,
        Act::Refund { capture, amount, least, extra } => {
            let back = Back {
                reference: extra["custom_id"].as_str().unwrap_or_default(),
                amount_minor: amount.as_ref().map(|it| it.0),
                currency: amount.as_ref().map(|it| it.1.as_str()),
                extra,
            };
            refund(provider, db, capture, &back, *least, asked).await
        }
        Act::Resend { event, webhooks } => resend(provider, db, event, webhooks).await,
    }
}

/// Nothing came of it; its request id stays free.
pub fn nothing(made: Made) -> Outcome {
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
    let its = |it: &Payment| it.charge.as_deref() == Some(id) && show::has_capture(it);
    Ok(found.filter(|it| it.wire == Wire::PayPal && its(it)))
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

/// Leads the payer of an order to us, who was to come without a payment source.
async fn confirm(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    how: &Confirm,
) -> sqlx::Result<Outcome> {
    let Some(before) = order(db, id).await? else {
        return Ok(nothing(issue(404, "INVALID_RESOURCE_ID", None)));
    };
    let refused = match show::status(&before) {
        "CREATED" => None,
        "PAYER_ACTION_REQUIRED" => Some("ORDER_IS_PENDING_APPROVAL"),
        "APPROVED" => Some("PAYMENT_ALREADY_APPROVED"),
        "COMPLETED" => Some(done_already(&before)),
        _ => Some("ORDER_CANNOT_BE_CONFIRMED"),
    };
    if let Some(refused) = refused {
        return Ok(nothing(issue(422, refused, None)));
    }
    let mut extra = before.extra;
    extra["flow"] = json!("payment_source");
    extra["cancel_url"] = json!(how.cancel_url);
    sqlx::query("update payments set return_url = ?, extra = ?, updated_at = ? where id = ?")
        .bind(&how.return_url)
        .bind(extra.to_string())
        .bind(now_ms())
        .bind(id)
        .execute(&mut *db)
        .await?;
    let made = order(db, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    let shown = match how.representation {
        true => show::order(provider, db, &made).await?,
        false => show::minimal(provider, &made),
    };
    Ok(Outcome { made: Made::json(200, &shown), keep: Keep::Object(id.to_owned()) })
}

/// How a second capture, or authorization, of an order is refused.
fn done_already(it: &Payment) -> &'static str {
    match show::intent(it) {
        "AUTHORIZE" => "ORDER_ALREADY_AUTHORIZED",
        _ => "ORDER_ALREADY_CAPTURED",
    }
}

/// The order whose money can be taken or held now, as its intent is; or what is answered instead.
pub async fn approved(
    provider: &Provider,
    db: &mut SqliteConnection,
    (id, intent): (&str, &str),
    asked: &Asked<'_>,
) -> sqlx::Result<Result<Payment, Outcome>> {
    let refused = |what| Ok(Err(nothing(issue(422, what, None))));
    let Some(before) = order(db, id).await? else {
        return Ok(Err(nothing(issue(404, "INVALID_RESOURCE_ID", None))));
    };
    if show::intent(&before) != intent {
        return refused("ACTION_DOES_NOT_MATCH_INTENT");
    }
    match show::status(&before) {
        "APPROVED" => {}
        "COMPLETED" => return refused(done_already(&before)),
        _ => return refused("ORDER_NOT_APPROVED"),
    }
    if invoiced(db, id, before.extra["invoice_id"].as_str()).await? {
        return refused("DUPLICATE_INVOICE_ID");
    }
    if before.token == "tok_declined" {
        // The payer may choose another instrument: the order waits for that.
        ledger::turn(provider, db, id, "created", asked).await?;
        return Ok(Err(Outcome::answered(declined(provider, id))));
    }
    Ok(Ok(before))
}

/// What the payer's instrument makes of an order.
pub fn fate(provider: &Provider, of: &Payment, now: i64) -> Fate {
    let card = match of.token.as_str() {
        REFUSED => Card::Declined("generic_decline"),
        token => tokens::card(token).unwrap_or(Card::Succeeds),
    };
    ledger::fate(provider, card, (of.amount_minor, &of.currency), now)
}

async fn capture(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    asked: &Asked<'_>,
) -> sqlx::Result<Outcome> {
    let before = match approved(provider, db, (id, "CAPTURE"), asked).await? {
        Ok(before) => before,
        Err(instead) => return Ok(instead),
    };
    let now = now_ms();
    let fate = fate(provider, &before, now);
    sqlx::query(
        "update payments set status = ?, decline_code = ?, amount_minor = ?, currency = ?, charge = ?,
             due_at = ?, due_status = ?, idempotency_key = ?, request_id = ?, updated_at = ? where id = ?",
    )
    .bind(fate.status)
    .bind(fate.decline)
    .bind(fate.amount_minor)
    .bind(&fate.currency)
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
        let money = (fate.amount_minor, fate.currency.as_str());
        ledger::effect(db, ("charge", id, None), &before.reference, money, asked.key).await?;
    }
    ledger::announce(provider, db, Wire::PayPal, id, asked).await?;
    let made = order(db, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    let shown = show::order(provider, db, &made).await?;
    Ok(Outcome { made: Made::json(201, &shown), keep: Keep::Object(id.to_owned()) })
}

/// Whether another payment was taken under the same invoice.
pub async fn invoiced(
    db: &mut SqliteConnection,
    id: &str,
    invoice: Option<&str>,
) -> sqlx::Result<bool> {
    let others: i64 = sqlx::query_scalar(
        "select count(*) from payments where wire = 'paypal' and id <> ? and charge is not null
         and json_extract(extra, '$.invoice_id') = ? and status in ('succeeded', 'processing', 'reversed')",
    )
    .bind(id)
    .bind(invoice)
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
                shown = show::least(&shown);
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

/// Delivers an event again: the same one, sent anew.
async fn resend(
    provider: &Provider,
    db: &mut SqliteConnection,
    event: &str,
    webhooks: &[String],
) -> sqlx::Result<Outcome> {
    let unknown = webhooks.iter().any(|it| *it != provider.settings.paypal_webhook_id);
    if unknown {
        return Ok(nothing(issue(404, "INVALID_RESOURCE_ID", Some("/webhook_ids"))));
    }
    Ok(match webhooks::again(provider, db, Wire::PayPal, event).await? {
        Some(body) => Outcome::answered(Made {
            status: 202,
            body,
            content_type: "application/json".to_owned(),
        }),
        None => nothing(issue(404, "INVALID_RESOURCE_ID", None)),
    })
}
