//! Guards that nobody sees while all is well: a token that never comes, posts that nobody signed,
//! news that comes before we know what it is about, and a provider that is not set up any more.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::harness::{BOUND, Options, World};

const TOKEN: &str = "an-operators-token-of-these-tests";
const LOST: &str = "drop_before_headers";
const UNMATCHED: &str = "select count(*) from provider_events where state = 'unmatched'";
/// So many certificates are fetched at the same time.
const FETCHES: usize = 4;
const NO_PAYPAL: [(&str, &str); 3] = [
    ("PAYONCE_PAYPAL_CLIENT_ID", ""),
    ("PAYONCE_PAYPAL_CLIENT_SECRET", ""),
    ("PAYONCE_PAYPAL_WEBHOOK_ID", ""),
];
const PAYPAL_AGAIN: [(&str, &str); 3] = [
    ("PAYONCE_PAYPAL_CLIENT_ID", "payonce"),
    ("PAYONCE_PAYPAL_CLIENT_SECRET", "payonce_secret"),
    ("PAYONCE_PAYPAL_WEBHOOK_ID", "WH-PAYONCE"),
];

async fn mode(world: &World, mode: &str) {
    world.control("/control/webhooks/mode", &json!({"mode": mode})).await;
}

async fn page(world: &World, checkout: &str) -> (u16, String) {
    let path = format!("/checkout/{checkout}");
    let (status, _, html) = world.send(world.request(Method::GET, &path)).await;
    (status, html)
}

/// A world whose calls of PayPal may take this long to connect, and as long again to answer.
async fn hurried(each_ms: u64) -> World {
    let shop = ["PAYONCE_PAYPAL_CONNECT_TIMEOUT_MS", "PAYONCE_PAYPAL_RESPONSE_TIMEOUT_MS"];
    let shop = shop.map(|name| (name, each_ms.to_string())).to_vec();
    World::with(Options { shop, ..Options::default() }).await
}

#[tokio::test]
async fn a_token_that_never_comes_outlives_no_operation_and_holds_up_no_other() {
    let world = hurried(600).await;
    let never = json!([{"answer": {"kind": "never"}}]);
    world.fault_then("token", never, "repeat_last").await;
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(world.buy("paypal:wallet").await);
    }
    let other = world.buy("tok_visa").await;
    world.until(&other, &["succeeded"]).await;
    for checkout in &waiting {
        let state = world.state(checkout).await;
        assert!(["created", "requested", "retry_scheduled"].contains(&state.as_str()), "{state}");
    }
    world
        .until_number(
            "select count(distinct operation_id) from attempts where verdict = 'not_sent'",
            4,
        )
        .await;
    world.control("/control/faults/clear", &json!({})).await;
    // All four waited for the same token, and each no longer than its own 1.2 seconds.
    let longest = world.number("select max(duration_ms) from attempts where step = 'create'").await;
    assert!((1000..2000).contains(&longest), "{longest} ms");
    world.agree(&other, "succeeded", 1).await;
    for checkout in &waiting {
        world.approve_at_paypal(checkout, "balance").await;
        world.agree(checkout, "succeeded", 1).await;
        assert_eq!(world.sends(checkout).await.len(), 2, "one create and one capture");
        let history = world.history(checkout).await;
        assert!(history.contains(&"retry_scheduled".to_owned()), "{history:?}");
        assert!(!history.contains(&"pending_confirmation".to_owned()), "{history:?}");
    }
}

#[tokio::test]
async fn what_the_token_took_is_gone_from_the_time_of_its_request() {
    // Of two seconds: most of it, so that nothing is begun; and less than half of it.
    for (token_ms, verdict, creates) in [(1300, "not_sent", 1), (800, "indeterminate", 2)] {
        let world = hurried(1000).await;
        // The comparison at the start takes a token of its own.
        world.until_number("select count(*) from sweeps where provider = 'paypal'", 1).await;
        world.fault("token", json!([{"delay_ms": token_ms}])).await;
        if verdict == "indeterminate" {
            world.fault("create_payment", json!([{"answer": {"kind": "never"}}])).await;
        }
        let checkout = world.buy("paypal:wallet").await;
        let first = "select count(*) from attempts where ended_at is not null";
        world.until_that("the first request is over", async || world.number(first).await > 0).await;
        let (was, took): (String, i64) =
            sqlx::query_as("select verdict, duration_ms from attempts order by sent_at limit 1")
                .fetch_one(world.database())
                .await
                .unwrap();
        assert_eq!(was, verdict, "a token after {token_ms} ms");
        assert!(took < 2500, "{took} ms");
        world.approve_at_paypal(&checkout, "balance").await;
        world.agree(&checkout, "succeeded", 1).await;
        assert_eq!(world.sends(&checkout).await.len(), creates + 1, "and one capture");
    }
}

/// A post that bears all that a signature of PayPal needs, and is none.
pub async fn forged(world: &World, change: &[(&'static str, String)]) -> reqwest::RequestBuilder {
    let time: String = sqlx::query_scalar("select strftime('%Y-%m-%dT%H:%M:%SZ', 'now')")
        .fetch_one(world.database())
        .await
        .unwrap();
    let certificate =
        format!("{}/v1/notifications/certs/{}", world.paypal_door(), Uuid::new_v4().simple());
    let mut headers = vec![
        ("PayPal-Transmission-Id", Uuid::new_v4().to_string()),
        ("PayPal-Transmission-Time", time),
        ("PayPal-Transmission-Sig", "bm9ib2R5IHNpZ25lZCB0aGlz".to_owned()),
        ("PayPal-Cert-Url", certificate),
        ("PayPal-Auth-Algo", "SHA256withRSA".to_owned()),
    ];
    for (name, value) in change {
        headers.retain(|(known, _)| known != name);
        headers.push((name, value.clone()));
    }
    let post = world.http.post(world.url("/webhooks/paypal")).body("{}");
    headers
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .fold(post, |post, (name, value)| post.header(name, value))
}

/// Posts that all name certificates which never come: those that find no place are answered while
/// the others wait.
async fn flood(world: &World) -> mpsc::UnboundedReceiver<u16> {
    let (sender, mut answered) = mpsc::unbounded_channel();
    for _ in 0..12 {
        let (post, sender) = (forged(world, &[]).await, sender.clone());
        tokio::spawn(async move {
            let _gone = sender.send(post.send().await.unwrap().status().as_u16());
        });
    }
    for _ in 0..12 - FETCHES {
        let status = tokio::time::timeout(BOUND, answered.recv()).await.unwrap().unwrap();
        assert_eq!(status, 400);
    }
    assert!(answered.try_recv().is_err(), "they waited as long as the others");
    answered
}

#[tokio::test]
async fn a_flood_of_forged_events_fetches_few_certificates_and_a_genuine_event_goes_through() {
    let world = World::start().await;
    let hang = json!({"mode": "hang", "door": "paypal"});
    mode(&world, "paused").await;
    let checkout = world.buy("paypal:wallet").await;
    world.approve_at_paypal(&checkout, "balance").await;
    world.agree(&checkout, "succeeded", 1).await;
    // No certificate is known yet, and no place is left to fetch the genuine one in: PayPal is
    // told to come again, and does.
    world.control("/control/outage", &hang).await;
    let mut held = flood(&world).await;
    mode(&world, "normal").await;
    assert!(held.try_recv().is_err(), "some certificates are still waited for");
    world.control("/control/outage", &json!({"mode": "off"})).await;
    let captured = "select count(*) from provider_events where state = 'applied'
        and event_type = 'PAYMENT.CAPTURE.COMPLETED'";
    world.until_number(captured, 1).await;
    for _ in 0..FETCHES {
        let status = tokio::time::timeout(BOUND, held.recv()).await.unwrap().unwrap();
        assert_eq!(status, 400);
    }
    // With the certificate at hand it does not even wait.
    world.control("/control/outage", &hang).await;
    let mut held = flood(&world).await;
    let id: String = sqlx::query_scalar("select provider_operation_id from operations")
        .fetch_one(world.database())
        .await
        .unwrap();
    let genuine = json!({"payment": id, "type": "PAYMENT.CAPTURE.COMPLETED"});
    let answer = world.control("/control/webhooks", &genuine).await;
    assert!(answer.to_string().contains("200"), "{answer}");
    assert!(held.try_recv().is_err(), "the forged ones are still waiting");
    assert_eq!(world.number(captured).await, 2);
    world.control("/control/outage", &json!({"mode": "off"})).await;
    world.agree(&checkout, "succeeded", 1).await;
}

#[tokio::test]
async fn an_event_that_cannot_be_genuine_has_no_certificate_fetched_for_it() {
    let world = World::start().await;
    let door = world.paypal_door().to_owned();
    let fetched = async || {
        let requests = world.requests().await;
        requests.iter().filter(|it| it["path"].as_str().unwrap().contains("/certs/")).count()
    };
    for (name, value) in [
        ("PayPal-Auth-Algo", "SHA1withRSA".to_owned()),
        ("PayPal-Auth-Algo", String::new()),
        ("PayPal-Transmission-Sig", "not base64!".to_owned()),
        ("PayPal-Transmission-Sig", String::new()),
        ("PayPal-Transmission-Time", "2020-01-01T00:00:00Z".to_owned()),
        ("PayPal-Transmission-Time", "2099-01-01T00:00:00Z".to_owned()),
        ("PayPal-Transmission-Time", "yesterday".to_owned()),
        ("PayPal-Cert-Url", String::new()),
        ("PayPal-Cert-Url", format!("{door}.evil.test/v1/notifications/certs/c")),
        ("PayPal-Cert-Url", door.replace("http://", "http://somebody@")),
    ] {
        let answer = forged(&world, &[(name, value.clone())]).await.send().await.unwrap();
        assert_eq!(answer.status(), 400, "{name}: {value}");
        assert_eq!(fetched().await, 0, "{name}: {value}: something was fetched");
    }
    assert_eq!(forged(&world, &[]).await.send().await.unwrap().status(), 400);
    assert_eq!(fetched().await, 1, "one that may be genuine has it fetched");
    assert_eq!(world.number("select count(*) from provider_events").await, 0);
}

async fn with_operator() -> World {
    World::with(Options {
        shop: vec![("PAYONCE_OPERATOR_TOKEN", TOKEN.to_owned())],
        ..Options::default()
    })
    .await
}

/// A paid order of 2990 on a wire whose events about refunds may lack our reference.
async fn paid(world: &World, wire: &str) -> String {
    let paypal = wire == "paypal";
    let checkout = world.buy(if paypal { "paypal:wallet" } else { "stripe:pm_card_visa" }).await;
    if paypal {
        world.approve_at_paypal(&checkout, "balance").await;
    }
    world.agree(&checkout, "succeeded", 1).await;
    checkout
}

/// Asks for 1000 back, whose outcome nobody can tell for now.
async fn ask_blindly(world: &World, checkout: &str, executed: bool) {
    world.control("/control/lookups", &json!({"status": 503, "for_ms": 600_000})).await;
    let lost = json!([{"execute": executed, "answer": {"kind": LOST}}]);
    world.fault("create_refund", lost).await;
    ask(world, checkout).await;
    settled(world, checkout, "refund", "pending_confirmation").await;
}

/// Asks for 1000 back, and is told that it is on record.
async fn ask(world: &World, checkout: &str) {
    let (status, told) = wish(world, checkout).await;
    assert_eq!(status, 202, "{told}");
}

/// Asks for 1000 back; gives the answer.
async fn wish(world: &World, checkout: &str) -> (u16, Value) {
    let path = format!("/api/orders/{}/refunds", world.reference(checkout).await);
    let body = json!({
        "refund_request_id": Uuid::new_v4(), "amount_minor": 1000, "currency": "EUR",
        "reason": "the lid was chipped",
    });
    let request = world.http.post(world.url(&path)).bearer_auth(TOKEN).json(&body);
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap())
}

async fn settled(world: &World, checkout: &str, kind: &str, wanted: &str) {
    let what = format!("the {kind} is {wanted}");
    world.until_that(&what, async || world.states(checkout, kind).await == [wanted]).await;
}

async fn refundable(world: &World, checkout: &str) -> i64 {
    let path = format!("/api/orders/{}", world.reference(checkout).await);
    let answer = world.http.get(world.url(&path)).bearer_auth(TOKEN).send().await.unwrap();
    let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    body["refundable_minor"].as_i64().unwrap()
}

async fn balance(world: &World, checkout: &str) -> i64 {
    world.effects(checkout).await.iter().map(|(_, amount)| amount).sum()
}

#[tokio::test]
async fn news_of_our_refund_before_we_know_its_id_is_not_taken_for_somebody_elses() {
    for (wire, kind, nameless) in [
        ("stripe", "refund.updated", json!({"metadata": {}})),
        ("paypal", "PAYMENT.CAPTURE.REFUNDED", json!({"custom_id": null, "invoice_id": null})),
    ] {
        let world = with_operator().await;
        let checkout = paid(&world, wire).await;
        world
            .until_number("select count(*) from provider_events where state <> 'applied'", 0)
            .await;
        mode(&world, "off").await;
        ask_blindly(&world, &checkout, true).await;
        let ledger = world.ask("/control/ledger").await;
        let refund =
            ledger["effects"].as_array().unwrap().iter().find_map(|it| it["refund"].as_str());
        let told = json!({"refund": refund.unwrap(), "type": kind, "overrides": nameless});
        let answer = world.control("/control/webhooks", &told).await;
        assert!(answer.to_string().contains("200"), "{wire}: {answer}");
        assert!(world.states(&checkout, "external").await.is_empty(), "{wire}: it may be ours");
        assert_eq!(refundable(&world, &checkout).await, 1990, "{wire}: counted once");
        world.control("/control/lookups", &json!({})).await;
        settled(&world, &checkout, "refund", "succeeded").await;
        world
            .until_number("select count(*) from provider_events where state <> 'applied'", 0)
            .await;
        let about =
            "select count(*) from provider_events join operations on operations.id = operation_id
            where kind = 'refund'";
        assert_eq!(world.number(about).await, 1, "{wire}: it was news about our refund");
        assert!(world.states(&checkout, "external").await.is_empty(), "{wire}");
        assert_eq!(world.order_state(&checkout).await, "partially_refunded", "{wire}");
        assert_eq!(refundable(&world, &checkout).await, 1990, "{wire}");
        assert_eq!(balance(&world, &checkout).await, 1990, "{wire}");
        let alerts = "select count(*) from alerts where closed_at is null";
        assert_eq!(world.number(alerts).await, 0, "{wire}");
    }
}

#[tokio::test]
async fn a_dashboard_refund_like_ours_is_recorded_once_ours_is_known() {
    for wire in ["stripe", "paypal"] {
        let world = with_operator().await;
        let checkout = paid(&world, wire).await;
        ask_blindly(&world, &checkout, false).await;
        given_back_elsewhere(&world, &checkout).await;
        world.control("/control/lookups", &json!({})).await;
        settled(&world, &checkout, "refund", "succeeded").await;
        settled(&world, &checkout, "external", "succeeded").await;
        assert_eq!(refundable(&world, &checkout).await, 990, "{wire}: each counts once");
        assert_eq!(world.effects(&checkout).await.len() + 1, 3, "{wire}: a charge and our refund");
        world.until_number(UNMATCHED, 0).await;
    }
}

/// Somebody gives 1000 of the only payment back at the provider, and we cannot tell what it is.
async fn given_back_elsewhere(world: &World, checkout: &str) {
    let id: String =
        sqlx::query_scalar("select provider_operation_id from operations where kind = 'payment'")
            .fetch_one(world.database())
            .await
            .unwrap();
    let dashboard = format!("/control/payments/{id}/refund");
    world.control(&dashboard, &json!({"amount_minor": 1000})).await;
    world.until_that("its news is here", async || world.number(UNMATCHED).await > 0).await;
    assert!(world.states(checkout, "external").await.is_empty(), "nobody knows whose it is");
}

#[tokio::test]
async fn a_dashboard_refund_like_ours_is_recorded_once_ours_was_refused() {
    let world = with_operator().await;
    let checkout = paid(&world, "stripe").await;
    let refused = r#"{"error":{"type":"invalid_request_error","code":"charge_already_refunded","message":"no"}}"#;
    let refused = json!({"kind": "status", "status": 400, "body": refused});
    let slowly = json!([{"execute": false, "delay_ms": 3000, "answer": refused}]);
    world.fault("create_refund", slowly).await;
    ask(&world, &checkout).await;
    settled(&world, &checkout, "refund", "requested").await;
    given_back_elsewhere(&world, &checkout).await;
    settled(&world, &checkout, "refund", "rejected").await;
    settled(&world, &checkout, "external", "succeeded").await;
    assert_eq!(refundable(&world, &checkout).await, 1990);
    world.until_number(UNMATCHED, 0).await;
}

#[tokio::test]
async fn a_dashboard_refund_of_a_capture_we_do_not_know_yet_is_recorded_once_we_do() {
    let world = with_operator().await;
    let lost = json!([{
        "answer": {"kind": LOST}, "webhook": {"mode": "never"}, "lookup": {"not_found_for_ms": 3000},
    }]);
    world.fault("capture_payment", lost).await;
    let checkout = world.buy("paypal:wallet").await;
    world.until(&checkout, &["requires_action"]).await;
    world.approve_at_paypal(&checkout, "balance").await;
    world.until(&checkout, &["pending_confirmation"]).await;
    world.control("/control/lookups", &json!({"status": 503, "for_ms": 600_000})).await;
    given_back_elsewhere(&world, &checkout).await;
    world.control("/control/lookups", &json!({})).await;
    world.until(&checkout, &["succeeded"]).await;
    settled(&world, &checkout, "external", "succeeded").await;
    assert_eq!(refundable(&world, &checkout).await, 1990);
    world.until_number(UNMATCHED, 0).await;
}

#[tokio::test]
async fn an_event_about_nothing_of_ours_is_judged_again_only_for_what_it_names() {
    let world = World::start().await;
    let stranger = json!({
        "id": "evt_stranger", "object": "event", "type": "payment_intent.succeeded",
        "created": 1_700_000_000, "livemode": false, "request": null,
        "data": {"object": {"id": "pi_stranger", "object": "payment_intent", "status": "succeeded",
            "amount": 777, "amount_received": 777, "currency": "eur", "livemode": false,
            "metadata": {}}},
    });
    world.control("/control/webhooks", &json!({"raw": stranger, "door": "stripe"})).await;
    world.until_number("select count(*) from alerts where kind = 'unmatched_event'", 1).await;
    paid(&world, "stripe").await;
    let left_alone = "select count(*) from provider_events where event_id = 'evt_stranger'
        and tries = 1 and next_try_at is null";
    assert_eq!(world.number(left_alone).await, 1);
}

#[tokio::test]
async fn operations_with_a_provider_that_was_taken_out_wait_are_told_and_hold_up_nobody() {
    let mut world = World::start().await;
    // More of them than the worker takes at one look.
    let mut waiting = Vec::new();
    for _ in 0..66 {
        waiting.push(world.buy("paypal:wallet").await);
    }
    let asking = "select count(*) from operations where state = 'requires_action'";
    world.until_number(asking, 66).await;
    let told = "select count(*) from alerts where kind = 'not_set_up' and closed_at is null
        and detail like 'paypal is not set up any more.%: 66;%'";
    assert_eq!(world.number(told).await, 0);
    world.restart_with_all(&NO_PAYPAL);
    assert_eq!(world.number(told).await, 1);
    let at_paypal =
        |requests: Vec<Value>| requests.iter().filter(|it| it["door"] == "paypal").count();
    let before = at_paypal(world.requests().await);
    assert!(before > 0, "the log tells the door");
    let due = "select count(*) from operations where provider = 'paypal'
        and next_action_at <= unixepoch('subsec') * 1000";
    world.until_number(due, 66).await;
    let (status, html) = page(&world, &waiting[0]).await;
    assert_eq!(status, 200, "{html}");
    assert!(html.contains(&world.reference(&waiting[0]).await), "{html}");
    assert_eq!(world.status(&waiting[0]).await["end"], false);
    for card in ["tok_visa", "stripe:pm_card_visa"] {
        let other = world.buy(card).await;
        world.agree(&other, "succeeded", 1).await;
    }
    assert_eq!(world.number(asking).await, 66, "nothing is known, and nothing is made up");
    assert_eq!(at_paypal(world.requests().await), before, "nothing was sent or asked");
    world.restart(None);
    assert_eq!(world.number("select count(*) from alerts where kind = 'not_set_up'").await, 1);
    world.restart_with_all(&PAYPAL_AGAIN);
    assert_eq!(world.number(told).await, 0, "the incident is over");
    world.approve_at_paypal(&waiting[0], "balance").await;
    world.agree(&waiting[0], "succeeded", 1).await;
}

#[tokio::test]
async fn an_order_is_paid_by_one_provider_while_another_of_its_providers_was_taken_out() {
    let mut world = World::start().await;
    let checkout = world.buy("tok_declined").await;
    world.until(&checkout, &["rejected"]).await;
    let first: String = sqlx::query_scalar("select provider_operation_id from operations")
        .fetch_one(world.database())
        .await
        .unwrap();
    let form = world.next_form(&checkout).await.expect("after a no there is another attempt");
    assert_eq!(world.post(&form, "paypal:wallet").await.0, 303);
    world.until(&checkout, &["requires_action"]).await;
    world.restart_with_all(&NO_PAYPAL);
    let path = format!("/control/payments/{first}");
    world.control(&path, &json!({"status": "succeeded"})).await;
    world
        .until_that("the first attempt paid it", async || {
            world.order_state(&checkout).await == "paid"
        })
        .await;
    assert_eq!(world.states(&checkout, "payment").await, ["succeeded", "requires_action"]);
    assert_eq!(
        world.number("select count(*) from provider_events where state = 'parked'").await,
        0
    );
    let (status, html) = page(&world, &checkout).await;
    assert_eq!(status, 200, "{html}");
    assert_eq!(world.effects(&checkout).await.len(), 1);
}

#[tokio::test]
async fn an_order_is_given_up_while_its_provider_was_taken_out_and_ends_when_it_is_back() {
    let mut world = World::start().await;
    let checkout = world.buy("paypal:wallet").await;
    world.until(&checkout, &["requires_action"]).await;
    world.restart_with_all(&NO_PAYPAL);
    assert_eq!(page(&world, &checkout).await.0, 200);
    let wish = world.request(Method::POST, &format!("/checkout/{checkout}/cancel"));
    let wish = wish.header("Content-Type", "application/x-www-form-urlencoded").body("");
    assert_eq!(world.send(wish).await.0, 303);
    assert_eq!(world.order_state(&checkout).await, "cancel_requested", "the wish is kept");
    assert_eq!(world.state(&checkout).await, "requires_action", "and nothing is made up");
    world.restart_with_all(&PAYPAL_AGAIN);
    world.agree(&checkout, "canceled", 0).await;
    assert_eq!(world.order_state(&checkout).await, "canceled");
}

#[tokio::test]
async fn a_secret_that_paypal_refuses_is_told_once_and_the_payment_goes_through_when_it_is_right() {
    let mut world = World::start().await;
    world.restart_with("PAYONCE_PAYPAL_CLIENT_SECRET", "not the secret");
    let checkout = world.buy("paypal:wallet").await;
    world.until(&checkout, &["retry_scheduled"]).await;
    let told = "select count(*) from alerts where kind = 'unlisted'
        and detail = 'PayPal refuses our client id or secret'";
    world.until_number(told, 1).await;
    world.restart_with("PAYONCE_PAYPAL_CLIENT_SECRET", "payonce_secret");
    world.until(&checkout, &["requires_action"]).await;
    world.approve_at_paypal(&checkout, "balance").await;
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.number(told).await, 1);
}

#[tokio::test]
async fn a_start_without_a_provider_that_is_still_needed_says_so_in_one_line_of_the_log() {
    let mut world = World::start().await;
    for _ in 0..2 {
        let checkout = world.buy("paypal:wallet").await;
        world.until(&checkout, &["requires_action"]).await;
    }
    let paid = world.buy("tok_visa").await;
    world.until(&paid, &["succeeded"]).await;
    let database: String = sqlx::query_scalar("select file from pragma_database_list")
        .fetch_one(world.database())
        .await
        .unwrap();
    for (provider, settings) in [
        // ExamplePay is not set up either, but nothing waits for it.
        ("stripe", [("STRIPE_API_KEY", "sk_test"), ("STRIPE_WEBHOOK_SECRET", "whsec_test")]),
        ("examplepay", [("EXAMPLEPAY_API_KEY", "sk_test"), ("EXAMPLEPAY_WEBHOOK_SECRET", "")]),
    ] {
        world.shop.kill();
        let log = log_of_a_start(&database, &settings).await;
        let told: Vec<&str> = log.lines().filter(|it| it.contains("not set up")).collect();
        let [line] = told[..] else { panic!("{provider}: {log}") };
        assert!(
            line.contains(" WARN ") && line.contains("paypal is not set up any more"),
            "{line}"
        );
        assert!(line.contains("not settled: 2;"), "{line}");
    }
}

/// Starts the shop on this database until it is ready; gives what it logged.
async fn log_of_a_start(database: &str, settings: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_payonce"));
    command.env("PAYONCE_ADDR", "127.0.0.1:0").env("PAYONCE_DATABASE", database);
    command.envs(settings.iter().map(|(name, value)| (format!("PAYONCE_{name}"), value)));
    let mut shop = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(shop.stdout.take().unwrap()).lines();
    let ready = tokio::task::spawn_blocking(move || lines.next());
    let ready = tokio::time::timeout(BOUND, ready).await;
    shop.kill().unwrap();
    let log = String::from_utf8(shop.wait_with_output().unwrap().stderr).unwrap();
    assert!(matches!(ready, Ok(Ok(Some(Ok(_))))), "it did not get ready: {log}");
    log
}

#[tokio::test]
async fn a_refund_by_a_provider_that_was_taken_out_is_refused_in_words_and_keeps_no_money_back() {
    let mut world = with_operator().await;
    let checkout = paid(&world, "paypal").await;
    world.restart_with_all(&NO_PAYPAL);
    let (status, told) = wish(&world, &checkout).await;
    assert_eq!(status, 422, "{told}");
    assert!(told["detail"].as_str().unwrap().contains("paypal is not set up"), "{told}");
    assert_eq!(refundable(&world, &checkout).await, 2990);
    world.restart_with_all(&PAYPAL_AGAIN);
    assert_eq!(wish(&world, &checkout).await.0, 202);
    settled(&world, &checkout, "refund", "succeeded").await;
    assert_eq!(balance(&world, &checkout).await, 1990);
}
