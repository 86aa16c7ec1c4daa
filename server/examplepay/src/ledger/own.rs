//! What only the own wire asks for: payments that are executed at once, and their end.

use serde_json::json;
use sqlx::SqliteConnection;

use super::{Asked, Fate, Made, NewPayment, effect, fate, payment, turn};
use crate::{Provider, fresh, now_ms, tokens::Card, webhooks};

/// Executes a payment: object, effect, event.
pub async fn create(
    provider: &Provider,
    db: &mut SqliteConnection,
    new: &NewPayment,
    asked: &Asked<'_>,
) -> sqlx::Result<Made> {
    let now = now_ms();
    let id = fresh("pay");
    let Fate { status, decline, amount_minor: amount, currency, due, due_status, expires } =
        fate(provider, new.card, (new.amount_minor, &new.currency), now);
    sqlx::query(
        "insert into payments (id, reference, amount_minor, currency, status, decline_code, token, return_url,
             idempotency_key, request_id, action_expires_at, hosted, due_at, due_status, created_at, updated_at)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&id)
    .bind(&new.reference)
    .bind(amount)
    .bind(&currency)
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
        effect(db, ("charge", &id, None), &new.reference, (amount, &currency), asked.key).await?;
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
            turn(provider, db, id, "canceled", asked).await?;
            Ok(Made::json(200, &payment(provider, db, id).await?.unwrap_or_default()))
        }
    }
}
