//! The daily comparison, made every second: what a provider lists against what we hold.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    harness::{Options, World},
    refunds,
};

/// A card that pays on each wire; behind the bar, what the shopper chooses on PayPal's page.
const WIRES: [&str; 3] = ["tok_visa", "stripe:pm_card_visa", "paypal:wallet|balance"];
const PAYPAL: &str = WIRES[2];

/// A world that compares every second, at a provider with these settings.
async fn world(provider: Vec<(&'static str, String)>) -> World {
    World::with(Options {
        shop: vec![("PAYONCE_SWEEP_SECONDS", "1".to_owned())],
        provider,
        ..Options::default()
    })
    .await
}

async fn paid(world: &World, card: &str) -> String {
    let (card, funding) = card.split_once('|').unwrap_or((card, ""));
    let checkout = world.buy(card).await;
    if !funding.is_empty() {
        world.approve_at_paypal(&checkout, funding).await;
    }
    world.agree(&checkout, "succeeded", 1).await;
    checkout
}

/// The provider's id of the only payment.
async fn provider_id(world: &World) -> String {
    sqlx::query_scalar("select provider_operation_id from operations where kind = 'payment'")
        .fetch_one(world.database())
        .await
        .unwrap()
}

async fn alerts(world: &World, kind: &str) -> i64 {
    sqlx::query_scalar("select count(*) from alerts where kind = ?")
        .bind(kind)
        .fetch_one(world.database())
        .await
        .unwrap()
}

/// Every alert, for whoever reads a failed test.
async fn told(world: &World) -> Vec<String> {
    sqlx::query_scalar("select kind || ': ' || detail from alerts")
        .fetch_all(world.database())
        .await
        .unwrap()
}

async fn swept_at(world: &World, provider: &str) -> i64 {
    sqlx::query_scalar("select swept_at from sweeps where provider = ?")
        .bind(provider)
        .fetch_optional(world.database())
        .await
        .unwrap()
        .unwrap_or_default()
}

/// Waits until a provider has been compared so many times from now on.
async fn compared(world: &World, provider: &str, times: usize) {
    for _ in 0..times {
        let before = swept_at(world, provider).await;
        let again = async || swept_at(world, provider).await > before;
        world.until_that(&format!("{provider} is compared"), again).await;
    }
}

fn name(card: &str) -> &str {
    card.split_once(':').map_or("examplepay", |(name, _)| name)
}

/// Somebody pays at PayPal with our credentials, and no order of ours asked for it.
async fn pay_at_paypal(world: &World, reference: &str) {
    // An order that waits for its shopper tells where PayPal is.
    let waiting = world.buy("paypal:wallet").await;
    world.until(&waiting, &["requires_action"]).await;
    let page: String = sqlx::query_scalar(
        "select action_url from operations where state = 'requires_action' limit 1",
    )
    .fetch_one(world.database())
    .await
    .unwrap();
    let (door, _) = page.split_once("/checkoutnow").unwrap();
    let token = world.http.post(format!("{door}/v1/oauth2/token"));
    let token = token.basic_auth("payonce", Some("payonce_secret"));
    let token = read(token.form(&[("grant_type", "client_credentials")])).await;
    let token = token["access_token"].as_str().unwrap();
    let order = json!({
        "intent": "CAPTURE",
        "purchase_units": [{
            "custom_id": reference, "amount": {"currency_code": "EUR", "value": "7.77"},
        }],
    });
    let orders = format!("{door}/v2/checkout/orders");
    let made = read(world.http.post(&orders).bearer_auth(token).json(&order)).await;
    let id = made["id"].as_str().unwrap();
    let form = [("token", id), ("act", "approve"), ("funding", "balance")];
    let approved = world.http.post(format!("{door}/checkoutnow")).form(&form).send().await.unwrap();
    assert_eq!(approved.status(), 200, "it names no page to go back to");
    let capture = world.http.post(format!("{orders}/{id}/capture")).bearer_auth(token);
    let taken = read(capture.json(&json!({}))).await;
    assert_eq!(taken["status"], "COMPLETED", "{taken}");
}

async fn read(request: reqwest::RequestBuilder) -> Value {
    let answer = request.send().await.unwrap();
    let (status, text) = (answer.status(), answer.text().await.unwrap());
    assert!(status.is_success(), "{status} {text}");
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn nobody_is_told_of_anything_while_all_agree() {
    for card in WIRES {
        let world = world(Vec::new()).await;
        let checkout = paid(&world, card).await;
        compared(&world, name(card), 4).await;
        assert_eq!(told(&world).await, Vec::<String>::new(), "{card}");
        assert!(world.states(&checkout, "external").await.is_empty(), "{card}");
        world.agree(&checkout, "succeeded", 1).await;
    }
}

#[tokio::test]
async fn an_effect_at_paypal_that_nobody_asked_for_is_told_once() {
    let world = world(Vec::new()).await;
    let checkout = paid(&world, PAYPAL).await;
    // The second under a reference of ours, whose operation has its own capture.
    for (reference, count) in
        [("somebody-elses", 1), (world.reference(&checkout).await.as_str(), 2)]
    {
        let reference = if count == 2 { format!("{reference}-1") } else { reference.to_owned() };
        pay_at_paypal(&world, &reference).await;
        let found = async || alerts(&world, "effect_without_operation").await == count;
        world.until_that("a person is told", found).await;
    }
    compared(&world, "paypal", 3).await;
    assert_eq!(alerts(&world, "effect_without_operation").await, 2, "one incident each");
    assert_eq!(alerts(&world, "operation_without_effect").await, 0);
    assert_eq!(world.states(&checkout, "payment").await, ["succeeded"]);
}

#[tokio::test]
async fn what_went_back_at_the_provider_is_recorded_although_its_event_never_came() {
    let (refunded, disputed) = (json!({"amount_minor": 1500}), json!({"status": "reversed"}));
    for (card, path, told, state) in [
        ("stripe:pm_card_visa", "/refund", &refunded, "succeeded"),
        (PAYPAL, "/refund", &refunded, "succeeded"),
        // A dispute may still be won; a chargeback is done.
        ("stripe:pm_card_visa", "", &disputed, "pending_confirmation"),
        (PAYPAL, "", &disputed, "succeeded"),
    ] {
        let world = world(Vec::new()).await;
        let checkout = paid(&world, card).await;
        world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
        let id = provider_id(&world).await;
        world.control(&format!("/control/payments/{id}{path}"), told).await;
        let what = format!("it is recorded: {card}{path}");
        let recorded = async || world.states(&checkout, "external").await == [state];
        world.until_that(&what, recorded).await;
        compared(&world, name(card), 3).await;
        assert_eq!(world.states(&checkout, "external").await, [state], "{what}, and once");
        assert_eq!(alerts(&world, "external_effect").await, 1, "{what}");
        for kind in ["effect_without_operation", "operation_without_effect"] {
            assert_eq!(alerts(&world, kind).await, 0, "{what}: {kind}");
        }
        assert_eq!(world.state(&checkout).await, "succeeded", "{what}: the charge stays");
    }
}

#[tokio::test]
async fn a_refund_that_paypal_undid_later_is_found_by_the_comparison_and_can_be_made_again() {
    let world = World::with(Options {
        shop: vec![
            ("PAYONCE_SWEEP_SECONDS", "1".to_owned()),
            ("PAYONCE_OPERATOR_TOKEN", refunds::TOKEN.to_owned()),
        ],
        ..Options::default()
    })
    .await;
    let checkout = paid(&world, "paypal:wallet|refund_fails").await;
    assert_eq!(refunds::ask(&world, &checkout, Uuid::new_v4(), 1000).await.0, 202);
    let refunds = async || world.states(&checkout, "refund").await;
    world.until_that("it is completed first", async || refunds().await == ["succeeded"]).await;
    // Nothing tells of it but the report.
    world.until_that("it is undone", async || refunds().await == ["reversed"]).await;
    assert_eq!(world.effects(&checkout).await.iter().map(|it| it.1).sum::<i64>(), 2990);
    assert_eq!(refunds::refundable(&world, &checkout).await, 2990, "its amount is free again");
    assert_eq!(world.order_state(&checkout).await, "paid");
    assert_eq!(world.state(&checkout).await, "succeeded");
    assert_eq!(alerts(&world, "external_effect").await, 0, "{:?}", told(&world).await);
}

#[tokio::test]
async fn a_dispute_that_was_won_gives_its_amount_free_although_no_event_told_of_it() {
    let world = world(Vec::new()).await;
    let checkout = paid(&world, "stripe:pm_card_visa").await;
    world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
    let id = provider_id(&world).await;
    let listed = async |status: &str| {
        let dispute = json!({
            "id": "dp_1", "object": "dispute", "status": status, "amount": 2990,
            "currency": "eur", "payment_intent": id, "metadata": {}, "livemode": false,
        });
        let list = json!({"object": "list", "data": [dispute], "has_more": false}).to_string();
        let told = json!([{"answer": {"kind": "status", "status": 200, "body": list}}]);
        world.control("/control/faults/clear", &json!({})).await;
        world.fault_then("find_dispute", told, "repeat_last").await;
    };
    // An inquiry takes nothing, and what was won before anybody heard of it is no news.
    for status in ["warning_needs_response", "won"] {
        listed(status).await;
        compared(&world, "stripe", 3).await;
        assert_eq!(world.states(&checkout, "external").await, Vec::<String>::new(), "{status}");
    }
    for (status, state) in [("under_review", "pending_confirmation"), ("won", "canceled")] {
        listed(status).await;
        let recorded = async || world.states(&checkout, "external").await == [state];
        world.until_that(status, recorded).await;
    }
    compared(&world, "stripe", 3).await;
    assert_eq!(world.states(&checkout, "external").await, ["canceled"]);
    assert_eq!(world.order_state(&checkout).await, "paid");
    assert_eq!(alerts(&world, "effect_without_operation").await, 0);
}

#[tokio::test]
async fn a_capture_whose_answer_and_event_were_lost_is_found_by_its_reference() {
    let world = world(Vec::new()).await;
    // Whoever asks about the order finds nothing for a while; the report is there.
    let lost = json!([{
        "answer": {"kind": "drop_before_headers"}, "webhook": {"mode": "never"},
        "lookup": {"not_found_for_ms": 600_000},
    }]);
    world.fault("capture_payment", lost).await;
    let checkout = world.buy("paypal:wallet").await;
    world.approve_at_paypal(&checkout, "balance").await;
    world.until(&checkout, &["pending_confirmation"]).await;
    compared(&world, "paypal", 2).await;
    world.control("/control/lookups", &json!({})).await;
    world.agree(&checkout, "succeeded", 1).await;
    compared(&world, "paypal", 2).await;
    for kind in ["effect_without_operation", "operation_without_effect"] {
        assert_eq!(alerts(&world, kind).await, 0, "{kind}");
    }
}

#[tokio::test]
async fn what_a_late_report_cannot_show_yet_is_not_missed() {
    let hour = 3_600_000.to_string();
    let world = world(vec![("EXAMPLEPAY_PAYPAL_REPORT_LAG_MS", hour)]).await;
    let checkout = paid(&world, PAYPAL).await;
    world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
    pay_at_paypal(&world, "somebody-elses").await;
    compared(&world, "paypal", 3).await;
    assert_eq!(told(&world).await, Vec::<String>::new(), "too early to tell");
    // Later both are shown: ours agrees, and the other one is told.
    world.control("/control/report", &json!({"lag_ms": 0})).await;
    let found = async || alerts(&world, "effect_without_operation").await == 1;
    world.until_that("what came late is read again", found).await;
    compared(&world, "paypal", 3).await;
    assert_eq!(alerts(&world, "operation_without_effect").await, 0);
    assert_eq!(world.states(&checkout, "external").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_success_that_the_provider_does_not_list_is_told_on_every_wire() {
    for card in WIRES {
        let world = world(Vec::new()).await;
        let checkout = paid(&world, card).await;
        world.control("/control/lookups", &json!({"not_found_for_ms": 600_000})).await;
        let found = async || alerts(&world, "operation_without_effect").await == 1;
        world.until_that(&format!("{card}: a person is told"), found).await;
        assert_eq!(world.state(&checkout).await, "succeeded", "{card}: nothing moves for it");
    }
}

#[tokio::test]
async fn a_success_that_took_longer_than_lists_are_read_again_is_compared_too() {
    // Lists of the last two seconds are read; this payment is in processing for five.
    let world = world(vec![("EXAMPLEPAY_PROCESSING_MS", 5000.to_string())]).await;
    let checkout = world.buy("tok_processing").await;
    world.until(&checkout, &["pending_confirmation"]).await;
    compared(&world, "examplepay", 3).await;
    world.control("/control/lookups", &json!({"status": 503})).await;
    world.until(&checkout, &["succeeded"]).await;
    let took = "select entered_at - created_at from operations where kind = 'payment'";
    assert!(world.number(took).await > 3000, "it took long");
    world.control("/control/lookups", &json!({"not_found_for_ms": 600_000})).await;
    let found = async || alerts(&world, "operation_without_effect").await == 1;
    world.until_that("a person is told", found).await;
}

#[tokio::test]
async fn a_report_that_is_refused_for_want_of_a_permission_is_not_asked_for_all_the_time() {
    let world = world(Vec::new()).await;
    compared(&world, "paypal", 1).await;
    let body = r#"{"name":"NOT_AUTHORIZED","message":"Authorization failed.","details":[]}"#;
    let refused = json!([{"answer": {"kind": "status", "status": 403, "body": body}}]);
    world.fault_then("find_report", refused, "repeat_last").await;
    let asked = async || {
        let requests = world.requests().await;
        let reports = requests.iter().filter(|it| it["path"] == "/v1/reporting/transactions");
        reports.filter(|it| it["answered"] == "403").count()
    };
    world.until_that("it is refused", async || asked().await == 1).await;
    let before = swept_at(&world, "paypal").await;
    let checkout = paid(&world, PAYPAL).await;
    compared(&world, "stripe", 3).await;
    assert_eq!(asked().await, 1, "once an hour at most");
    assert_eq!(swept_at(&world, "paypal").await, before, "nothing was compared");
    assert_eq!(alerts(&world, "operation_without_effect").await, 0);
    let found = async || alerts(&world, "no_comparison").await == 1;
    world.until_that("a person is told that nothing is compared", found).await;
    assert_eq!(world.state(&checkout).await, "succeeded", "payments go on");
}
