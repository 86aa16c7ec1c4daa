//! Money that goes back: by request, when its answer is lost, late, and behind our back.

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{Options, World};

/// What operators show in these tests.
pub const TOKEN: &str = "an-operators-token-of-these-tests";
const LOST: &str = "drop_before_headers";
/// What each wire calls a card that pays, one whose refunds wait, and one whose refunds come back;
/// behind the bar, what the shopper chooses on PayPal's page. A refund that PayPal has completed is
/// final as far as its documentation tells.
const WIRES: [[&str; 3]; 3] = [
    ["tok_visa", "tok_refund_pending", "tok_refund_fails_later"],
    ["stripe:pm_card_visa", "stripe:pm_sim_refund_pending", "stripe:pm_sim_refund_fails_later"],
    ["paypal:wallet|balance", "paypal:wallet|refund_pending", ""],
];

async fn world() -> World {
    World::with(Options {
        shop: vec![("PAYONCE_OPERATOR_TOKEN", TOKEN.to_owned())],
        ..Options::default()
    })
    .await
}

/// A paid order of 2990; gives its checkout.
async fn paid(world: &World, card: &str) -> String {
    let (card, funding) = card.split_once('|').unwrap_or((card, ""));
    let checkout = world.buy(card).await;
    if !funding.is_empty() {
        world.approve_at_paypal(&checkout, funding).await;
    }
    world.agree(&checkout, "succeeded", 1).await;
    checkout
}

pub async fn api(world: &World, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
    let request = world.http.request(method, world.url(path)).bearer_auth(TOKEN);
    let request = match body {
        Some(body) => request.json(&body),
        None => request,
    };
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
}

pub async fn ask(world: &World, checkout: &str, id: Uuid, amount: i64) -> (u16, Value) {
    let path = format!("/api/orders/{}/refunds", world.reference(checkout).await);
    let body = json!({
        "refund_request_id": id, "amount_minor": amount, "currency": "EUR",
        "reason": "the lid was chipped",
    });
    api(world, Method::POST, &path, Some(body)).await
}

pub async fn refundable(world: &World, checkout: &str) -> i64 {
    let path = format!("/api/orders/{}", world.reference(checkout).await);
    let (status, body) = api(world, Method::GET, &path, None).await;
    assert_eq!(status, 200, "{body}");
    body["refundable_minor"].as_i64().unwrap()
}

async fn settled(world: &World, checkout: &str, wanted: &[&str]) {
    let what = format!("the refunds are {wanted:?}");
    world.until_that(&what, async || world.states(checkout, "refund").await == wanted).await;
}

async fn balance(world: &World, checkout: &str) -> i64 {
    world.effects(checkout).await.iter().map(|(_, amount)| amount).sum()
}

#[tokio::test]
async fn parts_and_then_the_rest_go_back_each_under_its_own_key() {
    for [card, ..] in WIRES {
        let world = world().await;
        let checkout = paid(&world, card).await;
        let (status, body) = ask(&world, &checkout, Uuid::new_v4(), 1000).await;
        assert_eq!(status, 202, "{body}");
        settled(&world, &checkout, &["succeeded"]).await;
        assert_eq!(world.order_state(&checkout).await, "partially_refunded");
        assert_eq!(refundable(&world, &checkout).await, 1990);
        let too_much = ask(&world, &checkout, Uuid::new_v4(), 1991).await;
        assert_eq!(too_much.0, 422, "{too_much:?}");
        // The same amount another day is another intent.
        assert_eq!(ask(&world, &checkout, Uuid::new_v4(), 1000).await.0, 202);
        assert_eq!(ask(&world, &checkout, Uuid::new_v4(), 990).await.0, 202);
        settled(&world, &checkout, &["succeeded"; 3]).await;
        assert_eq!(world.order_state(&checkout).await, "refunded");
        assert_eq!(balance(&world, &checkout).await, 0);
        assert_eq!(ask(&world, &checkout, Uuid::new_v4(), 1).await.0, 422, "nothing is left");
        let keys = world.number("select count(distinct idempotency_key) from steps where idempotency_key like 'refund:%'").await;
        assert_eq!(keys, 3);
        assert_eq!(world.number("select count(*) from audit where act = 'refund'").await, 3);
    }
}

#[tokio::test]
async fn an_order_that_was_paid_twice_is_refunded_once_all_of_both_went_back() {
    let world = world().await;
    let checkout = world.buy("tok_declined").await;
    world.until(&checkout, &["rejected"]).await;
    let first: String = sqlx::query_scalar("select provider_operation_id from operations")
        .fetch_one(world.database())
        .await
        .unwrap();
    let form = world.next_form(&checkout).await.expect("after a no there is another attempt");
    assert_eq!(world.post(&form, "tok_visa").await.0, 303);
    world.until(&checkout, &["succeeded"]).await;
    // The refund of the one that nobody needs is unknown for a while.
    let lost = json!([{"answer": {"kind": LOST}, "webhook": {"mode": "never"},
        "lookup": {"not_found_for_ms": 8000}}]);
    world.fault("create_refund", lost).await;
    let late = format!("/control/payments/{first}");
    world.control(&late, &json!({"status": "succeeded"})).await;
    settled(&world, &checkout, &["pending_confirmation"]).await;
    assert_eq!(ask(&world, &checkout, Uuid::new_v4(), 2990).await.0, 202);
    settled(&world, &checkout, &["pending_confirmation", "succeeded"]).await;
    settled(&world, &checkout, &["succeeded"; 2]).await;
    assert_eq!(world.order_state(&checkout).await, "refunded");
    assert_eq!(balance(&world, &checkout).await, 0);
    assert_eq!(refundable(&world, &checkout).await, 0);
}

/// What a compensating refund is at its provider: one key of its own, equal bytes.
async fn compensated_once(world: &World, about: &str) {
    let sent: Vec<(String, String)> = world
        .requests()
        .await
        .iter()
        .filter_map(|it| Some((it["key"].as_str()?, it["body_sha256"].as_str()?)))
        .filter(|(key, _)| key.starts_with("refund:"))
        .map(|(key, body)| (key.to_owned(), body.to_owned()))
        .collect();
    assert!(!sent.is_empty(), "{about}");
    assert!(
        sent.iter().all(|it| it.0.starts_with("refund:comp:") && *it == sent[0]),
        "{about}: {sent:?}"
    );
}

#[tokio::test]
async fn money_that_comes_for_an_order_that_is_paid_already_goes_back_by_itself_on_every_wire() {
    for (declined, card) in [
        ("tok_declined", "tok_visa"),
        ("stripe:pm_card_visa_chargeDeclined", "stripe:pm_card_visa"),
        ("paypal:wallet|refused", "paypal:wallet|balance"),
    ] {
        let world = world().await;
        let (declined, funding) = declined.split_once('|').unwrap_or((declined, ""));
        let checkout = world.buy(declined).await;
        if !funding.is_empty() {
            world.approve_at_paypal(&checkout, funding).await;
        }
        world.until(&checkout, &["rejected"]).await;
        let first = crate::attacks::id_of(&world, &checkout, 1).await;
        let (token, funding) = card.split_once('|').unwrap_or((card, ""));
        crate::attacks::pay_again(&world, &checkout, token).await;
        if !funding.is_empty() {
            world.approve_at_paypal(&checkout, funding).await;
        }
        world.agree(&checkout, "succeeded", 1).await;
        // The answer of what goes back is lost: it is still one refund.
        world.fault("create_refund", json!([{"answer": {"kind": LOST}}])).await;
        crate::attacks::decides(&world, &first, "succeeded", false).await;
        settled(&world, &checkout, &["succeeded"]).await;
        assert_eq!(world.states(&checkout, "payment").await, ["succeeded"; 2], "{card}");
        assert_eq!(world.order_state(&checkout).await, "paid", "{card}");
        let mut effects = world.effects(&checkout).await;
        effects.sort();
        let told: Vec<(&str, i64)> = effects.iter().map(|it| (it.0.as_str(), it.1)).collect();
        assert_eq!(told, [("charge", 2990), ("charge", 2990), ("refund", -2990)], "{card}");
        compensated_once(&world, card).await;
        let of = "select count(*) from operations paid join operations back
             on back.compensates_operation_id = paid.id where paid.attempt = 1";
        assert_eq!(world.number(of).await, 1, "{card}: it is the first one that goes back");
        assert_eq!(refundable(&world, &checkout).await, 2990, "{card}: the second one stays");
        assert_eq!(world.number("select sum(sold) from stock").await, 1, "{card}");
        assert_eq!(
            world.number("select count(*) from anomalies where kind = 'late_success'").await,
            1
        );
        assert!(world.next_form(&checkout).await.is_none(), "{card}");
    }
}

#[tokio::test]
async fn money_that_comes_for_an_order_given_up_goes_back_by_itself_on_every_wire() {
    for ([card, ..], takes) in
        WIRES.into_iter().zip(["create_payment", "confirm_payment", "capture_payment"])
    {
        let world = world().await;
        let (token, funding) = card.split_once('|').unwrap_or((card, ""));
        let lost = json!([{"answer": {"kind": LOST}, "webhook": {"mode": "never"}}]);
        let mut unseen = lost.clone();
        unseen[0]["lookup"] = json!({"not_found_for_ms": 600_000});
        world.fault_then(takes, unseen, "repeat_last").await;
        let checkout = world.buy(token).await;
        if !funding.is_empty() {
            world.approve_at_paypal(&checkout, funding).await;
        }
        world.until(&checkout, &["pending_confirmation"]).await;
        let post = world.request(Method::POST, &format!("/checkout/{checkout}/cancel"));
        let post = post.header("Content-Type", "application/x-www-form-urlencoded").body("");
        assert_eq!(world.send(post).await.0, 303);
        world.control("/control/faults/clear", &json!({})).await;
        world.fault("create_refund", lost).await;
        settled(&world, &checkout, &["succeeded"]).await;
        assert_eq!(world.states(&checkout, "payment").await, ["succeeded"], "{card}");
        assert_eq!(world.order_state(&checkout).await, "refunded", "{card}");
        let effects = world.effects(&checkout).await;
        assert_eq!(effects, [("charge".to_owned(), 2990), ("refund".to_owned(), -2990)], "{card}");
        compensated_once(&world, card).await;
        assert_eq!(refundable(&world, &checkout).await, 0, "{card}");
        assert_eq!(world.number("select sum(sold) + sum(reserved) from stock").await, 0, "{card}");
        assert!(world.next_form(&checkout).await.is_none(), "{card}");
    }
}

#[tokio::test]
async fn old_news_of_a_refund_that_comes_after_newer_news_changes_nothing() {
    // PayPal tells nothing of a refund that waits.
    for (card, heard) in [
        ("tok_refund_pending", ["refund.succeeded", "refund.pending"]),
        ("stripe:pm_sim_refund_pending", ["refund.updated", "refund.created"]),
    ] {
        let world = world().await;
        let checkout = paid(&world, card).await;
        world.control("/control/lookups", &json!({"status": 503, "for_ms": 600_000})).await;
        world.fault("create_refund", json!([{"webhook": {"reverse": true}}])).await;
        assert_eq!(ask(&world, &checkout, Uuid::new_v4(), 1000).await.0, 202);
        let told = async || {
            let all: Vec<String> = sqlx::query_scalar(
                "select event_type from provider_events where event_type like 'refund.%' order by id",
            )
            .fetch_all(world.database())
            .await
            .unwrap();
            all
        };
        world.until_that("both are here", async || told().await.len() == 2).await;
        assert_eq!(told().await, heard, "{card}: the newer one came first");
        assert_eq!(world.states(&checkout, "refund").await, ["succeeded"], "{card}");
        world.control("/control/lookups", &json!({})).await;
        world.until_number("select count(*) from operations where lookup_wanted = 1", 0).await;
        assert_eq!(world.states(&checkout, "refund").await, ["succeeded"], "{card}");
        assert!(world.states(&checkout, "external").await.is_empty(), "{card}: it is our own");
        assert_eq!(world.order_state(&checkout).await, "partially_refunded", "{card}");
        assert_eq!(balance(&world, &checkout).await, 1990, "{card}");
        assert_eq!(refundable(&world, &checkout).await, 1990, "{card}");
    }
}

#[tokio::test]
async fn the_same_wish_twenty_times_at_once_is_one_refund_and_another_amount_is_a_conflict() {
    let world = world().await;
    let checkout = paid(&world, "tok_visa").await;
    let id = Uuid::new_v4();
    let answers = futures::future::join_all((0..20).map(|_| ask(&world, &checkout, id, 500))).await;
    assert!(answers.iter().all(|(status, _)| *status == 202), "{answers:?}");
    let first = answers.iter().filter(|(_, body)| body["repeated"] == false).count();
    assert_eq!(first, 1);
    let (status, body) = ask(&world, &checkout, id, 501).await;
    assert_eq!((status, &body["code"]), (422, &json!("IDEMPOTENCY_CONFLICT")));
    settled(&world, &checkout, &["succeeded"]).await;
    assert_eq!(balance(&world, &checkout).await, 2490);
}

#[tokio::test]
async fn twenty_refunds_at_once_never_exceed_what_was_taken() {
    for [card, ..] in WIRES {
        let world = world().await;
        let checkout = paid(&world, card).await;
        let asked = (0..20).map(|_| ask(&world, &checkout, Uuid::new_v4(), 1000));
        let answers = futures::future::join_all(asked).await;
        let taken = answers.iter().filter(|(status, _)| *status == 202).count();
        let refused = answers.iter().filter(|(status, _)| *status == 422).count();
        assert_eq!((taken, refused), (2, 18), "{answers:?}");
        settled(&world, &checkout, &["succeeded"; 2]).await;
        assert_eq!(balance(&world, &checkout).await, 990);
    }
}

#[tokio::test]
async fn what_is_unknown_keeps_its_amount_and_is_refunded_once() {
    for [card, ..] in WIRES {
        let world = world().await;
        let checkout = paid(&world, card).await;
        world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
        world.control("/control/lookups", &json!({"status": 503, "for_ms": 600_000})).await;
        world.fault("create_refund", json!([{"answer": {"kind": LOST}}])).await;
        assert_eq!(ask(&world, &checkout, Uuid::new_v4(), 2000).await.0, 202);
        settled(&world, &checkout, &["pending_confirmation"]).await;
        assert_eq!(refundable(&world, &checkout).await, 990, "what may have gone is kept");
        assert_eq!(ask(&world, &checkout, Uuid::new_v4(), 991).await.0, 422);
        assert_eq!(world.order_state(&checkout).await, "paid", "unknown is not refunded");
        world.control("/control/lookups", &json!({})).await;
        settled(&world, &checkout, &["succeeded"]).await;
        assert_eq!(world.order_state(&checkout).await, "partially_refunded");
        assert_eq!(balance(&world, &checkout).await, 990);
    }
}

#[tokio::test]
async fn a_refund_that_is_pending_is_not_called_refunded() {
    for [_, card, _] in WIRES {
        let world = world().await;
        let checkout = paid(&world, card).await;
        assert_eq!(ask(&world, &checkout, Uuid::new_v4(), 2990).await.0, 202);
        settled(&world, &checkout, &["pending_confirmation"]).await;
        assert_eq!(world.order_state(&checkout).await, "paid", "{card}");
        settled(&world, &checkout, &["succeeded"]).await;
        assert_eq!(world.order_state(&checkout).await, "refunded", "{card}");
    }
}

#[tokio::test]
async fn a_refund_that_comes_back_restores_the_balance_and_is_told() {
    for [_, _, card] in WIRES.into_iter().filter(|[_, _, card]| !card.is_empty()) {
        let world = world().await;
        let checkout = paid(&world, card).await;
        assert_eq!(ask(&world, &checkout, Uuid::new_v4(), 1000).await.0, 202);
        settled(&world, &checkout, &["succeeded"]).await;
        assert_eq!(world.order_state(&checkout).await, "partially_refunded");
        settled(&world, &checkout, &["reversed"]).await;
        assert_eq!(world.order_state(&checkout).await, "paid", "{card}");
        assert_eq!(refundable(&world, &checkout).await, 2990, "{card}");
        assert_eq!(balance(&world, &checkout).await, 2990, "{card}");
        let alerts = "select count(*) from alerts where kind = 'reversed'";
        assert_eq!(world.number(alerts).await, 1, "{card}");
        let path = format!("/checkout/{checkout}");
        let (_, _, html) = world.send(world.request(Method::GET, &path)).await;
        assert!(html.contains("came back to us"), "{card}: {html}");
    }
}

#[tokio::test]
async fn a_refund_in_the_providers_dashboard_reduces_what_can_be_given_back() {
    for [card, ..] in WIRES {
        let world = world().await;
        let checkout = paid(&world, card).await;
        let id: String = sqlx::query_scalar(
            "select provider_operation_id from operations where kind = 'payment'",
        )
        .fetch_one(world.database())
        .await
        .unwrap();
        let dashboard = format!("/control/payments/{id}/refund");
        world.control(&dashboard, &json!({"amount_minor": 2000})).await;
        world
            .until_that("it is known here", async || refundable(&world, &checkout).await == 990)
            .await;
        assert_eq!(world.states(&checkout, "external").await, ["succeeded"], "{card}");
        assert_eq!(world.order_state(&checkout).await, "partially_refunded", "{card}");
        assert_eq!(ask(&world, &checkout, Uuid::new_v4(), 991).await.0, 422);
        assert_eq!(ask(&world, &checkout, Uuid::new_v4(), 990).await.0, 202);
        settled(&world, &checkout, &["succeeded"]).await;
        assert_eq!(world.order_state(&checkout).await, "refunded", "{card}");
        let ledger = world.ask("/control/ledger").await;
        assert_eq!(ledger["sum_minor_by_currency"]["EUR"], 0, "{card}: {ledger}");
        let told = "select count(*) from alerts where kind = 'external_effect'";
        assert_eq!(world.number(told).await, 1, "{card}");
    }
}

#[tokio::test]
async fn the_daily_comparison_finds_what_nobody_told() {
    // PayPal's report is compared in sweep.rs.
    for [card, ..] in &WIRES[..2] {
        let world = World::with(Options {
            shop: vec![
                ("PAYONCE_OPERATOR_TOKEN", TOKEN.to_owned()),
                ("PAYONCE_SWEEP_SECONDS", "1".to_owned()),
            ],
            ..Options::default()
        })
        .await;
        let checkout = paid(&world, card).await;
        world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
        let id: String = sqlx::query_scalar(
            "select provider_operation_id from operations where kind = 'payment'",
        )
        .fetch_one(world.database())
        .await
        .unwrap();
        let dashboard = format!("/control/payments/{id}/refund");
        world.control(&dashboard, &json!({"amount_minor": 1500})).await;
        world
            .until_that("the refund is found", async || refundable(&world, &checkout).await == 1490)
            .await;
        assert_eq!(
            world
                .number("select count(*) from alerts where kind = 'effect_without_operation'")
                .await,
            0
        );
        // A payment that no order of ours asked for.
        world.pay_behind_our_back(card).await;
        world
            .until_number("select count(*) from alerts where kind = 'effect_without_operation'", 1)
            .await;
        // It is one incident however often it is seen.
        let swept = "select max(swept_at) from sweeps";
        let before = world.number(swept).await;
        world
            .until_that("it is compared again", async || world.number(swept).await > before + 1500)
            .await;
        assert_eq!(
            world
                .number("select count(*) from alerts where kind = 'effect_without_operation'")
                .await,
            1
        );
        world.agree(&checkout, "succeeded", 1).await;
    }
}

#[tokio::test]
async fn the_api_is_for_the_holder_of_its_token_and_reads_strictly() {
    let world = world().await;
    let checkout = paid(&world, "tok_visa").await;
    let reference = world.reference(&checkout).await;
    let path = format!("/api/orders/{reference}/refunds");
    let good = json!({"refund_request_id": Uuid::new_v4(), "amount_minor": 1, "currency": "EUR", "reason": "r"});
    for token in [None, Some("wrong"), Some(""), Some(&TOKEN[..20])] {
        let request = world.http.post(world.url(&path)).json(&good);
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        assert_eq!(request.send().await.unwrap().status(), 401, "{token:?}");
    }
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    for (body, status) in [
        (with("amount_minor", json!(0)), 422),
        (with("amount_minor", json!(-5)), 422),
        (with("amount_minor", json!(1.5)), 400),
        (with("amount_minor", json!("1")), 400),
        (with("amount_minor", json!(i64::MAX)), 422),
        (with("currency", json!("JPY")), 422),
        (with("currency", json!("euros")), 400),
        (with("refund_request_id", json!("1")), 400),
        (with("reason", json!(" ")), 400),
        (with("price", json!(5)), 400),
        (json!([]), 400),
    ] {
        let (given, told) = api(&world, Method::POST, &path, Some(body.clone())).await;
        assert_eq!(given, status, "{body}: {told}");
        assert!(told["detail"].as_str().is_some_and(|it| !it.is_empty()), "{told}");
    }
    let nobody = "/api/orders/P-0000-0000/refunds";
    assert_eq!(api(&world, Method::POST, nobody, Some(good)).await.0, 404);
    assert_eq!(world.number("select count(*) from operations where kind = 'refund'").await, 0);
    assert_eq!(balance(&world, &checkout).await, 2990);
}

#[tokio::test]
async fn an_order_that_was_not_paid_has_nothing_to_give_back() {
    let world = world().await;
    for (card, state) in [("tok_declined", "rejected"), ("tok_3ds", "requires_action")] {
        let checkout = world.buy(card).await;
        world.until(&checkout, &[state]).await;
        assert_eq!(ask(&world, &checkout, Uuid::new_v4(), 1).await.0, 422, "{card}");
        assert_eq!(refundable(&world, &checkout).await, 0, "{card}");
    }
}

#[tokio::test]
async fn case_18_fully_refunded_on_a_repeat_is_our_own_refund_found_by_its_reference() {
    let world = world().await;
    let checkout = paid(&world, "paypal:wallet|balance").await;
    let issue = r#"{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"CAPTURE_FULLY_REFUNDED"}]}"#;
    world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
    world.control("/control/lookups", &json!({"not_found_for_ms": 2500})).await;
    world
        .fault(
            "create_refund",
            json!([
                {"answer": {"kind": LOST}},
                {"execute": false, "answer": {"kind": "status", "status": 422, "body": issue}},
            ]),
        )
        .await;
    assert_eq!(ask(&world, &checkout, Uuid::new_v4(), 2990).await.0, 202);
    settled(&world, &checkout, &["succeeded"]).await;
    assert_eq!(world.order_state(&checkout).await, "refunded");
    assert_eq!(balance(&world, &checkout).await, 0);
}

#[tokio::test]
async fn money_that_went_back_before_it_was_known_to_have_come_pays_no_order() {
    back_before_known("refunded", 2990, false).await;
}

#[tokio::test]
async fn an_order_of_whose_money_a_part_went_back_before_it_was_known_to_have_come_is_paid() {
    back_before_known("partially_refunded", 1000, false).await;
}

#[tokio::test]
async fn money_that_went_back_for_an_order_given_up_is_not_sent_back_twice() {
    back_before_known("refunded", 2990, true).await;
}

async fn back_before_known(end: &str, amount: i64, given_up: bool) {
    let world = world().await;
    world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
    world.control("/control/lookups", &json!({"status": 503, "for_ms": 600_000})).await;
    world.fault("confirm_payment", json!([{"answer": {"kind": LOST}}])).await;
    let checkout = world.buy("stripe:pm_card_visa").await;
    world.until(&checkout, &["pending_confirmation"]).await;
    if given_up {
        let post = world.request(Method::POST, &format!("/checkout/{checkout}/cancel"));
        let post = post.header("Content-Type", "application/x-www-form-urlencoded").body("");
        assert_eq!(world.send(post).await.0, 303);
    }
    world.control("/control/webhooks/mode", &json!({"mode": "normal"})).await;
    let id: String =
        sqlx::query_scalar("select provider_operation_id from operations where kind = 'payment'")
            .fetch_one(world.database())
            .await
            .unwrap();
    let dashboard = format!("/control/payments/{id}/refund");
    world.control(&dashboard, &json!({"amount_minor": amount})).await;
    world
        .until_that("the refund is on record", async || {
            world.states(&checkout, "external").await == ["succeeded"]
        })
        .await;
    world.control("/control/lookups", &json!({})).await;
    world.until(&checkout, &["succeeded"]).await;
    assert_eq!(world.order_state(&checkout).await, end, "as if heard in order");
    assert_eq!(refundable(&world, &checkout).await, 2990 - amount);
    assert!(world.next_form(&checkout).await.is_none(), "it was paid");
    let told = "select count(*) from alerts where kind = 'returned_before_taken'";
    assert_eq!(world.number(told).await, i64::from(!given_up));
    assert!(world.states(&checkout, "refund").await.is_empty(), "nothing is left to give back");
    let sold = i64::from(amount < 2990);
    assert_eq!(world.number("select sum(sold) from stock").await, sold);
    assert_eq!(world.number("select sum(reserved) from stock").await, 0);
    assert_eq!(
        world.effects(&checkout).await.len(),
        1,
        "one charge, and nothing of ours went back"
    );
}

#[tokio::test]
async fn a_second_effect_under_our_reference_is_found_by_the_comparison() {
    let world = World::with(Options {
        shop: vec![("PAYONCE_SWEEP_SECONDS", "1".to_owned())],
        ..Options::default()
    })
    .await;
    let checkout = paid(&world, "stripe:pm_card_visa").await;
    let reference = format!("{}-1", world.reference(&checkout).await);
    world.pay_with_reference("stripe:pm_card_visa", &reference).await;
    world
        .until_number("select count(*) from alerts where kind = 'effect_without_operation'", 1)
        .await;
}
