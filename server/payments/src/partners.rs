//! What a paid order needs besides its payment: an invoice and a parcel.
//!
//! Both are operations of the same engine, opened in the transaction that took the payment. What
//! their partners promise decides what may be done when an answer is lost.

use domain::{fingerprint::fingerprint, id::OperationId, operation::Kind, schedule::Timestamp};

use crate::{
    Error, clock,
    engine::{Engine, order_transition},
    opening,
    provider::Provider,
    store::{Order, Work},
};

/// What the number of an order's invoice begins with.
const INVOICE: &str = "INV";
/// What the reference of its parcel begins with.
const SHIPMENT: &str = "SHP";

/// The number that the invoice of an order has, written or not.
pub fn invoice_number(order: &str) -> String {
    reference(INVOICE, order)
}

fn reference(letters: &str, order: &str) -> String {
    format!("{letters}-{order}")
}

/// Opens the invoice and the shipment of an order that was just paid, for each partner there is.
pub async fn open_all(
    engine: &Engine,
    work: &mut dyn Work,
    order: &mut Order,
    now: Timestamp,
) -> Result<(), Error> {
    for (kind, letters) in [(Kind::INVOICE, INVOICE), (Kind::SHIPMENT, SHIPMENT)] {
        let partner = engine.providers.iter().find(|it| it.capability(&kind).is_some());
        if let Some(partner) = partner.cloned() {
            open(engine, work, order, partner.as_ref(), kind, letters, now).await?;
        }
    }
    Ok(())
}

async fn open(
    engine: &Engine,
    work: &mut dyn Work,
    order: &mut Order,
    partner: &dyn Provider,
    kind: Kind,
    letters: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(capability) = partner.capability(&kind) else { return Ok(()) };
    let hash = fingerprint(kind.as_str(), &order.id.to_string(), order.amount, &[]);
    let prefix = format!("{}:{}:v1", kind.as_str(), order.checkout_id);
    let operation = opening::operation(opening::Opening {
        id: OperationId(clock::fresh_id()),
        kind,
        order,
        attempt: 1,
        provider: partner,
        reference: reference(letters, &order.reference),
        amount: order.amount,
        instrument: None,
        request_hash: hash,
        deadline_at: now.after(capability.deadline),
        now,
    });
    engine.open(work, &operation, order, None, &prefix).await?;
    order.sequence += 1;
    let mut row = order_transition(&operation, order, "order_paid", "engine", now);
    row.from = None;
    row.version = operation.version;
    Ok(work.insert_transition(&row).await?)
}
