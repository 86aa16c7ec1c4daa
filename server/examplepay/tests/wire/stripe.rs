//! Stripe's wire: what an official client would send, what it would read, and the one ledger behind.

mod capture;
mod events;
mod keys;
mod search;

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Received, Told, World, told, until};

const KEY: &str = "sk_test_payonce_stripe";

fn url(world: &World, path: &str) -> String {
    format!("http://{}{path}", world.running.as_ref().unwrap().stripe_addr)
}

async fn post(
    world: &World,
    path: &str,
    key: &str,
    fields: &[(&str, &str)],
) -> reqwest::Result<Told> {
    let request = world.client.post(url(world, path)).bearer_auth(KEY).form(fields);
    told(request.header("Idempotency-Key", key).send().await?).await
}

async fn get(world: &World, path: &str) -> Told {
    let request = world.client.get(url(world, path)).bearer_auth(KEY);
    told(request.send().await.unwrap()).await.unwrap()
}

/// 19.99 EUR, confirmed at once; its reference is its key.
fn confirmed<'a>(reference: &'a str, method: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut fields = unconfirmed(reference);
    fields.extend([
        ("payment_method", method),
        ("confirm", "true"),
        ("return_url", "https://shop.test/return?order=1"),
    ]);
    fields
}

fn unconfirmed(reference: &str) -> Vec<(&str, &str)> {
    vec![("amount", "1999"), ("currency", "eur"), ("metadata[reference]", reference)]
}

async fn pay(world: &World, key: &str, method: &str) -> reqwest::Result<Told> {
    post(world, "/v1/payment_intents", key, &confirmed(key, method)).await
}

/// An intent that has succeeded; its id.
async fn paid(world: &World, key: &str, method: &str) -> String {
    let told = pay(world, key, method).await.unwrap();
    assert_eq!(told.json()["status"], "succeeded", "{}", told.body);
    told.json()["id"].as_str().unwrap().to_owned()
}

async fn refund(world: &World, key: &str, of: &str, amount: &str) -> Told {
    let fields = [("payment_intent", of), ("amount", amount), ("metadata[reference]", key)];
    post(world, "/v1/refunds", key, &fields).await.unwrap()
}

async fn status(world: &World, id: &str) -> Value {
    get(world, &format!("/v1/payment_intents/{id}")).await.json()["status"].clone()
}

fn event((_, body): &Received) -> Value {
    serde_json::from_str(body).unwrap()
}

async fn kinds(world: &World, count: usize) -> Vec<String> {
    until("events", async || world.stripe_received().len() >= count).await;
    let told = world.stripe_received();
    let mut kinds: Vec<_> =
        told.iter().map(|it| event(it)["type"].as_str().unwrap().to_owned()).collect();
    kinds.sort();
    kinds
}

fn charge(amount: i64) -> Vec<(String, i64)> {
    vec![("charge".to_owned(), amount)]
}

#[tokio::test]
async fn each_payment_method_does_what_it_is_called() {
    let world = World::start().await;
    let rows = [
        ("pm_card_visa", 200, "succeeded", 1999),
        ("pm_card_mastercard", 200, "succeeded", 1999),
        ("pm_card_visa_chargeDeclined", 402, "requires_payment_method", 0),
        ("pm_card_chargeDeclinedInsufficientFunds", 402, "requires_payment_method", 0),
        ("pm_card_authenticationRequired", 200, "requires_action", 0),
        ("pm_card_threeDSecure2Required", 200, "requires_action", 0),
        ("pm_sim_processing", 200, "processing", 0),
        ("pm_sim_unknown_status", 200, "under_review", 0),
        ("pm_sim_wrong_amount", 200, "succeeded", 2000),
        ("pm_sim_wrong_currency", 200, "succeeded", 1999),
    ];
    for (method, code, state, taken) in rows {
        let told = pay(&world, method, method).await.unwrap();
        let body = told.json();
        let intent = if code == 402 { &body["error"]["payment_intent"] } else { &body };
        assert_eq!((told.status, &intent["status"]), (code, &json!(state)), "{}", told.body);
        assert_eq!(intent["object"], "payment_intent");
        assert_eq!(intent["metadata"]["reference"], method);
        let effects = world.effects(method).await;
        assert_eq!(effects.iter().map(|it| it.1).sum::<i64>(), taken, "{method}");
        let received = intent["amount_received"].as_i64().unwrap();
        assert_eq!(received, taken, "{method}");
    }
    let told = pay(&world, "other", "pm_card_visa").await.unwrap().json();
    assert!(told["latest_charge"].as_str().unwrap().starts_with("ch_"));
    assert!(told["client_secret"].as_str().unwrap().starts_with(told["id"].as_str().unwrap()));
}

#[tokio::test]
async fn a_decline_is_an_error_with_the_intent_in_it_and_another_method_may_follow() {
    let world = World::start().await;
    let told = pay(&world, "k1", "pm_card_chargeDeclinedInsufficientFunds").await.unwrap();
    let error = told.json()["error"].clone();
    assert_eq!((&error["type"], &error["code"]), (&json!("card_error"), &json!("card_declined")));
    assert_eq!(error["decline_code"], "insufficient_funds");
    let intent = &error["payment_intent"];
    assert_eq!(intent["last_payment_error"]["decline_code"], "insufficient_funds");
    assert!(intent["payment_method"].is_null());
    assert_eq!(world.effects("k1").await, []);
    let path = format!("/v1/payment_intents/{}/confirm", intent["id"].as_str().unwrap());
    let told = post(&world, &path, "k2", &[]).await.unwrap();
    assert_eq!(told.json()["error"]["code"], "payment_intent_unexpected_state");
    let told = post(&world, &path, "k3", &[("payment_method", "pm_card_visa")]).await.unwrap();
    assert_eq!((told.status, &told.json()["status"]), (200, &json!("succeeded")));
    assert!(told.json()["last_payment_error"].is_null());
    assert_eq!(world.effects("k1").await, charge(1999));
}

#[tokio::test]
async fn an_intent_takes_nothing_until_it_is_confirmed() {
    let world = World::start().await;
    let bare = post(&world, "/v1/payment_intents", "k1", &unconfirmed("k1")).await.unwrap().json();
    assert_eq!(bare["status"], "requires_payment_method");
    let mut fields = unconfirmed("k2");
    fields.push(("payment_method", "pm_card_visa"));
    let held = post(&world, "/v1/payment_intents", "k2", &fields).await.unwrap().json();
    assert_eq!(
        (&held["status"], &held["latest_charge"]),
        (&json!("requires_confirmation"), &json!(null))
    );
    assert_eq!(world.effects("k2").await, []);
    let path = format!("/v1/payment_intents/{}/confirm", held["id"].as_str().unwrap());
    assert_eq!(post(&world, &path, "c2", &[]).await.unwrap().json()["status"], "succeeded");
    assert_eq!(world.effects("k2").await, charge(1999));
    let told = post(&world, &path, "c3", &[]).await.unwrap();
    assert_eq!(told.status, 400);
    assert_eq!(told.json()["error"]["code"], "payment_intent_unexpected_state");
    assert_eq!(told.json()["error"]["payment_intent"]["status"], "succeeded");
}

#[tokio::test]
async fn what_has_not_succeeded_is_canceled_and_what_has_is_not() {
    let world = World::start().await;
    let waiting = pay(&world, "k1", "pm_card_authenticationRequired").await.unwrap().json();
    let path = format!("/v1/payment_intents/{}/cancel", waiting["id"].as_str().unwrap());
    let told = post(&world, &path, "c1", &[("cancellation_reason", "abandoned")]).await.unwrap();
    assert_eq!((told.status, &told.json()["status"]), (200, &json!("canceled")));
    assert_eq!(told.json()["cancellation_reason"], "abandoned");
    assert!(told.json()["canceled_at"].is_i64());
    let id = paid(&world, "k2", "pm_card_visa").await;
    let told = post(&world, &format!("/v1/payment_intents/{id}/cancel"), "c2", &[]).await.unwrap();
    assert_eq!(told.status, 400);
    assert_eq!(told.json()["error"]["code"], "payment_intent_unexpected_state");
    assert_eq!(told.json()["error"]["payment_intent"]["id"], json!(id));
}

#[tokio::test]
async fn the_page_decides_and_leads_back_with_the_intent() {
    let world = World::start().await;
    for (act, how, state, effects) in [
        ("approve", "succeeded", "succeeded", charge(1999)),
        ("decline", "failed", "requires_payment_method", vec![]),
    ] {
        let made = pay(&world, act, "pm_card_authenticationRequired").await.unwrap().json();
        let id = made["id"].as_str().unwrap();
        assert_eq!(made["next_action"]["type"], "redirect_to_url");
        let page = made["next_action"]["redirect_to_url"]["url"].as_str().unwrap();
        assert!(page.starts_with(&url(&world, "/")), "{page}");
        let shown = world.client.get(page).send().await.unwrap().text().await.unwrap();
        assert!(shown.contains("19.99 EUR"));
        let answer = world.client.post(page).form(&[("act", act)]).send().await.unwrap();
        let place = answer.headers()["location"].to_str().unwrap().to_owned();
        assert!(
            place.starts_with(&format!("https://shop.test/return?order=1&payment_intent={id}&"))
        );
        assert!(place.ends_with(&format!("redirect_status={how}")), "{place}");
        let now = get(&world, &format!("/v1/payment_intents/{id}")).await.json();
        assert_eq!((&now["status"], &now["next_action"]), (&json!(state), &json!(null)));
        let code = &now["last_payment_error"]["code"];
        assert_eq!(code == "payment_intent_authentication_failure", act == "decline", "{code}");
        assert_eq!(world.effects(act).await, effects);
    }
}

#[tokio::test]
async fn amounts_follow_this_wires_decimals_and_the_ledger_the_currencys_own() {
    let world = World::start().await;
    let rows = [
        ("jpy", "500", 500),
        ("huf", "50000", 50_000),
        ("isk", "500", 5),
        ("ugx", "500", 5),
        ("mga", "7", 700),
        ("kwd", "1990", 1990),
        ("twd", "500", 500),
    ];
    for (currency, amount, minor) in rows {
        let mut fields = confirmed(currency, "pm_card_visa");
        (fields[0].1, fields[1].1) = (amount, currency);
        let told = post(&world, "/v1/payment_intents", currency, &fields).await.unwrap().json();
        assert_eq!(told["amount_received"].to_string(), amount, "{currency}: {told}");
        assert_eq!(world.effects(currency).await, charge(minor), "{currency}");
        let id = told["id"].as_str().unwrap();
        let given = refund(&world, &format!("r-{currency}"), id, amount).await;
        assert_eq!(given.json()["amount"].to_string(), amount, "{}", given.body);
    }
    let ledger = world.ask("/control/ledger").await;
    assert!(ledger["sum_minor_by_currency"].as_object().unwrap().values().all(|it| it == 0));
}

#[tokio::test]
async fn refunds_never_exceed_the_charge() {
    let world = World::start().await;
    let id = paid(&world, "k1", "pm_card_visa").await;
    let made = refund(&world, "r1", &id, "500").await.json();
    assert_eq!((&made["status"], &made["payment_intent"]), (&json!("succeeded"), &json!(id)));
    assert_eq!(
        get(&world, &format!("/v1/refunds/{}", made["id"].as_str().unwrap())).await.json(),
        made
    );
    let told = refund(&world, "r2", &id, "1500").await;
    assert_eq!((told.status, &told.json()["error"]["param"]), (400, &json!("amount")));
    let rest = [("payment_intent", id.as_str()), ("metadata[reference]", "r3")];
    assert_eq!(post(&world, "/v1/refunds", "r3", &rest).await.unwrap().json()["amount"], 1499);
    let told = refund(&world, "r4", &id, "1").await;
    assert_eq!(told.json()["error"]["code"], "charge_already_refunded");
    let all = get(&world, &format!("/v1/refunds?payment_intent={id}&limit=1")).await.json();
    assert_eq!((&all["object"], &all["has_more"]), (&json!("list"), &json!(true)));
    assert_eq!(all["data"][0]["metadata"]["reference"], "r3");
    let held = post(&world, "/v1/payment_intents", "k2", &unconfirmed("k2")).await.unwrap().json();
    assert_eq!(refund(&world, "r5", held["id"].as_str().unwrap(), "1").await.status, 400);
    assert_eq!(
        refund(&world, "r6", "pi_none", "1").await.json()["error"]["code"],
        "resource_missing"
    );
    let effects = world.ask("/control/ledger").await;
    assert_eq!(effects["sum_minor_by_currency"]["EUR"], 0);
    assert_eq!(effects["effects"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_refund_is_pending_first_or_fails_in_the_end() {
    let world = World::start().await;
    for (method, first, last, sum) in [
        ("pm_sim_refund_pending", "pending", "succeeded", 0),
        ("pm_sim_refund_refused_later", "pending", "failed", 1999),
        ("pm_sim_refund_fails_later", "succeeded", "failed", 1999),
    ] {
        let id = paid(&world, method, method).await;
        let made = refund(&world, &format!("{method}-r"), &id, "1999").await.json();
        assert_eq!(made["status"], first);
        let path = format!("/v1/refunds/{}", made["id"].as_str().unwrap());
        until("the end", async || get(&world, &path).await.json()["status"] == last).await;
        assert_eq!(get(&world, &path).await.json()["failure_reason"].is_string(), last == "failed");
        let ledger = world.ask(&format!("/control/ledger?reference_prefix={method}")).await;
        assert_eq!(ledger["sum_minor_by_currency"]["EUR"], sum, "{method}");
    }
    let told = kinds(&world, 10).await;
    for kind in ["refund.created", "refund.updated", "refund.failed", "charge.refunded"] {
        assert!(told.iter().any(|it| it == kind), "{kind} in {told:?}");
    }
}

#[tokio::test]
async fn faults_hit_the_request_that_carries_the_method_with_effect() {
    let rows = [
        ("pm_sim_lost_response", "lost", 1999),
        ("pm_sim_lost_webhook", "lost", 1999),
        ("pm_sim_cut_body", "lost", 1999),
        ("pm_sim_never_arrives", "lost", 0),
        ("pm_sim_500_executed", "500", 1999),
        ("pm_sim_429", "429", 0),
        ("pm_sim_html", "200", 1999),
    ];
    for (method, seen, taken) in rows {
        let world = World::start().await;
        let sum = async |reference: &str| -> i64 {
            world.effects(reference).await.iter().map(|it| it.1).sum()
        };
        let found = |told: reqwest::Result<Told>| {
            told.map_or("lost".to_owned(), |it| it.status.to_string())
        };
        assert_eq!(found(pay(&world, "k1", method).await), seen, "{method}");
        assert_eq!(sum("k1").await, taken, "{method}");
        let mut fields = unconfirmed("k2");
        fields.push(("payment_method", method));
        let held = post(&world, "/v1/payment_intents", "k2", &fields).await.unwrap();
        assert_eq!(held.status, 200, "without effect nothing goes wrong");
        let path = format!("/v1/payment_intents/{}/confirm", held.json()["id"].as_str().unwrap());
        assert_eq!(found(post(&world, &path, "c2", &[]).await), seen, "{method}");
        assert_eq!(sum("k2").await, taken, "{method}");
        let again = post(&world, &path, "c2", &[]).await.unwrap();
        assert_eq!(again.status, if seen == "500" { 500 } else { 200 }, "{method}");
        assert_eq!((sum("k2").await, again.replayed), (1999, taken == 1999), "{method}");
    }
}

#[tokio::test]
async fn lists_are_newest_first_and_come_in_pages() {
    let world = World::start().await;
    for number in 0..5 {
        paid(&world, &format!("k{number}"), "pm_card_visa").await;
    }
    let references = |page: &Value| -> Vec<String> {
        let data = page["data"].as_array().unwrap();
        data.iter().map(|it| it["metadata"]["reference"].as_str().unwrap().to_owned()).collect()
    };
    let first = get(&world, "/v1/payment_intents?limit=3&created[gte]=1").await.json();
    assert_eq!(references(&first), ["k4", "k3", "k2"]);
    assert_eq!(first["has_more"], true);
    let last = first["data"][2]["id"].as_str().unwrap();
    let path = format!("/v1/payment_intents?limit=3&starting_after={last}");
    let second = get(&world, &path).await.json();
    assert_eq!(
        (references(&second), &second["has_more"]),
        (vec!["k1".into(), "k0".into()], &json!(false))
    );
    let none = get(&world, "/v1/payment_intents?created[gte]=99999999999").await.json();
    assert_eq!(none["data"], json!([]));
    for path in ["?limit=101", "?limit=0", "?colour=red", "?starting_after=pi_none"] {
        let told = get(&world, &format!("/v1/payment_intents{path}")).await;
        assert!((400..=404).contains(&told.status), "{path}");
    }
    let one = json!({"not_found_for_ms": 60_000, "reference": "k4"});
    world.control("/control/lookups", &one).await;
    let found = get(&world, "/v1/payment_intents?limit=3").await.json();
    assert_eq!(references(&found), ["k3", "k2"], "lists miss what lookups are to miss");
    world.control("/control/lookups", &json!({"not_found_for_ms": 60_000})).await;
    let told = get(&world, "/v1/payment_intents").await.json();
    assert_eq!((&told["object"], &told["data"]), (&json!("list"), &json!([])));
    assert_eq!(
        get(&world, &format!("/v1/payment_intents/{last}")).await.json()["error"]["code"],
        "resource_missing"
    );
    assert_eq!(world.get("/v1/payments").await.json()["data"], json!([]));
}

#[tokio::test]
async fn disputes_are_listed_newest_first_and_come_in_pages() {
    let world = World::start().await;
    let mut intents = Vec::new();
    for number in 0..4 {
        let id = paid(&world, &format!("k{number}"), "pm_card_visa").await;
        intents.push(id);
    }
    assert_eq!(get(&world, "/v1/disputes").await.json()["data"], json!([]));
    for id in &intents[1..] {
        let silent = json!({"status": "reversed", "silent": true});
        world.control(&format!("/control/payments/{id}"), &silent).await;
    }
    let of = |page: &Value| -> Vec<String> {
        let data = page["data"].as_array().unwrap();
        data.iter().map(|it| it["payment_intent"].as_str().unwrap().to_owned()).collect()
    };
    let first = get(&world, "/v1/disputes?limit=2&created[gte]=1").await.json();
    assert_eq!(of(&first), [intents[3].clone(), intents[2].clone()]);
    let dispute = &first["data"][1];
    assert_eq!((&dispute["object"], &dispute["amount"]), (&json!("dispute"), &json!(1999)));
    assert_eq!((&dispute["status"], &first["has_more"]), (&json!("needs_response"), &json!(true)));
    let path = format!("/v1/disputes?starting_after={}", dispute["id"].as_str().unwrap());
    let second = get(&world, &path).await.json();
    assert_eq!((of(&second), &second["has_more"]), (vec![intents[1].clone()], &json!(false)));
    let one = get(&world, &format!("/v1/disputes?payment_intent={}", intents[2])).await.json();
    assert_eq!(of(&one), [intents[2].clone()]);
    let none = get(&world, "/v1/disputes?created[gte]=99999999999").await.json();
    assert_eq!(none["data"], json!([]));
    assert_eq!(get(&world, "/v1/disputes?starting_after=dp_none").await.status, 404);
}

#[tokio::test]
async fn the_log_keeps_what_adapters_are_checked_by_and_no_credentials() {
    let world = World::start().await;
    let request = world.client.post(url(&world, "/v1/payment_intents")).basic_auth(KEY, Some(""));
    let request = request.header("Idempotency-Key", "k1").header("Stripe-Version", "2024-06-20");
    let answer = request.form(&confirmed("k1", "pm_card_visa")).send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["stripe-version"]),
        (200, &"2024-06-20".parse().unwrap())
    );
    let logged = world.ask("/control/requests?key=k1").await["requests"][0].clone();
    assert_eq!((&logged["door"], &logged["reference"]), (&json!("stripe"), &json!("k1")));
    assert!(logged["body"].as_str().unwrap().contains("metadata%5Breference%5D=k1"));
    let headers: Value = serde_json::from_str(logged["request_headers"].as_str().unwrap()).unwrap();
    assert_eq!(headers["stripe-version"], "2024-06-20");
    assert_eq!(headers["content-type"], "application/x-www-form-urlencoded");
    assert!(!world.ask("/control/requests").await.to_string().contains(KEY));
}

#[tokio::test]
async fn an_outage_may_close_this_door_alone() {
    let world = World::start().await;
    let outage = |mode| json!({"mode": mode, "door": "stripe"});
    world.control("/control/outage", &outage("refuse")).await;
    until("the door", async || {
        pay(&world, "k1", "pm_card_visa").await.is_err_and(|it| it.is_connect())
    })
    .await;
    assert_eq!(world.pay("k1", "tok_visa").await.unwrap().status, 201);
    world.control("/control/outage", &outage("off")).await;
    until("the end", async || pay(&world, "k2", "pm_card_visa").await.is_ok()).await;
    let wrong = json!({"mode": "off", "door": "back"});
    assert_eq!(world.try_control("/control/outage", &wrong).await.status, 400);
    world.control("/control/outage", &json!({"mode": "hang"})).await;
    let waited =
        tokio::time::timeout(Duration::from_millis(200), pay(&world, "k3", "pm_card_visa"));
    assert!(waited.await.is_err());
}
