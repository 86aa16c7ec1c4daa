//! Lists of this wire: newest first, a page at a time.

use serde_json::Value;
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use super::{
    form::Params,
    show::{self, invalid, missing},
};
use crate::{
    Provider,
    ledger::{
        Made,
        record::{self, Payment, Refund},
    },
};

/// Which part of a list is asked for.
struct Page {
    limit: i64,
    after: Option<String>,
    from_s: i64,
    until_s: i64,
}

/// How many objects a page has at most.
pub fn limit(params: &Params) -> Result<i64, Made> {
    let limit = params.integer("limit")?.unwrap_or(10);
    if !(1..=100).contains(&limit) {
        return Err(invalid("limit", "parameter_invalid_integer", "This is 1 to 100."));
    }
    Ok(limit)
}

fn page(params: &Params, known: &[&str]) -> Result<Page, Made> {
    params.only(&[known, &["created", "limit", "starting_after"][..]].concat())?;
    let limit = limit(params)?;
    let at = params.integer("created")?;
    let bound = |name: &str| params.integer(&format!("created[{name}]"));
    let from = [at, bound("gte")?, bound("gt")?.map(|it| it + 1)];
    let until = [at, bound("lte")?, bound("lt")?.map(|it| it - 1)];
    Ok(Page {
        limit,
        after: params.get("starting_after").map(str::to_owned),
        from_s: from.into_iter().flatten().max().unwrap_or(0),
        until_s: until.into_iter().flatten().min().unwrap_or(i64::MAX / 1000),
    })
}

/// The rows of one page of a table, and whether there are more.
async fn rows(
    db: &mut SqliteConnection,
    page: &Page,
    (table, time): (&str, &str),
    (filter, value): (&str, Option<&str>),
) -> sqlx::Result<Result<(Vec<SqliteRow>, bool), Made>> {
    let source = if table == "payments" {
        record::PAYMENT.to_owned()
    } else {
        format!("select * from {table}")
    };
    let after = match &page.after {
        None => None,
        Some(id) => {
            let sql = format!("select rowid from {table} where id = ? and wire = 'stripe'");
            let place: Option<i64> = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
                .bind(id)
                .fetch_optional(&mut *db)
                .await?;
            if place.is_none() {
                return Ok(Err(missing("starting_after", "object", id)));
            }
            place
        }
    };
    let sql = format!(
        "{source} where wire = 'stripe' and (?1 is null or {table}.rowid < ?1)
         and {time} / 1000 between ?2 and ?3 and (?4 is null or {filter}) order by {table}.rowid desc limit ?5"
    );
    let mut rows = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(after)
        .bind(page.from_s)
        .bind(page.until_s)
        .bind(value)
        .bind(page.limit + 1)
        .fetch_all(db)
        .await?;
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let more = rows.len() > limit;
    rows.truncate(limit);
    Ok(Ok((rows, more)))
}

/// Whether lookups are to miss this object for a while, so that lists do not show it either.
pub fn hidden(provider: &Provider, extra: &Value) -> bool {
    let reference = extra["metadata"]["reference"].as_str();
    reference.is_some() && provider.faults.lookup_status(reference) == Some(404)
}

/// Intents.
pub async fn intents(provider: &Provider, params: &Params) -> sqlx::Result<Made> {
    let page = match page(params, &["customer"]) {
        Ok(page) => page,
        Err(made) => return Ok(made),
    };
    let mut db = provider.db.acquire().await?;
    let found = rows(&mut db, &page, ("payments", "created_at"), ("?4 = ''", None)).await?;
    let (rows, more) = match found {
        Ok(found) => found,
        Err(made) => return Ok(made),
    };
    let found: Vec<Payment> = rows.iter().map(Payment::try_from).collect::<sqlx::Result<_>>()?;
    let seen = found.iter().filter(|it| !hidden(provider, &it.extra));
    let shown: Vec<Value> = seen.map(|it| show::intent(provider, it)).collect();
    Ok(show::list("/v1/payment_intents", &shown, more))
}

/// Refunds, of one intent or charge or of all.
pub async fn refunds(provider: &Provider, params: &Params) -> sqlx::Result<Made> {
    let page = match page(params, &["charge", "payment_intent"]) {
        Ok(page) => page,
        Err(made) => return Ok(made),
    };
    let mut db = provider.db.acquire().await?;
    let of = params.get("payment_intent").or(params.get("charge"));
    let filter = "payment in (select id from payments where id = ?4 or charge = ?4)";
    let found = rows(&mut db, &page, ("refunds", "created_at"), (filter, of)).await?;
    let (rows, more) = match found {
        Ok(found) => found,
        Err(made) => return Ok(made),
    };
    let mut shown = Vec::with_capacity(rows.len());
    for row in &rows {
        let refund = Refund::try_from(row)?;
        if hidden(provider, &refund.extra) {
            continue;
        }
        let paid = record::payment(&mut db, &refund.payment).await?;
        shown.push(show::refund(&refund, paid.as_ref().and_then(|it| it.charge.as_deref())));
    }
    Ok(show::list("/v1/refunds", &shown, more))
}

/// Disputes, of one intent or charge or of all: each is a payment that its bank took back.
pub async fn disputes(provider: &Provider, params: &Params) -> sqlx::Result<Made> {
    let mut page = match page(params, &["charge", "payment_intent"]) {
        Ok(page) => page,
        Err(made) => return Ok(made),
    };
    page.after = page.after.map(|id| show::disputed(&id));
    let mut db = provider.db.acquire().await?;
    let of = params.get("payment_intent").or(params.get("charge")).unwrap_or_default();
    let filter = "status = 'reversed' and (?4 = '' or payments.id = ?4 or charge = ?4)";
    let found = rows(&mut db, &page, ("payments", "updated_at"), (filter, Some(of))).await?;
    let (rows, more) = match found {
        Ok(found) => found,
        Err(made) => return Ok(made),
    };
    let found: Vec<Payment> = rows.iter().map(Payment::try_from).collect::<sqlx::Result<_>>()?;
    let seen = found.iter().filter(|it| !hidden(provider, &it.extra));
    let shown: Vec<Value> = seen.map(show::dispute).collect();
    Ok(show::list("/v1/disputes", &shown, more))
}

/// Events, of some types or of all.
pub async fn events(provider: &Provider, params: &Params) -> sqlx::Result<Made> {
    let page = match page(params, &["delivery_success", "type", "types"]) {
        Ok(page) => page,
        Err(made) => return Ok(made),
    };
    let mut types = params.list("types");
    types.extend(params.get("type"));
    // Surrounded by commas, so that no type is found within another one.
    let types = (!types.is_empty()).then(|| format!(",{},", types.join(",")));
    let taken = "exists (select 1 from deliveries where event = events.id and last_status between 200 and 299)";
    let delivered = match params.get("delivery_success") {
        Some("true") => taken.to_owned(),
        Some(_) => format!("not {taken}"),
        None => "true".to_owned(),
    };
    // Without types the filter still has to be looked at: a single comma stands for all.
    let value = types.as_deref().unwrap_or(",");
    let filter = format!("(?4 = ',' or instr(?4, ',' || type || ',') > 0) and {delivered}");
    let mut db = provider.db.acquire().await?;
    let found = rows(&mut db, &page, ("events", "at"), (&filter, Some(value))).await?;
    let (rows, more) = match found {
        Ok(found) => found,
        Err(made) => return Ok(made),
    };
    let shown = rows.iter().map(|row| {
        let body: String = row.try_get("body")?;
        serde_json::from_str(&body).map_err(|reason| sqlx::Error::Decode(reason.into()))
    });
    let shown: Vec<Value> = shown.collect::<sqlx::Result<_>>()?;
    Ok(show::list("/v1/events", &shown, more))
}
