//! Events: signed, durable, sent until somebody takes them; or as wrong as a script wants.

use serde_json::{Value, json};

use crate::harness::{Received, SECRET, World, until};

fn genuine((header, body): &Received) -> bool {
    let time = header.trim_start_matches("t=").split(',').next().unwrap().parse().unwrap();
    *header == examplepay::sign(SECRET, time, body)
}

fn event((_, body): &Received) -> Value {
    serde_json::from_str(body).unwrap()
}

#[test]
fn the_signature_is_the_published_hmac() {
    // Computed with OpenSSL: printf '1700000000.{}' | openssl dgst -sha256 -hmac whsec_payonce
    let wanted = "t=1700000000,v1=61111a9ba7b8a77820271eafcd4e0aa23e24a915dc467cdb2e420dac70ce1cfb";
    assert_eq!(examplepay::sign(SECRET, 1_700_000_000, "{}"), wanted);
}

#[tokio::test]
async fn an_event_is_signed_and_names_request_and_object() {
    let world = World::start().await;
    let id = world.paid("k1", "tok_visa").await;
    let received = world.until_received(1).await;
    assert!(genuine(&received[0]));
    let told = event(&received[0]);
    assert_eq!(told["type"], "payment.succeeded");
    assert_eq!(told["request"]["idempotency_key"], "k1");
    assert_eq!(told["data"]["object"], world.get(&format!("/v1/payments/{id}")).await.json());
}

#[tokio::test]
async fn an_event_is_sent_again_until_it_is_taken_and_then_no_more() {
    let world = World::start().await;
    world.receiver_answers(&[500, 302]);
    world.paid("k1", "tok_visa").await;
    let received = world.until_received(3).await;
    assert!(received.iter().all(|it| genuine(it) && it.1 == received[0].1));
    until("the end", async || {
        !world.ask("/control/events").await["events"][0]["done_at"].is_null()
    })
    .await;
    let told = world.ask("/control/events").await["events"][0].clone();
    assert_eq!((&told["tries"], &told["last_status"]), (&json!(3), &json!(200)));
}

#[tokio::test]
async fn events_outlive_a_restart() {
    let mut world =
        World::with(|it| it.webhook_delay = std::time::Duration::from_millis(300)).await;
    world.paid("k1", "tok_visa").await;
    world.restart().await;
    assert_eq!(world.received(), []);
    world.until_received(1).await;
}

#[tokio::test]
async fn an_event_comes_before_its_response_where_that_is_asked_for() {
    let world = World::with(|it| it.webhook_delay = std::time::Duration::from_secs(60)).await;
    world.script("k1", json!({"webhook": {"mode": "before_response"}})).await;
    let id = world.paid("k1", "tok_visa").await;
    assert_eq!(world.kinds(), ["payment.succeeded"]);
    let script = json!({"match": {"operation": "create_refund"}, "steps": [{"webhook": {"mode": "before_response"}}]});
    world.control("/control/faults", &script).await;
    world.refund("r1", &id, 100).await;
    assert_eq!(world.kinds(), ["payment.succeeded", "refund.succeeded"]);
}

#[tokio::test]
async fn copies_of_an_event_carry_one_id_and_a_lost_one_never_comes() {
    let world = World::start().await;
    world.script("k1", json!({"webhook": {"mode": "never"}})).await;
    world.script("k2", json!({"webhook": {"mode": "copies", "copies": 3}})).await;
    world.paid("k1", "tok_visa").await;
    assert!(world.pay("k3", "tok_lost_webhook").await.is_err());
    world.paid("k2", "tok_visa").await;
    let received = world.until_received(3).await;
    assert!(received.iter().all(|it| it.1 == received[0].1));
    assert_eq!(event(&received[0])["request"]["idempotency_key"], "k2");
    assert_eq!(world.ask("/control/events").await["events"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn a_reversed_event_comes_after_the_next_one() {
    let world = World::start().await;
    world.script("k1", json!({"webhook": {"reverse": true}})).await;
    world.pay("k1", "tok_processing").await.unwrap();
    world.until_received(2).await;
    assert_eq!(world.kinds(), ["payment.succeeded", "payment.processing"]);
}

#[tokio::test]
async fn an_event_is_wrong_in_the_one_thing_that_was_asked_for() {
    let world = World::start().await;
    let rows = [
        ("amount", "amount_minor", json!(2000)),
        ("currency", "currency", json!("XTS")),
        ("reference", "reference", json!("somebody-elses")),
        ("account", "account", json!("acct_somebody_else")),
        ("livemode", "livemode", json!(true)),
    ];
    for (number, (wrong, field, value)) in rows.into_iter().enumerate() {
        world.script(wrong, json!({"webhook": {"wrong": wrong}})).await;
        world.paid(wrong, "tok_visa").await;
        let received = world.until_received(number + 1).await;
        assert_eq!(event(&received[number])["data"]["object"][field], value);
        assert!(genuine(&received[number]));
    }
    world.script("signature", json!({"webhook": {"wrong": "signature"}})).await;
    world.paid("signature", "tok_visa").await;
    assert!(!genuine(&world.until_received(6).await[5]));
}

#[tokio::test]
async fn paused_events_come_when_that_ends_and_dropped_ones_do_not() {
    let world = World::start().await;
    world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
    world.paid("k1", "tok_visa").await;
    world.control("/control/webhooks/mode", &json!({"mode": "paused"})).await;
    world.paid("k2", "tok_visa").await;
    assert_eq!(world.received(), []);
    world.control("/control/webhooks/mode", &json!({"mode": "normal"})).await;
    let received = world.until_received(1).await;
    assert_eq!(event(&received[0])["request"]["idempotency_key"], "k2");
}

#[tokio::test]
async fn events_can_be_sent_by_hand_in_every_wrong_way() {
    let world = World::start().await;
    world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
    let id = world.paid("k1", "tok_visa").await;
    for kind in ["bad", "none", "old", "v0_only", "empty_v1", "good"] {
        world.receiver_answers(&[418]);
        let call = json!({"payment": id, "type": "payment.declined", "signature": kind, "event_id": "evt_1",
            "overrides": {"amount_minor": 7}});
        let told = world.control("/control/webhooks", &call).await;
        assert_eq!(told["statuses"], json!([418]), "{kind}");
        let received = world.received();
        let last = received.last().unwrap();
        let told = event(last);
        assert_eq!((&told["id"], &told["type"]), (&json!("evt_1"), &json!("payment.declined")));
        assert_eq!(told["data"]["object"]["amount_minor"], 7);
        assert_eq!(last.0.is_empty(), kind == "none");
        // An old one is genuine, only late.
        assert_eq!(!last.0.is_empty() && genuine(last), ["good", "old"].contains(&kind), "{kind}");
    }
    let raw = json!({"raw": {"anything": [1, 2]}, "copies": 2});
    assert_eq!(world.control("/control/webhooks", &raw).await["statuses"], json!([200, 200]));
    assert_eq!(world.received().last().unwrap().1, r#"{"anything":[1,2]}"#);
}
