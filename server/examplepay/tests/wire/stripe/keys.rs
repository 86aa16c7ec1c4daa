//! Stripe's idempotency: the first answer is frozen, and what comes before it stores nothing.

use super::*;

#[tokio::test]
async fn a_key_gives_the_frozen_first_answer() {
    let world = World::start().await;
    for method in ["pm_card_visa", "pm_card_visa_chargeDeclined", "pm_sim_processing"] {
        let first = pay(&world, method, method).await.unwrap();
        let id = first.body.split("pi_").nth(1).unwrap()[..32].to_owned();
        if method == "pm_sim_processing" {
            until("the end", async || status(&world, &format!("pi_{id}")).await == "succeeded")
                .await;
        }
        let again = pay(&world, method, method).await.unwrap();
        assert_eq!((first.status, &first.body), (again.status, &again.body), "{method}");
        assert_eq!((first.replayed, again.replayed), (false, true));
        assert!(first.request_id.starts_with("req_") && first.request_id != again.request_id);
    }
    assert_eq!(world.effects("pm_card_visa").await, charge(1999));
}

#[tokio::test]
async fn a_key_is_not_taken_for_other_parameters_or_another_address() {
    let world = World::start().await;
    let id = paid(&world, "k1", "pm_card_visa").await;
    let mut swapped = confirmed("k1", "pm_card_visa");
    swapped.reverse();
    let told = post(&world, "/v1/payment_intents", "k1", &swapped).await.unwrap();
    assert!(told.replayed, "the order of parameters means nothing");
    let other = pay(&world, "k1", "pm_card_mastercard").await.unwrap();
    let elsewhere = refund(&world, "k1", &id, "100").await;
    let mut amount = confirmed("k1", "pm_card_visa");
    amount[0].1 = "2000";
    let more = post(&world, "/v1/payment_intents", "k1", &amount).await.unwrap();
    for told in [other, elsewhere, more] {
        assert_eq!((told.status, told.replayed), (400, false));
        assert_eq!(told.json()["error"]["type"], "idempotency_error");
    }
    assert_eq!(world.effects("k1").await, charge(1999));
    // The own wire has keys of its own.
    assert_eq!(world.pay("k1", "tok_visa").await.unwrap().status, 201);
}

#[tokio::test]
async fn a_key_that_is_being_executed_is_in_use() {
    let world = World::start().await;
    let script = json!({"match": {"door": "stripe", "operation": "create_payment"}, "steps": [
        {"execute": "later", "execute_after_ms": 300, "answer": {"kind": "drop_before_headers"}}]});
    world.control("/control/faults", &script).await;
    assert!(pay(&world, "k1", "pm_card_visa").await.is_err());
    let told = pay(&world, "k1", "pm_card_visa").await.unwrap();
    assert_eq!(told.status, 409);
    assert_eq!(told.json()["error"]["code"], "idempotency_key_in_use");
    until("the execution", async || !world.effects("k1").await.is_empty()).await;
    until("the key", async || pay(&world, "k1", "pm_card_visa").await.unwrap().replayed).await;
    assert_eq!(world.effects("k1").await, charge(1999));
}

#[tokio::test]
async fn what_is_refused_before_the_key_leaves_it_free() {
    let world = World::start().await;
    let path = "/v1/payment_intents";
    let with = |more: &[(&'static str, &'static str)]| {
        let mut fields = confirmed("k1", "pm_card_visa");
        for (name, value) in more {
            fields.retain(|it| it.0 != *name);
            fields.push((name, value));
        }
        fields
    };
    for (fields, code, param) in [
        (with(&[("colour", "red")]), "parameter_unknown", "colour"),
        (with(&[("amount", "19.99")]), "parameter_invalid_integer", "amount"),
        (with(&[("amount", "0")]), "parameter_invalid_integer", "amount"),
        (with(&[("amount", "")]), "parameter_missing", "amount"),
        (with(&[("amount", "100000000")]), "amount_too_large", "amount"),
        (with(&[("currency", "kwd"), ("amount", "1999")]), "parameter_invalid_integer", "amount"),
        (with(&[("currency", "isk"), ("amount", "1999")]), "parameter_invalid_integer", "amount"),
        (with(&[("payment_method", "pm_none")]), "resource_missing", "payment_method"),
        (
            with(&[("payment_method", "4242424242424242")]),
            "parameter_invalid_string",
            "payment_method",
        ),
        (with(&[("payment_method", "")]), "parameter_missing", "payment_method"),
        (with(&[("return_url", "shop")]), "url_invalid", "return_url"),
        (with(&[("capture_method", "by_hand")]), "parameter_invalid_string", "capture_method"),
    ] {
        let told = post(&world, path, "k1", &fields).await.unwrap();
        let error = told.json()["error"].clone();
        assert_eq!(
            (told.status, &error["type"]),
            (400, &json!("invalid_request_error")),
            "{fields:?}"
        );
        assert_eq!((&error["code"], &error["param"]), (&json!(code), &json!(param)));
    }
    let stranger = world.client.post(url(&world, path)).bearer_auth("sk_test_payonce");
    let stranger = stranger.header("Idempotency-Key", "k1").form(&confirmed("k1", "pm_card_visa"));
    assert_eq!(told(stranger.send().await.unwrap()).await.unwrap().status, 401);
    let limited = pay(&world, "k1", "pm_sim_429").await.unwrap();
    assert_eq!(
        (limited.status, limited.json()["error"]["code"].as_str()),
        (429, Some("rate_limit"))
    );
    assert_eq!(world.effects("k1").await, []);
    let told = pay(&world, "k1", "pm_card_visa").await.unwrap();
    assert_eq!((told.status, told.replayed), (200, false), "{}", told.body);
    assert!(!world.ask("/control/requests").await.to_string().contains("4242424242424242"));
}
