//! The idempotency layer: a key is executed once, and gives the same bytes ever after.

use std::{
    collections::HashSet,
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use sqlx::{Row, SqliteConnection};

use super::{Api, broken, read::Act};
use crate::{
    answer,
    faults::Step,
    ledger::{self, Asked, Made},
    millis, now_ms,
};

/// One execution under a key.
pub struct Job {
    /// What is asked for.
    pub act: Act,
    /// The key.
    pub key: String,
    /// Tells this request from another one with the same key.
    pub fingerprint: String,
    /// The merchant's reference, for lookups that are to miss it.
    pub reference: Option<String>,
    /// What the script wants.
    pub step: Step,
    /// Our id of the request.
    pub request_id: String,
    /// Its place in the request log.
    pub seq: i64,
}

/// What became of a request.
pub struct Done {
    /// The answer.
    pub made: Made,
    /// Whether this very request executed something.
    pub executed: bool,
    /// Whether the answer is one from before.
    pub replayed: bool,
}

impl Done {
    /// Answered without an execution.
    pub fn nothing(made: Made) -> Self {
        Self { made, executed: false, replayed: false }
    }
}

/// A key that is being executed; free again when this is dropped, however that comes.
struct Held<'a> {
    api: &'a Api,
    key: &'a str,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.api.running().remove(self.key);
    }
}

fn in_use() -> Done {
    Done::nothing(Made::error(409, "idempotency_key_in_use", "This key is being executed."))
}

impl Api {
    fn running(&self) -> MutexGuard<'_, HashSet<String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold<'a>(&'a self, key: &'a str) -> Option<Held<'a>> {
        // Lazily: a `Held` that nobody holds would free the key of another request.
        let free = self.running().insert(key.to_owned());
        free.then(|| Held { api: self, key })
    }

    /// Executes once per key: the same key gives the stored answer, other content is refused.
    pub async fn execute(&self, job: &Job) -> Done {
        if self.running().contains(&job.key) {
            return in_use();
        }
        self.stored_or_executed(job).await.unwrap_or_else(|reason| Done::nothing(broken(&reason)))
    }

    async fn stored_or_executed(&self, job: &Job) -> sqlx::Result<Done> {
        // A stored answer is given to any number of callers at once.
        let mut db = self.provider.db.acquire().await?;
        if let Some(done) = self.stored(&mut db, job).await? {
            return Ok(done);
        }
        drop(db);
        match self.hold(&job.key) {
            Some(_held) => self.execute_once(job).await,
            None => Ok(in_use()),
        }
    }

    /// Executes after a while; the key counts as being executed from now on.
    pub fn execute_later(&self, job: Job) -> Done {
        if self.hold(&job.key).map(std::mem::forget).is_none() {
            return in_use();
        }
        let api = self.clone();
        tokio::spawn(async move {
            let _held = Held { api: &api, key: &job.key };
            tokio::time::sleep(Duration::from_millis(job.step.execute_after_ms)).await;
            match api.execute_once(&job).await {
                Ok(done) => api.executed(job.seq, done.executed).await,
                Err(reason) => tracing::warn!(%reason, "a late execution did not happen"),
            }
        });
        Done::nothing(Made::error(504, "timeout", "It takes longer."))
    }

    async fn stored(&self, db: &mut SqliteConnection, job: &Job) -> sqlx::Result<Option<Done>> {
        let oldest = now_ms() - millis(self.provider.settings.key_window);
        let row = sqlx::query("select * from keys where idempotency_key = ? and created_at >= ?")
            .bind(&job.key)
            .bind(oldest)
            .fetch_optional(db)
            .await?;
        let Some(row) = row else { return Ok(None) };
        if row.try_get::<String, _>("fingerprint")? != job.fingerprint {
            let message = "This key was used for another request.";
            return Ok(Some(Done::nothing(Made::error(422, "idempotency_mismatch", message))));
        }
        let status: i64 = row.try_get("status")?;
        let made = Made {
            status: u16::try_from(status).unwrap_or(500),
            body: row.try_get("body")?,
            content_type: row.try_get("content_type")?,
        };
        Ok(Some(Done { made, executed: false, replayed: true }))
    }

    async fn execute_once(&self, job: &Job) -> sqlx::Result<Done> {
        let provider = &self.provider;
        let mut tx = provider.db.begin().await?;
        if let Some(done) = self.stored(&mut tx, job).await? {
            return Ok(done);
        }
        // Hidden before it is there, so that no lookup slips in between.
        if let Some(hide) = &job.step.lookup {
            let time = Duration::from_millis(hide.not_found_for_ms);
            provider.faults.hide(job.reference.as_deref().unwrap_or_default(), time);
        }
        let asked = Asked { key: &job.key, request_id: &job.request_id, hook: &job.step.webhook };
        let made = match &job.act {
            Act::Create(new) => ledger::create(provider, &mut tx, new, &asked).await?,
            Act::Cancel(id) => ledger::cancel(provider, &mut tx, id, &asked).await?,
            Act::Refund { of, reference, amount_minor, currency } => {
                let amount = (*amount_minor, currency.as_str());
                ledger::give_back(provider, &mut tx, of, reference, amount, &asked).await?
            }
        };
        let kept = if job.step.save { answer::replacement(&job.step.answer) } else { None };
        let kept = kept.as_ref().unwrap_or(&made);
        sqlx::query(
            "insert or replace into keys (idempotency_key, fingerprint, status, body, content_type, created_at)
             values (?, ?, ?, ?, ?, ?)",
        )
        .bind(&job.key)
        .bind(&job.fingerprint)
        .bind(i64::from(kept.status))
        .bind(&kept.body)
        .bind(&kept.content_type)
        .bind(now_ms())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(Done { made, executed: true, replayed: false })
    }
}
