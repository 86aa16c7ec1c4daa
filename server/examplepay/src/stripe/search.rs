//! Search of this wire: what it finds is behind what happened, so nothing found proves nothing.

mod query;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use futures::TryStreamExt;
use serde_json::Value;
use sqlx::SqliteConnection;

use self::query::Query;
use super::{
    form::Params,
    lists,
    show::{self, invalid},
};
use crate::{
    Provider,
    ledger::{
        Made,
        record::{self, Payment},
    },
    millis, now_ms,
};

/// Where intents are searched for.
pub const PATH: &str = "/v1/payment_intents/search";

/// A search that is asked for; its parameters were checked.
pub struct Search {
    query: Query,
    limit: usize,
    /// The intent that the page before this one ended with.
    after: Option<String>,
}

impl Search {
    /// The one merchant's reference that is searched for, for scripts.
    pub fn reference(&self) -> Option<&str> {
        self.query.metadata("reference")
    }
}

/// Reads a search.
pub fn read(params: &Params) -> Result<Search, Made> {
    params.only(&["limit", "page", "query"])?;
    let text = params
        .get("query")
        .ok_or_else(|| invalid("query", "parameter_missing", "A query has to be given."))?;
    let query = query::read(text)
        .map_err(|trouble| invalid("query", "parameter_invalid_string", &trouble))?;
    let limit = usize::try_from(lists::limit(params)?).unwrap_or(usize::MAX);
    let after = params.get("page").map(|it| page_read(it).ok_or_else(no_page)).transpose()?;
    Ok(Search { query, limit, after })
}

/// Intents that nothing has happened to for a while, newest first. They are shown as they are now.
pub async fn intents(provider: &Provider, search: &Search) -> sqlx::Result<Made> {
    let mut db = provider.db.acquire().await?;
    let place = match &search.after {
        None => None,
        Some(id) => match place(&mut db, id).await? {
            Some(place) => Some(place),
            None => return Ok(no_page()),
        },
    };
    let sql = format!(
        "{} where wire = 'stripe' and updated_at <= ?1 and (?2 is null or payments.rowid < ?2)
         and (?3 is null or reference = ?3) order by payments.rowid desc",
        record::PAYMENT
    );
    let mut rows = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(now_ms().saturating_sub(millis(provider.settings.stripe_search_lag)))
        .bind(place)
        .bind(search.reference())
        .fetch(&mut *db);
    let mut found: Vec<Value> = Vec::new();
    while let Some(row) = rows.try_next().await? {
        let it = Payment::try_from(&row)?;
        let shown = show::intent(provider, &it);
        if lists::hidden(provider, &it.extra) || !search.query.finds(&shown) {
            continue;
        }
        if found.len() == search.limit {
            let next = found.last().and_then(|it| it["id"].as_str()).map(page_after);
            return Ok(show::search_result(&found, next.as_deref()));
        }
        found.push(shown);
    }
    Ok(show::search_result(&found, None))
}

async fn place(db: &mut SqliteConnection, id: &str) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar("select rowid from payments where id = ? and wire = 'stripe'")
        .bind(id)
        .fetch_optional(db)
        .await
}

/// The cursor of the page after this intent; nothing to be read by anybody else.
fn page_after(id: &str) -> String {
    URL_SAFE_NO_PAD.encode(id)
}

fn page_read(cursor: &str) -> Option<String> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()
}

fn no_page() -> Made {
    let message = "This is no page: take next_page of the answer before.";
    invalid("page", "parameter_invalid_string", message)
}
