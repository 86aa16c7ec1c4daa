//! Operations, their steps, their requests and their history.

use domain::{
    id::{AttemptId, OperationId, OrderId},
    operation::State,
    schedule::Timestamp,
};
use sqlx::{Row, SqliteConnection};

use super::{
    constraint,
    rows::{self, count, maybe_word, time, word},
};
use crate::store::{
    Attempt, AttemptEnd, Named, Operation, Sent, Step, StoreError, Stored, Transition,
};

type Db = SqliteConnection;

pub async fn operation(db: &mut Db, id: OperationId) -> Result<Option<Operation>, StoreError> {
    let row = sqlx::query("select * from operations where id = ?")
        .bind(id.to_string())
        .fetch_optional(db)
        .await?;
    row.map(|row| rows::operation(&row)).transpose()
}

pub async fn operations_of(db: &mut Db, order: OrderId) -> Result<Vec<Operation>, StoreError> {
    let rows =
        sqlx::query("select * from operations where order_id = ? order by created_at, attempt")
            .bind(order.to_string())
            .fetch_all(db)
            .await?;
    rows.iter().map(rows::operation).collect()
}

pub async fn was_in(db: &mut Db, id: OperationId, any: &[State]) -> Result<bool, StoreError> {
    for state in any {
        let was: i64 = sqlx::query_scalar(
            "select exists (select 1 from transitions where operation_id = ? and to_state = ?)",
        )
        .bind(id.to_string())
        .bind(state.as_str())
        .fetch_one(&mut *db)
        .await?;
        if was == 1 {
            return Ok(true);
        }
    }
    Ok(false)
}

pub async fn of_refund_request(db: &mut Db, id: &str) -> Result<Option<Operation>, StoreError> {
    let row = sqlx::query("select * from operations where refund_request_id = ?")
        .bind(id)
        .fetch_optional(db)
        .await?;
    row.map(|row| rows::operation(&row)).transpose()
}

pub async fn find(
    db: &mut Db,
    provider: &str,
    name: Named<'_>,
) -> Result<Option<OperationId>, StoreError> {
    let query = match name {
        Named::Reference(text) => {
            sqlx::query("select id from operations where provider = ? and reference = ?")
                .bind(provider)
                .bind(text)
        }
        Named::ProviderId(text) => sqlx::query(
            "select id from operations where provider = ? and provider_operation_id = ?",
        )
        .bind(provider)
        .bind(text),
        Named::EffectId(text) => {
            sqlx::query("select id from operations where provider = ? and effect_id = ?")
                .bind(provider)
                .bind(text)
        }
        Named::Key(text) => sqlx::query(
            "select operations.id from operations join steps on steps.operation_id = operations.id
             where provider = ? and idempotency_key = ?",
        )
        .bind(provider)
        .bind(text),
    };
    let row = query.fetch_optional(db).await?;
    row.map(|row| word(&row, "id")).transpose()
}

pub async fn insert(db: &mut Db, operation: &Operation) -> Result<(), StoreError> {
    sqlx::query(
        "insert into operations (id, kind, order_id, attempt, provider, reference, account, state,
             version, request_hash, amount_minor, currency, instrument, entered_at, next_action_at,
             deadline_at, compensates_operation_id, refunds_operation_id, refund_request_id, created_at)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(operation.id.to_string())
    .bind(operation.kind.as_str())
    .bind(operation.order_id.to_string())
    .bind(i64::from(operation.attempt))
    .bind(&operation.provider)
    .bind(&operation.reference)
    .bind(&operation.account)
    .bind(operation.state.as_str())
    .bind(operation.version)
    .bind(&operation.request_hash)
    .bind(operation.amount.minor)
    .bind(operation.amount.currency.code())
    .bind(&operation.instrument)
    .bind(operation.entered_at.0)
    .bind(operation.next_action_at.map(|at| at.0))
    .bind(operation.deadline_at.0)
    .bind(operation.compensates.map(|id| id.to_string()))
    .bind(operation.refunds.map(|id| id.to_string()))
    .bind(&operation.refund_request_id)
    .bind(operation.created_at.0)
    .execute(db)
    .await
    .map_err(constraint)?;
    Ok(())
}

pub async fn update(
    db: &mut Db,
    operation: &Operation,
    expected: i64,
) -> Result<Stored, StoreError> {
    let done = sqlx::query(
        "update operations set provider_operation_id = ?, effect_id = ?, state = ?, version = ?, acknowledged = ?,
             entered_at = ?, unknown_since = ?, next_action_at = ?, lease_owner = ?, lease_until = ?,
             fence = ?, lookup_wanted = ?, lookups = ?, replays = ?, clean_sends = ?,
             looked_up_at = ?, action_url = ?, action_expires_at = ?, decline_code = ?,
             canceled_why = ?, review_reason = ?, effect_minor = ?, effect_currency = ?,
             confirmed_at = ?, confirmed_by = ?
         where id = ? and version = ?",
    )
    .bind(&operation.provider_operation_id)
    .bind(&operation.effect_id)
    .bind(operation.state.as_str())
    .bind(operation.version)
    .bind(operation.acknowledged)
    .bind(operation.entered_at.0)
    .bind(operation.unknown_since.map(|at| at.0))
    .bind(operation.next_action_at.map(|at| at.0))
    .bind(&operation.lease_owner)
    .bind(operation.lease_until.map(|at| at.0))
    .bind(operation.fence)
    .bind(operation.lookup_wanted)
    .bind(i64::from(operation.lookups))
    .bind(i64::from(operation.replays))
    .bind(i64::from(operation.clean_sends))
    .bind(operation.looked_up_at.map(|at| at.0))
    .bind(&operation.action_url)
    .bind(operation.action_expires_at.map(|at| at.0))
    .bind(&operation.decline_code)
    .bind(operation.canceled_why.map(|why| why.as_str()))
    .bind(operation.review_reason.map(|why| why.as_str()))
    .bind(operation.effect.map(|effect| effect.minor))
    .bind(operation.effect.map(|effect| effect.currency.code()))
    .bind(operation.confirmed_at.map(|at| at.0))
    .bind(&operation.confirmed_by)
    .bind(operation.id.to_string())
    .bind(expected)
    .execute(db)
    .await
    .map_err(constraint)?;
    Ok(if done.rows_affected() == 1 { Stored::Done } else { Stored::Stale })
}

pub async fn due(
    db: &mut Db,
    providers: &[&str],
    now: Timestamp,
    horizon: Timestamp,
    limit: u32,
) -> Result<Vec<OperationId>, StoreError> {
    let rows = sqlx::query(
        "select id from operations
         where next_action_at is not null and (next_action_at <= ?1 or next_action_at > ?2)
           and (lease_until is null or lease_until <= ?1 or lease_until > ?2)
           and provider in (select value from json_each(?3))
         order by next_action_at limit ?4",
    )
    .bind(now.0)
    .bind(horizon.0)
    .bind(rows::list(providers))
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| word(row, "id")).collect()
}

pub async fn next_due(db: &mut Db, providers: &[&str]) -> Result<Option<Timestamp>, StoreError> {
    let at: Option<i64> = sqlx::query_scalar(
        "select min(max(next_action_at, coalesce(lease_until, 0))) from operations
         where next_action_at is not null and provider in (select value from json_each(?))",
    )
    .bind(rows::list(providers))
    .fetch_one(db)
    .await?;
    Ok(at.map(Timestamp))
}

pub async fn count_unsettled(db: &mut Db) -> Result<Vec<(String, i64)>, StoreError> {
    let rows = sqlx::query(
        "select provider, sum(state not in ('succeeded', 'rejected', 'canceled', 'reversed')) as n
         from operations group by provider",
    )
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| Ok((row.try_get("provider")?, row.try_get("n")?))).collect()
}

pub async fn oldest_unknown(db: &mut Db) -> Result<Vec<(String, Timestamp)>, StoreError> {
    let rows = sqlx::query(
        "select provider, min(unknown_since) as since from operations
         where unknown_since is not null and kind <> 'external' group by provider",
    )
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| Ok((row.try_get("provider")?, time(row, "since")?))).collect()
}

pub async fn end_leases(db: &mut Db, now: Timestamp) -> Result<u64, StoreError> {
    let done = sqlx::query(
        "update operations set lease_until = ?1, next_action_at = ?1, version = version + 1
         where lease_until is not null and lease_until > ?1",
    )
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

pub async fn count_states(db: &mut Db) -> Result<Vec<(String, String, i64)>, StoreError> {
    let rows =
        sqlx::query("select kind, state, count(*) as n from operations group by kind, state")
            .fetch_all(db)
            .await?;
    rows.iter()
        .map(|row| Ok((row.try_get("kind")?, row.try_get("state")?, row.try_get("n")?)))
        .collect()
}

pub async fn steps(db: &mut Db, operation: OperationId) -> Result<Vec<Step>, StoreError> {
    let rows = sqlx::query("select * from steps where operation_id = ? order by position")
        .bind(operation.to_string())
        .fetch_all(db)
        .await?;
    rows.iter().map(rows::step).collect()
}

pub async fn insert_step(db: &mut Db, step: &Step) -> Result<(), StoreError> {
    sqlx::query(
        "insert into steps (operation_id, name, position, cancels, idempotency_key, request_path,
             request_body, request_hash, window_ms) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(step.operation_id.to_string())
    .bind(&step.name)
    .bind(step.position)
    .bind(step.cancels)
    .bind(&step.idempotency_key)
    .bind(&step.request_path)
    .bind(&step.request_body)
    .bind(&step.request_hash)
    .bind(step.window_ms)
    .execute(db)
    .await
    .map_err(constraint)?;
    Ok(())
}

pub async fn update_step(db: &mut Db, step: &Step) -> Result<(), StoreError> {
    let until = match (step.first_sent_at, step.window_ms.and_then(|ms| u64::try_from(ms).ok())) {
        (Some(at), Some(ms)) => {
            Some(domain::schedule::replay_until(at, std::time::Duration::from_millis(ms)).0)
        }
        (Some(_) | None, None) | (None, Some(_)) => None,
    };
    sqlx::query(
        "update steps set first_sent_at = ?, replay_until = ?, tainted = ?, in_flight = ?,
             accepted = ?, sends = ? where operation_id = ? and name = ?",
    )
    .bind(step.first_sent_at.map(|at| at.0))
    .bind(until)
    .bind(step.tainted)
    .bind(step.in_flight)
    .bind(step.accepted)
    .bind(i64::from(step.sends))
    .bind(step.operation_id.to_string())
    .bind(&step.name)
    .execute(db)
    .await?;
    Ok(())
}

pub async fn erase_bodies(db: &mut Db, now: Timestamp) -> Result<u64, StoreError> {
    let done = sqlx::query(
        "update steps set request_body = null
         where request_body is not null and (replay_until is null or replay_until < ?)
           and operation_id in (select id from operations
               where state in ('succeeded', 'rejected', 'canceled', 'reversed'))",
    )
    .bind(now.0)
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "update operations set instrument = null where instrument is not null
           and state in ('succeeded', 'rejected', 'canceled', 'reversed')
           and not exists (select 1 from steps where operation_id = operations.id and request_body is not null)",
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

pub async fn insert_attempt(db: &mut Db, attempt: &Attempt) -> Result<(), StoreError> {
    sqlx::query(
        "insert into attempts (id, operation_id, step, fence, sent_at, transport_state, replay)
         values (?, ?, ?, ?, ?, 'in_flight', ?)",
    )
    .bind(attempt.id.to_string())
    .bind(attempt.operation_id.to_string())
    .bind(&attempt.step)
    .bind(attempt.fence)
    .bind(attempt.sent_at.0)
    .bind(attempt.replay)
    .execute(&mut *db)
    .await
    .map_err(constraint)?;
    sqlx::query("update operations set attempts = attempts + 1, last_attempt_at = ? where id = ?")
        .bind(attempt.sent_at.0)
        .bind(attempt.operation_id.to_string())
        .execute(db)
        .await?;
    Ok(())
}

pub async fn end_attempt(db: &mut Db, id: AttemptId, end: &AttemptEnd) -> Result<(), StoreError> {
    sqlx::query(
        "update attempts set ended_at = ?, duration_ms = ?, transport_state = ?, http_status = ?,
             provider_request_id = ?, provider_error = ?, verdict = ?, cached = ?
         where id = ? and ended_at is null",
    )
    .bind(end.ended_at.0)
    .bind(end.duration_ms)
    .bind(end.transport_state)
    .bind(end.http_status.map(i64::from))
    .bind(&end.provider_request_id)
    .bind(&end.provider_error)
    .bind(end.verdict)
    .bind(end.cached)
    .bind(id.to_string())
    .execute(&mut *db)
    .await?;
    let transport = (end.transport_state != "answered").then_some(end.transport_state);
    sqlx::query(
        "update operations set last_transport_error = ?, last_http_status = ?,
             last_provider_error = ?, last_provider_request_id = coalesce(?, last_provider_request_id)
         where id = (select operation_id from attempts where id = ?)",
    )
    .bind(transport)
    .bind(end.http_status.map(i64::from))
    .bind(&end.provider_error)
    .bind(&end.provider_request_id)
    .bind(id.to_string())
    .execute(db)
    .await?;
    Ok(())
}

pub async fn attempts(db: &mut Db, operation: OperationId) -> Result<Vec<Attempt>, StoreError> {
    let rows = sqlx::query("select * from attempts where operation_id = ? order by sent_at, rowid")
        .bind(operation.to_string())
        .fetch_all(db)
        .await?;
    rows.iter().map(rows::attempt).collect()
}

pub async fn sent(db: &mut Db, operation: OperationId) -> Result<Vec<Sent>, StoreError> {
    let rows = sqlx::query("select * from attempts where operation_id = ? order by sent_at, rowid")
        .bind(operation.to_string())
        .fetch_all(db)
        .await?;
    rows.iter().map(rows::sent).collect()
}

pub async fn newest_time(db: &mut Db) -> Result<Timestamp, StoreError> {
    let at: i64 = sqlx::query_scalar(
        "select max(coalesce((select at from transitions order by id desc limit 1), 0),
                    coalesce((select max(sent_at) from (select sent_at from attempts order by rowid desc limit 20)), 0))",
    )
    .fetch_one(db)
    .await?;
    Ok(Timestamp(at))
}

pub async fn insert_transition(db: &mut Db, transition: &Transition) -> Result<(), StoreError> {
    sqlx::query(
        "insert into transitions (operation_id, order_id, from_state, to_state, evidence, source,
             version, order_sequence, order_state, at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(transition.operation_id.to_string())
    .bind(transition.order_id.to_string())
    .bind(transition.from.map(|state| state.as_str()))
    .bind(transition.to.as_str())
    .bind(&transition.evidence)
    .bind(&transition.source)
    .bind(transition.version)
    .bind(transition.order_sequence)
    .bind(transition.order_state.as_str())
    .bind(transition.at.0)
    .execute(db)
    .await
    .map_err(constraint)?;
    Ok(())
}

pub async fn transitions(
    db: &mut Db,
    order: OrderId,
    after: i64,
) -> Result<Vec<(u32, Transition)>, StoreError> {
    let rows = sqlx::query(
        "select transitions.*, operations.attempt from transitions
         join operations on operations.id = transitions.operation_id
         where transitions.order_id = ? and order_sequence > ? order by order_sequence",
    )
    .bind(order.to_string())
    .bind(after)
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            Ok((
                count(row, "attempt")?,
                Transition {
                    operation_id: word(row, "operation_id")?,
                    order_id: word(row, "order_id")?,
                    from: maybe_word(row, "from_state")?,
                    to: word(row, "to_state")?,
                    evidence: row.try_get("evidence")?,
                    source: row.try_get("source")?,
                    version: row.try_get("version")?,
                    order_sequence: row.try_get("order_sequence")?,
                    order_state: word(row, "order_state")?,
                    at: time(row, "at")?,
                },
            ))
        })
        .collect()
}

pub async fn last_sweep(
    db: &mut Db,
    provider: &str,
) -> Result<Option<(Timestamp, Timestamp)>, StoreError> {
    let row = sqlx::query("select swept_at, listed_until from sweeps where provider = ?")
        .bind(provider)
        .fetch_optional(db)
        .await?;
    row.map(|row| Ok((time(&row, "swept_at")?, time(&row, "listed_until")?))).transpose()
}

pub async fn note_sweep(db: &mut Db, provider: &str, now: Timestamp) -> Result<(), StoreError> {
    sqlx::query(
        "insert into sweeps (provider, swept_at, listed_until) values (?1, ?2, ?2)
         on conflict (provider) do update set swept_at = ?2, listed_until = ?2",
    )
    .bind(provider)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

pub async fn oldest_success(
    db: &mut Db,
    provider: &str,
    since: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    let oldest: Option<i64> = sqlx::query_scalar(
        "select min(created_at) from operations where provider = ? and state = 'succeeded'
           and entered_at > ? and provider_operation_id is not null",
    )
    .bind(provider)
    .bind(since.0)
    .fetch_one(db)
    .await?;
    Ok(oldest.map(Timestamp))
}

pub async fn succeeded_since(
    db: &mut Db,
    provider: &str,
    since: Timestamp,
    until: Timestamp,
) -> Result<Vec<Operation>, StoreError> {
    let rows = sqlx::query(
        "select * from operations where provider = ? and state = 'succeeded'
           and created_at > ? and created_at < ? and provider_operation_id is not null",
    )
    .bind(provider)
    .bind(since.0)
    .bind(until.0)
    .fetch_all(db)
    .await?;
    rows.iter().map(rows::operation).collect()
}
