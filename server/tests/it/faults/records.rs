//! What a provider may have on record, and what has to come of it however it is heard of.

use serde_json::json;

use super::lost_with;
use crate::{
    harness::World,
    wires::{WIRES, approve},
};

/// What a provider may have on record, and what has to come of that.
pub struct OnRecord {
    pub name: &'static str,
    /// What the shopper chooses at ExamplePay, Stripe and PayPal; behind the bar, on PayPal's page.
    pub pays: [&'static str; 3],
    pub state: &'static str,
    pub review: Option<&'static str>,
    pub effects: &'static [i64],
    pub face: &'static str,
    /// Whether another attempt may be made.
    pub again: bool,
}

/// All of them.
pub const RECORDS: [OnRecord; 7] = [
    OnRecord {
        name: "charged as asked",
        pays: ["tok_visa", "stripe:pm_card_visa", "paypal:wallet|balance"],
        state: "succeeded",
        review: None,
        effects: &[2990],
        face: "paid",
        again: false,
    },
    OnRecord {
        name: "declined",
        pays: ["tok_declined", "stripe:pm_card_visa_chargeDeclined", "paypal:wallet|refused"],
        state: "rejected",
        review: None,
        effects: &[],
        face: "declined",
        again: true,
    },
    OnRecord {
        name: "in processing, then charged",
        pays: ["tok_processing", "stripe:pm_sim_processing", "paypal:wallet|pending"],
        state: "succeeded",
        review: None,
        effects: &[2990],
        face: "paid",
        again: false,
    },
    OnRecord {
        name: "in processing, then declined",
        pays: [
            "tok_processing_declined",
            "stripe:pm_sim_processing_declined",
            "paypal:wallet|pending_declined",
        ],
        state: "rejected",
        review: None,
        effects: &[],
        face: "declined",
        again: true,
    },
    OnRecord {
        name: "another amount charged",
        pays: ["tok_wrong_amount", "stripe:pm_sim_wrong_amount", "paypal:wallet|wrong_amount"],
        state: "requires_review",
        review: Some("amount_mismatch"),
        effects: &[2991],
        face: "in_review",
        again: false,
    },
    OnRecord {
        name: "another currency charged",
        pays: [
            "tok_wrong_currency",
            "stripe:pm_sim_wrong_currency",
            "paypal:wallet|wrong_currency",
        ],
        state: "requires_review",
        review: Some("currency_mismatch"),
        effects: &[2990],
        face: "in_review",
        again: false,
    },
    OnRecord {
        name: "a status nobody has listed",
        pays: [
            "tok_unknown_status",
            "stripe:pm_sim_unknown_status",
            "paypal:wallet|unknown_status",
        ],
        state: "pending_confirmation",
        review: None,
        effects: &[],
        face: "checking",
        again: false,
    },
];

/// Whether the answer tells it or is lost: the record counts, and not how it was heard of.
#[tokio::test]
async fn what_the_provider_has_on_record_decides_on_every_wire() {
    for (place, wire) in WIRES.into_iter().enumerate() {
        for heard in ["by the answer", "by a lookup"] {
            let world = World::start().await;
            for record in &RECORDS {
                let about = format!("{}, {}, heard {heard}", wire.name, record.name);
                world.control("/control/faults/clear", &json!({})).await;
                if heard == "by a lookup" {
                    world.fault(wire.takes, lost_with(&json!({"mode": "never"}))).await;
                }
                let (pays, funding) =
                    record.pays[place].split_once('|').unwrap_or((record.pays[place], ""));
                let checkout = world.buy(pays).await;
                approve(&world, wire, &checkout, funding).await;
                let shown = async || world.status(&checkout).await["face"] == record.face;
                world.until(&checkout, &[record.state]).await;
                world.until_that(&about, shown).await;
                let effects: Vec<i64> =
                    world.effects(&checkout).await.iter().map(|it| it.1).collect();
                assert_eq!(effects, record.effects, "{about}");
                let review: Option<String> = sqlx::query_scalar(
                    "select review_reason from operations join orders on orders.id = order_id
                     where checkout_id = ? and kind = 'payment'",
                )
                .bind(&checkout)
                .fetch_one(world.database())
                .await
                .unwrap();
                assert_eq!(review.as_deref(), record.review, "{about}");
                let again = world.next_form(&checkout).await.is_some();
                assert_eq!(again, record.again, "{about}");
            }
        }
    }
}
