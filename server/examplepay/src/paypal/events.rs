//! Events of this wire.

use serde_json::{Value, json};
use sqlx::SqliteConnection;

use super::{authorization, show};
use crate::{
    Provider, clock,
    faults::Wrong,
    ledger::{
        Asked,
        record::{self, Payment},
    },
    now_ms,
    webhooks::{self, News},
    wire::Wire,
};

/// The body of an event.
fn event(kind: &str, resource_type: &str, resource: &Value) -> Value {
    let id = uuid::Uuid::new_v4().simple().to_string().to_uppercase();
    json!({
        "id": format!("WH-{}-{}", &id[..17], &id[15..]), "event_version": "1.0",
        "create_time": clock::iso(now_ms()), "resource_type": resource_type,
        "resource_version": "2.0", "event_type": kind, "resource": resource,
        "summary": kind.to_lowercase().replace('.', " "), "links": [],
    })
}

/// Tells where an order, its authorization or its capture stands now. Of an authorization that is
/// pending or denied, nothing is told over this wire.
pub async fn order(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    asked: &Asked<'_>,
) -> sqlx::Result<()> {
    let it = record::payment(db, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    let held = authorization::of(&it).is_some();
    let kind = match it.status.as_str() {
        "authorized" => "PAYMENT.AUTHORIZATION.CREATED",
        "canceled" if held => "PAYMENT.AUTHORIZATION.VOIDED",
        "processing" | "declined" if held => return Ok(()),
        "approved" => "CHECKOUT.ORDER.APPROVED",
        "succeeded" => "PAYMENT.CAPTURE.COMPLETED",
        "processing" => "PAYMENT.CAPTURE.PENDING",
        "declined" => "PAYMENT.CAPTURE.DECLINED",
        "reversed" => "PAYMENT.CAPTURE.REVERSED",
        _ => return Ok(()),
    };
    let body = about(provider, db, &it, kind).await?;
    emit(provider, db, (kind, id), body, asked).await
}

/// What is told of an approval that nobody captured in time.
const UNAPPROVED: &str = "CHECKOUT.PAYMENT-APPROVAL.REVERSED";

/// Tells that an approval was taken back.
pub async fn unapproved(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    asked: &Asked<'_>,
) -> sqlx::Result<()> {
    let it = record::payment(db, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    let body = about(provider, db, &it, UNAPPROVED).await?;
    emit(provider, db, (UNAPPROVED, id), body, asked).await
}

/// An event of this kind about an order: the order itself, its authorization, or its capture.
async fn about(
    provider: &Provider,
    db: &mut SqliteConnection,
    it: &Payment,
    kind: &str,
) -> sqlx::Result<Value> {
    if kind == UNAPPROVED {
        let order = show::order(provider, db, it).await?;
        let resource = json!({"order_id": it.id, "purchase_units": order["purchase_units"]});
        return Ok(event(kind, "payment-approval", &resource));
    }
    if kind.starts_with("CHECKOUT.") {
        return Ok(event(kind, "checkout-order", &show::order(provider, db, it).await?));
    }
    if kind.starts_with("PAYMENT.AUTHORIZATION.")
        && let Some(held) = authorization::of(it)
    {
        return Ok(event(kind, "authorization", &show::authorization(provider, it, &held)));
    }
    Ok(event(kind, "capture", &show::capture(provider, it)))
}

/// Tells that a refund is done; of a pending or failed one, nothing is told over this wire.
pub async fn refund(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    asked: &Asked<'_>,
) -> sqlx::Result<()> {
    let it = record::refund(db, id).await?.ok_or(sqlx::Error::RowNotFound)?;
    if it.status != "succeeded" {
        return Ok(());
    }
    let paid = record::payment(db, &it.payment).await?.ok_or(sqlx::Error::RowNotFound)?;
    let kind = "PAYMENT.CAPTURE.REFUNDED";
    let body = event(kind, "refund", &show::show_refund(provider, &it, &paid));
    emit(provider, db, (kind, id), body, asked).await
}

async fn emit(
    provider: &Provider,
    db: &mut SqliteConnection,
    (kind, of): (&str, &str),
    mut body: Value,
    asked: &Asked<'_>,
) -> sqlx::Result<()> {
    distort(&mut body["resource"], asked.hook.wrong);
    let id = body["id"].as_str().unwrap_or_default().to_owned();
    let news = News { wire: Wire::PayPal, id: &id, of, kind, body: &body, key: asked.key };
    webhooks::queue(provider, db, &news, asked.hook).await
}

/// Makes a capture or refund wrong; an order in its one purchase unit.
fn distort(resource: &mut Value, wrong: Option<Wrong>) {
    let at = match resource.pointer("/purchase_units/0") {
        Some(_) => "/purchase_units/0",
        None => "",
    };
    let Some(told) = resource.pointer_mut(at) else { return };
    match wrong {
        Some(Wrong::Amount) => {
            let value = told["amount"]["value"].as_str().unwrap_or_default();
            told["amount"]["value"] = json!(format!("1{value}"));
        }
        Some(Wrong::Currency) => told["amount"]["currency_code"] = json!("XTS"),
        Some(Wrong::Reference) => told["custom_id"] = json!("somebody-elses"),
        Some(Wrong::Account) => told["payee"] = json!({"merchant_id": "SOMEBODYELSE"}),
        // There is no word for live or test in an event of this wire.
        Some(Wrong::Livemode | Wrong::Signature) | None => {}
    }
}

/// An event by hand, about an order, an authorization, a capture or a refund as it is now.
pub async fn by_hand(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    kind: Option<&str>,
) -> sqlx::Result<Option<Value>> {
    if let Some(it) = record::refund(db, id).await? {
        let paid = record::payment(db, &it.payment).await?.ok_or(sqlx::Error::RowNotFound)?;
        let kind = kind.unwrap_or("PAYMENT.CAPTURE.REFUNDED");
        return Ok(Some(event(kind, "refund", &show::show_refund(provider, &it, &paid))));
    }
    match record::payment(db, id).await? {
        Some(it) => {
            let kind = kind.unwrap_or("PAYMENT.CAPTURE.COMPLETED");
            about(provider, db, &it, kind).await.map(Some)
        }
        None => Ok(None),
    }
}
