//! The eight tests every payment integration owes its shoppers.

use reqwest::Method;
use serde_json::json;

use crate::harness::{Options, World};

/// Webhooks never come, so that lookups have to find out.
async fn without_webhooks(world: &World) {
    world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
}

#[tokio::test]
async fn article_1_request_never_arrived_is_retried_with_the_same_key() {
    let world = World::start().await;
    without_webhooks(&world).await;
    world
        .fault(
            "create_payment",
            json!([{"execute": false, "answer": {"kind": "drop_before_headers"}}]),
        )
        .await;
    let checkout = world.buy("tok_visa").await;
    world.agree(&checkout, "succeeded", 1).await;
    let sends = world.sends(&checkout).await;
    assert_eq!(sends.len(), 2, "{sends:?}");
    assert_eq!(sends[0]["key"], format!("pay:{checkout}:v1:create"));
    assert_eq!(sends[0]["key"], sends[1]["key"]);
    assert_eq!(sends[0]["body_sha256"], sends[1]["body_sha256"]);
    assert!(world.history(&checkout).await.contains(&"pending_confirmation".to_owned()));
}

#[tokio::test]
async fn article_2_response_lost_after_success_makes_no_second_effect() {
    let world = World::start().await;
    without_webhooks(&world).await;
    world
        .fault(
            "create_payment",
            json!([{"execute": true, "answer": {"kind": "drop_before_headers"}}]),
        )
        .await;
    let checkout = world.buy("tok_visa").await;
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.sends(&checkout).await.len(), 1, "a lookup answered, nothing was sent again");
    assert_eq!(
        world.history(&checkout).await,
        ["created", "requested", "pending_confirmation", "succeeded"]
    );
    assert_eq!(world.order_state(&checkout).await, "paid");
}

#[tokio::test]
async fn article_3_long_processing_is_pending_not_failed() {
    let world = World::start().await;
    let checkout = world.buy("tok_processing").await;
    world.until(&checkout, &["pending_confirmation"]).await;
    let status = world.status(&checkout).await;
    assert_eq!(status["face"], "checking");
    world.agree(&checkout, "succeeded", 1).await;
    let history = world.history(&checkout).await;
    assert!(!history.iter().any(|state| state == "rejected" || state == "canceled"), "{history:?}");
}

#[tokio::test]
async fn article_4_webhook_before_the_response() {
    let world = World::start().await;
    world
        .fault(
            "create_payment",
            json!([{"execute": true, "delay_ms": 2500, "webhook": {"mode": "before_response"}}]),
        )
        .await;
    let checkout = world.buy("tok_visa").await;
    world.until(&checkout, &["succeeded"]).await;
    let confirmed = "select count(*) from operations where confirmed_by = 'webhook'";
    assert_eq!(world.number(confirmed).await, 1);
    assert_eq!(
        world.number("select count(*) from attempts where ended_at is null").await,
        1,
        "the answer is still to come"
    );
    world.until_number("select count(*) from attempts where ended_at is null", 0).await;
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.history(&checkout).await, ["created", "requested", "succeeded"]);
}

#[tokio::test]
async fn article_5_response_and_webhook_at_the_same_moment() {
    let world = World::with(Options {
        provider: vec![("EXAMPLEPAY_WEBHOOK_DELAY_MS", "0".to_owned())],
        ..Options::default()
    })
    .await;
    for delay in [0, 0, 1, 1, 2, 2, 3, 3, 5, 8, 13, 21] {
        world
            .fault(
                "create_payment",
                json!([{"execute": true, "delay_ms": delay, "webhook": {"mode": "copies", "copies": 2}}]),
            )
            .await;
        let checkout = world.buy("tok_visa").await;
        world.agree(&checkout, "succeeded", 1).await;
        let history = world.history(&checkout).await;
        assert_eq!(history.iter().filter(|state| *state == "succeeded").count(), 1, "{history:?}");
    }
    assert_eq!(world.number("select count(*) from orders").await, 12);
    assert_eq!(world.number("select count(*) from operations").await, 12);
    assert_eq!(world.number("select count(*) from outbox where topic = 'order.paid'").await, 12);
}

#[tokio::test]
async fn article_6_same_key_other_payload_is_a_conflict() {
    let world = World::start().await;
    world.add("cups", 1).await;
    let form = world.form().await;
    assert_eq!(world.post(&form, "tok_visa").await.0, 303);
    world.agree(&form.checkout, "succeeded", 1).await;
    let sends = world.requests().await.len();
    let other_amount = form.clone().with("amount_minor", "2991");
    let other_currency = form.clone().with("currency", "JPY");
    let other_version = form.clone().with("cart_version", "9");
    for other in [other_amount, other_currency, other_version] {
        let (status, _, body) = world.post(&other, "tok_visa").await;
        assert_eq!(status, 422, "{body}");
        let mut fields = other.fields.clone();
        fields.push(("payment_token".to_owned(), "tok_visa".to_owned()));
        let path = format!("/checkout/{}/pay", other.checkout);
        let request = world.request(Method::POST, &path).header("Accept", "application/json");
        let (status, _, body) = world.send(request.form(&fields)).await;
        assert_eq!(status, 422);
        assert!(body.contains("IDEMPOTENCY_CONFLICT"), "{body}");
    }
    world.agree(&form.checkout, "succeeded", 1).await;
    assert_eq!(world.requests().await.len(), sends, "no provider call was made");
}

#[tokio::test]
async fn article_7_worker_dies_after_provider_success() {
    let mut world = World::start().await;
    without_webhooks(&world).await;
    world.restart(Some("after_answer"));
    let checkout = world.buy("tok_visa").await;
    assert!(world.shop.ended(), "the shop died after the provider's answer");
    assert_eq!(world.state(&checkout).await, "requested");
    assert_eq!(world.effects(&checkout).await.len(), 1, "the provider had charged");
    world.restart(None);
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.sends(&checkout).await.len(), 1);
}

#[tokio::test]
async fn article_8_an_hour_of_timeouts_is_bounded_and_alerts() {
    // An hour is 18 seconds here, the deadline of 30 minutes is 9.
    let world = World::with(Options { scale: "0.005", ..Options::default() }).await;
    without_webhooks(&world).await;
    let hidden = json!([{"execute": true, "answer": {"kind": "drop_before_headers"}}]);
    world.fault_then("any", hidden, "repeat_last").await;
    let checkout = world.buy("tok_visa").await;
    world.until(&checkout, &["requires_review"]).await;
    let mut requests = world.requests().await;
    // The daily comparison asks for lists, whatever becomes of one payment.
    requests.retain(|it| it["key"].is_string() || it["reference"].is_string());
    let sends = world.sends(&checkout).await;
    assert!((5..=18).contains(&requests.len()), "{} requests", requests.len());
    assert!(!sends.is_empty() && sends.len() <= 4, "{} mutating requests", sends.len());
    let incidents = "select count(*) from alerts where incident = 'unknown-outcomes:examplepay'";
    assert_eq!(world.number(incidents).await, 1, "one alert, whatever the number of timeouts");
    assert_eq!(world.number("select count(*) from alerts where kind = 'review'").await, 1);
    let (_, _, metrics) = world.send(world.request(Method::GET, "/metrics")).await;
    assert!(metrics.contains("payonce_alerts_total{kind=\"unknown_outcomes\"} 1"), "{metrics}");
    // The outage ends; the hourly lookup finds what was true all along.
    world.control("/control/faults/clear", &json!({})).await;
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.order_state(&checkout).await, "paid");
    world.until_number("select count(*) from alerts where closed_at is null", 0).await;
}
