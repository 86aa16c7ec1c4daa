//! The provider over real HTTP: what it promises, and what its faults really do.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use examplepay::{Running, Settings, sign};
use reqwest::Client;
use serde_json::{Value, json};

struct Provider {
    running: Running,
    client: Client,
    _folder: tempfile::TempDir,
}

impl Provider {
    async fn start(change: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let free = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let mut settings = Settings {
            addr: free,
            control_addr: Some(free),
            database: folder.path().join("provider.db"),
            webhook_delay: Duration::ZERO,
            ..Settings::default()
        };
        change(&mut settings);
        let running = examplepay::start(settings).await.unwrap();
        let client =
            Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(Duration::from_secs(20));
        Self { running, client: client.build().unwrap(), _folder: folder }
    }

    fn send(&self, path: &str, key: &str, body: &Value) -> reqwest::RequestBuilder {
        let url = format!("http://{}{path}", self.running.addr);
        self.client
            .post(url)
            .bearer_auth("sk_test_payonce")
            .header("Idempotency-Key", key)
            .body(body.to_string())
    }

    fn pay(&self, key: &str, token: &str) -> reqwest::RequestBuilder {
        self.send("/v1/payments", key, &payment(token))
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        let url = format!("http://{}{path}", self.running.addr);
        let answer = self.client.get(url).bearer_auth("sk_test_payonce").send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn control(&self, path: &str, body: Value) -> Value {
        let url = format!("http://{}/control/{path}", self.running.control_addr.unwrap());
        let answer = self.client.post(url).json(&body).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.text().await.unwrap());
        answer.json().await.unwrap()
    }

    async fn ask(&self, path: &str) -> Value {
        let url = format!("http://{}/control/{path}", self.running.control_addr.unwrap());
        self.client.get(url).send().await.unwrap().json().await.unwrap()
    }

    async fn effects(&self) -> Vec<i64> {
        let ledger = self.ask("ledger").await;
        ledger["effects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["amount_minor"].as_i64().unwrap())
            .collect()
    }

    async fn fault(&self, step: Value) {
        self.control("faults", json!({"match": {"operation": "create_payment"}, "steps": [step]}))
            .await;
    }
}

fn payment(token: &str) -> Value {
    json!({"reference": "R-1", "amount_minor": 2990, "currency": "EUR", "payment_token": token, "return_url": "http://shop.test/back"})
}

async fn read(request: reqwest::RequestBuilder) -> (u16, Option<String>, String) {
    let answer = request.send().await.unwrap();
    let replayed =
        answer.headers().get("idempotent-replayed").map(|it| it.to_str().unwrap().to_owned());
    (answer.status().as_u16(), replayed, answer.text().await.unwrap())
}

#[tokio::test]
async fn the_same_key_gives_the_same_bytes_and_one_effect() {
    let provider = Provider::start(|_| {}).await;
    for token in ["tok_visa", "tok_declined", "tok_3ds"] {
        let first = read(provider.pay(token, token)).await;
        let again = read(provider.pay(token, token)).await;
        assert_eq!((first.0, &first.2), (again.0, &again.2), "{token}");
        assert_eq!((first.1, again.1.as_deref()), (None, Some("true")), "{token}");
    }
    assert_eq!(provider.effects().await, [2990]);
}

#[tokio::test]
async fn a_key_with_other_content_or_at_another_endpoint_is_refused() {
    let provider = Provider::start(|_| {}).await;
    assert_eq!(read(provider.pay("k", "tok_visa")).await.0, 201);
    let other = read(provider.pay("k", "tok_mastercard")).await;
    assert_eq!((other.0, other.2.contains("idempotency_mismatch")), (422, true));
    let elsewhere = read(provider.send(
        "/v1/refunds",
        "k",
        &json!({"payment": "pay_1", "reference": "R", "amount_minor": 1, "currency": "EUR"}),
    ))
    .await;
    assert_eq!(elsewhere.0, 422);
    assert_eq!(provider.effects().await, [2990]);
}

#[tokio::test]
async fn a_forgotten_key_makes_a_second_effect() {
    let provider =
        Provider::start(|settings| settings.key_window = Duration::from_millis(50)).await;
    assert_eq!(read(provider.pay("k", "tok_visa")).await.0, 201);
    let end = Instant::now() + Duration::from_secs(10);
    while provider.effects().await.len() < 2 {
        assert!(Instant::now() < end, "the key was never forgotten");
        assert_eq!(read(provider.pay("k", "tok_visa")).await.0, 201);
    }
}

#[tokio::test]
async fn a_key_that_is_being_executed_is_in_use() {
    let provider = Provider::start(|_| {}).await;
    provider.fault(json!({"execute": "later", "execute_after_ms": 1500, "answer": {"kind": "drop_before_headers"}})).await;
    assert!(provider.pay("k", "tok_visa").send().await.is_err(), "the first answer is lost");
    let (status, _, body) = read(provider.pay("k", "tok_visa")).await;
    assert_eq!((status, body.contains("idempotency_key_in_use")), (409, true));
    assert_eq!(provider.effects().await, Vec::<i64>::new(), "nothing has happened so far");
    let end = Instant::now() + Duration::from_secs(10);
    while provider.effects().await.is_empty() {
        assert!(Instant::now() < end, "it was never executed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(read(provider.pay("k", "tok_visa")).await.0, 201);
    assert_eq!(provider.effects().await, [2990]);
}

#[tokio::test]
async fn bad_requests_and_strangers_touch_no_key() {
    let provider = Provider::start(|_| {}).await;
    let change = |name: &str, value: Value| {
        let mut body = payment("tok_visa");
        body[name] = value;
        body
    };
    for body in [
        change("amount_minor", json!(0)),
        change("amount_minor", json!(-1)),
        change("amount_minor", json!(1.5)),
        change("currency", json!("eur")),
        change("currency", json!("EURO")),
        change("reference", json!("")),
        change("payment_token", json!("tok_nobody")),
        change("payment_token", json!("4242424242424242")),
    ] {
        assert_eq!(read(provider.send("/v1/payments", "k", &body)).await.0, 400, "{body}");
    }
    let url = format!("http://{}/v1/payments", provider.running.addr);
    let stranger = provider
        .client
        .post(&url)
        .header("Idempotency-Key", "k")
        .body(payment("tok_visa").to_string());
    assert_eq!(read(stranger).await.0, 401);
    let keyless = provider
        .client
        .post(&url)
        .bearer_auth("sk_test_payonce")
        .body(payment("tok_visa").to_string());
    assert_eq!(read(keyless).await.0, 400);
    assert_eq!(read(provider.pay("k", "tok_visa")).await.0, 201, "the key was still free");
    let log = provider.ask("requests").await.to_string();
    assert!(!log.contains("4242424242424242"), "a card number is not even logged");
}

#[tokio::test]
async fn each_fault_does_what_it_says_and_the_ledger_tells_what_really_happened() {
    let rows = [
        (json!({"answer": {"kind": "drop_before_headers"}}), "lost", 1),
        (json!({"execute": false, "answer": {"kind": "drop_before_headers"}}), "lost", 0),
        (json!({"answer": {"kind": "cut_mid_body"}}), "cut", 1),
        (json!({"answer": {"kind": "status", "status": 500, "body": "oops"}}), "500", 1),
        (
            json!({"execute": false, "answer": {"kind": "status", "status": 429, "headers": {"Retry-After": "7"}}}),
            "429",
            0,
        ),
        (
            json!({"answer": {"kind": "status", "status": 200, "body": "<html>", "content_type": "text/html"}}),
            "200",
            1,
        ),
        (json!({"delay_ms": 50}), "201", 1),
        (json!({}), "201", 1),
    ];
    for (step, seen, effects) in rows {
        let provider = Provider::start(|_| {}).await;
        provider.fault(step.clone()).await;
        let found = match provider.pay("k", "tok_visa").send().await {
            Err(_) => "lost".to_owned(),
            Ok(answer) => {
                let status = answer.status().as_u16().to_string();
                answer.text().await.map_or("cut".to_owned(), |_| status)
            }
        };
        assert_eq!((found.as_str(), provider.effects().await.len()), (seen, effects), "{step}");
        assert_eq!(
            read(provider.pay("k", "tok_visa")).await.0,
            201,
            "{step}: the next request is answered"
        );
        assert_eq!(provider.effects().await, [2990], "{step}");
    }
}

#[tokio::test]
async fn a_saved_500_is_replayed_for_ever_and_the_lookup_tells_the_truth() {
    let provider = Provider::start(|_| {}).await;
    for _ in 0..3 {
        assert_eq!(read(provider.pay("k", "tok_500_executed")).await.0, 500);
    }
    let (_, found) = provider.get("/v1/payments?reference=R-1").await;
    assert_eq!(found["data"][0]["status"], "succeeded");
    assert_eq!(provider.effects().await, [2990]);
}

#[tokio::test]
async fn lookups_can_lag_and_fail_for_a_while() {
    let provider = Provider::start(|_| {}).await;
    assert_eq!(read(provider.pay("k", "tok_visa")).await.0, 201);
    let (_, found) = provider.get("/v1/payments?reference=R-1").await;
    let id = found["data"][0]["id"].as_str().unwrap().to_owned();
    provider.control("lookups", json!({"not_found_for_ms": 60_000})).await;
    assert_eq!(provider.get("/v1/payments?reference=R-1").await.1["data"], json!([]));
    assert_eq!(provider.get(&format!("/v1/payments/{id}")).await.0, 404);
    provider.control("lookups", json!({"status": 503, "for_ms": 60_000})).await;
    assert_eq!(provider.get(&format!("/v1/payments/{id}")).await.0, 503);
    provider.control("lookups", json!({})).await;
    assert_eq!(provider.get(&format!("/v1/payments/{id}")).await.1["status"], "succeeded");
}

#[tokio::test]
async fn an_outage_refuses_connections_and_ends() {
    let provider = Provider::start(|_| {}).await;
    provider.control("outage", json!({"mode": "refuse", "for_ms": 60_000})).await;
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        assert!(Instant::now() < end, "connections are still taken");
        match provider.pay("k", "tok_visa").send().await {
            Err(reason) if reason.is_connect() => break,
            Err(_) | Ok(_) => {}
        }
    }
    provider.control("outage", json!({"mode": "off"})).await;
    while provider.pay("k2", "tok_visa").send().await.is_err() {
        assert!(Instant::now() < end, "the outage does not end");
    }
}

#[tokio::test]
async fn cancel_ends_what_waits_and_only_that() {
    let provider = Provider::start(|_| {}).await;
    let waiting: Value = serde_json::from_str(&read(provider.pay("w", "tok_3ds")).await.2).unwrap();
    let path = format!("/v1/payments/{}/cancel", waiting["id"].as_str().unwrap());
    for key in ["c1", "c2"] {
        let (status, _, body) = read(provider.send(&path, key, &json!({}))).await;
        assert_eq!((status, body.contains("\"canceled\"")), (200, true), "{key}");
    }
    let paid: Value = serde_json::from_str(&read(provider.pay("p", "tok_visa")).await.2).unwrap();
    let path = format!("/v1/payments/{}/cancel", paid["id"].as_str().unwrap());
    let (status, _, body) = read(provider.send(&path, "c3", &json!({}))).await;
    assert_eq!((status, body.contains("not_cancelable")), (409, true));
    assert_eq!(read(provider.send("/v1/payments/pay_none/cancel", "c4", &json!({}))).await.0, 404);
}

#[tokio::test]
async fn twenty_refunds_at_once_never_exceed_the_payment() {
    let provider = Provider::start(|_| {}).await;
    let paid: Value = serde_json::from_str(&read(provider.pay("p", "tok_visa")).await.2).unwrap();
    let refunds = (0..20).map(|n| {
        let body = json!({"payment": paid["id"], "reference": format!("R-{n}"), "amount_minor": 299, "currency": "EUR"});
        read(provider.send("/v1/refunds", &format!("r{n}"), &body))
    });
    let answers = futures::future::join_all(refunds).await;
    let taken = answers.iter().filter(|(status, _, _)| *status == 201).count();
    assert_eq!(taken, 10);
    assert!(
        answers
            .iter()
            .all(|(status, _, body)| *status == 201 || body.contains("refund_exceeds_payment"))
    );
    assert_eq!(provider.effects().await.iter().sum::<i64>(), 0);
}

#[tokio::test]
async fn a_refund_may_turn_later_and_the_ledger_shows_it() {
    let provider =
        Provider::start(|settings| settings.processing = Duration::from_millis(100)).await;
    let paid: Value =
        serde_json::from_str(&read(provider.pay("p", "tok_refund_fails_later")).await.2).unwrap();
    let body =
        json!({"payment": paid["id"], "reference": "R-r", "amount_minor": 2990, "currency": "EUR"});
    let made: Value =
        serde_json::from_str(&read(provider.send("/v1/refunds", "r", &body)).await.2).unwrap();
    assert_eq!(made["status"], "succeeded");
    let path = format!("/v1/refunds/{}", made["id"].as_str().unwrap());
    let end = Instant::now() + Duration::from_secs(10);
    while provider.get(&path).await.1["status"] != "failed" {
        assert!(Instant::now() < end, "it never turned");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(provider.effects().await, [2990, -2990, 2990]);
}

/// What a shop's webhook endpoint received, and how often it refuses first.
#[derive(Clone, Default)]
struct Inbox {
    received: Arc<Mutex<Vec<(String, String)>>>,
    refusals: Arc<Mutex<u32>>,
}

async fn take(State(inbox): State<Inbox>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let signature =
        headers.get("examplepay-signature").map_or("", |it| it.to_str().unwrap()).to_owned();
    inbox.received.lock().unwrap().push((signature, String::from_utf8(body.to_vec()).unwrap()));
    let mut refusals = inbox.refusals.lock().unwrap();
    if *refusals == 0 {
        return StatusCode::OK;
    }
    *refusals -= 1;
    StatusCode::SERVICE_UNAVAILABLE
}

#[tokio::test]
async fn events_are_signed_and_sent_again_until_somebody_takes_them() {
    let inbox = Inbox::default();
    *inbox.refusals.lock().unwrap() = 2;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let router = Router::new().route("/hook", post(take)).with_state(inbox.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let provider = Provider::start(|settings| settings.webhook_url = Some(url)).await;
    assert_eq!(read(provider.pay("k", "tok_visa")).await.0, 201);
    let end = Instant::now() + Duration::from_secs(15);
    loop {
        let events = provider.ask("events").await;
        if events["events"][0]["last_status"] == 200 {
            break;
        }
        assert!(Instant::now() < end, "{events}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let received = inbox.received.lock().unwrap().clone();
    assert_eq!(received.len(), 3, "refused twice, then taken, then no more");
    for (signature, body) in received {
        let time: i64 = signature.split(['=', ',']).nth(1).unwrap().parse().unwrap();
        assert_eq!(signature, sign("whsec_payonce", time, &body));
        let event: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(event["type"], "payment.succeeded");
        assert_eq!(event["request"]["idempotency_key"], "k");
        assert_eq!(event["data"]["object"]["reference"], "R-1");
    }
}

#[tokio::test]
async fn a_taken_port_and_a_bad_path_are_told_in_one_line_that_says_what_to_do() {
    let provider = Provider::start(|_| {}).await;
    let taken = Settings {
        addr: provider.running.addr,
        database: provider._folder.path().join("other.db"),
        ..Settings::default()
    };
    let Err(reason) = examplepay::start(taken).await else {
        panic!("a taken port was taken again")
    };
    assert!(reason.to_string().contains("EXAMPLEPAY_ADDR"), "{reason}");
    let bad = Settings { database: "/proc/nowhere/provider.db".into(), ..Settings::default() };
    let Err(reason) = examplepay::start(bad).await else { panic!("an impossible path was opened") };
    assert!(reason.to_string().contains("EXAMPLEPAY_DB"), "{reason}");
}
