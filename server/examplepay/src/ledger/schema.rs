//! The tables, and the columns that came later. Times are milliseconds since 1970.

use sqlx::SqlitePool;

const TABLES: &str = "
create table if not exists payments (
    id text primary key, reference text not null, amount_minor integer not null, currency text not null,
    status text not null, decline_code text, token text not null, return_url text not null,
    idempotency_key text not null, request_id text not null, action_expires_at integer, hosted integer not null default 0,
    due_at integer, due_status text, created_at integer not null, updated_at integer not null
) strict;
create index if not exists payments_reference on payments (reference);
create table if not exists refunds (
    id text primary key, payment text not null references payments (id), reference text not null,
    amount_minor integer not null, currency text not null, status text not null, failure_code text,
    idempotency_key text not null, request_id text not null, due_at integer, due_status text,
    created_at integer not null, updated_at integer not null
) strict;
create index if not exists refunds_reference on refunds (reference);
create table if not exists keys (
    idempotency_key text primary key, fingerprint text not null, status integer, body text,
    content_type text, created_at integer not null
) strict;
create table if not exists effects (
    id integer primary key, kind text not null check (kind in ('charge', 'refund', 'refund_reversal', 'payment_reversal')),
    payment text not null, refund text, reference text not null, amount_minor integer not null,
    currency text not null, idempotency_key text not null, at integer not null
) strict;
create table if not exists events (
    id text primary key, object text not null, type text not null, body text not null, at integer not null
) strict;
create table if not exists deliveries (
    id integer primary key, event text not null, object text not null, body text not null, signature text not null,
    due_at integer, tries integer not null default 0, last_status integer, done_at integer
) strict;
create table if not exists requests (
    seq integer primary key, at_ms integer not null, method text not null, path text not null, query text,
    key text, reference text, body_sha256 text, executed integer not null default 0,
    answered text not null default 'pending', request_id text not null
) strict;
";

/// Columns that a database of an earlier version does not have yet.
const LATER: [(&str, &str, &str); 11] = [
    ("payments", "wire", "text not null default 'examplepay'"),
    ("payments", "charge", "text"),
    ("payments", "extra", "text not null default '{}'"),
    ("refunds", "wire", "text not null default 'examplepay'"),
    ("refunds", "extra", "text not null default '{}'"),
    ("keys", "object", "text"),
    ("events", "wire", "text not null default 'examplepay'"),
    ("events", "idempotency_key", "text"),
    ("requests", "door", "text not null default 'examplepay'"),
    ("requests", "body", "text"),
    ("requests", "request_headers", "text"),
];

/// Makes the tables, and brings those of an earlier version up to date.
pub async fn prepare(db: &SqlitePool) -> sqlx::Result<()> {
    sqlx::raw_sql(TABLES).execute(db).await?;
    for (table, column, definition) in LATER {
        let there: i64 =
            sqlx::query_scalar("select count(*) from pragma_table_info(?) where name = ?")
                .bind(table)
                .bind(column)
                .fetch_one(db)
                .await?;
        if there == 0 {
            let add = format!("alter table {table} add column {column} {definition}");
            sqlx::raw_sql(sqlx::AssertSqlSafe(add)).execute(db).await?;
        }
    }
    let index = "create index if not exists payments_charge on payments (charge)";
    sqlx::raw_sql(index).execute(db).await?;
    Ok(())
}
