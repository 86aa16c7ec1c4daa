//! Stripe's events: signed, about every turn, and as wrong as a script wants.

use super::*;

const SECRET: &str = "whsec_payonce_stripe";

fn genuine((header, body): &Received) -> bool {
    let time = header.trim_start_matches("t=").split(',').next().unwrap().parse().unwrap();
    *header == examplepay::sign(SECRET, time, body)
}

#[tokio::test]
async fn events_are_signed_and_name_request_and_object() {
    let world = World::start().await;
    let told = pay(&world, "k1", "pm_card_visa").await.unwrap();
    assert_eq!(kinds(&world, 2).await, ["payment_intent.created", "payment_intent.succeeded"]);
    for received in world.stripe_received() {
        assert!(genuine(&received));
        let event = event(&received);
        assert!(event["id"].as_str().unwrap().starts_with("evt_"));
        assert_eq!((&event["object"], &event["livemode"]), (&json!("event"), &json!(false)));
        assert_eq!(event["request"], json!({"id": told.request_id, "idempotency_key": "k1"}));
        assert_eq!(event["data"]["object"]["id"], told.json()["id"]);
    }
    assert_eq!(world.received(), [], "the own wire's receiver hears nothing of it");
    let listed = get(&world, "/v1/events?type=payment_intent.succeeded").await.json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    assert_eq!(listed["data"][0]["data"]["object"], told.json());
    let listed =
        get(&world, "/v1/events?types[]=payment_intent.succeeded&types[]=payment_intent.created")
            .await;
    assert_eq!(listed.json()["data"].as_array().unwrap().len(), 2, "{}", listed.body);
}

#[tokio::test]
async fn what_becomes_of_a_charge_is_told_to_whoever_wants_to_hear_of_it() {
    let rows: [(&str, &[&str]); 3] = [
        ("pm_card_visa", &["charge.succeeded"]),
        ("pm_card_visa_chargeDeclined", &["charge.failed"]),
        ("pm_sim_processing", &["charge.pending", "charge.succeeded"]),
    ];
    for (method, wanted) in rows {
        let world = World::with(|it| it.stripe_events = vec!["charge.*".to_owned()]).await;
        pay(&world, "k1", method).await.unwrap();
        assert_eq!(kinds(&world, wanted.len()).await, wanted, "{method}");
        for received in world.stripe_received() {
            assert!(genuine(&received));
            let object = &event(&received)["data"]["object"];
            assert_eq!(object["object"], "charge", "{method}");
            assert!(object["payment_intent"].as_str().unwrap().starts_with("pi_"), "{method}");
        }
    }
    // Usually nobody does: they are made and listed all the same.
    let world = World::start().await;
    pay(&world, "k1", "pm_card_visa").await.unwrap();
    kinds(&world, 2).await;
    let listed = get(&world, "/v1/events?type=charge.succeeded").await.json();
    assert_eq!(listed["data"][0]["pending_webhooks"], 0, "{listed}");
    assert_eq!(listed["data"][0]["data"]["object"]["amount_captured"], 1999, "{listed}");
}

#[tokio::test]
async fn every_turn_of_an_intent_has_its_event() {
    let rows: [(&str, &[&str]); 4] = [
        (
            "pm_card_visa_chargeDeclined",
            &["payment_intent.created", "payment_intent.payment_failed"],
        ),
        (
            "pm_card_authenticationRequired",
            &["payment_intent.created", "payment_intent.requires_action"],
        ),
        (
            "pm_sim_processing",
            &["payment_intent.created", "payment_intent.processing", "payment_intent.succeeded"],
        ),
        (
            "pm_sim_processing_declined",
            &[
                "payment_intent.created",
                "payment_intent.payment_failed",
                "payment_intent.processing",
            ],
        ),
    ];
    for (method, wanted) in rows {
        let world = World::start().await;
        pay(&world, "k1", method).await.unwrap();
        assert_eq!(kinds(&world, wanted.len()).await, wanted, "{method}");
    }
}

#[tokio::test]
async fn the_control_api_decides_reverses_refunds_and_tells_events_by_hand() {
    let world = World::start().await;
    let held = post(&world, "/v1/payment_intents", "k1", &unconfirmed("k1")).await.unwrap().json();
    let id = held["id"].as_str().unwrap();
    let told =
        world.control(&format!("/control/payments/{id}"), &json!({"status": "succeeded"})).await;
    assert_eq!((&told["wire"], &told["status"]), (&json!("stripe"), &json!("succeeded")));
    assert_eq!(status(&world, id).await, "succeeded");
    world.control(&format!("/control/payments/{id}/refund"), &json!({"amount_minor": 500})).await;
    assert_eq!(world.effects("k1").await, charge(1999));
    world.control(&format!("/control/payments/{id}"), &json!({"status": "reversed"})).await;
    assert_eq!(status(&world, id).await, "succeeded", "the dispute is told apart");
    let kinds = kinds(&world, 5).await;
    assert!(kinds.contains(&"charge.dispute.created".to_owned()), "{kinds:?}");
    assert_eq!(refund(&world, "r1", id, "1").await.json()["error"]["code"], "charge_disputed");
    for kind in ["bad", "none", "old", "good"] {
        let call = json!({"payment": id, "type": "payment_intent.payment_failed", "signature": kind,
            "event_id": "evt_1", "overrides": {"amount": 7}});
        let told = world.control("/control/webhooks", &call).await;
        assert_eq!(told["statuses"], json!([200]));
        let last = world.stripe_received().pop().unwrap();
        assert_eq!(event(&last)["data"]["object"]["amount"], 7);
        assert_eq!(last.0.is_empty(), kind == "none");
        assert_eq!(!last.0.is_empty() && genuine(&last), ["good", "old"].contains(&kind), "{kind}");
    }
    let raw = json!({"raw": {"anything": 1}, "door": "stripe"});
    world.control("/control/webhooks", &raw).await;
    assert_eq!(world.stripe_received().pop().unwrap().1, r#"{"anything":1}"#);
    let listed = world.ask("/control/payments?reference=k1").await;
    assert_eq!(listed["payments"][0]["id"], json!(id));
    assert_eq!(world.get(&format!("/v1/payments/{id}")).await.status, 404, "not over the own wire");
}

#[tokio::test]
async fn an_event_is_wrong_in_the_one_thing_that_was_asked_for() {
    let world = World::start().await;
    let rows = [
        ("amount", "/data/object/amount", json!(2000)),
        ("currency", "/data/object/currency", json!("xts")),
        ("reference", "/data/object/metadata/reference", json!("somebody-elses")),
        ("account", "/account", json!("acct_somebody_else")),
        ("livemode", "/livemode", json!(true)),
    ];
    for (wrong, place, value) in rows {
        world.script(wrong, json!({"webhook": {"wrong": wrong}})).await;
        paid(&world, wrong, "pm_card_visa").await;
        let found = async || {
            world.stripe_received().iter().any(|it| {
                let told = event(it);
                told["type"] == "payment_intent.succeeded" && told.pointer(place) == Some(&value)
            })
        };
        until(wrong, found).await;
    }
}
