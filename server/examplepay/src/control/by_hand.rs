//! Events by hand: about an object of any wire, in that wire's words.

use serde_json::Value;
use sqlx::SqliteConnection;

use crate::{
    Provider,
    faults::Hook,
    fresh,
    ledger::{self, Asked, record},
    paypal, stripe, webhooks,
    wire::Wire,
};

/// An event about an object as it is now, and the wire it belongs to.
pub async fn event(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    kind: Option<&str>,
) -> sqlx::Result<Option<(Wire, Value)>> {
    let wire = match record::payment(db, id).await? {
        Some(payment) => payment.wire,
        None => match record::refund(db, id).await? {
            Some(refund) => refund.wire,
            None => return Ok(None),
        },
    };
    let event = match wire {
        Wire::ExamplePay => own(provider, db, id, kind).await?,
        Wire::Stripe => stripe::events::by_hand(provider, db, id, kind).await?,
        Wire::PayPal => paypal::events::by_hand(provider, db, id, kind).await?,
    };
    Ok(event.map(|event| (wire, event)))
}

/// The object within an event.
pub fn object(wire: Wire, event: &mut Value) -> &mut Value {
    match wire {
        Wire::ExamplePay | Wire::Stripe => &mut event["data"]["object"],
        Wire::PayPal => &mut event["resource"],
    }
}

async fn own(
    provider: &Provider,
    db: &mut SqliteConnection,
    id: &str,
    kind: Option<&str>,
) -> sqlx::Result<Option<Value>> {
    let object = match ledger::payment(provider, db, id).await? {
        Some(object) => Some(object),
        None => ledger::refund(provider, db, id).await?,
    };
    let hook = Hook::default();
    let asked = Asked { key: "", request_id: "req_control", hook: &hook, later: true };
    let kind = kind.unwrap_or("payment.succeeded");
    let account = &provider.settings.account;
    Ok(object.map(|object| webhooks::event(&fresh("evt"), kind, account, &object, &asked)))
}
