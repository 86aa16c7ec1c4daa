//! The embedded database: one writer, a few readers, every commit on disk before it is believed.

mod inbox;
mod mails;
mod operations;
mod rows;
mod shop;

use std::{path::Path, time::Duration};

use async_trait::async_trait;
use domain::{
    catalogue::Shortage,
    id::{AttemptId, CartId, CheckoutId, CustomerId, OperationId, OrderId},
    operation::{Anomaly, State},
    schedule::Timestamp,
};
use sqlx::{
    Sqlite, SqlitePool, Transaction,
    migrate::Migrator,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use uuid::Uuid;

use super::{
    Attempt, AttemptEnd, Cart, EventState, Mail, Named, Operation, Order, OrderLine, RefundAsk,
    Sent, Step, Store, StoreError, Stored, StoredEvent, Transition, Work,
};

/// The migrations, in the program itself.
static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite");

/// Versions before this one could lose committed writes: the WAL-reset defect of 3.7.0 to 3.51.2.
const OLDEST_SAFE_VERSION: (u32, u32, u32) = (3, 51, 3);

/// Why the database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be opened, made or written.
    #[error("the database {path} cannot be opened for writing: check the folder and its rights")]
    Unwritable {
        /// The configured path.
        path: String,
        /// What the system said.
        source: sqlx::Error,
    },
    /// The linked SQLite has a known defect.
    #[error("SQLite {0} can lose committed writes; 3.51.3 or newer is needed")]
    Unsafe(String),
    /// The tables could not be brought up to date.
    #[error("the database could not be migrated")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// It answered something unexpected.
    #[error("the database did not answer")]
    Database(#[from] sqlx::Error),
}

/// The SQLite store.
pub struct SqliteStore {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl SqliteStore {
    /// Opens the file, makes it if it is missing, and migrates it.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open(path: &Path) -> Result<Self, OpenError> {
        let unwritable = |source: sqlx::Error| OpenError::Unwritable {
            path: path.display().to_string(),
            source,
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|reason| unwritable(sqlx::Error::Io(reason)))?;
        }
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(10));
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_secs(10))
            .connect_with(options.clone())
            .await
            .map_err(unwritable)?;
        let version: String =
            sqlx::query_scalar("select sqlite_version()").fetch_one(&writer).await?;
        if !is_safe(&version) {
            return Err(OpenError::Unsafe(version));
        }
        MIGRATIONS.run(&writer).await?;
        // A file that opens may still refuse to be written; better told now than at the first order.
        let mut probe = writer.begin_with("begin immediate").await.map_err(unwritable)?;
        sqlx::query("update stock set on_hand = on_hand")
            .execute(&mut *probe)
            .await
            .map_err(unwritable)?;
        probe.rollback().await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(4)
            .acquire_timeout(Duration::from_secs(10))
            .connect_with(options.read_only(true))
            .await
            .map_err(unwritable)?;
        Ok(Self { writer, readers })
    }
}

fn is_safe(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next()) >= OLDEST_SAFE_VERSION
}

#[async_trait]
impl Store for SqliteStore {
    async fn write(&self) -> Result<Box<dyn Work>, StoreError> {
        // Immediate: a deferred transaction that reads first and writes later can be refused at once.
        Ok(Box::new(SqliteWork { tx: self.writer.begin_with("begin immediate").await? }))
    }

    async fn read(&self) -> Result<Box<dyn Work>, StoreError> {
        Ok(Box::new(SqliteWork { tx: self.readers.begin().await? }))
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// One transaction on the file.
struct SqliteWork {
    tx: Transaction<'static, Sqlite>,
}

/// Tells a constraint from other troubles of the database.
fn constraint(reason: sqlx::Error) -> StoreError {
    let violated = reason
        .as_database_error()
        .filter(|database| database.is_unique_violation() || database.is_check_violation());
    match violated {
        Some(database) => StoreError::Constraint(database.message().to_owned()),
        None => StoreError::Database(reason),
    }
}

#[async_trait]
impl Work for SqliteWork {
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        Ok(self.tx.commit().await?)
    }

    async fn savepoint(&mut self) -> Result<(), StoreError> {
        sqlx::query("savepoint event").execute(&mut *self.tx).await?;
        Ok(())
    }

    async fn undo_to_savepoint(&mut self) -> Result<(), StoreError> {
        sqlx::query("rollback to event").execute(&mut *self.tx).await?;
        Ok(())
    }

    async fn customer_of(&mut self, hash: &str) -> Result<Option<CustomerId>, StoreError> {
        shop::customer_of(&mut self.tx, hash).await
    }

    async fn insert_session(
        &mut self,
        hash: &str,
        customer: CustomerId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        shop::insert_session(&mut self.tx, hash, customer, now).await
    }

    async fn open_cart(&mut self, customer: CustomerId) -> Result<Option<Cart>, StoreError> {
        shop::open_cart(&mut self.tx, customer).await
    }

    async fn cart(&mut self, id: CartId) -> Result<Option<Cart>, StoreError> {
        shop::cart(&mut self.tx, id).await
    }

    async fn save_cart(&mut self, cart: &Cart, now: Timestamp) -> Result<(), StoreError> {
        shop::save_cart(&mut self.tx, cart, now).await
    }

    async fn close_cart(&mut self, id: CartId, now: Timestamp) -> Result<(), StoreError> {
        shop::close_cart(&mut self.tx, id, now).await
    }

    async fn stock(&mut self) -> Result<Vec<(String, u32)>, StoreError> {
        shop::stock(&mut self.tx).await
    }

    async fn reserve(&mut self, lines: &[OrderLine]) -> Result<Vec<Shortage>, StoreError> {
        shop::reserve(&mut self.tx, lines).await
    }

    async fn release(&mut self, lines: &[OrderLine]) -> Result<(), StoreError> {
        shop::release(&mut self.tx, lines).await
    }

    async fn sell(&mut self, lines: &[OrderLine]) -> Result<(), StoreError> {
        shop::sell(&mut self.tx, lines).await
    }

    async fn order_of_checkout(&mut self, id: CheckoutId) -> Result<Option<Order>, StoreError> {
        shop::order_of_checkout(&mut self.tx, id).await
    }

    async fn order_of_cart(&mut self, id: CartId) -> Result<Option<Order>, StoreError> {
        shop::order_of_cart(&mut self.tx, id).await
    }

    async fn order_of_reference(&mut self, reference: &str) -> Result<Option<Order>, StoreError> {
        shop::order_of_reference(&mut self.tx, reference).await
    }

    async fn order(&mut self, id: OrderId) -> Result<Option<Order>, StoreError> {
        shop::order(&mut self.tx, id).await
    }

    async fn orders_of(&mut self, customer: CustomerId) -> Result<Vec<Order>, StoreError> {
        shop::orders_of(&mut self.tx, customer).await
    }

    async fn insert_order(&mut self, order: &Order) -> Result<(), StoreError> {
        shop::insert_order(&mut self.tx, order).await
    }

    async fn update_order(&mut self, order: &Order, now: Timestamp) -> Result<(), StoreError> {
        shop::update_order(&mut self.tx, order, now).await
    }

    async fn unpaid_orders(&mut self, before: Timestamp) -> Result<Vec<OrderId>, StoreError> {
        shop::unpaid_orders(&mut self.tx, before).await
    }

    async fn operation(&mut self, id: OperationId) -> Result<Option<Operation>, StoreError> {
        operations::operation(&mut self.tx, id).await
    }

    async fn operations_of(&mut self, order: OrderId) -> Result<Vec<Operation>, StoreError> {
        operations::operations_of(&mut self.tx, order).await
    }

    async fn operation_of_refund_request(
        &mut self,
        id: &str,
    ) -> Result<Option<Operation>, StoreError> {
        operations::of_refund_request(&mut self.tx, id).await
    }

    async fn find_operation(
        &mut self,
        provider: &str,
        name: Named<'_>,
    ) -> Result<Option<OperationId>, StoreError> {
        operations::find(&mut self.tx, provider, name).await
    }

    async fn insert_operation(
        &mut self,
        operation: &Operation,
        steps: &[Step],
    ) -> Result<(), StoreError> {
        operations::insert(&mut self.tx, operation).await?;
        for step in steps {
            operations::insert_step(&mut self.tx, step).await?;
        }
        Ok(())
    }

    async fn update_operation(
        &mut self,
        operation: &Operation,
        expected: i64,
    ) -> Result<Stored, StoreError> {
        operations::update(&mut self.tx, operation, expected).await
    }

    async fn due(
        &mut self,
        providers: &[&str],
        now: Timestamp,
        horizon: Timestamp,
        limit: u32,
    ) -> Result<Vec<OperationId>, StoreError> {
        operations::due(&mut self.tx, providers, now, horizon, limit).await
    }

    async fn next_due(&mut self, providers: &[&str]) -> Result<Option<Timestamp>, StoreError> {
        operations::next_due(&mut self.tx, providers).await
    }

    async fn count_unsettled(&mut self) -> Result<Vec<(String, i64)>, StoreError> {
        operations::count_unsettled(&mut self.tx).await
    }

    async fn oldest_unknown(&mut self) -> Result<Vec<(String, Timestamp)>, StoreError> {
        operations::oldest_unknown(&mut self.tx).await
    }

    async fn end_leases(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        operations::end_leases(&mut self.tx, now).await
    }

    async fn count_states(&mut self) -> Result<Vec<(String, String, i64)>, StoreError> {
        operations::count_states(&mut self.tx).await
    }

    async fn steps(&mut self, operation: OperationId) -> Result<Vec<Step>, StoreError> {
        operations::steps(&mut self.tx, operation).await
    }

    async fn insert_step(&mut self, step: &Step) -> Result<(), StoreError> {
        operations::insert_step(&mut self.tx, step).await
    }

    async fn update_step(&mut self, step: &Step) -> Result<(), StoreError> {
        operations::update_step(&mut self.tx, step).await
    }

    async fn erase_bodies(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        operations::erase_bodies(&mut self.tx, now).await
    }

    async fn insert_attempt(&mut self, attempt: &Attempt) -> Result<(), StoreError> {
        operations::insert_attempt(&mut self.tx, attempt).await
    }

    async fn end_attempt(&mut self, id: AttemptId, end: &AttemptEnd) -> Result<(), StoreError> {
        operations::end_attempt(&mut self.tx, id, end).await
    }

    async fn sent(&mut self, operation: OperationId) -> Result<Vec<Sent>, StoreError> {
        operations::sent(&mut self.tx, operation).await
    }

    async fn attempts(&mut self, operation: OperationId) -> Result<Vec<Attempt>, StoreError> {
        operations::attempts(&mut self.tx, operation).await
    }

    async fn newest_time(&mut self) -> Result<Timestamp, StoreError> {
        operations::newest_time(&mut self.tx).await
    }

    async fn insert_transition(&mut self, transition: &Transition) -> Result<(), StoreError> {
        operations::insert_transition(&mut self.tx, transition).await
    }

    async fn transitions(
        &mut self,
        order: OrderId,
        after: i64,
    ) -> Result<Vec<(u32, Transition)>, StoreError> {
        operations::transitions(&mut self.tx, order, after).await
    }

    async fn insert_event(
        &mut self,
        event: &StoredEvent,
        now: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        inbox::insert_event(&mut self.tx, event, now).await
    }

    async fn update_event(
        &mut self,
        id: i64,
        state: EventState,
        operation: Option<OperationId>,
        next_try_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        inbox::update_event(&mut self.tx, id, state, operation, next_try_at, now).await
    }

    async fn waiting_events(
        &mut self,
        providers: &[&str],
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        inbox::waiting_events(&mut self.tx, providers, now, limit).await
    }

    async fn wake_unmatched(
        &mut self,
        provider: &str,
        names: &[String],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        inbox::wake_unmatched(&mut self.tx, provider, names, now).await
    }

    async fn last_sweep(
        &mut self,
        provider: &str,
    ) -> Result<Option<(Timestamp, Timestamp)>, StoreError> {
        operations::last_sweep(&mut self.tx, provider).await
    }

    async fn note_sweep(&mut self, provider: &str, now: Timestamp) -> Result<(), StoreError> {
        operations::note_sweep(&mut self.tx, provider, now).await
    }

    async fn oldest_success(
        &mut self,
        provider: &str,
        since: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        operations::oldest_success(&mut self.tx, provider, since).await
    }

    async fn succeeded_since(
        &mut self,
        provider: &str,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<Operation>, StoreError> {
        operations::succeeded_since(&mut self.tx, provider, since, until).await
    }

    async fn insert_anomaly(
        &mut self,
        operation: Option<OperationId>,
        kind: Anomaly,
        source: &str,
        evidence: &str,
        detail: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        inbox::insert_anomaly(&mut self.tx, operation, kind, (source, evidence, detail), now).await
    }

    async fn raise_alert(
        &mut self,
        incident: &str,
        kind: &str,
        detail: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        inbox::raise_alert(&mut self.tx, incident, kind, detail, now).await
    }

    async fn close_alert(&mut self, incident: &str, now: Timestamp) -> Result<(), StoreError> {
        inbox::close_alert(&mut self.tx, incident, now).await
    }

    async fn alert_is_open(&mut self, incident: &str) -> Result<bool, StoreError> {
        inbox::alert_is_open(&mut self.tx, incident).await
    }

    async fn open_alerts(&mut self) -> Result<i64, StoreError> {
        inbox::open_alerts(&mut self.tx).await
    }

    async fn insert_outbox(
        &mut self,
        topic: &str,
        subject: &str,
        body: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        inbox::insert_outbox(&mut self.tx, topic, subject, body, now).await
    }

    async fn insert_mail(&mut self, mail: &Mail) -> Result<bool, StoreError> {
        mails::insert(&mut self.tx, mail).await
    }

    async fn mail(&mut self, id: Uuid) -> Result<Option<Mail>, StoreError> {
        mails::mail(&mut self.tx, id).await
    }

    async fn due_mails(
        &mut self,
        now: Timestamp,
        horizon: Timestamp,
        limit: u32,
    ) -> Result<Vec<Uuid>, StoreError> {
        mails::due(&mut self.tx, now, horizon, limit).await
    }

    async fn update_mail(&mut self, mail: &Mail) -> Result<(), StoreError> {
        mails::update(&mut self.tx, mail).await
    }

    async fn end_mail_tries(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        mails::end_tries(&mut self.tx, now).await
    }

    async fn unknown_since(
        &mut self,
        before: Timestamp,
    ) -> Result<Vec<(OrderId, OperationId)>, StoreError> {
        mails::unknown_since(&mut self.tx, before).await
    }

    async fn was_in(&mut self, operation: OperationId, any: &[State]) -> Result<bool, StoreError> {
        operations::was_in(&mut self.tx, operation, any).await
    }

    async fn newest_ask(&mut self, order: OrderId) -> Result<Option<RefundAsk>, StoreError> {
        mails::newest_ask(&mut self.tx, order).await
    }

    async fn save_ask(&mut self, ask: &RefundAsk) -> Result<(), StoreError> {
        mails::save_ask(&mut self.tx, ask).await
    }

    async fn insert_audit(
        &mut self,
        who: &str,
        act: &str,
        subject: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        inbox::insert_audit(&mut self.tx, (who, act, subject, reason), now).await
    }
}

#[cfg(test)]
mod tests;
