//! Outages: nobody there, or somebody who never answers.

use std::time::Duration;

use examplepay::{Settings, StartError};
use serde_json::json;

use crate::harness::{API_KEY, World, until};

#[tokio::test]
async fn a_refusing_provider_refuses_connections_until_it_is_over() {
    let world = World::start().await;
    world.control("/control/outage", &json!({"mode": "refuse", "for_ms": 400})).await;
    let refused = world.pay("k1", "tok_visa").await.unwrap_err();
    assert!(refused.is_connect(), "{refused:?}");
    until("the end", async || world.pay("k1", "tok_visa").await.is_ok()).await;
    assert_eq!(world.effects("k1").await.len(), 1);
}

#[tokio::test]
async fn a_hanging_provider_takes_connections_and_never_answers() {
    let world = World::start().await;
    world.control("/control/outage", &json!({"mode": "hang"})).await;
    let waited = tokio::time::timeout(Duration::from_millis(300), world.pay("k1", "tok_visa"));
    assert!(waited.await.is_err());
    world.control("/control/outage", &json!({"mode": "off"})).await;
    assert_eq!(world.effects("k1").await, []);
    assert_eq!(world.pay("k1", "tok_visa").await.unwrap().status, 201);
}

#[tokio::test]
async fn a_kept_connection_feels_the_outage_as_well() {
    let world = World::start().await;
    let client =
        reqwest::Client::builder().no_proxy().retry(reqwest::retry::never()).build().unwrap();
    let look = async || {
        let request = client.get(world.url("/v1/payments?reference=r")).bearer_auth(API_KEY);
        request.send().await?.text().await
    };
    look().await.unwrap();
    world.control("/control/outage", &json!({"mode": "refuse"})).await;
    assert!(look().await.is_err());
    world.control("/control/outage", &json!({"mode": "off"})).await;
    until("the end", async || look().await.is_ok()).await;
}

#[tokio::test]
async fn a_reset_forgets_everything_and_opens_the_door() {
    let world = World::start().await;
    world.paid("k1", "tok_visa").await;
    world.script("k1", json!({"answer": {"kind": "drop_before_headers"}})).await;
    world.control("/control/outage", &json!({"mode": "refuse"})).await;
    world.control("/control/reset", &json!({})).await;
    until("the door", async || world.client.get(world.url("/")).send().await.is_ok()).await;
    assert_eq!(world.effects("k1").await, []);
    let told = world.pay("k1", "tok_visa").await.unwrap();
    assert_eq!((told.status, told.replayed), (201, false));
}

#[tokio::test]
async fn a_taken_port_and_a_folder_that_is_a_file_are_told_in_one_line() {
    let world = World::start().await;
    let running = world.running.as_ref().unwrap();
    let taken = Settings { addr: running.addr, ..world.settings.clone() };
    let told = examplepay::start(taken).await.err().unwrap();
    assert!(matches!(told, StartError::Listen { .. }));
    assert!(told.to_string().contains("EXAMPLEPAY_ADDR"));
    let file = world.settings.database.clone();
    let nowhere = Settings { database: file.join("inside.db"), ..world.settings.clone() };
    let told = examplepay::start(nowhere).await.err().unwrap().to_string();
    assert!(told.contains("EXAMPLEPAY_DB") && !told.contains('\n'), "{told}");
}

#[tokio::test]
async fn every_answer_has_a_request_id() {
    let world = World::start().await;
    for path in [
        "/v1/payments/pay_unknown",
        "/v1/refunds/re_unknown",
        "/v1/nothing",
        "/v1/payments?created_after=x",
    ] {
        let told = world.get(path).await;
        assert!((400..500).contains(&told.status), "{path}");
        assert!(told.request_id.starts_with("req_"), "{path}");
    }
    let big = "x".repeat(70_000);
    let told = world.post("/v1/payments", "k1", &json!({"reference": big})).await.unwrap();
    assert_eq!(told.status, 413);
    assert!(told.request_id.starts_with("req_"));
}
