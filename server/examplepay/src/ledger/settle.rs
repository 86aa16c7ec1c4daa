//! What takes a while: payments in processing, refunds that turn later.

use std::{sync::Arc, time::Duration};

use sqlx::{Row, SqliteConnection};
use tokio_util::sync::CancellationToken;

use super::{Asked, announce_refund, effect, record::Refund, turn};
use crate::{Provider, faults::Hook, now_ms};

/// Finishes what takes a while: until told to stop.
pub async fn settle(provider: Arc<Provider>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        if let Err(reason) = settle_due(&provider).await {
            tracing::warn!(%reason, "what is due was not settled; it is tried again");
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
    }
}

async fn settle_due(provider: &Provider) -> sqlx::Result<()> {
    let mut tx = provider.db.begin().await?;
    settle_payments(provider, &mut tx).await?;
    settle_refunds(provider, &mut tx).await?;
    tx.commit().await
}

async fn settle_payments(provider: &Provider, db: &mut SqliteConnection) -> sqlx::Result<()> {
    let hook = Hook::default();
    let payments = sqlx::query(
        "select id, due_status, idempotency_key, request_id from payments
         where due_at <= ? and status = 'processing'",
    )
    .bind(now_ms())
    .fetch_all(&mut *db)
    .await?;
    for row in payments {
        let (id, status): (String, String) = (row.try_get("id")?, row.try_get("due_status")?);
        let (key, request_id): (String, String) =
            (row.try_get("idempotency_key")?, row.try_get("request_id")?);
        let asked = Asked { key: &key, request_id: &request_id, hook: &hook, later: true };
        turn(provider, db, &id, &status, &asked).await?;
    }
    Ok(())
}

async fn settle_refunds(provider: &Provider, db: &mut SqliteConnection) -> sqlx::Result<()> {
    let (hook, now) = (Hook::default(), now_ms());
    let refunds = sqlx::query("select * from refunds where due_at <= ?")
        .bind(now)
        .fetch_all(&mut *db)
        .await?;
    for row in refunds {
        let (id, status, before): (String, String, String) =
            (row.try_get("id")?, row.try_get("due_status")?, row.try_get("status")?);
        let (of, reference, currency): (String, String, String) =
            (row.try_get("payment")?, row.try_get("reference")?, row.try_get("currency")?);
        let (key, request_id): (String, String) =
            (row.try_get("idempotency_key")?, row.try_get("request_id")?);
        let amount: i64 = row.try_get("amount_minor")?;
        let wire = Refund::try_from(&row)?.wire;
        sqlx::query(
            "update refunds set status = ?, failure_code = ?, due_at = null, updated_at = ? where id = ?",
        )
        .bind(&status)
        .bind((status == "failed").then_some("account_closed"))
        .bind(now)
        .bind(&id)
        .execute(&mut *db)
        .await?;
        let effected = match (before.as_str(), status.as_str()) {
            ("pending", "succeeded") => Some(("refund", -amount)),
            ("succeeded", "failed") => Some(("refund_reversal", amount)),
            _ => None,
        };
        if let Some((kind, signed)) = effected {
            effect(db, (kind, &of, Some(&id)), &reference, (signed, &currency), &key).await?;
        }
        let asked = Asked { key: &key, request_id: &request_id, hook: &hook, later: true };
        announce_refund(provider, db, wire, &id, &asked).await?;
    }
    Ok(())
}
