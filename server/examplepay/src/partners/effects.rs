//! The partners' ledger: what they really did, whatever anybody was told.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Query, State},
    http::StatusCode,
};
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use crate::{Provider, now_ms};

/// What happened.
pub struct Effect<'a> {
    /// `invoice` or `shipment`.
    pub kind: &'a str,
    /// The shop's reference.
    pub reference: &'a str,
    /// The partner's id.
    pub id: &'a str,
    /// The invoice's number.
    pub number: Option<&'a str>,
    /// How much and of what; a parcel has no amount.
    pub amount: Option<(i64, &'a str)>,
}

/// Writes it into the ledger.
pub async fn effect(db: &mut SqliteConnection, effect: Effect<'_>) -> sqlx::Result<()> {
    sqlx::query(
        "insert into partner_effects (kind, reference, id, number, amount_minor, currency, at)
         values (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(effect.kind)
    .bind(effect.reference)
    .bind(effect.id)
    .bind(effect.number)
    .bind(effect.amount.map(|(minor, _)| minor))
    .bind(effect.amount.map(|(_, currency)| currency))
    .bind(now_ms())
    .execute(db)
    .await?;
    Ok(())
}

/// What to look for.
#[derive(Deserialize)]
pub struct Find {
    reference: Option<String>,
    reference_prefix: Option<String>,
}

/// All of it, or what begins or goes by a reference.
pub async fn show(
    State(provider): State<Arc<Provider>>,
    Query(find): Query<Find>,
) -> Result<Json<Value>, (StatusCode, String)> {
    let rows = sqlx::query(
        "select * from partner_effects where (?1 is null or reference = ?1)
         and (?2 is null or substr(reference, 1, length(?2)) = ?2) order by seq",
    )
    .bind(&find.reference)
    .bind(&find.reference_prefix)
    .fetch_all(&provider.db)
    .await;
    rows.and_then(|rows| rows.iter().map(row_json).collect::<sqlx::Result<Vec<Value>>>())
        .map(|effects| Json(json!({"effects": effects})))
        .map_err(|reason| (StatusCode::INTERNAL_SERVER_ERROR, reason.to_string()))
}

fn row_json(row: &SqliteRow) -> sqlx::Result<Value> {
    Ok(json!({
        "seq": row.try_get::<i64, _>("seq")?,
        "kind": row.try_get::<String, _>("kind")?,
        "reference": row.try_get::<String, _>("reference")?,
        "id": row.try_get::<String, _>("id")?,
        "number": row.try_get::<Option<String>, _>("number")?,
        "amount_minor": row.try_get::<Option<i64>, _>("amount_minor")?,
        "currency": row.try_get::<Option<String>, _>("currency")?,
        "at": row.try_get::<i64, _>("at")?,
    }))
}
