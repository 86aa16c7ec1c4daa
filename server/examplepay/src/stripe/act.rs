//! What this wire can ask for, done within one transaction: object, effect, event.

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::{
    methods::{Method, method},
    read, show,
};
use crate::{
    Provider, fresh,
    ledger::{
        self, Asked, Back, GivenBack, Made,
        record::{self, Payment},
    },
    now_ms,
    wire::Wire,
};

/// What is asked for; its parameters were checked.
#[derive(Clone, Debug)]
pub enum Act {
    /// An intent, confirmed at once or not.
    Open(Box<NewIntent>),
    /// Confirm an intent.
    Confirm {
        /// Which one.
        id: String,
        /// With what; `None` is what it has already.
        method: Option<Method>,
        /// Where the shopper goes back to.
        return_url: Option<String>,
    },
    /// Take the money that is held for an intent.
    Capture {
        /// Which one.
        id: String,
        /// How much, in units of this wire; `None` is all of it.
        amount: Option<i64>,
    },
    /// Cancel an intent.
    Cancel {
        /// Which one.
        id: String,
        /// Why.
        reason: Option<String>,
    },
    /// Give money back.
    Refund {
        /// Of which intent, or charge.
        of: String,
        /// How much, in units of this wire; `None` is all that is left.
        amount: Option<i64>,
        /// Metadata and reason.
        extra: Value,
    },
}

/// An intent that is asked for.
#[derive(Clone, Debug)]
pub struct NewIntent {
    /// How much, in units of the ledger.
    pub amount_minor: i64,
    /// Of what.
    pub currency: String,
    /// Whether it is confirmed at once.
    pub confirm: bool,
    /// What it is paid with.
    pub method: Option<Method>,
    /// Where the shopper goes back to.
    pub return_url: Option<String>,
    /// What only this wire knows.
    pub extra: Value,
}

/// Does what is asked.
pub async fn perform(
    provider: &Provider,
    db: &mut SqliteConnection,
    act: &Act,
    asked: &Asked<'_>,
) -> sqlx::Result<Made> {
    Ok(match act {
        Act::Open(new) => open(provider, db, new, asked).await?,
        Act::Confirm { id, method, return_url } => {
            confirm(provider, db, id, method.as_ref(), return_url.as_deref(), asked).await?
        }
        Act::Capture { id, amount } => capture(provider, db, id, *amount, asked).await?,
        Act::Cancel { id, reason } => cancel(provider, db, id, reason.as_deref(), asked).await?,
        Act::Refund { of, amount, extra } => {
            refund(provider, db, of, *amount, extra, asked).await?
        }
    })
}

/// The intent with this id, or with this charge.
pub async fn find(db: &mut SqliteConnection, id: &str) -> sqlx::Result<Option<Payment>> {
    Ok(record::payment(db, id).await?.filter(|it| it.wire == Wire::Stripe))
}

async fn open(
    provider: &Provider,
    db: &mut SqliteConnection,
    new: &NewIntent,
    asked: &Asked<'_>,
) -> sqlx::Result<Made> {
    let (id, now) = (fresh("pi"), now_ms());
    let reference = new.extra["metadata"]["reference"].as_str().unwrap_or_default();
    sqlx::query(
        "insert into payments (id, wire, reference, amount_minor, currency, status, token, return_url,
             idempotency_key, request_id, extra, created_at, updated_at)
         values (?, 'stripe', ?, ?, ?, 'created', ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&id)
    .bind(reference)
    .bind(new.amount_minor)
    .bind(&new.currency)
    .bind(new.method.as_ref().map_or("", |it| it.token.as_str()))
    .bind(new.return_url.as_deref().unwrap_or_default())
    .bind(asked.key)
    .bind(asked.request_id)
    .bind(new.extra.to_string())
    .bind(now)
    .bind(now)
    .execute(&mut *db)
    .await?;
    ledger::announce(provider, db, Wire::Stripe, &id, asked).await?;
    if new.confirm {
        return confirm(provider, db, &id, new.method.as_ref(), None, asked).await;
    }
    let made = find(db, &id).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(Made::json(200, &show::intent(provider, &made)))
}

async fn confirm(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    given: Option<&Method>,
    return_url: Option<&str>,
    asked: &Asked<'_>,
) -> sqlx::Result<Made> {
    let Some(before) = find(db, id).await? else {
        return Ok(show::missing("intent", "payment_intent", id));
    };
    if !matches!(before.status.as_str(), "created" | "declined" | "requires_action") {
        return Ok(show::unexpected_state(provider, &before, "confirmed"));
    }
    // A declined method is not tried again unasked.
    let kept = before.extra["payment_method"].as_str().filter(|_| before.status != "declined");
    let Some(with) = given.cloned().or_else(|| kept.and_then(method)) else {
        return Ok(show::unexpected_state(provider, &before, "confirmed without a payment method"));
    };
    let now = now_ms();
    let fate = ledger::fate(provider, with.card, (before.amount_minor, &before.currency), now);
    let status = match fate.status {
        "succeeded" if before.held_first() => "authorized",
        status => status,
    };
    // The bank is asked only once the shopper has confirmed.
    let charge = (fate.status != "requires_action").then(|| fresh("ch"));
    let mut extra = before.extra.clone();
    extra["payment_method"] = json!(with.id);
    sqlx::query(
        "update payments set status = ?, decline_code = ?, amount_minor = ?, currency = ?, token = ?,
             return_url = ?, charge = ?, extra = ?, action_expires_at = ?, due_at = ?, due_status = ?,
             idempotency_key = ?, request_id = ?, updated_at = ? where id = ?",
    )
    .bind(status)
    .bind(fate.decline)
    .bind(fate.amount_minor)
    .bind(&fate.currency)
    .bind(&with.token)
    .bind(return_url.unwrap_or(&before.return_url))
    .bind(charge)
    .bind(extra.to_string())
    .bind(fate.expires)
    .bind(fate.due)
    .bind(fate.due_status)
    .bind(asked.key)
    .bind(asked.request_id)
    .bind(now)
    .bind(&before.id)
    .execute(&mut *db)
    .await?;
    if status == "succeeded" {
        let money = (fate.amount_minor, fate.currency.as_str());
        let what = ("charge", before.id.as_str(), None);
        ledger::effect(db, what, &before.reference, money, asked.key).await?;
    }
    ledger::announce(provider, db, Wire::Stripe, &before.id, asked).await?;
    let made = find(db, &before.id).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(match made.status.as_str() {
        "declined" => show::declined(provider, &made),
        _ => Made::json(200, &show::intent(provider, &made)),
    })
}

/// Takes what is held, or a part of it. The rest is let go: there is no second capture.
async fn capture(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    amount: Option<i64>,
    asked: &Asked<'_>,
) -> sqlx::Result<Made> {
    let Some(before) = find(db, id).await? else {
        return Ok(show::missing("intent", "payment_intent", id));
    };
    if before.status != "authorized" {
        return Ok(show::unexpected_state(provider, &before, "captured"));
    }
    let name = "amount_to_capture";
    let part = amount.map(|it| read::to_minor(name, it, &before.currency)).transpose();
    let taken = match part {
        Ok(part) => part.unwrap_or(before.amount_minor),
        Err(made) => return Ok(made),
    };
    if taken > before.amount_minor {
        let held = show::amount(before.amount_minor, &before.currency);
        let message = format!("The amount to capture is greater than what is held: {held}.");
        return Ok(show::invalid(name, "amount_too_large", &message));
    }
    let mut extra = before.extra.clone();
    extra["authorized_minor"] = json!(before.amount_minor);
    sqlx::query(
        "update payments set amount_minor = ?, extra = ?, idempotency_key = ?, request_id = ? where id = ?",
    )
    .bind(taken)
    .bind(extra.to_string())
    .bind(asked.key)
    .bind(asked.request_id)
    .bind(&before.id)
    .execute(&mut *db)
    .await?;
    ledger::turn(provider, db, &before.id, "succeeded", asked).await?;
    let made = find(db, &before.id).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(Made::json(200, &show::intent(provider, &made)))
}

async fn cancel(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    reason: Option<&str>,
    asked: &Asked<'_>,
) -> sqlx::Result<Made> {
    let Some(before) = find(db, id).await? else {
        return Ok(show::missing("intent", "payment_intent", id));
    };
    let open = ["created", "declined", "requires_action", "authorized"];
    if !open.contains(&before.status.as_str()) {
        return Ok(show::unexpected_state(provider, &before, "canceled"));
    }
    let mut extra = before.extra.clone();
    extra["cancellation_reason"] = json!(reason);
    sqlx::query("update payments set extra = ? where id = ?")
        .bind(extra.to_string())
        .bind(&before.id)
        .execute(&mut *db)
        .await?;
    ledger::turn(provider, db, &before.id, "canceled", asked).await?;
    let made = find(db, &before.id).await?.ok_or(sqlx::Error::RowNotFound)?;
    Ok(Made::json(200, &show::intent(provider, &made)))
}

async fn refund(
    provider: &Provider,
    db: &mut SqliteConnection,
    of: &str,
    amount: Option<i64>,
    extra: &Value,
    asked: &Asked<'_>,
) -> sqlx::Result<Made> {
    let Some(paid) = find(db, of).await? else {
        return Ok(show::missing("payment_intent", "payment_intent", of));
    };
    let amount_minor =
        match amount.map(|it| read::to_minor("amount", it, &paid.currency)).transpose() {
            Ok(amount) => amount,
            Err(made) => return Ok(made),
        };
    let back = Back {
        reference: extra["metadata"]["reference"].as_str().unwrap_or_default(),
        amount_minor,
        currency: None,
        extra,
    };
    let request = "invalid_request_error";
    Ok(match ledger::give_back(provider, db, &paid.id, &back, asked).await? {
        GivenBack::Refund(id) => {
            let made = record::refund(db, &id).await?.ok_or(sqlx::Error::RowNotFound)?;
            Made::json(200, &show::refund(&made, paid.charge.as_deref()))
        }
        GivenBack::Exceeds { left_minor: ..=0 } => {
            let message = "This charge has been refunded already.";
            show::error(400, request, Some("charge_already_refunded"), message)
        }
        GivenBack::Exceeds { left_minor } => {
            let left = show::amount(left_minor, &paid.currency);
            let message = format!("The refund is greater than what is left of the charge: {left}.");
            let mut made = show::error(400, request, None, &message);
            if let Ok(mut body) = serde_json::from_str::<Value>(&made.body) {
                body["error"]["param"] = json!("amount");
                made.body = body.to_string();
            }
            made
        }
        GivenBack::NotRefundable if paid.status == "reversed" => {
            show::error(400, request, Some("charge_disputed"), "The charge was charged back.")
        }
        GivenBack::NoPayment | GivenBack::NotRefundable => {
            let message = "This PaymentIntent has no successful charge to refund.";
            show::error(400, request, None, message)
        }
    })
}
