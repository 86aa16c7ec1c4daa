//! The partners' part of the request log.

use axum::{body::Bytes, http::HeaderMap};
use sha2::{Digest, Sha256};

use super::DOOR;
use crate::{Provider, now_ms, tokens, wire::kept_headers};

/// One request, as the log keeps it.
pub struct Entry<'a> {
    /// The method.
    pub method: &'static str,
    /// The path.
    pub path: &'a str,
    /// The invoice's number, or the shipment's reference.
    pub reference: Option<&'a str>,
    /// The body.
    pub body: Option<&'a Bytes>,
    /// What it was sent with.
    pub headers: &'a HeaderMap,
    /// Our id of it.
    pub request_id: &'a str,
}

/// Notes a request; its place in the log.
pub async fn note(provider: &Provider, entry: &Entry<'_>) -> i64 {
    let body = entry.body.map(|it| tokens::without_card_numbers(&String::from_utf8_lossy(it)));
    let seq = sqlx::query_scalar(
        "insert into requests (at_ms, door, method, path, reference, body_sha256, request_id, body, request_headers)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning seq",
    )
    .bind(now_ms())
    .bind(DOOR)
    .bind(entry.method)
    .bind(entry.path)
    .bind(entry.reference)
    .bind(entry.body.map(|it| hex::encode(Sha256::digest(it))))
    .bind(entry.request_id)
    .bind(body)
    .bind(kept_headers(entry.headers))
    .fetch_one(&provider.db)
    .await;
    seq.unwrap_or(0)
}

/// Notes how a request was answered; one that was executed meanwhile stays so.
pub async fn answered(provider: &Provider, seq: i64, executed: bool, answered: &str) {
    let kept =
        sqlx::query("update requests set executed = max(executed, ?), answered = ? where seq = ?")
            .bind(executed)
            .bind(answered)
            .bind(seq)
            .execute(&provider.db)
            .await;
    if let Err(reason) = kept {
        tracing::warn!(%reason, "the request log missed an answer");
    }
}

/// Notes that a request was executed after it had been answered.
pub async fn executed(provider: &Provider, seq: i64) {
    let kept = sqlx::query("update requests set executed = 1 where seq = ?")
        .bind(seq)
        .execute(&provider.db)
        .await;
    if let Err(reason) = kept {
        tracing::warn!(%reason, "the request log missed an execution");
    }
}
