//! The idempotency layer: a key is executed once, and gives the same answer ever after.

use std::{
    collections::HashSet,
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use sqlx::{Row, SqliteConnection};

use super::{Act, Desk};
use crate::{
    answer,
    faults::Step,
    fresh,
    ledger::{Asked, Made},
    millis, now_ms, paypal,
    wire::{Refusal, Wire},
};

/// One execution, under a key where the wire lets one out.
pub struct Job {
    /// What is asked for.
    pub act: Act,
    /// The key.
    pub key: Option<String>,
    /// How long it is remembered.
    pub window: Duration,
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

/// What an execution made, and what its key gives from now on.
pub struct Outcome {
    /// The answer.
    pub made: Made,
    /// What is kept under the key.
    pub keep: Keep,
}

impl Outcome {
    /// The answer is kept as it is.
    pub fn answered(made: Made) -> Self {
        Self { made, keep: Keep::Answer }
    }
}

/// What a key gives from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The same answer, byte for byte.
    Answer,
    /// This object, as it is then.
    Object(String),
    /// Nothing: the key stays free.
    Nothing,
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
    desk: &'a Desk,
    key: &'a str,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.desk.running().remove(self.key);
    }
}

impl Desk {
    fn running(&self) -> MutexGuard<'_, HashSet<String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold<'a>(&'a self, key: &'a str) -> Option<Held<'a>> {
        // Lazily: a `Held` that nobody holds would free the key of another request.
        let free = self.running().insert(key.to_owned());
        free.then(|| Held { desk: self, key })
    }

    fn in_use(&self) -> Done {
        Done::nothing(self.wire.refusal(Refusal::KeyInUse))
    }

    /// Executes once per key: the same key gives the stored answer, other content is refused.
    pub async fn execute(&self, job: &Job) -> Done {
        let done = match &job.key {
            None => self.execute_once(job).await,
            Some(key) if self.running().contains(key) => return self.in_use(),
            Some(key) => self.stored_or_executed(job, key).await,
        };
        done.unwrap_or_else(|reason| Done::nothing(self.broken(&reason)))
    }

    async fn stored_or_executed(&self, job: &Job, key: &str) -> sqlx::Result<Done> {
        // A stored answer is given to any number of callers at once.
        let mut db = self.provider.db.acquire().await?;
        if let Some(done) = self.stored(&mut db, job).await? {
            return Ok(done);
        }
        drop(db);
        match self.hold(key) {
            Some(_held) => self.execute_once(job).await,
            None => Ok(self.in_use()),
        }
    }

    /// Executes after a while; the key counts as being executed from now on.
    pub fn execute_later(&self, job: Job) -> Done {
        let key = job.key.clone().unwrap_or_else(|| fresh("keyless"));
        if self.hold(&key).map(std::mem::forget).is_none() {
            return self.in_use();
        }
        let desk = self.clone();
        tokio::spawn(async move {
            let _held = Held { desk: &desk, key: &key };
            tokio::time::sleep(Duration::from_millis(job.step.execute_after_ms)).await;
            match desk.execute_once(&job).await {
                Ok(done) => desk.executed(job.seq, done.executed).await,
                Err(reason) => tracing::warn!(%reason, "a late execution did not happen"),
            }
        });
        Done::nothing(self.wire.refusal(Refusal::Later))
    }

    /// The name of a key in the database: each door has keys of its own.
    fn scoped(&self, key: &str) -> String {
        match self.wire {
            Wire::ExamplePay => key.to_owned(),
            Wire::Stripe | Wire::PayPal => format!("{} {key}", self.wire.name()),
        }
    }

    async fn stored(&self, db: &mut SqliteConnection, job: &Job) -> sqlx::Result<Option<Done>> {
        let Some(key) = &job.key else { return Ok(None) };
        let oldest = now_ms() - millis(job.window);
        let row = sqlx::query("select * from keys where idempotency_key = ? and created_at >= ?")
            .bind(self.scoped(key))
            .bind(oldest)
            .fetch_optional(&mut *db)
            .await?;
        let Some(row) = row else { return Ok(None) };
        if row.try_get::<String, _>("fingerprint")? != job.fingerprint {
            return Ok(Some(Done::nothing(self.wire.refusal(Refusal::KeyMismatch))));
        }
        if let Some(object) = row.try_get::<Option<String>, _>("object")? {
            let made = paypal::show::latest(&self.provider, db, &object).await?;
            return Ok(Some(Done { made, executed: false, replayed: true }));
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
        let key = job.key.as_deref().unwrap_or_default();
        let asked =
            Asked { key, request_id: &job.request_id, hook: &job.step.webhook, later: false };
        let Outcome { made, keep } = self.perform(&mut tx, &job.act, &asked).await?;
        let kept = if job.step.save { answer::replacement(&job.step.answer) } else { None };
        if let Some(key) = &job.key {
            match (&kept, &keep) {
                (Some(kept), _) => self.keep(&mut tx, job, key, (kept, None)).await?,
                (None, Keep::Answer) => self.keep(&mut tx, job, key, (&made, None)).await?,
                (None, Keep::Object(id)) => self.keep(&mut tx, job, key, (&made, Some(id))).await?,
                (None, Keep::Nothing) => {}
            }
        }
        tx.commit().await?;
        Ok(Done { made, executed: keep != Keep::Nothing, replayed: false })
    }

    async fn keep(
        &self,
        db: &mut SqliteConnection,
        job: &Job,
        key: &str,
        (kept, object): (&Made, Option<&String>),
    ) -> sqlx::Result<()> {
        sqlx::query(
            "insert or replace into keys (idempotency_key, fingerprint, status, body, content_type, created_at, object)
             values (?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(self.scoped(key))
        .bind(&job.fingerprint)
        .bind(i64::from(kept.status))
        .bind(&kept.body)
        .bind(&kept.content_type)
        .bind(now_ms())
        .bind(object)
        .execute(db)
        .await?;
        Ok(())
    }
}
