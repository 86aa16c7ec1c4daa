//! One key, one execution.

use std::time::Duration;

use serde_json::json;

use crate::harness::{World, payment, until};

#[tokio::test]
async fn the_same_request_is_answered_byte_for_byte_and_executed_once() {
    let world = World::start().await;
    let first = world.pay("k1", "tok_visa").await.unwrap();
    let again = world.pay("k1", "tok_visa").await.unwrap();
    assert_eq!((first.status, first.replayed), (201, false));
    assert_eq!((again.status, again.replayed), (201, true));
    assert_eq!(first.body, again.body);
    assert!(first.request_id.starts_with("req_") && first.request_id != again.request_id);
    assert_eq!(world.effects("k1").await, [("charge".to_owned(), 1999)]);
    assert_eq!(world.answers("k1").await, [("201".to_owned(), true), ("201".to_owned(), false)]);
}

#[tokio::test]
async fn a_decline_is_stored_and_takes_nothing() {
    let world = World::start().await;
    for replayed in [false, true] {
        let told = world.pay("k1", "tok_insufficient_funds").await.unwrap();
        assert_eq!((told.status, told.replayed), (402, replayed));
        let error = &told.json()["error"];
        assert_eq!(
            (&error["type"], &error["code"]),
            (&json!("card_declined"), &json!("insufficient_funds"))
        );
        assert_eq!(error["payment"]["status"], "declined");
    }
    assert_eq!(world.effects("k1").await, []);
}

#[tokio::test]
async fn a_key_is_not_taken_for_another_payload_or_endpoint() {
    let world = World::start().await;
    let id = world.paid("k1", "tok_visa").await;
    let mut other = payment("k1", "tok_visa");
    other["amount_minor"] = json!(2000);
    let paths = [("/v1/payments", other), (&*format!("/v1/payments/{id}/cancel"), json!({}))];
    for (path, body) in paths {
        let told = world.post(path, "k1", &body).await.unwrap();
        assert_eq!(told.status, 422, "{path}");
        assert_eq!(told.json()["error"]["type"], "idempotency_mismatch");
    }
    assert_eq!(world.effects("k1").await.len(), 1);
}

#[tokio::test]
async fn a_key_is_in_use_until_its_execution_ends() {
    let world = World::start().await;
    world.script("k1", json!({"execute": "later", "execute_after_ms": 400})).await;
    assert_eq!(world.pay("k1", "tok_visa").await.unwrap().status, 504);
    let second = world.pay("k1", "tok_visa").await.unwrap();
    assert_eq!(second.status, 409);
    assert_eq!(second.json()["error"]["type"], "idempotency_key_in_use");
    assert_eq!(world.effects("k1").await, []);
    until("the late execution", async || world.effects("k1").await.len() == 1).await;
    until("its log", async || world.answers("k1").await[0].1).await;
    let third = world.pay("k1", "tok_visa").await.unwrap();
    assert_eq!((third.status, third.replayed), (201, true));
    assert_eq!(world.effects("k1").await.len(), 1);
}

#[tokio::test]
async fn twenty_at_once_execute_once() {
    let world = World::start().await;
    let all = (0..20).map(|_| world.pay("k1", "tok_visa"));
    let mut bodies = Vec::new();
    for told in futures::future::join_all(all).await {
        let told = told.unwrap();
        assert!([201, 409].contains(&told.status), "{told:?}");
        if told.status == 201 {
            bodies.push(told.body);
        }
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1);
    assert_eq!(world.effects("k1").await.len(), 1);
}

#[tokio::test]
async fn replays_of_a_stored_answer_do_not_stand_in_each_others_way() {
    let world = World::start().await;
    let first = world.pay("k1", "tok_visa").await.unwrap();
    let all = (0..20).map(|_| world.pay("k1", "tok_visa"));
    for told in futures::future::join_all(all).await {
        assert_eq!(told.unwrap().body, first.body);
    }
}

#[tokio::test]
async fn a_forgotten_key_makes_a_second_payment() {
    let world = World::with(|it| it.key_window = Duration::from_millis(50)).await;
    let first = world.pay("k1", "tok_visa").await.unwrap().json();
    tokio::time::sleep(Duration::from_millis(80)).await;
    let second = world.pay("k1", "tok_visa").await.unwrap();
    assert!(!second.replayed);
    assert_ne!(first["id"], second.json()["id"]);
    assert_eq!(world.effects("k1").await.len(), 2);
}

#[tokio::test]
async fn keys_survive_a_restart() {
    let mut world = World::start().await;
    let first = world.pay("k1", "tok_visa").await.unwrap();
    world.restart().await;
    let again = world.pay("k1", "tok_visa").await.unwrap();
    assert_eq!((again.replayed, again.body), (true, first.body));
}

#[tokio::test]
async fn what_is_refused_before_the_key_leaves_it_free() {
    let world = World::start().await;
    let rows = [
        ("amount_minor", json!(0)),
        ("amount_minor", json!(100_000_000_000_i64)),
        ("amount_minor", json!(19.99)),
        ("amount_minor", json!("1999")),
        ("currency", json!("eur")),
        ("reference", json!("")),
        ("payment_token", json!("tok_nobody_knows")),
        ("payment_token", json!("4242424242424242")),
        ("return_url", json!("javascript:alert(1)")),
        ("return_url", json!(null)),
    ];
    for (param, value) in rows {
        let mut body = payment("k1", "tok_visa");
        body[param] = value.clone();
        let told = world.post("/v1/payments", "k1", &body).await.unwrap();
        assert_eq!(told.status, 400, "{param} {value}");
        assert_eq!(told.json()["error"]["param"], param);
    }
    let anonymous = world.client.post(world.url("/v1/payments")).json(&payment("k1", "tok_visa"));
    assert_eq!(anonymous.header("Idempotency-Key", "k1").send().await.unwrap().status(), 401);
    let keyless = world.client.post(world.url("/v1/payments")).bearer_auth(crate::harness::API_KEY);
    assert_eq!(keyless.json(&payment("k1", "tok_visa")).send().await.unwrap().status(), 400);
    let long = "k".repeat(256);
    assert_eq!(world.pay(&long, "tok_visa").await.unwrap().status, 400);
    assert_eq!(world.effects("k1").await, []);
    let told = world.pay("k1", "tok_visa").await.unwrap();
    assert_eq!((told.status, told.replayed), (201, false));
}

#[tokio::test]
async fn a_card_number_is_neither_stored_nor_shown() {
    let world = World::start().await;
    assert_eq!(world.pay("k1", "4242424242424242").await.unwrap().status, 400);
    for path in ["/control/requests", "/control/payments", "/control/events"] {
        assert!(!world.ask(path).await.to_string().contains("4242"), "{path}");
    }
    for entry in std::fs::read_dir(world.settings.database.parent().unwrap()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(16).any(|it| it == b"4242424242424242"));
    }
}
