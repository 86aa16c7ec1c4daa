//! Invoicing: a number is written once, and found only after a while.

use serde_json::{Value, json};
use sqlx::{Row, SqliteConnection};

use super::{
    Done,
    effects::{Effect, effect},
    nothing,
    read::{invalid, list, object, text, whole},
};
use crate::{Provider, fresh, ledger::Made, millis, now_ms};

/// An invoice that is asked for; checked already.
#[derive(Clone)]
pub struct NewInvoice {
    /// Its number, by which it is unique and found.
    pub number: String,
    amount_minor: i64,
    currency: String,
    buyer_reference: String,
    lines: Vec<Value>,
}

/// Reads an invoice that is asked for.
pub fn read(body: &[u8]) -> Result<NewInvoice, Made> {
    let body = object(body)?;
    let currency = text(&body, "currency")?;
    if currency.len() != 3 || !currency.bytes().all(|it| it.is_ascii_uppercase()) {
        return Err(invalid("currency", "A currency is three upper-case letters."));
    }
    let lines = list(&body, "lines", |line| {
        Ok(json!({
            "description": text(line, "description")?,
            "quantity": whole(line, "quantity", 1)?,
            "amountMinor": whole(line, "amountMinor", 0)?,
        }))
    })?;
    if lines.is_empty() {
        return Err(invalid("lines", "An invoice has at least one line."));
    }
    Ok(NewInvoice {
        number: text(&body, "invoiceNumber")?,
        amount_minor: whole(&body, "amountMinor", 1)?,
        currency,
        buyer_reference: text(&body, "buyerReference")?,
        lines,
    })
}

/// Writes an invoice; a number that is taken is refused, whatever the content.
///
/// `saved` is what a script wants the number to give from now on instead of that refusal.
pub async fn create(
    db: &mut SqliteConnection,
    new: &NewInvoice,
    saved: Option<&Made>,
) -> sqlx::Result<Done> {
    let (id, now) = (fresh("inv"), now_ms());
    let written = sqlx::query(
        "insert into invoices (id, number, amount_minor, currency, buyer_reference, lines, status,
             created_at, saved_status, saved_body, saved_type)
         values (?, ?, ?, ?, ?, ?, 'issued', ?, ?, ?, ?) on conflict (number) do nothing",
    )
    .bind(&id)
    .bind(&new.number)
    .bind(new.amount_minor)
    .bind(&new.currency)
    .bind(&new.buyer_reference)
    .bind(json!(new.lines).to_string())
    .bind(now)
    .bind(saved.map(|made| i64::from(made.status)))
    .bind(saved.map(|made| &made.body))
    .bind(saved.map(|made| &made.content_type))
    .execute(&mut *db)
    .await?;
    if written.rows_affected() == 0 {
        return Ok(nothing(taken(db, &new.number).await?));
    }
    let written = Effect {
        kind: "invoice",
        reference: &new.number,
        id: &id,
        number: Some(&new.number),
        amount: Some((new.amount_minor, &new.currency)),
    };
    effect(db, written).await?;
    let shown = show(&id, &new.number, "issued", (new.amount_minor, &new.currency), now);
    Ok(Done { made: Made::json(201, &shown), executed: true })
}

async fn taken(db: &mut SqliteConnection, number: &str) -> sqlx::Result<Made> {
    let row = sqlx::query("select saved_status, saved_body, saved_type from invoices where number = ? and saved_status is not null")
        .bind(number)
        .fetch_optional(db)
        .await?;
    let Some(row) = row else {
        let refused = json!({"error": "duplicate_invoice_number", "invoiceNumber": number});
        return Ok(Made::json(409, &refused));
    };
    Ok(Made {
        status: u16::try_from(row.try_get::<i64, _>("saved_status")?).unwrap_or(500),
        body: row.try_get("saved_body")?,
        content_type: row.try_get("saved_type")?,
    })
}

/// The invoice with this number, once it is old enough to be found.
pub async fn find(provider: &Provider, number: &str) -> sqlx::Result<Option<Value>> {
    let row = sqlx::query("select * from invoices where number = ? and created_at <= ?")
        .bind(number)
        .bind(now_ms() - millis(provider.settings.invoice_lag))
        .fetch_optional(&provider.db)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let (id, status, currency): (String, String, String) =
        (row.try_get("id")?, row.try_get("status")?, row.try_get("currency")?);
    let (amount, issued_at) = (row.try_get("amount_minor")?, row.try_get("created_at")?);
    Ok(Some(show(&id, number, &status, (amount, &currency), issued_at)))
}

/// There is no such invoice, or none that can be found already.
pub fn not_found(number: &str) -> Made {
    Made::json(404, &json!({"error": "invoice_not_found", "invoiceNumber": number}))
}

fn show(id: &str, number: &str, status: &str, amount: (i64, &str), issued_at: i64) -> Value {
    json!({
        "id": id, "invoiceNumber": number, "status": status, "amountMinor": amount.0,
        "currency": amount.1, "issuedAt": issued_at,
    })
}
