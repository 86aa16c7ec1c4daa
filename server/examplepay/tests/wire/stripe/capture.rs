//! Money that is held first: taken once, wholly or in part, or let go.

use super::*;

/// Confirmed at once, and only held; its reference is its key.
fn manual<'a>(reference: &'a str, method: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut fields = confirmed(reference, method);
    fields.push(("capture_method", "manual"));
    fields
}

async fn hold(world: &World, key: &str, method: &str) -> Told {
    post(world, "/v1/payment_intents", key, &manual(key, method)).await.unwrap()
}

/// An intent whose money is held; its id.
async fn held(world: &World, key: &str) -> String {
    let told = hold(world, key, "pm_card_visa").await;
    assert_eq!(told.json()["status"], "requires_capture", "{}", told.body);
    told.json()["id"].as_str().unwrap().to_owned()
}

async fn capture(
    world: &World,
    key: &str,
    id: &str,
    amount: Option<&str>,
) -> reqwest::Result<Told> {
    let fields: Vec<_> = amount.iter().map(|it| ("amount_to_capture", *it)).collect();
    post(world, &format!("/v1/payment_intents/{id}/capture"), key, &fields).await
}

async fn intent(world: &World, id: &str) -> Value {
    get(world, &format!("/v1/payment_intents/{id}")).await.json()
}

/// What is shown of an intent's money: all of it, what can be taken, what was taken.
fn amounts(intent: &Value) -> [i64; 3] {
    ["amount", "amount_capturable", "amount_received"].map(|name| intent[name].as_i64().unwrap())
}

#[tokio::test]
async fn a_manual_intent_holds_what_another_one_takes() {
    let world = World::start().await;
    let rows = [
        ("pm_card_visa", 200, "requires_capture", [1999, 1999, 0]),
        ("pm_sim_wrong_amount", 200, "requires_capture", [2000, 2000, 0]),
        ("pm_sim_wrong_currency", 200, "requires_capture", [1999, 1999, 0]),
        ("pm_sim_unknown_status", 200, "under_review", [1999, 0, 0]),
        ("pm_sim_processing", 200, "processing", [1999, 0, 0]),
        ("pm_card_authenticationRequired", 200, "requires_action", [1999, 0, 0]),
        ("pm_card_chargeDeclined", 402, "requires_payment_method", [1999, 0, 0]),
    ];
    for (method, code, state, money) in rows {
        let told = hold(&world, method, method).await;
        let body = told.json();
        let intent = if code == 402 { &body["error"]["payment_intent"] } else { &body };
        assert_eq!((told.status, &intent["status"]), (code, &json!(state)), "{}", told.body);
        assert_eq!((amounts(intent), &intent["capture_method"]), (money, &json!("manual")));
        assert_eq!(world.effects(method).await, [], "{method}");
    }
    let shown = intent(&world, &held(&world, "k1").await).await;
    let path = format!("/v1/charges/{}", shown["latest_charge"].as_str().unwrap());
    let charge = get(&world, &path).await.json();
    assert_eq!((&charge["status"], &charge["captured"]), (&json!("succeeded"), &json!(false)));
    assert_eq!((&charge["amount"], &charge["amount_captured"]), (&json!(1999), &json!(0)));
    let listed = world.ask("/control/payments?reference=k1").await;
    assert_eq!(listed["payments"][0]["status"], "authorized");
}

#[tokio::test]
async fn a_shoppers_approval_and_a_slow_bank_hold_it_too() {
    let world = World::start().await;
    let mut fields = unconfirmed("confirmed");
    fields.push(("capture_method", "manual"));
    let bare = post(&world, "/v1/payment_intents", "confirmed", &fields).await.unwrap().json();
    let path = format!("/v1/payment_intents/{}/confirm", bare["id"].as_str().unwrap());
    let told = post(&world, &path, "c1", &[("payment_method", "pm_card_visa")]).await.unwrap();
    assert_eq!(told.json()["status"], "requires_capture", "{}", told.body);

    let made = hold(&world, "approved", "pm_card_authenticationRequired").await.json();
    let page = made["next_action"]["redirect_to_url"]["url"].as_str().unwrap();
    for click in ["first", "second"] {
        let answer = world.client.post(page).form(&[("act", "approve")]).send().await.unwrap();
        let place = answer.headers()["location"].to_str().unwrap().to_owned();
        assert!(place.ends_with("redirect_status=succeeded"), "{click}: {place}");
    }
    let slow = hold(&world, "slow", "pm_sim_processing").await.json();
    for (reference, intent) in [("confirmed", bare), ("approved", made), ("slow", slow)] {
        let id = intent["id"].as_str().unwrap();
        until(reference, async || status(&world, id).await == "requires_capture").await;
        assert_eq!(world.effects(reference).await, [], "{reference}");
        let told = capture(&world, &format!("{reference}-c"), id, None).await.unwrap();
        assert_eq!(told.json()["status"], "succeeded", "{}", told.body);
        assert_eq!(world.effects(reference).await, charge(1999), "{reference}");
    }
}

#[tokio::test]
async fn a_capture_takes_once_what_it_asks_for_and_lets_the_rest_go() {
    let world = World::start().await;
    for (key, amount, taken) in
        [("whole", None, 1999), ("part", Some("1200"), 1200), ("least", Some("1"), 1)]
    {
        let id = held(&world, key).await;
        let told = capture(&world, &format!("{key}-c"), &id, amount).await.unwrap();
        let shown = told.json();
        assert_eq!((told.status, &shown["status"]), (200, &json!("succeeded")), "{}", told.body);
        assert_eq!(amounts(&shown), [1999, 0, taken]);
        assert_eq!(intent(&world, &id).await, shown);
        let path = format!("/v1/charges/{}", shown["latest_charge"].as_str().unwrap());
        let charged = get(&world, &path).await.json();
        assert_eq!((&charged["amount"], &charged["captured"]), (&json!(1999), &json!(true)));
        assert_eq!(charged["amount_captured"], json!(taken));
        let again = capture(&world, &format!("{key}-again"), &id, Some("1")).await.unwrap();
        assert_eq!(again.json()["error"]["code"], "payment_intent_unexpected_state");
        assert_eq!(world.effects(key).await, charge(taken), "{key}");
    }
}

#[tokio::test]
async fn refunds_never_exceed_what_was_captured() {
    let world = World::start().await;
    let id = held(&world, "k1").await;
    assert_eq!(refund(&world, "r0", &id, "1").await.status, 400, "nothing was taken yet");
    capture(&world, "c1", &id, Some("1200")).await.unwrap();
    let told = refund(&world, "r1", &id, "1201").await;
    assert_eq!((told.status, &told.json()["error"]["param"]), (400, &json!("amount")));
    assert_eq!(refund(&world, "r2", &id, "700").await.status, 200);
    let rest = [("payment_intent", id.as_str())];
    assert_eq!(post(&world, "/v1/refunds", "r3", &rest).await.unwrap().json()["amount"], 500);
    let told = refund(&world, "r4", &id, "1").await;
    assert_eq!(told.json()["error"]["code"], "charge_already_refunded");
    let path =
        format!("/v1/charges/{}", intent(&world, &id).await["latest_charge"].as_str().unwrap());
    let charged = get(&world, &path).await.json();
    assert_eq!((&charged["refunded"], &charged["amount_refunded"]), (&json!(true), &json!(1200)));
    assert_eq!(world.ask("/control/ledger").await["sum_minor_by_currency"]["EUR"], 0);
}

#[tokio::test]
async fn a_capture_that_cannot_be_is_refused_and_says_why() {
    let world = World::start().await;
    let id = held(&world, "k1").await;
    let rows = [
        ("amount_to_capture", "2000", "amount_too_large"),
        ("amount_to_capture", "100000000", "amount_too_large"),
        ("amount_to_capture", "0", "parameter_invalid_integer"),
        ("amount_to_capture", "-5", "parameter_invalid_integer"),
        ("amount_to_capture", "19.99", "parameter_invalid_integer"),
        ("amount", "500", "parameter_unknown"),
    ];
    let path = format!("/v1/payment_intents/{id}/capture");
    for (name, value, code) in rows {
        let key = format!("{name}-{value}");
        let told = post(&world, &path, &key, &[(name, value)]).await.unwrap();
        let error = told.json()["error"].clone();
        assert_eq!((told.status, &error["code"]), (400, &json!(code)), "{}", told.body);
        assert_eq!(
            (&error["type"], &error["param"]),
            (&json!("invalid_request_error"), &json!(name))
        );
    }
    assert_eq!(capture(&world, "c1", "pi_none", None).await.unwrap().status, 404);
    let bare = post(&world, "/v1/payment_intents", "k2", &unconfirmed("k2")).await.unwrap().json();
    let waiting = hold(&world, "k3", "pm_card_authenticationRequired").await.json();
    let taken = paid(&world, "k4", "pm_card_visa").await;
    for id in [bare["id"].as_str().unwrap(), waiting["id"].as_str().unwrap(), &taken] {
        let told = capture(&world, &format!("c-{id}"), id, None).await.unwrap();
        let error = told.json()["error"].clone();
        assert_eq!(told.status, 400);
        assert_eq!(error["code"], "payment_intent_unexpected_state");
        assert_eq!(error["payment_intent"]["id"], json!(id));
    }
    let told = post(&world, &format!("/v1/payment_intents/{id}/confirm"), "c2", &[]).await.unwrap();
    assert_eq!(told.json()["error"]["code"], "payment_intent_unexpected_state");
    assert_eq!(
        (status(&world, &id).await, world.effects("k1").await),
        (json!("requires_capture"), vec![])
    );
}

#[tokio::test]
async fn a_part_is_in_this_wires_units_and_the_ledger_counts_in_the_currencys_own() {
    let world = World::start().await;
    let mut fields = manual("k1", "pm_card_visa");
    (fields[0].1, fields[1].1) = ("500", "isk");
    let told = post(&world, "/v1/payment_intents", "k1", &fields).await.unwrap().json();
    let id = told["id"].as_str().unwrap();
    let odd = capture(&world, "c1", id, Some("250")).await.unwrap();
    assert_eq!(odd.json()["error"]["param"], "amount_to_capture", "{}", odd.body);
    let taken = capture(&world, "c2", id, Some("200")).await.unwrap().json();
    assert_eq!(amounts(&taken), [500, 0, 200]);
    assert_eq!(world.effects("k1").await, charge(2));
}

#[tokio::test]
async fn a_capture_whose_answer_is_lost_gives_the_stored_one_and_takes_once() {
    let dropped = json!({"kind": "drop_before_headers"});
    let broken = json!({"kind": "status", "status": 500, "body": "{}"});
    let rows = [
        ("dropped", json!({"answer": dropped}), 200, true),
        ("cut", json!({"answer": {"kind": "cut_mid_body"}}), 200, true),
        ("never", json!({"execute": false, "answer": dropped}), 200, false),
        ("broken", json!({"answer": broken, "save": true}), 500, true),
    ];
    let world = World::start().await;
    for (key, step, code, stored) in rows {
        let id = held(&world, key).await;
        let script = json!({"match": {"door": "stripe", "operation": "capture_payment",
            "reference": key}, "steps": [step]});
        world.control("/control/faults", &script).await;
        let (capture_key, part) = (format!("{key}-c"), Some("1200"));
        let first = capture(&world, &capture_key, &id, part).await;
        assert_eq!(first.is_ok_and(|it| it.status == 500), code == 500, "{key}");
        assert_eq!(world.effects(key).await.is_empty(), !stored, "{key}");
        let again = capture(&world, &capture_key, &id, part).await.unwrap();
        assert_eq!((again.status, again.replayed), (code, stored), "{key}: {}", again.body);
        let now = intent(&world, &id).await;
        assert_eq!(again.json() == now, code == 200, "{key}");
        assert_eq!((amounts(&now), &now["status"]), ([1999, 0, 1200], &json!("succeeded")));
        assert_eq!(world.effects(key).await, charge(1200), "{key}");
        let other = capture(&world, &capture_key, &id, Some("1300")).await.unwrap();
        assert_eq!(other.json()["error"]["type"], "idempotency_error", "{key}");
    }
}

#[tokio::test]
async fn a_capture_that_is_done_later_is_in_use_until_then() {
    let world = World::start().await;
    let id = held(&world, "k1").await;
    let script = json!({"match": {"operation": "capture_payment"}, "steps": [
        {"execute": "later", "execute_after_ms": 300, "answer": {"kind": "drop_before_headers"}}]});
    world.control("/control/faults", &script).await;
    assert!(capture(&world, "c1", &id, None).await.is_err());
    let told = capture(&world, "c1", &id, None).await.unwrap();
    assert_eq!(told.json()["error"]["code"], "idempotency_key_in_use");
    until("the capture", async || status(&world, &id).await == "succeeded").await;
    until("the key", async || capture(&world, "c1", &id, None).await.unwrap().replayed).await;
    assert_eq!(world.effects("k1").await, charge(1999));
}

#[tokio::test]
async fn what_is_held_is_let_go_by_a_cancel() {
    let world = World::start().await;
    let id = held(&world, "k1").await;
    let path = format!("/v1/payment_intents/{id}/cancel");
    let told = post(&world, &path, "c1", &[("cancellation_reason", "abandoned")]).await.unwrap();
    let shown = told.json();
    assert_eq!((told.status, &shown["status"]), (200, &json!("canceled")), "{}", told.body);
    assert_eq!(amounts(&shown), [1999, 0, 0]);
    assert_eq!(shown["cancellation_reason"], "abandoned");
    let told = capture(&world, "c2", &id, None).await.unwrap();
    assert_eq!(told.json()["error"]["code"], "payment_intent_unexpected_state");
    assert_eq!(world.effects("k1").await, []);
    let wanted = [
        "payment_intent.amount_capturable_updated",
        "payment_intent.canceled",
        "payment_intent.created",
    ];
    assert_eq!(kinds(&world, 3).await, wanted);
}

#[tokio::test]
async fn events_tell_of_the_hold_and_of_what_was_taken() {
    let world = World::start().await;
    let id = held(&world, "k1").await;
    capture(&world, "c1", &id, Some("1200")).await.unwrap();
    kinds(&world, 3).await;
    let money = |kind: &str| {
        let events: Vec<_> = world.stripe_received().iter().map(event).collect();
        let event = events.into_iter().find(|it| it["type"] == kind).unwrap();
        (event["request"]["idempotency_key"].clone(), amounts(&event["data"]["object"]))
    };
    let held = money("payment_intent.amount_capturable_updated");
    assert_eq!(held, (json!("k1"), [1999, 1999, 0]));
    assert_eq!(money("payment_intent.succeeded"), (json!("c1"), [1999, 0, 1200]));
}

#[tokio::test]
async fn the_provider_decides_of_a_hold_and_the_bank_takes_back_what_was_captured() {
    let world = World::start().await;
    let waiting = hold(&world, "k1", "pm_card_authenticationRequired").await.json();
    let path = format!("/control/payments/{}", waiting["id"].as_str().unwrap());
    for (status, effects) in [("authorized", vec![]), ("succeeded", charge(1999))] {
        let told = world.control(&path, &json!({"status": "succeeded"})).await;
        assert_eq!(told["status"], status);
        assert_eq!(world.effects("k1").await, effects);
    }
    let id = held(&world, "k2").await;
    let path = format!("/control/payments/{id}");
    assert_eq!(world.try_control(&path, &json!({"status": "reversed"})).await.status, 400);
    capture(&world, "c2", &id, Some("1200")).await.unwrap();
    world.control(&path, &json!({"status": "reversed"})).await;
    let back = ("payment_reversal".to_owned(), -1200);
    assert_eq!(world.effects("k2").await, [charge(1200), vec![back]].concat());
    assert_eq!(amounts(&intent(&world, &id).await), [1999, 0, 1200]);
    let disputes = get(&world, &format!("/v1/disputes?payment_intent={id}")).await.json();
    assert_eq!(disputes["data"][0]["amount"], 1200);
}
