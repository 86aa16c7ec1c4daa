//! Mails, and shoppers' requests for refunds.

use domain::{
    id::{OperationId, OrderId},
    mail::Fact,
    schedule::Timestamp,
};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};
use uuid::Uuid;

use super::{
    constraint,
    rows::{count, maybe_time, maybe_word, time, word},
};
use crate::store::{Mail, MailState, RefundAsk, StoreError};

type Db = SqliteConnection;

/// A row that was overtaken told nothing: the fact that is so once more takes its place.
pub async fn insert(db: &mut Db, mail: &Mail) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "insert into mails (id, order_id, operation_id, fact, state, next_action_at, created_at)
         values (?, ?, ?, ?, ?, ?, ?)
         on conflict (order_id, operation_id, fact) do update set id = excluded.id,
             state = excluded.state, tries = 0, in_flight = 0,
             next_action_at = excluded.next_action_at, created_at = excluded.created_at,
             ended_at = null
         where mails.state = 'overtaken'",
    )
    .bind(mail.id.to_string())
    .bind(mail.order_id.to_string())
    .bind(mail.operation_id.to_string())
    .bind(mail.fact.as_str())
    .bind(mail.state.as_str())
    .bind(mail.next_action_at.map(|at| at.0))
    .bind(mail.created_at.0)
    .execute(&mut *db)
    .await?;
    let kept = done.rows_affected() == 1;
    if let Some(at) = mail.next_action_at.filter(|_| kept) {
        hurry(db, mail, at).await?;
    }
    Ok(kept)
}

/// What waits before a mail of the same order is looked at together with it: most often that mail
/// overtakes it, and would wait behind it for hours.
async fn hurry(db: &mut Db, newer: &Mail, at: Timestamp) -> Result<(), StoreError> {
    sqlx::query(
        "update mails set next_action_at = ?1
         where order_id = ?2 and id <> ?3 and state = 'waiting' and in_flight = 0
           and next_action_at > ?1",
    )
    .bind(at.0)
    .bind(newer.order_id.to_string())
    .bind(newer.id.to_string())
    .execute(db)
    .await?;
    Ok(())
}

pub async fn mail(db: &mut Db, id: Uuid) -> Result<Option<Mail>, StoreError> {
    let row = sqlx::query("select * from mails where id = ?")
        .bind(id.to_string())
        .fetch_optional(db)
        .await?;
    row.as_ref().map(read).transpose()
}

/// An order's mails go out in the order of their facts.
pub async fn due(
    db: &mut Db,
    now: Timestamp,
    horizon: Timestamp,
    limit: u32,
) -> Result<Vec<Uuid>, StoreError> {
    let rows = sqlx::query(
        "select id from mails
         where next_action_at is not null and (next_action_at <= ?1 or next_action_at > ?2)
           and not exists (select 1 from mails as earlier where earlier.order_id = mails.order_id
               and (earlier.created_at, earlier.rowid) < (mails.created_at, mails.rowid)
               and earlier.state = 'waiting')
         order by next_action_at limit ?3",
    )
    .bind(now.0)
    .bind(horizon.0)
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| word(row, "id")).collect()
}

pub async fn update(db: &mut Db, mail: &Mail) -> Result<(), StoreError> {
    sqlx::query(
        "update mails set state = ?, tries = ?, in_flight = ?, next_action_at = ?, ended_at = ?
         where id = ?",
    )
    .bind(mail.state.as_str())
    .bind(i64::from(mail.tries))
    .bind(mail.in_flight)
    .bind(mail.next_action_at.map(|at| at.0))
    .bind(mail.ended_at.map(|at| at.0))
    .bind(mail.id.to_string())
    .execute(db)
    .await?;
    Ok(())
}

/// Whoever was handing a mail over is gone; whether it was taken is not known.
pub async fn end_tries(db: &mut Db, now: Timestamp) -> Result<u64, StoreError> {
    let done = sqlx::query(
        "update mails set in_flight = 0, next_action_at = ? where in_flight = 1 and state = 'waiting'",
    )
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

pub async fn unknown_since(
    db: &mut Db,
    before: Timestamp,
) -> Result<Vec<(OrderId, OperationId)>, StoreError> {
    let rows = sqlx::query(
        "select operations.order_id, operations.id from operations
         join orders on orders.id = operations.order_id
         where kind = 'payment' and operations.state in ('requested', 'pending_confirmation')
           and unknown_since <= ? and mail_to is not null
           and not exists (select 1 from mails
               where operation_id = operations.id and fact = 'still_unknown'
                 and mails.state <> 'overtaken')
         limit 50",
    )
    .bind(before.0)
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| Ok((word(row, "order_id")?, word(row, "id")?))).collect()
}

fn read(row: &SqliteRow) -> Result<Mail, StoreError> {
    Ok(Mail {
        id: word(row, "id")?,
        order_id: word(row, "order_id")?,
        operation_id: word(row, "operation_id")?,
        fact: word::<Fact>(row, "fact")?,
        state: word::<MailState>(row, "state")?,
        tries: count(row, "tries")?,
        in_flight: row.try_get("in_flight")?,
        next_action_at: maybe_time(row, "next_action_at")?,
        created_at: time(row, "created_at")?,
        ended_at: maybe_time(row, "ended_at")?,
    })
}

pub async fn newest_ask(db: &mut Db, order: OrderId) -> Result<Option<RefundAsk>, StoreError> {
    let row = sqlx::query(
        "select * from refund_requests where order_id = ? order by number desc limit 1",
    )
    .bind(order.to_string())
    .fetch_optional(db)
    .await?;
    row.as_ref().map(read_ask).transpose()
}

fn read_ask(row: &SqliteRow) -> Result<RefundAsk, StoreError> {
    Ok(RefundAsk {
        order_id: word(row, "order_id")?,
        number: count(row, "number")?,
        state: word(row, "state")?,
        asked_why: maybe_word(row, "asked_why")?,
        declined_why: maybe_word(row, "declined_why")?,
        created_at: time(row, "created_at")?,
        closed_at: maybe_time(row, "closed_at")?,
    })
}

pub async fn save_ask(db: &mut Db, ask: &RefundAsk) -> Result<(), StoreError> {
    sqlx::query(
        "insert into refund_requests (order_id, number, state, asked_why, declined_why, created_at, closed_at)
         values (?, ?, ?, ?, ?, ?, ?)
         on conflict (order_id, number) do update set state = excluded.state,
             declined_why = excluded.declined_why, closed_at = excluded.closed_at",
    )
    .bind(ask.order_id.to_string())
    .bind(i64::from(ask.number))
    .bind(ask.state.as_str())
    .bind(ask.asked_why.map(|why| why.as_str()))
    .bind(ask.declined_why.map(|why| why.as_str()))
    .bind(ask.created_at.0)
    .bind(ask.closed_at.map(|at| at.0))
    .execute(db)
    .await
    .map_err(constraint)?;
    Ok(())
}
