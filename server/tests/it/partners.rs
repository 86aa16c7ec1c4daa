//! The invoice and the parcel of a paid order, with partners that promise less. The list of faults is
//! played through both in faults.rs.

use reqwest::Method;
use serde_json::json;

use crate::harness::{Options, World};

const LOST: &str = "drop_before_headers";

async fn world() -> World {
    World::with(Options { partners: true, ..Options::default() }).await
}

/// What the partners really did for an order: kinds in order.
pub async fn done(world: &World, checkout: &str) -> Vec<String> {
    let reference = world.reference(checkout).await;
    let told = world.ask("/control/partners/ledger").await;
    let effects = told["effects"].as_array().unwrap();
    let ours = effects.iter().filter(|it| it.to_string().contains(&reference));
    ours.map(|it| it["kind"].as_str().unwrap().to_owned()).collect()
}

async fn until(world: &World, checkout: &str, kind: &str, wanted: &str) {
    let what = format!("the {kind} is {wanted}");
    world.until_that(&what, async || world.states(checkout, kind).await == [wanted]).await;
}

async fn page(world: &World, checkout: &str) -> String {
    world.send(world.request(Method::GET, &format!("/checkout/{checkout}"))).await.2
}

#[tokio::test]
async fn an_unknown_parcel_is_never_sent_again_and_the_shopper_is_told_the_truth() {
    let world = world().await;
    world.fault("create_shipment", json!([{"answer": {"kind": LOST}}])).await;
    let checkout = world.buy("tok_visa").await;
    until(&world, &checkout, "shipment", "requires_review").await;
    until(&world, &checkout, "invoice", "succeeded").await;
    let html = page(&world, &checkout).await;
    assert!(html.contains("Your parcel") && html.contains("being confirmed"), "{html}");
    assert!(html.contains("Your order is paid"), "{html}");
    let reason =
        "select count(*) from operations where kind = 'shipment' and review_reason = 'no_lookup'";
    assert_eq!(world.number(reason).await, 1);
    let sends = "select count(*) from attempts join operations on operations.id = operation_id where kind = 'shipment'";
    assert_eq!(world.number(sends).await, 1, "sent once, and never again");
    assert_eq!(done(&world, &checkout).await.iter().filter(|it| *it == "shipment").count(), 1);
    assert_eq!(world.number("select count(*) from alerts where kind = 'review'").await, 1);
}

#[tokio::test]
async fn a_number_that_exists_is_looked_up_and_not_written_twice() {
    let world = world().await;
    // The first answer is lost; the invoice is found only after a while, so the number is tried again.
    world
        .fault(
            "create_invoice",
            json!([{"answer": {"kind": LOST}, "lookup": {"not_found_for_ms": 3000}}]),
        )
        .await;
    let checkout = world.buy("tok_visa").await;
    until(&world, &checkout, "invoice", "succeeded").await;
    assert_eq!(done(&world, &checkout).await.iter().filter(|it| *it == "invoice").count(), 1);
    let html = page(&world, &checkout).await;
    let number = format!("INV-{}", world.reference(&checkout).await);
    assert!(html.contains(&number), "{html}");
}

#[tokio::test]
async fn partners_are_asked_only_for_what_was_paid_and_once() {
    let world = world().await;
    let declined = world.buy("tok_declined").await;
    world.until(&declined, &["rejected"]).await;
    assert!(world.states(&declined, "shipment").await.is_empty());
    let form = world.next_form(&declined).await.unwrap();
    assert_eq!(world.post(&form, "tok_visa").await.0, 303);
    world.agree(&declined, "succeeded", 1).await;
    until(&world, &declined, "shipment", "succeeded").await;
    until(&world, &declined, "invoice", "succeeded").await;
    let mut done = done(&world, &declined).await;
    done.sort();
    assert_eq!(done, ["invoice", "shipment"]);
}

#[tokio::test]
async fn partners_that_are_away_leave_the_payment_alone_and_are_asked_again() {
    let world = world().await;
    world
        .control("/control/outage", &json!({"mode": "refuse", "for_ms": 1500, "door": "partners"}))
        .await;
    let checkout = world.buy("tok_visa").await;
    world.agree(&checkout, "succeeded", 1).await;
    until(&world, &checkout, "shipment", "succeeded").await;
    until(&world, &checkout, "invoice", "succeeded").await;
    assert_eq!(done(&world, &checkout).await.len(), 2);
}

#[tokio::test]
async fn a_parcel_that_was_not_handed_over_is_kept_when_the_order_is_refunded() {
    let token = "an-operators-token-of-these-tests";
    let world = World::with(Options {
        partners: true,
        shop: vec![("PAYONCE_OPERATOR_TOKEN", token.to_owned())],
        ..Options::default()
    })
    .await;
    let later = json!([{"execute": false, "answer": {"kind": "status", "status": 429, "body": "{}", "headers": {"Retry-After": "600"}}}]);
    world.fault("create_shipment", later).await;
    let checkout = world.buy("tok_visa").await;
    world.until(&checkout, &["succeeded"]).await;
    until(&world, &checkout, "shipment", "retry_scheduled").await;
    let path = format!("/api/orders/{}/refunds", world.reference(&checkout).await);
    let wish = json!({
        "refund_request_id": uuid::Uuid::new_v4(), "amount_minor": 2990, "currency": "EUR",
        "reason": "changed their mind",
    });
    let answer = world.http.post(world.url(&path)).bearer_auth(token).json(&wish);
    assert_eq!(answer.send().await.unwrap().status(), 202);
    until(&world, &checkout, "shipment", "canceled").await;
    assert_eq!(world.order_state(&checkout).await, "refunded");
    assert_eq!(done(&world, &checkout).await.iter().filter(|it| *it == "shipment").count(), 0);
    assert_eq!(world.number("select count(*) from alerts where kind = 'undone'").await, 1);
}
