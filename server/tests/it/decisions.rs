//! What is in review has an exit: a person decides, on fresh news, and never charges.

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    harness::{Options, World},
    refunds::api,
    reported::{settled, with, world},
};

/// The operation of this kind, as the shop's people see it.
async fn shown(world: &World, checkout: &str, kind: &str) -> Value {
    let path = format!("/api/orders/{}", world.reference(checkout).await);
    let (status, body) = api(world, Method::GET, &path, None).await;
    assert_eq!(status, 200, "{body}");
    let operations = body["operations"].as_array().unwrap();
    operations.iter().find(|it| it["kind"] == kind).expect("an operation").clone()
}

async fn decide(world: &World, checkout: &str, operation: &Value, act: &str) -> (u16, Value) {
    let path = format!("/api/orders/{}/decisions", world.reference(checkout).await);
    let body = json!({
        "operation": operation["operation"], "act": act,
        "effect_minor": operation["effect_minor"], "reason": "looked at it in the dashboard",
    });
    api(world, Method::POST, &path, Some(body)).await
}

/// Until a lookup sent since the review has shown what is true now.
async fn fresh(world: &World, checkout: &str, kind: &str) -> Value {
    let what = "a fresh question was answered";
    world
        .until_that(what, async || {
            let it = shown(world, checkout, kind).await;
            it["looked_up_at_ms"].as_i64() >= it["since_ms"].as_i64()
        })
        .await;
    shown(world, checkout, kind).await
}

#[tokio::test]
async fn another_amount_is_accepted_or_given_back_by_a_person_who_has_seen_it() {
    for (act, state, order, effects) in
        [("accept_effect", "succeeded", "paid", 1), ("refund_effect", "succeeded", "refunded", 2)]
    {
        let world = world().await;
        let checkout = world.buy("tok_wrong_amount").await;
        world.until(&checkout, &["requires_review"]).await;
        let it = fresh(&world, &checkout, "payment").await;
        assert_eq!(it["review_reason"], "amount_mismatch");
        let mut unseen = it.clone();
        unseen["effect_minor"] = json!(2990);
        let (status, told) = decide(&world, &checkout, &unseen, act).await;
        assert_eq!((status, &told["code"]), (409, &json!("OTHER_EFFECT")), "{told}");
        let (status, told) = decide(&world, &checkout, &it, "cancel").await;
        assert_eq!(
            (status, &told["code"]),
            (422, &json!("NOT_ALLOWED")),
            "money is visible: {told}"
        );
        assert_eq!(world.state(&checkout).await, "requires_review");
        let (status, told) = decide(&world, &checkout, &it, act).await;
        assert_eq!((status, &told["state"]), (200, &json!(state)), "{told}");
        world
            .until_that("the order follows", async || world.order_state(&checkout).await == order)
            .await;
        assert_eq!(world.effects(&checkout).await.len(), effects, "{act}");
        let (status, told) = decide(&world, &checkout, &it, act).await;
        assert_eq!((status, &told["code"]), (409, &json!("NOT_IN_REVIEW")), "{told}");
        assert_eq!(world.number("select count(*) from audit where act <> 'refund'").await, 1);
        let open = "select count(*) from alerts where kind = 'review' and closed_at is null";
        assert_eq!(world.number(open).await, 0, "{act}: the incident is over");
    }
}

#[tokio::test]
async fn nothing_is_decided_on_news_that_is_older_than_the_review() {
    let world = world().await;
    let checkout = world.buy("tok_wrong_amount").await;
    world.until(&checkout, &["requires_review"]).await;
    // The lookup that sent it to a person was sent before: only a later one counts.
    world.control("/control/lookups", &json!({"status": 503, "for_ms": 600_000})).await;
    let it = shown(&world, &checkout, "payment").await;
    if it["looked_up_at_ms"].as_i64() < it["since_ms"].as_i64() {
        let (status, told) = decide(&world, &checkout, &it, "accept_effect").await;
        assert_eq!((status, &told["code"]), (409, &json!("ASKED_FIRST")), "{told}");
        assert_eq!(world.state(&checkout).await, "requires_review");
    }
    world.control("/control/lookups", &json!({})).await;
    let it = fresh(&world, &checkout, "payment").await;
    let (status, told) = decide(&world, &checkout, &it, "accept_effect").await;
    assert_eq!(status, 200, "{told}");
}

#[tokio::test]
async fn a_parcel_that_nobody_can_ask_about_is_found_or_given_up_by_a_person() {
    for (act, state) in [("accept_effect", "succeeded"), ("cancel", "canceled")] {
        let world = with(Options { partners: true, ..Options::default() }).await;
        let lost = json!([{"answer": {"kind": "drop_before_headers"}}]);
        world.fault("create_shipment", lost).await;
        let checkout = world.buy("tok_visa").await;
        world
            .until_that("the parcel is in review", async || {
                world.states(&checkout, "shipment").await == ["requires_review"]
            })
            .await;
        let it = shown(&world, &checkout, "shipment").await;
        let (status, told) = decide(&world, &checkout, &it, act).await;
        assert_eq!((status, &told["state"]), (200, &json!(state)), "{told}");
        assert_eq!(world.states(&checkout, "shipment").await, [state]);
        assert_eq!(world.order_state(&checkout).await, "paid", "the order stays paid");
    }
}

#[tokio::test]
async fn a_decision_needs_the_token_a_known_act_a_reason_and_an_operation_of_the_order() {
    let world = world().await;
    let checkout = world.buy("tok_wrong_amount").await;
    let other = world.buy("tok_visa").await;
    settled(&world, &other, "payment", &["succeeded"]).await;
    world.until(&checkout, &["requires_review"]).await;
    let it = fresh(&world, &checkout, "payment").await;
    let path = format!("/api/orders/{}/decisions", world.reference(&checkout).await);
    let unsigned = world.http.post(world.url(&path)).json(&json!({})).send().await.unwrap();
    assert_eq!(unsigned.status(), 401);
    for (change, wanted) in [
        (json!({"act": "charge_again"}), 400),
        (json!({"reason": " "}), 400),
        (json!({"operation": "nothing"}), 400),
        (json!({"more": 1}), 400),
    ] {
        let mut body = json!({
            "operation": it["operation"], "act": "accept_effect",
            "effect_minor": it["effect_minor"], "reason": "seen",
        });
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let (status, told) = api(&world, Method::POST, &path, Some(body)).await;
        assert_eq!(status, wanted, "{change}: {told}");
    }
    let stranger = shown(&world, &other, "payment").await;
    assert_eq!(decide(&world, &checkout, &stranger, "cancel").await.0, 404, "of another order");
    assert_eq!(world.state(&checkout).await, "requires_review");
    assert_eq!(world.number("select count(*) from audit").await, 0);
}
