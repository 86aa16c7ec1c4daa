//! The request log: what came to which door, and how it was answered. The control API shows it.

use std::time::Duration;

use axum::{body::Bytes, http::HeaderMap};
use sha2::{Digest, Sha256};

use super::{Desk, Wire, kept_headers};
use crate::{now_ms, tokens};

/// One request, as the log keeps it.
pub struct Entry<'a> {
    /// The method.
    pub method: &'static str,
    /// The path.
    pub path: &'a str,
    /// What was searched for.
    pub query: Option<&'a str>,
    /// The key.
    pub key: Option<&'a str>,
    /// The merchant's reference.
    pub reference: Option<&'a str>,
    /// The body.
    pub body: Option<&'a Bytes>,
    /// What it was sent with.
    pub headers: &'a HeaderMap,
    /// Our id of it.
    pub request_id: &'a str,
}

impl<'a> Entry<'a> {
    /// A POST of which nothing more is known yet.
    pub fn new(headers: &'a HeaderMap, request_id: &'a str) -> Self {
        Self {
            method: "POST",
            path: "",
            query: None,
            key: None,
            reference: None,
            body: None,
            headers,
            request_id,
        }
    }
}

impl Desk {
    /// Notes a request; its place in the log.
    pub async fn log(&self, entry: &Entry<'_>) -> i64 {
        // The own wire's log is as it always was; adapters of the others are checked field by field.
        let whole = self.wire != Wire::ExamplePay;
        let body = entry.body.filter(|_| whole).map(|it| String::from_utf8_lossy(it));
        let seq = sqlx::query_scalar(
            "insert into requests (at_ms, door, method, path, query, key, reference, body_sha256, request_id,
                 body, request_headers)
             values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning seq",
        )
        .bind(now_ms())
        .bind(self.wire.name())
        .bind(entry.method)
        .bind(entry.path)
        .bind(entry.query)
        .bind(entry.key)
        .bind(entry.reference)
        .bind(entry.body.map(|it| hex::encode(Sha256::digest(it))))
        .bind(entry.request_id)
        .bind(body.map(|it| tokens::without_card_numbers(&it)))
        .bind(whole.then(|| kept_headers(entry.headers)))
        .fetch_one(&self.provider.db)
        .await;
        seq.unwrap_or(0)
    }

    /// Notes that a request was executed after it had been answered.
    pub async fn executed(&self, seq: i64, executed: bool) {
        let kept = sqlx::query("update requests set executed = ? where seq = ?")
            .bind(executed)
            .bind(seq)
            .execute(&self.provider.db)
            .await;
        if let Err(reason) = kept {
            tracing::warn!(%reason, "the request log missed an execution");
        }
    }

    /// Notes how a request was answered.
    pub async fn answered(&self, seq: i64, executed: bool, answered: &str) {
        let kept = sqlx::query("update requests set executed = ?, answered = ? where seq = ?")
            .bind(executed)
            .bind(answered)
            .bind(seq)
            .execute(&self.provider.db)
            .await;
        if let Err(reason) = kept {
            tracing::warn!(%reason, "the request log missed an answer");
        }
    }

    /// Waits until the event of this request was answered, within a bound.
    pub async fn wait_for_delivery(&self, key: Option<&str>) {
        self.provider.wake.notify_one();
        for _ in 0..200 {
            let open: Result<i64, _> = sqlx::query_scalar(
                "select count(*) from deliveries join events on events.id = event
                 where events.idempotency_key = ? and done_at is null and due_at is not null and tries = 0",
            )
            .bind(key.unwrap_or_default())
            .fetch_one(&self.provider.db)
            .await;
            if open.is_ok_and(|open| open == 0) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
