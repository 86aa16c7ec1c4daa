//! Attacks on the rule that money moves once: late news, lost answers of what should undo, wrong
//! keys, outages and events that are not what they seem. Each ends at the provider's ledger.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Options, World};

const LOST: &str = "drop_before_headers";

async fn mode(world: &World, mode: &str) {
    world.control("/control/webhooks/mode", &json!({"mode": mode})).await;
}

async fn lookups(world: &World, answer: Value) {
    world.control("/control/lookups", &answer).await;
}

async fn blind(world: &World) {
    lookups(world, json!({"status": 503, "for_ms": 600_000})).await;
}

/// The provider's id of a payment of the order.
pub async fn id_of(world: &World, checkout: &str, attempt: i64) -> String {
    sqlx::query_scalar(
        "select provider_operation_id from operations join orders on orders.id = order_id
         where checkout_id = ? and kind = 'payment' and attempt = ?",
    )
    .bind(checkout)
    .bind(attempt)
    .fetch_one(world.database())
    .await
    .unwrap()
}

/// The provider's record moves by itself.
pub async fn decides(world: &World, id: &str, status: &str, silent: bool) {
    let told = json!({"status": status, "silent": silent});
    world.control(&format!("/control/payments/{id}"), &told).await;
}

async fn give_up(world: &World, checkout: &str) {
    let post = world.request(Method::POST, &format!("/checkout/{checkout}/cancel"));
    let post = post.header("Content-Type", "application/x-www-form-urlencoded").body("");
    assert_eq!(world.send(post).await.0, 303);
}

/// Pays again after a no.
pub async fn pay_again(world: &World, checkout: &str, token: &str) {
    let form = world.next_form(checkout).await.expect("after a no there is another attempt");
    assert_eq!(world.post(&form, token).await.0, 303);
}

async fn until_order(world: &World, checkout: &str, wanted: &str) {
    world
        .until_that(&format!("the order is {wanted}"), async || {
            world.order_state(checkout).await == wanted
        })
        .await;
}

/// What is left of all charges and refunds at the provider.
async fn balance(world: &World, checkout: &str) -> i64 {
    world.effects(checkout).await.iter().map(|(_, amount)| amount).sum()
}

/// An order of 2990 whose payments were declined, and which is bought once in the end.
async fn expect_bought_once(world: &World, checkout: &str) {
    until_order(world, checkout, "paid").await;
    world
        .until_that("no operation is open", async || {
            let states = world.states(checkout, "payment").await;
            let refunds = world.states(checkout, "refund").await;
            states
                .iter()
                .chain(&refunds)
                .all(|it| matches!(it.as_str(), "succeeded" | "rejected" | "canceled" | "reversed"))
        })
        .await;
    assert_eq!(balance(world, checkout).await, 2990, "{:?}", world.effects(checkout).await);
    assert_eq!(world.order_state(checkout).await, "paid");
    assert_eq!(world.number("select sum(sold) from stock").await, 1);
    assert_eq!(world.number("select sum(reserved) from stock").await, 0);
}

#[tokio::test]
async fn case_43_a_success_after_a_decline_of_the_same_payment_wins() {
    let world = World::start().await;
    let checkout = world.buy("tok_declined").await;
    world.until(&checkout, &["rejected"]).await;
    decides(&world, &id_of(&world, &checkout, 1).await, "succeeded", false).await;
    world.until(&checkout, &["succeeded"]).await;
    expect_bought_once(&world, &checkout).await;
    assert_eq!(world.number("select count(*) from anomalies where kind = 'late_success'").await, 1);
    assert!(world.next_form(&checkout).await.is_none(), "it is paid");
}

#[tokio::test]
async fn case_42_late_news_of_the_first_attempt_leaves_the_paid_second_alone() {
    let world = World::start().await;
    let checkout = world.buy("tok_declined").await;
    world.until(&checkout, &["rejected"]).await;
    let first = id_of(&world, &checkout, 1).await;
    pay_again(&world, &checkout, "tok_visa").await;
    world.agree(&checkout, "succeeded", 1).await;
    for status in ["declined", "processing", "canceled"] {
        let told = json!({"payment": first, "type": format!("payment.{status}"), "overrides": {"status": status}});
        world.control("/control/webhooks", &told).await;
    }
    world.until_number("select count(*) from provider_events where state <> 'applied'", 0).await;
    assert_eq!(world.states(&checkout, "payment").await, ["rejected", "succeeded"]);
    expect_bought_once(&world, &checkout).await;
}

#[tokio::test]
async fn the_first_attempt_pays_late_while_the_second_is_processing_and_one_goes_back() {
    let world = World::start().await;
    let checkout = world.buy("tok_declined").await;
    world.until(&checkout, &["rejected"]).await;
    let first = id_of(&world, &checkout, 1).await;
    pay_again(&world, &checkout, "tok_processing").await;
    world.until(&checkout, &["pending_confirmation"]).await;
    decides(&world, &first, "succeeded", false).await;
    expect_bought_once(&world, &checkout).await;
    assert_eq!(world.states(&checkout, "payment").await[0], "succeeded");
}

#[tokio::test]
async fn the_first_attempt_pays_late_while_the_second_waits_for_the_bank_which_is_canceled() {
    let world = World::start().await;
    let checkout = world.buy("tok_declined").await;
    world.until(&checkout, &["rejected"]).await;
    let first = id_of(&world, &checkout, 1).await;
    pay_again(&world, &checkout, "tok_3ds").await;
    world.until(&checkout, &["requires_action"]).await;
    decides(&world, &first, "succeeded", false).await;
    expect_bought_once(&world, &checkout).await;
    assert_eq!(world.states(&checkout, "payment").await, ["succeeded", "canceled"]);
}

#[tokio::test]
async fn the_first_attempt_pays_late_while_the_second_could_not_be_sent_which_is_canceled() {
    let world = World::start().await;
    let checkout = world.buy("tok_declined").await;
    world.until(&checkout, &["rejected"]).await;
    let first = id_of(&world, &checkout, 1).await;
    let later = json!([{"execute": false, "answer": {"kind": "status", "status": 429, "body": "{}", "headers": {"Retry-After": "600"}}}]);
    world.fault("create_payment", later).await;
    pay_again(&world, &checkout, "tok_visa").await;
    world.until(&checkout, &["retry_scheduled"]).await;
    decides(&world, &first, "succeeded", false).await;
    expect_bought_once(&world, &checkout).await;
    assert_eq!(world.states(&checkout, "payment").await, ["succeeded", "canceled"]);
    assert_eq!(world.effects(&checkout).await.len(), 1, "the second was never executed");
}

#[tokio::test]
async fn the_first_attempt_pays_after_the_second_did_and_is_refunded() {
    let world = World::start().await;
    let checkout = world.buy("tok_declined").await;
    world.until(&checkout, &["rejected"]).await;
    let first = id_of(&world, &checkout, 1).await;
    pay_again(&world, &checkout, "tok_visa").await;
    world.until(&checkout, &["succeeded"]).await;
    decides(&world, &first, "succeeded", false).await;
    world
        .until_that("the first one is refunded", async || {
            world.states(&checkout, "refund").await == ["succeeded"]
        })
        .await;
    assert_eq!(world.effects(&checkout).await.len(), 3, "two charges and one refund");
    expect_bought_once(&world, &checkout).await;
}

#[tokio::test]
async fn an_order_given_up_while_nothing_could_be_sent_ends_and_sends_nothing() {
    let world = World::start().await;
    world.control("/control/outage", &json!({"mode": "refuse", "for_ms": 600_000})).await;
    let checkout = world.buy("tok_visa").await;
    world.until(&checkout, &["retry_scheduled"]).await;
    let (_, _, html) =
        world.send(world.request(Method::GET, &format!("/checkout/{checkout}"))).await;
    assert!(html.contains("id=\"give-up\""), "what was not executed may be given up");
    give_up(&world, &checkout).await;
    // At once, or when the try that is under way at this very moment was refused too.
    world.until(&checkout, &["canceled"]).await;
    assert_eq!(world.order_state(&checkout).await, "canceled");
    assert_eq!(world.number("select sum(reserved) from stock").await, 0);
    world.control("/control/outage", &json!({"mode": "off"})).await;
    // Whatever was scheduled before would be sent by now: the next order is.
    let next = world.buy("tok_visa").await;
    world.agree(&next, "succeeded", 1).await;
    world.agree(&checkout, "canceled", 0).await;
    assert_eq!(world.sends(&checkout).await.len(), 0);
}

#[tokio::test]
async fn an_order_given_up_while_the_outcome_is_unknown_waits_and_gives_the_money_back() {
    let world = World::start().await;
    mode(&world, "paused").await;
    blind(&world).await;
    let checkout = world.buy("tok_lost_response").await;
    world.until(&checkout, &["pending_confirmation"]).await;
    give_up(&world, &checkout).await;
    assert_eq!(world.order_state(&checkout).await, "cancel_requested");
    assert_eq!(world.state(&checkout).await, "pending_confirmation", "unknown is not nothing");
    mode(&world, "normal").await;
    until_order(&world, &checkout, "refunded").await;
    assert_eq!(world.effects(&checkout).await.len(), 2);
    assert_eq!(balance(&world, &checkout).await, 0);
    assert_eq!(world.number("select sum(reserved) + sum(sold) from stock").await, 0);
}

#[tokio::test]
async fn an_order_given_up_while_the_bank_waits_is_canceled_at_the_provider() {
    let world = World::start().await;
    let checkout = world.buy("tok_3ds").await;
    world.until(&checkout, &["requires_action"]).await;
    give_up(&world, &checkout).await;
    until_order(&world, &checkout, "canceled").await;
    world.agree(&checkout, "canceled", 0).await;
    assert!(world.next_form(&checkout).await.is_none(), "the order is over");
    let id = id_of(&world, &checkout, 1).await;
    let held = world
        .ask(&format!("/control/payments?reference={}-1", world.reference(&checkout).await))
        .await;
    assert!(held.to_string().contains(&id) && held.to_string().contains("canceled"), "{held}");
}

#[tokio::test]
async fn an_order_given_up_while_it_is_processed_ends_without_money() {
    let world = World::start().await;
    let checkout = world.buy("tok_processing").await;
    world.until(&checkout, &["pending_confirmation"]).await;
    give_up(&world, &checkout).await;
    world
        .until_that("the order is over", async || {
            matches!(world.order_state(&checkout).await.as_str(), "canceled" | "refunded")
        })
        .await;
    assert_eq!(balance(&world, &checkout).await, 0);
}

#[tokio::test]
async fn giving_up_a_paid_order_changes_nothing_and_a_declined_one_ends() {
    let world = World::start().await;
    let checkout = world.buy("tok_visa").await;
    world.until(&checkout, &["succeeded"]).await;
    give_up(&world, &checkout).await;
    assert_eq!(world.order_state(&checkout).await, "paid");
    world.agree(&checkout, "succeeded", 1).await;
    let declined = world.buy("tok_declined").await;
    world.until(&declined, &["rejected"]).await;
    give_up(&world, &declined).await;
    assert_eq!(world.order_state(&declined).await, "canceled");
    assert!(world.next_form(&declined).await.is_none());
}

#[tokio::test]
async fn a_form_for_another_attempt_that_comes_after_the_order_was_given_up_is_not_called_paid() {
    let world = World::start().await;
    let checkout = world.buy("tok_declined").await;
    world.until(&checkout, &["rejected"]).await;
    let form = world.next_form(&checkout).await.expect("after a no there is another attempt");
    give_up(&world, &checkout).await;
    let (status, location, _) = world.post(&form, "tok_visa").await;
    assert_eq!((status, location), (303, format!("/checkout/{checkout}?note=no-payment")));
    let page = world.request(Method::GET, &format!("/checkout/{checkout}?note=no-payment"));
    let (_, _, page) = world.send(page).await;
    assert!(page.contains("This order takes no payment any more"), "{page}");
    assert!(world.effects(&checkout).await.is_empty());
    assert_eq!(world.number("select count(*) from operations").await, 1);
}

#[tokio::test]
async fn a_payment_that_moves_again_is_shown_before_a_later_one_that_was_declined() {
    let world = World::start().await;
    let checkout = world.buy("tok_declined").await;
    world.until(&checkout, &["rejected"]).await;
    pay_again(&world, &checkout, "tok_declined").await;
    world.until(&checkout, &["rejected"]).await;
    let first = id_of(&world, &checkout, 1).await;
    decides(&world, &first, "processing", false).await;
    let shows = async |face: &str| world.status(&checkout).await["face"] == face;
    world.until_that("the page checks", async || shows("checking").await).await;
    assert!(world.next_form(&checkout).await.is_none(), "the first one may still be paid");
    decides(&world, &first, "succeeded", false).await;
    world.until_that("the page says paid", async || shows("paid").await).await;
    assert_eq!(world.effects(&checkout).await.len(), 1);
}

#[tokio::test]
async fn a_cancel_whose_answer_is_lost_is_found_out_whether_it_happened_or_not() {
    for (executed, confirmed) in [(true, false), (false, false), (false, true)] {
        let world = World::start().await;
        mode(&world, "off").await;
        let lost = json!([{"execute": executed, "answer": {"kind": LOST}}]);
        let then = if confirmed { "repeat_last" } else { "normal" };
        world.fault_then("cancel_payment", lost, then).await;
        let checkout = world.buy("tok_3ds").await;
        world.until(&checkout, &["requires_action"]).await;
        give_up(&world, &checkout).await;
        world.until_sends(&checkout, 2).await;
        if confirmed {
            // The shopper confirms in another tab while the cancel is under way.
            decides(&world, &id_of(&world, &checkout, 1).await, "succeeded", true).await;
        }
        let end = if confirmed { "refunded" } else { "canceled" };
        until_order(&world, &checkout, end).await;
        assert_eq!(balance(&world, &checkout).await, 0, "executed {executed}");
        let sends = world.sends(&checkout).await;
        let cancels: Vec<_> =
            sends.iter().filter(|it| it["path"].as_str().unwrap().ends_with("/cancel")).collect();
        assert!(!cancels.is_empty(), "{sends:?}");
        assert!(cancels.iter().all(|it| it["key"] == cancels[0]["key"]), "one key: {cancels:?}");
    }
}

/// An order that was given up, whose payment then arrives: what is owed goes back once, whatever
/// becomes of the answer to the refund.
#[tokio::test]
async fn money_goes_back_once_whatever_happens_to_the_refunds_answer() {
    let status = |code: u16| json!({"kind": "status", "status": code, "body": "{}"});
    for (name, token, step) in [
        ("executed and lost", "tok_3ds", json!({"execute": true, "answer": {"kind": LOST}})),
        ("not executed and lost", "tok_3ds", json!({"execute": false, "answer": {"kind": LOST}})),
        ("cut", "tok_3ds", json!({"execute": true, "answer": {"kind": "cut_mid_body"}})),
        ("500 for ever", "tok_3ds", json!({"execute": true, "answer": status(500), "save": true})),
        ("500 and nothing", "tok_3ds", json!({"execute": false, "answer": status(500)})),
        ("429", "tok_3ds", json!({"execute": false, "answer": status(429)})),
        (
            "401",
            "tok_3ds",
            json!({"execute": false, "answer": {"kind": "status", "status": 401, "body": "{\"error\":{\"type\":\"unauthorized\",\"message\":\"no\"}}"}}),
        ),
    ] {
        let world = World::start().await;
        mode(&world, "off").await;
        world.fault("create_refund", json!([step])).await;
        let checkout = world.buy(token).await;
        world.until(&checkout, &["requires_action"]).await;
        // Nobody here may know of the money before the order is given up.
        blind(&world).await;
        decides(&world, &id_of(&world, &checkout, 1).await, "succeeded", true).await;
        give_up(&world, &checkout).await;
        lookups(&world, json!({})).await;
        until_order(&world, &checkout, "refunded").await;
        let effects = world.effects(&checkout).await;
        assert_eq!(effects.len(), 2, "{name}: {effects:?}");
        assert_eq!(balance(&world, &checkout).await, 0, "{name}");
        let sends = world.requests().await;
        let refunds: Vec<_> = sends
            .iter()
            .filter(|it| it["method"] == "POST" && it["path"] == "/v1/refunds")
            .collect();
        assert!(refunds.iter().all(|it| it["key"] == refunds[0]["key"]), "{name}: {refunds:?}");
        assert!(refunds.iter().all(|it| it["body_sha256"] == refunds[0]["body_sha256"]), "{name}");
    }
}

#[tokio::test]
async fn case_66_a_refund_that_is_pending_is_not_called_refunded_and_one_that_comes_back_is_told() {
    for (token, end) in
        [("tok_refund_pending", "refunded"), ("tok_refund_fails_later", "refund_due")]
    {
        let world = World::start().await;
        mode(&world, "paused").await;
        blind(&world).await;
        world.fault("create_payment", json!([{"execute": true, "answer": {"kind": LOST}}])).await;
        let checkout = world.buy(token).await;
        world.until(&checkout, &["pending_confirmation"]).await;
        give_up(&world, &checkout).await;
        lookups(&world, json!({})).await;
        mode(&world, "normal").await;
        world
            .until_that("the refund was sent", async || {
                !world.states(&checkout, "refund").await.is_empty()
            })
            .await;
        let seen = world.until_that("the refund is decided", async || {
            let refund = world.states(&checkout, "refund").await.remove(0);
            if world.order_state(&checkout).await == "refunded" && token == "tok_refund_pending" {
                assert_eq!(refund, "succeeded", "pending is not refunded");
            }
            match token {
                "tok_refund_pending" => refund == "succeeded",
                _ => matches!(refund.as_str(), "reversed" | "rejected"),
            }
        });
        seen.await;
        until_order(&world, &checkout, end).await;
    }
}

#[tokio::test]
async fn a_refused_api_key_is_one_alert_and_the_same_send_after_it_is_set_right() {
    let mut world = World::with(Options {
        shop: vec![("PAYONCE_EXAMPLEPAY_API_KEY", "sk_test_wrong".to_owned())],
        ..Options::default()
    })
    .await;
    let first = world.buy("tok_visa").await;
    world.until_number("select count(*) from alerts where kind = 'configuration'", 1).await;
    assert_eq!(world.state(&first).await, "retry_scheduled");
    assert_eq!(world.status(&first).await["face"], "sending");
    let second = world.buy("tok_visa").await;
    // While settings are refused the circuit is open: at most one send probes it.
    assert!(world.sends(&second).await.is_empty());
    world.restart_with("PAYONCE_EXAMPLEPAY_API_KEY", "sk_test_payonce");
    for checkout in [&first, &second] {
        world.agree(checkout, "succeeded", 1).await;
        let history = world.history(checkout).await;
        assert!(!history.contains(&"pending_confirmation".to_owned()), "{history:?}");
    }
    assert_eq!(world.number("select count(*) from alerts where kind = 'configuration'").await, 1);
    world
        .until_number(
            "select count(*) from alerts where kind = 'configuration' and closed_at is null",
            0,
        )
        .await;
}

#[tokio::test]
async fn a_request_the_provider_calls_malformed_is_our_mistake_and_the_next_one_pays() {
    let world = World::start().await;
    let refused = json!([{"execute": false, "answer": {"kind": "status", "status": 400, "body": "{\"error\":{\"type\":\"invalid_request\",\"message\":\"no\"}}"}}]);
    world.fault("create_payment", refused).await;
    let checkout = world.buy("tok_visa").await;
    world.agree(&checkout, "canceled", 0).await;
    assert_eq!(world.number("select count(*) from alerts where kind = 'our_fault'").await, 1);
    assert_eq!(world.sends(&checkout).await.len(), 1, "it is not sent again");
    let (_, _, html) =
        world.send(world.request(Method::GET, &format!("/checkout/{checkout}"))).await;
    assert!(html.contains("our mistake") && html.contains("No money was taken"), "{html}");
    pay_again(&world, &checkout, "tok_visa").await;
    world.agree(&checkout, "succeeded", 1).await;
}

#[tokio::test]
async fn a_refusal_after_a_lost_send_says_nothing_about_that_send() {
    let body = |kind: &str| json!({"error": {"type": kind, "message": "no"}}).to_string();
    for (status, kind) in [
        (400, "invalid_request"),
        (401, "unauthorized"),
        (404, "not_found"),
        (409, "idempotency_key_in_use"),
        (422, "idempotency_mismatch"),
        (429, "rate_limited"),
    ] {
        let world = World::start().await;
        mode(&world, "off").await;
        lookups(&world, json!({"not_found_for_ms": 2500})).await;
        let script = json!([
            {"execute": true, "answer": {"kind": LOST}},
            {"execute": false, "answer": {"kind": "status", "status": status, "body": body(kind)}},
        ]);
        world.fault("create_payment", script).await;
        let checkout = world.buy("tok_visa").await;
        world.until_sends(&checkout, 2).await;
        world.agree(&checkout, "succeeded", 1).await;
        let history = world.history(&checkout).await;
        assert!(
            !history
                .iter()
                .any(|it| matches!(it.as_str(), "canceled" | "rejected" | "retry_scheduled")),
            "{status}: {history:?}"
        );
    }
}

#[tokio::test]
async fn attack_19_not_found_right_after_a_lost_create_is_not_a_no() {
    let world = World::start().await;
    mode(&world, "off").await;
    lookups(&world, json!({"not_found_for_ms": 2000})).await;
    let checkout = world.buy("tok_lost_response").await;
    world.agree(&checkout, "succeeded", 1).await;
    let history = world.history(&checkout).await;
    assert!(history.iter().all(|it| it != "canceled" && it != "rejected"), "{history:?}");
}

#[tokio::test]
async fn an_unpaid_order_is_given_up_after_a_while_and_its_goods_are_free() {
    let world = World::with(Options { scale: "0.001", ..Options::default() }).await;
    let checkout = world.buy("tok_declined").await;
    until_order(&world, &checkout, "canceled").await;
    assert_eq!(world.number("select sum(reserved) from stock").await, 0);
    assert!(world.next_form(&checkout).await.is_none());
    // Money that comes for it after all is not kept.
    decides(&world, &id_of(&world, &checkout, 1).await, "succeeded", false).await;
    until_order(&world, &checkout, "refunded").await;
    assert_eq!(balance(&world, &checkout).await, 0);
}

#[tokio::test]
async fn a_provider_that_takes_requests_and_never_answers_is_unknown_until_it_does() {
    let world = World::with(Options {
        shop: vec![
            ("PAYONCE_EXAMPLEPAY_CONNECT_TIMEOUT_MS", "300".to_owned()),
            ("PAYONCE_EXAMPLEPAY_RESPONSE_TIMEOUT_MS", "500".to_owned()),
        ],
        ..Options::default()
    })
    .await;
    world.control("/control/outage", &json!({"mode": "hang", "for_ms": 3000})).await;
    let checkout = world.buy("tok_visa").await;
    world.until(&checkout, &["pending_confirmation"]).await;
    assert_eq!(world.status(&checkout).await["face"], "checking");
    assert!(world.next_form(&checkout).await.is_none());
    world.agree(&checkout, "succeeded", 1).await;
}

#[tokio::test]
async fn hundreds_of_check_again_stay_under_the_published_numbers() {
    let world = World::with(Options { scale: "0.05", ..Options::default() }).await;
    mode(&world, "off").await;
    blind(&world).await;
    let checkout = world.buy("tok_lost_response").await;
    world.until(&checkout, &["pending_confirmation"]).await;
    for _ in 0..300 {
        let path = format!("/checkout/{checkout}/check");
        assert_eq!(world.send(world.request(Method::GET, &path)).await.0, 303);
    }
    assert_eq!(world.state(&checkout).await, "pending_confirmation");
    let requests = world.requests().await;
    let key = |it: &&Value| it["key"].as_str().is_some_and(|key| key.contains(&checkout));
    assert!(requests.iter().filter(key).count() <= 4, "{requests:?}");
    // One operation is all there is; everything that was asked, was asked for it.
    assert!(requests.len() <= 18, "{} requests", requests.len());
    lookups(&world, json!({})).await;
    mode(&world, "normal").await;
    world.agree(&checkout, "succeeded", 1).await;
}

#[tokio::test]
async fn an_event_about_somebody_elses_payment_pays_nothing_here() {
    let world = World::start().await;
    let checkout = world.buy("tok_3ds").await;
    world.until(&checkout, &["requires_action"]).await;
    let id = id_of(&world, &checkout, 1).await;
    for (field, value) in [
        ("amount_minor", json!(100)),
        ("currency", json!("JPY")),
        ("reference", json!("P-0000-0000-1")),
        ("account", json!("acct_other")),
        ("livemode", json!(true)),
        ("id", json!("pay_other")),
    ] {
        let mut overrides = json!({"status": "succeeded"});
        overrides[field] = value;
        let told = json!({"payment": id, "type": "payment.succeeded", "overrides": overrides});
        let answer = world.control("/control/webhooks", &told).await;
        assert!(answer.to_string().contains("200"), "{field}: a genuine event is kept: {answer}");
        // The lookup it woke says that the payment still waits.
        assert_eq!(world.order_state(&checkout).await, "awaiting_payment", "{field}");
    }
    world.until_number("select count(*) from provider_events where state = 'parked'", 0).await;
    world.agree(&checkout, "requires_action", 0).await;
    decides(&world, &id, "succeeded", false).await;
    world.agree(&checkout, "succeeded", 1).await;
}

#[tokio::test]
async fn the_same_event_id_with_other_content_is_the_event_that_was_stored_first() {
    let world = World::start().await;
    let checkout = world.buy("tok_3ds").await;
    world.until(&checkout, &["requires_action"]).await;
    let id = id_of(&world, &checkout, 1).await;
    let event = |status: &str| json!({"payment": id, "type": format!("payment.{status}"), "event_id": "evt_twice", "overrides": {"status": status}});
    world.control("/control/webhooks", &event("processing")).await;
    let first: String = stored(&world, "evt_twice").await;
    let answer = world.control("/control/webhooks", &event("succeeded")).await;
    assert!(answer.to_string().contains("200"), "{answer}");
    assert_eq!(stored(&world, "evt_twice").await, first);
    assert_eq!(
        world.number("select count(*) from provider_events where event_id = 'evt_twice'").await,
        1
    );
    assert_eq!(world.order_state(&checkout).await, "awaiting_payment");
}

async fn stored(world: &World, event: &str) -> String {
    sqlx::query_scalar("select event_type from provider_events where event_id = ?")
        .bind(event)
        .fetch_one(world.database())
        .await
        .unwrap()
}

#[tokio::test]
async fn case_59_the_shop_is_away_when_the_shopper_comes_back_and_knows_by_itself() {
    let mut world = World::start().await;
    mode(&world, "off").await;
    let checkout = world.buy("tok_3ds").await;
    world.until(&checkout, &["requires_action"]).await;
    world.shop.kill();
    decides(&world, &id_of(&world, &checkout, 1).await, "succeeded", true).await;
    world.restart(None);
    world.agree(&checkout, "succeeded", 1).await;
}

#[tokio::test]
async fn every_request_that_reached_the_provider_had_been_written_down_before() {
    let world = World::start().await;
    mode(&world, "off").await;
    world.fault("create_payment", json!([{"execute": true, "delay_ms": 1500}])).await;
    let checkout = world.buy("tok_visa").await;
    world.until_sends(&checkout, 1).await;
    // The provider holds the request and has not answered: the row is there, and its end is not.
    let open = "select count(*) from attempts where step is not null and ended_at is null";
    assert_eq!(world.number(open).await, 1);
    assert_eq!(world.number("select count(*) from steps where first_sent_at is not null").await, 1);
    assert_eq!(world.state(&checkout).await, "requested");
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.number(open).await, 0);
}

#[tokio::test]
async fn a_graceful_stop_during_a_lookup_records_its_answer() {
    let mut world = World::start().await;
    mode(&world, "off").await;
    let slow = json!([{"delay_ms": 1500}]);
    world.fault_then("find_payment", slow, "repeat_last").await;
    let checkout = world.buy("tok_lost_response").await;
    world
        .until_that("a lookup is on its way", async || {
            let ours = |it: &Value| it["method"] == "GET" && !it["reference"].is_null();
            world.requests().await.iter().any(ours)
        })
        .await;
    world.shop.terminate();
    assert!(world.shop.ended(), "it stops");
    assert_eq!(world.state(&checkout).await, "succeeded", "what was asked for was kept");
    assert_eq!(world.number("select count(*) from attempts where ended_at is null").await, 0);
    assert_eq!(
        world.number("select count(*) from operations where lease_until is not null").await,
        0
    );
}

const DAYS_2: i64 = 2 * 24 * 3600;

#[tokio::test]
async fn attack_45_a_clock_that_jumps_while_the_outcome_is_unknown_sends_nothing_more_and_ends() {
    for (jump, restarted) in [(DAYS_2, false), (-DAYS_2, false), (DAYS_2, true), (-DAYS_2, true)] {
        let mut world = World::with(Options { scale: "0.005", ..Options::default() }).await;
        mode(&world, "off").await;
        lookups(&world, json!({"not_found_for_ms": 600_000})).await;
        let lost = json!([{"execute": true, "answer": {"kind": LOST}}]);
        world.fault_then("create_payment", lost, "repeat_last").await;
        let checkout = world.buy("tok_visa").await;
        world.until(&checkout, &["pending_confirmation"]).await;
        let sent = world.sends(&checkout).await.len();
        if restarted {
            world.shop.kill();
        }
        world.set_clock(jump);
        if restarted {
            world.restart(None);
        }
        let alert = if restarted && jump < 0 {
            "select count(*) from alerts where kind = 'clock_behind'"
        } else if restarted {
            "select 1"
        } else {
            "select count(*) from alerts where kind = 'clock_jump'"
        };
        world.until_number(alert, 1).await;
        // Two days later nothing may be sent; two days earlier time goes on as it did.
        world.until(&checkout, &["requires_review"]).await;
        let sends = world.sends(&checkout).await;
        if jump > 0 {
            assert_eq!(sends.len(), sent, "nothing is sent after the window");
        }
        assert!(sends.len() <= 4 && sends.iter().all(|it| it["key"] == sends[0]["key"]));
        lookups(&world, json!({})).await;
        let id = world
            .ask(&format!("/control/payments?reference={}-1", world.reference(&checkout).await))
            .await["payments"][0]["id"]
            .clone();
        let told = json!({"payment": id, "type": "payment.succeeded", "timestamp_offset_s": jump});
        world.control("/control/webhooks", &told).await;
        world.agree(&checkout, "succeeded", 1).await;
    }
}

#[tokio::test]
async fn attack_45_a_clock_that_jumps_while_a_send_is_under_way_steals_no_lease() {
    for jump in [DAYS_2, -DAYS_2] {
        let world = World::start().await;
        mode(&world, "off").await;
        world.fault("create_payment", json!([{"execute": true, "delay_ms": 1500}])).await;
        let checkout = world.buy("tok_visa").await;
        world.until_sends(&checkout, 1).await;
        world.set_clock(jump);
        world.agree(&checkout, "succeeded", 1).await;
        assert_eq!(world.sends(&checkout).await.len(), 1, "one send, whatever the clock says");
    }
}

#[tokio::test]
async fn case_12_pay_pressed_again_while_the_outcome_is_unknown_is_the_same_payment() {
    let world = World::start().await;
    mode(&world, "off").await;
    blind(&world).await;
    world.add("cups", 1).await;
    let form = world.form().await;
    assert_eq!(world.post(&form, "tok_lost_response").await.0, 303);
    let checkout = form.checkout.clone();
    world.until(&checkout, &["pending_confirmation"]).await;
    for (attempt, token) in [("1", "tok_lost_response"), ("1", "tok_visa"), ("2", "tok_visa")] {
        let again = form.clone().with("attempt", attempt);
        let (status, location, _) = world.post(&again, token).await;
        assert_eq!(status, 303);
        assert!(location.starts_with(&format!("/checkout/{checkout}")), "{location}");
        assert_eq!(world.states(&checkout, "payment").await, ["pending_confirmation"]);
    }
    lookups(&world, json!({})).await;
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.sends(&checkout).await.len(), 1);
}

#[tokio::test]
async fn a_payment_that_the_bank_takes_back_is_told_and_not_charged_again() {
    let world = World::start().await;
    let checkout = world.buy("tok_visa").await;
    world.until(&checkout, &["succeeded"]).await;
    let id = id_of(&world, &checkout, 1).await;
    decides(&world, &id, "reversed", false).await;
    world.until(&checkout, &["reversed"]).await;
    assert_eq!(world.order_state(&checkout).await, "payment_reversed");
    assert_eq!(balance(&world, &checkout).await, 0);
    assert_eq!(world.number("select count(*) from alerts where kind = 'reversed'").await, 1);
    assert!(world.next_form(&checkout).await.is_none(), "no second charge by ourselves");
    // Old news of the success does not bring it back.
    let old =
        json!({"payment": id, "type": "payment.succeeded", "overrides": {"status": "succeeded"}});
    world.control("/control/webhooks", &old).await;
    world.until_number("select count(*) from provider_events where state <> 'applied'", 0).await;
    assert_eq!(world.state(&checkout).await, "reversed");
}
