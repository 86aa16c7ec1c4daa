//! What an account saw, as this wire reports it: every movement of money, some time later.

use form_urlencoded::parse;
use serde_json::{Value, json};
use sqlx::{Row, sqlite::SqliteRow};

use super::{
    amount,
    show::{issue, problem},
};
use crate::{Provider, clock, ledger::Made, millis, now_ms};

/// The longest span that is reported at once.
const SPAN_MS: i64 = 31 * 24 * 3600 * 1000;

/// What of a report is asked for.
struct Asked {
    from: i64,
    until: i64,
    rows: i64,
    page: i64,
}

/// A time as a report has it.
fn iso(ms: i64) -> String {
    clock::iso(ms).replace('Z', "+0000")
}

fn read(query: &str) -> Result<Asked, Made> {
    let given = |wanted: &str| {
        parse(query.as_bytes())
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value.into_owned())
    };
    let wrong = |name: &str| issue(400, "INVALID_PARAMETER_SYNTAX", Some(name));
    for (name, _) in parse(query.as_bytes()) {
        if !["start_date", "end_date", "fields", "page_size", "page"].contains(&name.as_ref()) {
            return Err(issue(400, "NOT_SUPPORTED", Some(&name)));
        }
    }
    let time = |name: &str| {
        let text =
            given(name).ok_or_else(|| issue(400, "MISSING_REQUIRED_PARAMETER", Some(name)))?;
        clock::read(&text).ok_or_else(|| wrong(name))
    };
    let number = |name: &str, usual: i64, most: i64| match given(name) {
        None => Ok(usual),
        Some(text) => {
            text.parse().ok().filter(|it| (1..=most).contains(it)).ok_or_else(|| wrong(name))
        }
    };
    let (from, until) = (time("start_date")?, time("end_date")?);
    if until < from || until - from > SPAN_MS {
        return Err(issue(400, "INVALID_PARAMETER_VALUE", Some("end_date")));
    }
    let (rows, page) = (number("page_size", 100, 500)?, number("page", 1, i64::from(i32::MAX))?);
    Ok(Asked { from, until, rows, page })
}

/// The movements of a span, oldest first, a page at a time. A refund that came back keeps its row,
/// which then says so.
pub async fn answer(provider: &Provider, query: &str) -> sqlx::Result<Made> {
    let asked = match read(query) {
        Ok(asked) => asked,
        Err(made) => return Ok(made),
    };
    let lag = provider.faults.report_lag().unwrap_or(provider.settings.paypal_report_lag);
    // In whole seconds, as it is told.
    let refreshed = (now_ms() - millis(lag)) / 1000 * 1000;
    if asked.from > refreshed {
        let message = "Data for the given start date is not available.";
        return Ok(problem(400, "INVALID_REQUEST", message, &[]));
    }
    let until = asked.until.min(refreshed);
    let of = "from effects join payments on payments.id = effects.payment
         left join refunds on refunds.id = effects.refund
         where payments.wire = 'paypal' and effects.kind <> 'refund_reversal' and at between ?1 and ?2";
    let count = sqlx::AssertSqlSafe(format!("select count(*) {of}"));
    let total: i64 =
        sqlx::query_scalar(count).bind(asked.from).bind(until).fetch_one(&provider.db).await?;
    let rows = sqlx::AssertSqlSafe(format!(
        "select effects.kind, effects.at, effects.amount_minor, effects.currency, payments.charge,
             refunds.id as refund, refunds.status as refund_status,
             coalesce(refunds.extra, payments.extra) as extra, coalesce(refunds.updated_at, at) as updated_at
         {of} order by effects.id limit ?3 offset ?4"
    ));
    let rows = sqlx::query(rows)
        .bind(asked.from)
        .bind(until)
        .bind(asked.rows)
        .bind((asked.page - 1) * asked.rows)
        .fetch_all(&provider.db)
        .await?;
    let details: Vec<Value> = rows.iter().map(detail).collect::<sqlx::Result<_>>()?;
    Ok(told(&asked, &details, total, refreshed))
}

fn told(asked: &Asked, details: &[Value], total: i64, refreshed: i64) -> Made {
    let pages = total.saturating_add(asked.rows - 1) / asked.rows;
    Made::json(
        200,
        &json!({
            "transaction_details": details, "account_number": "PAYONCEMERCHANT",
            "start_date": iso(asked.from), "end_date": iso(asked.until.min(refreshed)),
            "last_refreshed_datetime": iso(refreshed),
            "page": asked.page, "total_items": total, "total_pages": pages, "links": [],
        }),
    )
}

/// A report while lookups find nothing.
pub fn nothing() -> Made {
    let now = now_ms();
    told(&Asked { from: now, until: now, rows: 1, page: 1 }, &[], 0, now)
}

/// One movement. What came is a payment through the checkout, what the shop gave back a refund, and
/// what a bank took back a chargeback.
fn detail(row: &SqliteRow) -> sqlx::Result<Value> {
    let kind: String = row.try_get("kind")?;
    let capture: Option<String> = row.try_get("charge")?;
    let capture = capture.unwrap_or_default();
    let (code, id) = match kind.as_str() {
        "charge" => ("T0006", capture.clone()),
        "refund" => ("T1107", row.try_get("refund")?),
        // It has no object of its own here; its id is made of that of its capture.
        _ => ("T1201", capture.chars().rev().collect()),
    };
    let failed = row.try_get::<Option<String>, _>("refund_status")?.as_deref() == Some("failed");
    let extra: String = row.try_get("extra")?;
    let extra: Value =
        serde_json::from_str(&extra).map_err(|reason| sqlx::Error::Decode(reason.into()))?;
    let (amount, currency): (i64, String) =
        (row.try_get("amount_minor")?, row.try_get("currency")?);
    let mut info = json!({
        "paypal_account_id": "PAYER", "transaction_id": id, "transaction_event_code": code,
        "transaction_initiation_date": iso(row.try_get("at")?),
        "transaction_updated_date": iso(row.try_get("updated_at")?),
        "transaction_amount": amount::show(amount, &currency),
        "transaction_status": if failed { "V" } else { "S" },
        "protection_eligibility": "02",
    });
    if kind != "charge" {
        info["paypal_reference_id"] = json!(capture);
        info["paypal_reference_id_type"] = json!("TXN");
    }
    for (name, of) in [("custom_field", "custom_id"), ("invoice_id", "invoice_id")] {
        if !extra[of].is_null() {
            info[name] = extra[of].clone();
        }
    }
    Ok(json!({"transaction_info": info}))
}
