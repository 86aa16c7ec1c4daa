//! Shipping: each POST is another parcel, and nobody can ask for it.

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::{
    Done,
    effects::{Effect, effect},
    read::{list, object, text, whole},
};
use crate::{fresh, ledger::Made, now_ms};

/// A parcel that is asked for; checked already.
#[derive(Clone)]
pub struct NewShipment {
    reference: String,
    recipient_reference: String,
    items: Vec<Value>,
}

/// Reads a parcel that is asked for.
pub fn read(body: &[u8]) -> Result<NewShipment, Made> {
    let body = object(body)?;
    let items = list(&body, "items", |item| {
        Ok(json!({"sku": text(item, "sku")?, "quantity": whole(item, "quantity", 1)?}))
    })?;
    Ok(NewShipment {
        reference: text(&body, "reference")?,
        recipient_reference: text(&body, "recipientReference")?,
        items,
    })
}

/// Takes one more parcel.
pub async fn create(db: &mut SqliteConnection, new: &NewShipment) -> sqlx::Result<Done> {
    let id = fresh("shp");
    sqlx::query(
        "insert into shipments (id, reference, recipient_reference, items, status, created_at)
         values (?, ?, ?, ?, 'accepted', ?)",
    )
    .bind(&id)
    .bind(&new.reference)
    .bind(&new.recipient_reference)
    .bind(json!(new.items).to_string())
    .bind(now_ms())
    .execute(&mut *db)
    .await?;
    let taken =
        Effect { kind: "shipment", reference: &new.reference, id: &id, number: None, amount: None };
    effect(db, taken).await?;
    let made = Made::json(201, &json!({"shipmentId": id, "status": "accepted"}));
    Ok(Done { made, executed: true })
}
