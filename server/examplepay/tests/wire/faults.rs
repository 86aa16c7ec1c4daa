//! What each step of a script does: to the client, and to the ledger.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::harness::{API_KEY, World, payment, until};

/// The bytes of an answer, as they come over the wire until the connection ends.
async fn raw(world: &World, key: &str, token: &str) -> Vec<u8> {
    let address = world.running.as_ref().unwrap().addr;
    let body = payment(key, token).to_string();
    let request = format!(
        "POST /v1/payments HTTP/1.1\r\nHost: pay\r\nAuthorization: Bearer {API_KEY}\r\n\
         Idempotency-Key: {key}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    // A reset is an end as well.
    let _end = tokio::time::timeout(Duration::from_secs(3), read).await.unwrap();
    bytes
}

#[tokio::test]
async fn a_lost_response_was_executed_and_no_byte_of_it_came() {
    let world = World::start().await;
    assert_eq!(raw(&world, "k1", "tok_lost_response").await, b"");
    assert_eq!(world.effects("k1").await.len(), 1);
    assert_eq!(world.answers("k1").await, [("dropped".to_owned(), true)]);
    let again = world.pay("k1", "tok_lost_response").await.unwrap();
    assert_eq!((again.status, again.replayed), (201, true));
    assert!(world.pay("k2", "tok_lost_response").await.is_err());
    assert_eq!(world.effects("k2").await.len(), 1);
}

#[tokio::test]
async fn a_request_that_never_arrives_is_not_executed() {
    let world = World::start().await;
    assert!(world.pay("k1", "tok_never_arrives").await.is_err());
    assert_eq!(world.effects("k1").await, []);
    let again = world.pay("k1", "tok_never_arrives").await.unwrap();
    assert_eq!((again.status, again.replayed), (201, false));
    assert_eq!(world.effects("k1").await.len(), 1);
}

#[tokio::test]
async fn a_cut_body_begins_well_and_ends_too_early() {
    let world = World::start().await;
    let bytes = String::from_utf8(raw(&world, "k1", "tok_cut_body").await).unwrap();
    let (head, body) = bytes.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 201"), "{head}");
    let length = head.lines().find_map(|it| it.strip_prefix("content-length: ")).unwrap();
    assert!(!body.is_empty() && body.len() < length.parse().unwrap());
    assert!(world.pay("k2", "tok_cut_body").await.is_err());
    assert_eq!(world.effects("k1").await.len(), 1);
    assert_eq!(world.pay("k1", "tok_cut_body").await.unwrap().status, 201);
}

#[tokio::test]
async fn a_saved_500_is_replayed_for_ever_though_the_money_was_taken() {
    let world = World::start().await;
    let first = world.pay("k1", "tok_500_executed").await.unwrap();
    assert_eq!((first.status, first.replayed), (500, false));
    for _ in 0..3 {
        let again = world.pay("k1", "tok_500_executed").await.unwrap();
        assert_eq!((again.status, again.replayed), (500, true));
        assert_eq!(again.body, first.body);
    }
    assert_eq!(world.effects("k1").await.len(), 1);
    let found = world.get("/v1/payments?reference=k1").await.json();
    assert_eq!(found["data"][0]["status"], "succeeded");
}

#[tokio::test]
async fn a_429_comes_before_the_key() {
    let world = World::start().await;
    let first = world.pay("k1", "tok_429").await.unwrap();
    assert_eq!((first.status, first.retry_after.as_deref()), (429, Some("2")));
    assert_eq!(world.effects("k1").await, []);
    let again = world.pay("k1", "tok_429").await.unwrap();
    assert_eq!((again.status, again.replayed), (201, false));
}

#[tokio::test]
async fn test_tokens_do_what_they_are_called() {
    let world = World::start().await;
    let rows = [
        ("tok_wrong_amount", "amount_minor", json!(2000)),
        ("tok_wrong_currency", "currency", json!("USD")),
        ("tok_unknown_status", "status", json!("under_review")),
        ("tok_processing", "status", json!("processing")),
    ];
    for (token, field, value) in rows {
        let told = world.pay(token, token).await.unwrap().json();
        assert_eq!(told[field], value, "{token}");
        let id = told["id"].as_str().unwrap();
        assert_eq!(world.get(&format!("/v1/payments/{id}")).await.json()[field], value, "{token}");
    }
    assert_eq!(world.effects("tok_wrong_amount").await, [("charge".to_owned(), 2000)]);
    assert_eq!(world.effects("tok_unknown_status").await, []);
    let html = world.pay("k1", "tok_html").await.unwrap();
    assert_eq!(html.status, 200);
    assert!(html.body.starts_with("<html>"));
    assert_eq!(world.effects("k1").await.len(), 1);
}

#[tokio::test]
async fn steps_are_used_in_order_and_then_all_is_normal() {
    let world = World::start().await;
    let steps = json!([
        {"execute": false, "answer": {"kind": "drop_before_headers"}},
        {"execute": false, "answer": {"kind": "status", "status": 503, "body": "<p>down</p>",
            "content_type": "text/html", "headers": {"Retry-After": "7"}}},
        {"answer": {"kind": "cut_mid_body"}},
    ]);
    world.control("/control/faults", &json!({"match": {"key_prefix": "k"}, "steps": steps})).await;
    assert!(world.pay("k1", "tok_visa").await.is_err());
    let second = world.pay("k1", "tok_visa").await.unwrap();
    assert_eq!((second.status, second.retry_after.as_deref()), (503, Some("7")));
    assert!(world.pay("k1", "tok_visa").await.is_err());
    assert!(world.pay("k1", "tok_visa").await.unwrap().replayed);
    let answers = world.answers("k1").await;
    let words: Vec<&str> = answers.iter().map(|it| &*it.0).collect();
    assert_eq!(words, ["dropped", "503", "cut", "201"]);
    assert_eq!(answers.iter().map(|it| it.1).collect::<Vec<_>>(), [false, false, true, false]);
}

#[tokio::test]
async fn the_last_step_repeats_where_that_is_asked_for() {
    let world = World::start().await;
    let script = json!({"match": {"operation": "get_payment"}, "after_steps": "repeat_last",
        "steps": [{"answer": {"kind": "status", "status": 502}}]});
    world.control("/control/faults", &script).await;
    let id = world.paid("k1", "tok_visa").await;
    for _ in 0..3 {
        assert_eq!(world.get(&format!("/v1/payments/{id}")).await.status, 502);
    }
    world.control("/control/faults/clear", &json!({})).await;
    assert_eq!(world.get(&format!("/v1/payments/{id}")).await.status, 200);
}

#[tokio::test]
async fn no_answer_and_a_slow_one_are_executed_all_the_same() {
    let world = World::start().await;
    world.script("k1", json!({"answer": {"kind": "never"}})).await;
    world.script("k2", json!({"delay_ms": 300})).await;
    let impatient = tokio::time::timeout(Duration::from_millis(300), world.pay("k1", "tok_visa"));
    assert!(impatient.await.is_err());
    assert_eq!(world.effects("k1").await.len(), 1);
    let begun = Instant::now();
    assert_eq!(world.pay("k2", "tok_visa").await.unwrap().status, 201);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert!(world.pay("k1", "tok_visa").await.unwrap().replayed);
}

#[tokio::test]
async fn a_client_that_hangs_up_at_once_neither_stops_nor_blocks_its_payment() {
    let world = World::start().await;
    let address = world.running.as_ref().unwrap().addr;
    for number in 0..20 {
        let (key, body) = (format!("k{number}"), payment("gone", "tok_visa").to_string());
        let request = format!(
            "POST /v1/payments HTTP/1.1\r\nHost: pay\r\nAuthorization: Bearer {API_KEY}\r\n\
             Idempotency-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        drop(stream);
    }
    // Whatever of them arrived: afterwards every key works, and each counts once.
    until("free keys", async || {
        for number in 0..20 {
            let (key, body) = (format!("k{number}"), payment("gone", "tok_visa"));
            let told = world.post("/v1/payments", &key, &body).await.unwrap();
            if told.status != 201 {
                return false;
            }
        }
        true
    })
    .await;
    assert_eq!(world.effects("gone").await.len(), 20);
}

#[tokio::test]
async fn lookups_miss_a_new_payment_for_a_while() {
    let world = World::start().await;
    world.script("k1", json!({"lookup": {"not_found_for_ms": 400}})).await;
    let id = world.paid("k1", "tok_visa").await;
    assert_eq!(world.get(&format!("/v1/payments/{id}")).await.status, 404);
    assert_eq!(world.get("/v1/payments?reference=k1").await.json(), json!({"data": []}));
    until("the lookup", async || world.get(&format!("/v1/payments/{id}")).await.status == 200)
        .await;
}

#[tokio::test]
async fn lookups_answer_as_they_are_told_until_that_is_cleared() {
    let world = World::start().await;
    let id = world.paid("k1", "tok_visa").await;
    let path = format!("/v1/payments/{id}");
    for status in [503, 403, 404] {
        world.control("/control/lookups", &json!({"status": status, "for_ms": 60_000})).await;
        assert_eq!(world.get(&path).await.status, status);
    }
    world.control("/control/lookups", &json!({"status": 503, "reference": "another"})).await;
    assert_eq!(world.get(&path).await.status, 200);
    world.control("/control/lookups", &json!({"not_found_for_ms": 60_000})).await;
    assert_eq!(world.get(&path).await.status, 404);
    world.control("/control/lookups", &json!({})).await;
    assert_eq!(world.get(&path).await.status, 200);
}

#[tokio::test]
async fn a_script_with_a_slip_of_the_pen_is_refused() {
    let world = World::start().await;
    let slips = [
        json!({"steps": []}),
        json!({"match": {"operation": "create_payments"}, "steps": [{}]}),
        json!({"match": {"refrence": "k1"}, "steps": [{}]}),
        json!({"steps": [{"answer": {"kind": "explode"}}]}),
        json!({"steps": [{"webhook": {"mode": "nevver"}}]}),
        json!({"steps": [{}], "after_steps": "again"}),
    ];
    for script in slips {
        let told = world.try_control("/control/faults", &script).await;
        assert!((400..500).contains(&told.status), "{script} {told:?}");
    }
}

#[tokio::test]
async fn a_script_of_a_key_meets_the_questions_about_its_payment_and_nobody_elses() {
    let world = World::start().await;
    let script = json!({"match": {"of_key_prefix": "k1"}, "after_steps": "repeat_last",
        "steps": [{"answer": {"kind": "drop_before_headers"}}]});
    let id = world.control("/control/faults", &script).await["id"].clone();
    assert!(world.pay("k1", "tok_visa").await.is_err());
    let ask = async |reference: &str| {
        let url = world.url(&format!("/v1/payments?reference={reference}"));
        world.client.get(url).bearer_auth(API_KEY).send().await.is_ok()
    };
    assert!(!ask("k1").await, "the question bears no key, its payment's request did");
    assert_eq!(world.pay("k2", "tok_visa").await.unwrap().status, 201);
    assert!(ask("k2").await && ask("k3").await);
    world.control("/control/faults/clear", &json!({"ids": [9999]})).await;
    assert!(!ask("k1").await, "another script was forgotten");
    world.control("/control/faults/clear", &json!({"ids": [id]})).await;
    assert!(ask("k1").await);
    let requests = world.ask("/control/requests?reference_prefix=k1").await;
    let answered: Vec<_> =
        requests["requests"].as_array().unwrap().iter().map(|it| &it["answered"]).collect();
    assert_eq!(answered, ["dropped", "dropped", "dropped", "200"]);
}

#[tokio::test]
async fn half_a_request_does_nothing_and_its_key_is_as_good_as_new() {
    let world = World::start().await;
    let half = json!({"execute": true, "save": true, "answer": {"kind": "half_read"}});
    world.script("k1", half).await;
    assert_eq!(raw(&world, "k1", "tok_visa").await, b"");
    assert_eq!(world.effects("k1").await, []);
    let again = world.pay("k1", "tok_mastercard").await.unwrap();
    assert_eq!((again.status, again.replayed), (201, false), "another body is no conflict");
    let answers = world.answers("k1").await;
    assert_eq!(answers, [("half_read".to_owned(), false), ("201".to_owned(), true)]);
}

#[tokio::test]
async fn a_question_may_bring_the_event_that_was_held_back() {
    let world = World::start().await;
    world.script("k1", json!({"webhook": {"mode": "never"}})).await;
    let id = world.paid("k1", "tok_visa").await;
    assert_eq!(world.get("/v1/payments?reference=k1").await.json()["data"][0]["id"], id);
    assert_eq!(world.received(), []);
    let script = json!({"match": {"operation": "find_payment", "of_key_prefix": "k1"},
        "steps": [{"webhook": {"mode": "normal"}}]});
    world.control("/control/faults", &script).await;
    assert_eq!(world.get("/v1/payments?reference=k2").await.json(), json!({"data": []}));
    assert_eq!(world.get("/v1/payments?reference=k1").await.json()["data"][0]["id"], id);
    let (_, body) = world.until_received(1).await.remove(0);
    let told: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(told["data"]["object"]["id"], id);
    world.get("/v1/payments?reference=k1").await;
    assert_eq!(world.received().len(), 1, "the script had one step");
}
