//! Rows as the database has them, and their way into values. A word nobody knows fails loudly.

use std::str::FromStr;

use domain::{
    money::{Currency, Money},
    operation::Kind,
    schedule::Timestamp,
};
use sqlx::{Row, sqlite::SqliteRow};

use crate::store::{Attempt, Operation, Sent, Step, StoreError};

/// A column as a value that is written as text.
pub fn word<T: FromStr>(row: &SqliteRow, column: &'static str) -> Result<T, StoreError> {
    let text: String = row.try_get(column)?;
    text.parse().map_err(|_| StoreError::Unreadable(column))
}

/// A column as an optional value that is written as text.
pub fn maybe_word<T: FromStr>(
    row: &SqliteRow,
    column: &'static str,
) -> Result<Option<T>, StoreError> {
    let text: Option<String> = row.try_get(column)?;
    text.map(|text| text.parse().map_err(|_| StoreError::Unreadable(column))).transpose()
}

/// A column as a time.
pub fn time(row: &SqliteRow, column: &str) -> Result<Timestamp, StoreError> {
    Ok(Timestamp(row.try_get(column)?))
}

/// A column as an optional time.
pub fn maybe_time(row: &SqliteRow, column: &str) -> Result<Option<Timestamp>, StoreError> {
    Ok(row.try_get::<Option<i64>, _>(column)?.map(Timestamp))
}

/// A column as a small count.
pub fn count(row: &SqliteRow, column: &'static str) -> Result<u32, StoreError> {
    let number: i64 = row.try_get(column)?;
    u32::try_from(number).map_err(|_| StoreError::Unreadable(column))
}

/// A currency column.
pub fn currency(row: &SqliteRow, column: &'static str) -> Result<Currency, StoreError> {
    let code: String = row.try_get(column)?;
    Currency::from_code(&code).map_err(|_| StoreError::Unreadable(column))
}

/// The amount in `amount_minor` and `currency`.
pub fn amount(row: &SqliteRow) -> Result<Money, StoreError> {
    Ok(Money::new(row.try_get("amount_minor")?, currency(row, "currency")?))
}

/// An operation's row.
pub fn operation(row: &SqliteRow) -> Result<Operation, StoreError> {
    let effect: Option<i64> = row.try_get("effect_minor")?;
    let effect = match effect {
        Some(minor) => Some(Money::new(minor, currency(row, "effect_currency")?)),
        None => None,
    };
    let kind: String = row.try_get("kind")?;
    Ok(Operation {
        id: word(row, "id")?,
        kind: Kind::named(&kind),
        order_id: word(row, "order_id")?,
        attempt: count(row, "attempt")?,
        provider: row.try_get("provider")?,
        provider_operation_id: row.try_get("provider_operation_id")?,
        effect_id: row.try_get("effect_id")?,
        reference: row.try_get("reference")?,
        account: row.try_get("account")?,
        state: word(row, "state")?,
        version: row.try_get("version")?,
        request_hash: row.try_get("request_hash")?,
        amount: amount(row)?,
        instrument: row.try_get("instrument")?,
        acknowledged: row.try_get("acknowledged")?,
        entered_at: time(row, "entered_at")?,
        unknown_since: maybe_time(row, "unknown_since")?,
        next_action_at: maybe_time(row, "next_action_at")?,
        deadline_at: time(row, "deadline_at")?,
        lease_owner: row.try_get("lease_owner")?,
        lease_until: maybe_time(row, "lease_until")?,
        fence: row.try_get("fence")?,
        lookup_wanted: row.try_get("lookup_wanted")?,
        lookups: count(row, "lookups")?,
        replays: count(row, "replays")?,
        clean_sends: count(row, "clean_sends")?,
        looked_up_at: maybe_time(row, "looked_up_at")?,
        action_url: row.try_get("action_url")?,
        action_expires_at: maybe_time(row, "action_expires_at")?,
        decline_code: row.try_get("decline_code")?,
        canceled_why: maybe_word(row, "canceled_why")?,
        review_reason: maybe_word(row, "review_reason")?,
        effect,
        compensates: maybe_word(row, "compensates_operation_id")?,
        refunds: maybe_word(row, "refunds_operation_id")?,
        refund_request_id: row.try_get("refund_request_id")?,
        created_at: time(row, "created_at")?,
        confirmed_at: maybe_time(row, "confirmed_at")?,
        confirmed_by: row.try_get("confirmed_by")?,
    })
}

/// A step's row.
pub fn step(row: &SqliteRow) -> Result<Step, StoreError> {
    Ok(Step {
        operation_id: word(row, "operation_id")?,
        name: row.try_get("name")?,
        position: row.try_get("position")?,
        cancels: row.try_get("cancels")?,
        idempotency_key: row.try_get("idempotency_key")?,
        request_path: row.try_get("request_path")?,
        request_body: row.try_get("request_body")?,
        request_hash: row.try_get("request_hash")?,
        window_ms: row.try_get("window_ms")?,
        first_sent_at: maybe_time(row, "first_sent_at")?,
        tainted: row.try_get("tainted")?,
        in_flight: row.try_get("in_flight")?,
        accepted: row.try_get("accepted")?,
        sends: count(row, "sends")?,
    })
}

/// An attempt's row with its end.
pub fn sent(row: &SqliteRow) -> Result<Sent, StoreError> {
    Ok(Sent {
        step: row.try_get("step")?,
        sent_at: time(row, "sent_at")?,
        ended_at: maybe_time(row, "ended_at")?,
        transport_state: row.try_get("transport_state")?,
        http_status: row.try_get("http_status")?,
        verdict: row.try_get("verdict")?,
        replay: row.try_get("replay")?,
    })
}

/// An attempt's row.
pub fn attempt(row: &SqliteRow) -> Result<Attempt, StoreError> {
    Ok(Attempt {
        id: word(row, "id")?,
        operation_id: word(row, "operation_id")?,
        step: row.try_get("step")?,
        fence: row.try_get("fence")?,
        sent_at: time(row, "sent_at")?,
        ended_at: maybe_time(row, "ended_at")?,
        replay: row.try_get("replay")?,
    })
}

/// Words as one bound value, to be read by `json_each`.
pub fn list<T: AsRef<str>>(words: &[T]) -> String {
    serde_json::Value::from_iter(words.iter().map(AsRef::as_ref)).to_string()
}
