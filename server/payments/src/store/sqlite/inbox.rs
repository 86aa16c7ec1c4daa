//! Provider events, anomalies, alerts, the outbox and the audit.

use domain::{id::OperationId, operation::Anomaly, schedule::Timestamp};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use super::rows::{count, list};
use crate::store::{EventState, StoreError, StoredEvent};

type Db = SqliteConnection;

pub async fn insert_event(
    db: &mut Db,
    event: &StoredEvent,
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    Ok(sqlx::query_scalar(
        "insert into provider_events (provider, event_id, event_type, body, state, received_at)
         values (?, ?, ?, ?, 'parked', ?)
         on conflict (provider, event_id) do nothing returning id",
    )
    .bind(&event.provider)
    .bind(&event.event_id)
    .bind(&event.event_type)
    .bind(&event.body)
    .bind(now.0)
    .fetch_optional(db)
    .await?)
}

pub async fn update_event(
    db: &mut Db,
    id: i64,
    state: EventState,
    operation: Option<OperationId>,
    next_try_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let applied_at = (state == EventState::Applied).then_some(now.0);
    sqlx::query(
        "update provider_events set state = ?, operation_id = ?, next_try_at = ?, applied_at = ?,
             tries = tries + 1 where id = ?",
    )
    .bind(state.as_str())
    .bind(operation.map(|id| id.to_string()))
    .bind(next_try_at.map(|at| at.0))
    .bind(applied_at)
    .bind(id)
    .execute(db)
    .await?;
    Ok(())
}

pub async fn waiting_events(
    db: &mut Db,
    providers: &[&str],
    now: Timestamp,
    limit: u32,
) -> Result<Vec<StoredEvent>, StoreError> {
    let rows = sqlx::query(
        "select * from provider_events where next_try_at is not null and next_try_at <= ?
           and provider in (select value from json_each(?))
         order by next_try_at limit ?",
    )
    .bind(now.0)
    .bind(super::rows::list(providers))
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?;
    rows.iter().map(event).collect()
}

fn event(row: &SqliteRow) -> Result<StoredEvent, StoreError> {
    Ok(StoredEvent {
        id: row.try_get("id")?,
        provider: row.try_get("provider")?,
        event_id: row.try_get("event_id")?,
        event_type: row.try_get("event_type")?,
        body: row.try_get("body")?,
        tries: count(row, "tries")?,
    })
}

pub async fn wake_unmatched(
    db: &mut Db,
    provider: &str,
    names: &[String],
    now: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "update provider_events set next_try_at = ? where provider = ? and state = 'unmatched'
           and exists (select 1 from json_each(?) where instr(body, value) > 0)",
    )
    .bind(now.0)
    .bind(provider)
    .bind(list(names))
    .execute(db)
    .await?;
    Ok(())
}

pub async fn insert_anomaly(
    db: &mut Db,
    operation: Option<OperationId>,
    kind: Anomaly,
    (source, evidence, detail): (&str, &str, &str),
    now: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query("insert into anomalies (operation_id, kind, source, evidence, detail, at) values (?, ?, ?, ?, ?, ?)")
        .bind(operation.map(|id| id.to_string()))
        .bind(kind.as_str())
        .bind(source)
        .bind(evidence)
        .bind(detail)
        .bind(now.0)
        .execute(db)
        .await?;
    Ok(())
}

pub async fn raise_alert(
    db: &mut Db,
    incident: &str,
    kind: &str,
    detail: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "insert into alerts (incident, kind, detail, raised_at) values (?, ?, ?, ?)
         on conflict (incident) where closed_at is null do nothing",
    )
    .bind(incident)
    .bind(kind)
    .bind(detail)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn close_alert(db: &mut Db, incident: &str, now: Timestamp) -> Result<(), StoreError> {
    sqlx::query("update alerts set closed_at = ? where incident = ? and closed_at is null")
        .bind(now.0)
        .bind(incident)
        .execute(db)
        .await?;
    Ok(())
}

pub async fn alert_is_open(db: &mut Db, incident: &str) -> Result<bool, StoreError> {
    let open: i64 = sqlx::query_scalar(
        "select exists (select 1 from alerts where incident = ? and closed_at is null)",
    )
    .bind(incident)
    .fetch_one(db)
    .await?;
    Ok(open == 1)
}

pub async fn open_alerts(db: &mut Db) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar("select count(*) from alerts where closed_at is null")
        .fetch_one(db)
        .await?)
}

pub async fn insert_outbox(
    db: &mut Db,
    topic: &str,
    subject: &str,
    body: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "insert into outbox (topic, subject, body, created_at) values (?, ?, ?, ?)
         on conflict (topic, subject) do nothing",
    )
    .bind(topic)
    .bind(subject)
    .bind(body)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

pub async fn insert_audit(
    db: &mut Db,
    (who, act, subject, reason): (&str, &str, &str, &str),
    now: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query("insert into audit (who, act, subject, reason, at) values (?, ?, ?, ?, ?)")
        .bind(who)
        .bind(act)
        .bind(subject)
        .bind(reason)
        .bind(now.0)
        .execute(db)
        .await?;
    Ok(())
}
