//! The ledger: refunds, cancels, and what is decided later.

use serde_json::{Value, json};

use crate::harness::{World, until};

#[tokio::test]
async fn a_database_of_an_earlier_version_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("earlier.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let earlier = sqlx::SqlitePool::connect_with(options).await.unwrap();
    let tables = "create table payments (
            id text primary key, reference text not null, amount_minor integer not null, currency text not null,
            status text not null, decline_code text, token text not null, return_url text not null,
            idempotency_key text not null, request_id text not null, action_expires_at integer,
            hosted integer not null default 0, due_at integer, due_status text,
            created_at integer not null, updated_at integer not null) strict;
        insert into payments values ('pay_old', 'old', 700, 'EUR', 'succeeded', null, 'tok_visa',
            'https://shop.test', 'k', 'req_1', null, 0, null, null, 1, 1);";
    sqlx::raw_sql(tables).execute(&earlier).await.unwrap();
    earlier.close().await;
    let world = World::with(|it| it.database = file).await;
    assert_eq!(world.get("/v1/payments/pay_old").await.json()["amount_minor"], 700);
    assert_eq!(world.refund("r1", "pay_old", 700).await.status, 201);
}

#[tokio::test]
async fn refunds_at_once_never_exceed_the_payment() {
    let world = World::start().await;
    let id = world.paid("k1", "tok_visa").await;
    let keys: Vec<String> = (0..20).map(|number| format!("r{number}")).collect();
    let told = futures::future::join_all(keys.iter().map(|key| world.refund(key, &id, 300))).await;
    let made = told.iter().filter(|it| it.status == 201).count();
    assert_eq!(made, 6, "6 x 300 fit into 1999");
    for it in told.iter().filter(|it| it.status != 201) {
        assert_eq!(it.status, 422);
        assert_eq!(it.json()["error"]["type"], "refund_exceeds_payment");
    }
    let payment = world.get(&format!("/v1/payments/{id}")).await.json();
    assert_eq!(payment["refunded_minor"], 1800);
    let all = world.ask("/control/ledger").await;
    assert_eq!(all["sum_minor_by_currency"], json!({"EUR": 199}));
    let refused = told.iter().zip(&keys).find(|(it, _)| it.status == 422).unwrap();
    let again = world.refund(refused.1, &id, 300).await;
    assert_eq!((again.status, again.replayed), (422, true));
}

#[tokio::test]
async fn a_pending_refund_is_reserved_at_once_and_effective_later() {
    let world = World::start().await;
    let id = world.paid("k1", "tok_refund_pending").await;
    let refund = world.refund("r1", &id, 1999).await.json();
    assert_eq!(refund["status"], "pending");
    assert_eq!(world.refund("r2", &id, 1).await.status, 422);
    assert_eq!(world.effects("r1").await, []);
    until("the refund", async || world.effects("r1").await == [("refund".to_owned(), -1999)]).await;
    let found = world.get("/v1/refunds?reference=r1").await.json();
    assert_eq!(found["data"][0]["status"], "succeeded");
}

#[tokio::test]
async fn a_refund_that_fails_later_is_reversed_and_may_be_made_again() {
    let world = World::start().await;
    let id = world.paid("k1", "tok_refund_fails_later").await;
    let refund = world.refund("r1", &id, 1999).await.json();
    assert_eq!(refund["status"], "succeeded");
    until("the reversal", async || world.effects("r1").await.len() == 2).await;
    let sum: i64 = world.effects("r1").await.iter().map(|it| it.1).sum();
    assert_eq!(sum, 0);
    let path = format!("/v1/refunds/{}", refund["id"].as_str().unwrap());
    let now = world.get(&path).await.json();
    assert_eq!(
        (&now["status"], &now["failure_code"]),
        (&json!("failed"), &json!("account_closed"))
    );
    assert_eq!(world.refund("r2", &id, 1999).await.status, 201);
}

#[tokio::test]
async fn only_a_paid_payment_is_refunded() {
    let world = World::start().await;
    let waiting = world.pay("k1", "tok_3ds").await.unwrap().json();
    let told = world.refund("r1", waiting["id"].as_str().unwrap(), 100).await;
    assert_eq!(told.status, 422);
    assert_eq!(told.json()["error"]["type"], "payment_not_refundable");
    assert_eq!(world.refund("r2", "pay_unknown", 100).await.status, 404);
}

#[tokio::test]
async fn what_waits_is_canceled_and_what_is_settled_is_not() {
    let world = World::start().await;
    for token in ["tok_3ds", "tok_processing", "tok_hosted_card"] {
        let made = world.pay(token, token).await.unwrap().json();
        let path = format!("/v1/payments/{}/cancel", made["id"].as_str().unwrap());
        for key in ["first", "second"] {
            let told = world.post(&path, &format!("{token}-{key}"), &json!({})).await.unwrap();
            assert_eq!((told.status, &told.json()["status"]), (200, &json!("canceled")));
        }
    }
    let id = world.paid("k1", "tok_visa").await;
    let told = world.post(&format!("/v1/payments/{id}/cancel"), "c1", &json!({})).await.unwrap();
    assert_eq!(told.status, 409);
    let error = &told.json()["error"];
    assert_eq!(error["type"], "not_cancelable");
    assert_eq!(error["payment"]["status"], "succeeded");
    let told = world.post("/v1/payments/pay_unknown/cancel", "c2", &json!({})).await.unwrap();
    assert_eq!(told.status, 404);
}

#[tokio::test]
async fn processing_ends_as_its_token_says() {
    let world = World::start().await;
    for (token, status, effects) in
        [("tok_processing", "succeeded", 1), ("tok_processing_declined", "declined", 0)]
    {
        let made = world.pay(token, token).await.unwrap().json();
        assert_eq!(made["status"], "processing");
        let path = format!("/v1/payments/{}", made["id"].as_str().unwrap());
        until(status, async || world.get(&path).await.json()["status"] == status).await;
        assert_eq!(world.effects(token).await.len(), effects);
    }
}

#[tokio::test]
async fn the_providers_own_decisions_reach_the_ledger_once() {
    let world = World::start().await;
    let made = world.pay("k1", "tok_declined").await.unwrap().json();
    let id = made["error"]["payment"]["id"].as_str().unwrap().to_owned();
    let path = format!("/control/payments/{id}");
    for _ in 0..2 {
        world.control(&path, &json!({"status": "succeeded"})).await;
    }
    assert_eq!(world.effects("k1").await, [("charge".to_owned(), 1999)]);
    assert_eq!(world.try_control(&path, &json!({"status": "declined"})).await.status, 400);
    world.control(&format!("{path}/refund"), &json!({"amount_minor": 500})).await;
    let shown = world.get(&format!("/v1/payments/{id}")).await.json();
    assert_eq!((&shown["status"], &shown["refunded_minor"]), (&json!("succeeded"), &json!(500)));
    assert_eq!(shown["decline_code"], Value::Null);
}

#[tokio::test]
async fn the_ledger_equals_the_objects_after_many_kinds_of_payment() {
    let world = World::start().await;
    let tokens = [
        "tok_visa",
        "tok_mastercard",
        "tok_declined",
        "tok_3ds",
        "tok_lost_response",
        "tok_lost_webhook",
        "tok_cut_body",
        "tok_500_executed",
        "tok_never_arrives",
        "tok_wrong_amount",
        "tok_wrong_currency",
        "tok_unknown_status",
        "tok_processing",
        "tok_processing_declined",
        "tok_refund_fails_later",
    ];
    for token in tokens {
        // The answer may be lost; the ledger is what counts.
        let _answer = world.pay(token, token).await;
    }
    let shown =
        async || world.ask("/control/payments").await["payments"].as_array().unwrap().clone();
    until("rest", async || shown().await.iter().all(|it| it["status"] != "processing")).await;
    for payment in shown().await {
        let reference = payment["reference"].as_str().unwrap();
        let succeeded = payment["status"] == "succeeded";
        let wanted: Vec<(String, i64)> = succeeded
            .then(|| ("charge".to_owned(), payment["amount_minor"].as_i64().unwrap()))
            .into_iter()
            .collect();
        assert_eq!(world.effects(reference).await, wanted, "{reference}");
    }
    assert_eq!(shown().await.len(), tokens.len() - 1, "one never arrived");
}

#[tokio::test]
async fn payments_are_listed_newest_first_and_from_a_time_on() {
    let world = World::start().await;
    let body = |number: i64| {
        let mut body = crate::harness::payment("same", "tok_visa");
        body["amount_minor"] = json!(number);
        body
    };
    for number in 1..=3 {
        world.post("/v1/payments", &format!("k{number}"), &body(number)).await.unwrap();
    }
    let found = world.get("/v1/payments?reference=same").await.json();
    let amounts: Vec<i64> = found["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["amount_minor"].as_i64().unwrap())
        .collect();
    assert_eq!(amounts, [3, 2, 1]);
    let newest = found["data"][0]["created_at"].as_i64().unwrap();
    let none = world.get(&format!("/v1/payments?created_after={newest}")).await.json();
    assert_eq!(none, json!({"data": []}));
    let all = world.get("/v1/payments?created_after=0").await.json();
    assert_eq!(all["data"].as_array().unwrap().len(), 3);
}
