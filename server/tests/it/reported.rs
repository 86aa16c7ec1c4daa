//! Failures reported for other shops, and their relatives: keys over repeats, events that are not
//! what they seem, refunds at their bounds. Numbers are those of the reports.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use uuid::Uuid;

use crate::harness::{Options, World};

const TOKEN: &str = "an-operators-token-of-these-tests";
pub const LOST: &str = "drop_before_headers";
pub const NOT_APPLIED: &str = "select count(*) from provider_events where state <> 'applied'";
const PARKED: &str = "select count(*) from provider_events where state = 'parked'";

/// How a provider is paid and tells of a refund.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    pub name: &'static str,
    /// What the shopper chooses; behind the bar, on PayPal's page.
    pub card: &'static str,
    /// The requests that make effects, as fault scripts name them.
    pub effects: &'static [&'static str],
    /// The event of a refund that is done.
    pub refunded: &'static str,
}

pub const EXAMPLEPAY: Wire = Wire {
    name: "examplepay",
    card: "tok_visa",
    effects: &["create_payment", "create_refund"],
    refunded: "refund.succeeded",
};

pub const STRIPE: Wire = Wire {
    name: "stripe",
    card: "stripe:pm_card_visa",
    effects: &["create_payment", "confirm_payment", "create_refund"],
    refunded: "refund.updated",
};

pub const PAYPAL: Wire = Wire {
    name: "paypal",
    card: "paypal:wallet|balance",
    effects: &["create_payment", "capture_payment", "create_refund"],
    refunded: "PAYMENT.CAPTURE.REFUNDED",
};

pub const WIRES: [Wire; 3] = [EXAMPLEPAY, STRIPE, PAYPAL];

impl Wire {
    /// An amount in this wire's words, as the fields of a refund.
    fn amount(self, minor: i64, currency: &str) -> Value {
        match self.name {
            "stripe" => json!({"amount": minor, "currency": currency.to_lowercase()}),
            "paypal" => {
                let sign = if minor < 0 { "-" } else { "" };
                let (whole, part) = (minor.unsigned_abs() / 100, minor.unsigned_abs() % 100);
                let value = match currency {
                    "JPY" => minor.to_string(),
                    _ => format!("{sign}{whole}.{part:02}"),
                };
                json!({"amount": {"currency_code": currency, "value": value}})
            }
            _ => json!({"amount_minor": minor, "currency": currency}),
        }
    }
}

pub async fn world() -> World {
    with(Options::default()).await
}

pub async fn with(options: Options) -> World {
    let mut options = options;
    options.shop.push(("PAYONCE_OPERATOR_TOKEN", TOKEN.to_owned()));
    World::with(options).await
}

pub async fn mode(world: &World, mode: &str) {
    world.control("/control/webhooks/mode", &json!({"mode": mode})).await;
}

pub async fn lookups(world: &World, answer: Value) {
    world.control("/control/lookups", &answer).await;
}

pub async fn blind(world: &World) {
    lookups(world, json!({"status": 503, "for_ms": 600_000})).await;
}

pub async fn buy(world: &World, wire: Wire) -> String {
    let (card, funding) = wire.card.split_once('|').unwrap_or((wire.card, ""));
    let checkout = world.buy(card).await;
    if !funding.is_empty() {
        world.approve_at_paypal(&checkout, funding).await;
    }
    checkout
}

/// A paid order of 2990.
pub async fn paid(world: &World, wire: Wire) -> String {
    let checkout = buy(world, wire).await;
    world.agree(&checkout, "succeeded", 1).await;
    checkout
}

/// The provider's id of the newest payment.
pub async fn payment_id(world: &World) -> String {
    sqlx::query_scalar(
        "select provider_operation_id from operations where kind = 'payment'
         order by created_at desc limit 1",
    )
    .fetch_one(world.database())
    .await
    .unwrap()
}

/// The provider's id of the only refund it made.
async fn refund_id(world: &World) -> String {
    let ledger = world.ask("/control/ledger").await;
    let mut effects = ledger["effects"].as_array().unwrap().iter();
    effects.find_map(|it| it["refund"].as_str()).expect("a refund is in the ledger").to_owned()
}

/// Tells the shop something by an event, which it takes.
pub async fn tell(world: &World, event: &Value) {
    let answer = world.control("/control/webhooks", event).await;
    assert_eq!(answer["statuses"], json!([200]), "{event}");
}

pub async fn ask_for(world: &World, checkout: &str, id: Uuid, amount: i64) -> (u16, Value) {
    let path = format!("/api/orders/{}/refunds", world.reference(checkout).await);
    let body = json!({
        "refund_request_id": id, "amount_minor": amount, "currency": "EUR",
        "reason": "the lid was chipped",
    });
    let request = world.http.post(world.url(&path)).bearer_auth(TOKEN).json(&body);
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
}

pub async fn ask(world: &World, checkout: &str, amount: i64) -> u16 {
    ask_for(world, checkout, Uuid::new_v4(), amount).await.0
}

pub async fn refundable(world: &World, checkout: &str) -> i64 {
    let path = format!("/api/orders/{}", world.reference(checkout).await);
    let answer = world.http.get(world.url(&path)).bearer_auth(TOKEN).send().await.unwrap();
    let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    body["refundable_minor"].as_i64().unwrap()
}

pub async fn settled(world: &World, checkout: &str, kind: &str, wanted: &[&str]) {
    let what = format!("the {kind} operations are {wanted:?}");
    world.until_that(&what, async || world.states(checkout, kind).await == wanted).await;
}

pub async fn until_order(world: &World, checkout: &str, wanted: &str) {
    let what = format!("the order is {wanted}");
    world.until_that(&what, async || world.order_state(checkout).await == wanted).await;
}

pub async fn balance(world: &World, checkout: &str) -> i64 {
    world.effects(checkout).await.iter().map(|(_, amount)| amount).sum()
}

pub async fn alerts(world: &World, kind: &str) -> i64 {
    sqlx::query_scalar("select count(*) from alerts where kind = ?")
        .bind(kind)
        .fetch_one(world.database())
        .await
        .unwrap()
}

pub async fn give_up(world: &World, checkout: &str) {
    let post = world.request(Method::POST, &format!("/checkout/{checkout}/cancel"));
    let post = post.header("Content-Type", "application/x-www-form-urlencoded").body("");
    assert_eq!(world.send(post).await.0, 303);
}

/// Every keyed request the providers received: the address, and the keys it was sent with.
pub async fn keys(world: &World) -> BTreeMap<String, Vec<String>> {
    let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for request in world.requests().await {
        if let (Some(key), Some(path)) = (request["key"].as_str(), request["path"].as_str()) {
            keys.entry(path.to_owned()).or_default().push(key.to_owned());
        }
    }
    keys
}

#[tokio::test]
async fn case_21_22_and_34_every_repeat_of_a_step_bears_its_first_key() {
    for wire in WIRES {
        for executed in [true, false] {
            let world = world().await;
            mode(&world, "off").await;
            for effect in wire.effects {
                let lost = json!([{"execute": executed, "answer": {"kind": LOST}}]);
                world.fault(effect, lost).await;
            }
            let checkout = buy(&world, wire).await;
            world.agree(&checkout, "succeeded", 1).await;
            assert_eq!(ask(&world, &checkout, 1000).await, 202);
            settled(&world, &checkout, "refund", &["succeeded"]).await;
            assert_eq!(balance(&world, &checkout).await, 1990, "{}", wire.name);
            let keys = keys(&world).await;
            assert_eq!(keys.len(), wire.effects.len(), "{keys:?}");
            for (path, sent) in keys {
                assert!(sent.iter().all(|key| *key == sent[0]), "{path}: {sent:?}");
                assert!(executed || sent.len() > 1, "{path} was sent again: {sent:?}");
            }
        }
    }
}

#[tokio::test]
async fn case_25_no_key_is_used_at_two_addresses() {
    let world = world().await;
    for wire in WIRES {
        let checkout = paid(&world, wire).await;
        for amount in [1000, 1990] {
            assert_eq!(ask(&world, &checkout, amount).await, 202);
        }
        settled(&world, &checkout, "refund", &["succeeded"; 2]).await;
    }
    for card in ["tok_3ds", "stripe:pm_card_threeDSecure2Required"] {
        let checkout = world.buy(card).await;
        world.until(&checkout, &["requires_action"]).await;
        give_up(&world, &checkout).await;
        until_order(&world, &checkout, "canceled").await;
    }
    let mut addresses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, sent) in keys(&world).await {
        for key in sent {
            addresses.entry(key).or_default().insert(path.clone());
        }
    }
    // One, two and two steps of payments; two refunds each; one payment and one cancel of
    // ExamplePay's; an intent, its confirmation and its cancel at Stripe.
    assert_eq!(addresses.len(), 5 + 6 + 2 + 3, "{addresses:?}");
    assert!(addresses.values().all(|paths| paths.len() == 1), "{addresses:?}");
}

#[tokio::test]
async fn case_30_a_500_that_the_key_gives_for_ever_is_asked_about_and_never_becomes_a_no() {
    let world = with(Options { scale: "0.004", ..Options::default() }).await;
    mode(&world, "off").await;
    let error = r#"{"error":{"type":"api_error","message":"?"}}"#;
    let kept = json!({"kind": "status", "status": 500, "body": error, "headers": {"Idempotent-Replayed": "true"}});
    world
        .fault_then(
            "create_payment",
            json!([{"execute": false, "answer": kept, "save": true}]),
            "repeat_last",
        )
        .await;
    let checkout = world.buy("tok_visa").await;
    world.until(&checkout, &["requires_review"]).await;
    let sends = world.sends(&checkout).await;
    assert!((2..=4).contains(&sends.len()), "{sends:?}");
    assert!(sends.iter().all(|it| it["key"] == sends[0]["key"]), "{sends:?}");
    let asked = "select count(*) from attempts where step is null";
    assert!(world.number(asked).await > 4, "it is asked about");
    let history = world.history(&checkout).await;
    assert!(!history.iter().any(|it| matches!(it.as_str(), "rejected" | "canceled")));
    assert!(world.next_form(&checkout).await.is_none());
    world.agree(&checkout, "requires_review", 0).await;
}

#[tokio::test]
async fn case_33_and_54_pay_pressed_again_after_a_lost_create_makes_no_second_object() {
    for (wire, create) in [(STRIPE, "/v1/payment_intents"), (PAYPAL, "/v2/checkout/orders")] {
        let world = world().await;
        mode(&world, "off").await;
        world.fault("create_payment", json!([{"answer": {"kind": LOST}}])).await;
        world.add("cups", 1).await;
        let form = world.form().await;
        let (card, funding) = wire.card.split_once('|').unwrap_or((wire.card, ""));
        assert_eq!(world.post(&form, card).await.0, 303);
        world.until(&form.checkout, &["pending_confirmation"]).await;
        for token in [card, "tok_visa"] {
            assert_eq!(world.post(&form, token).await.0, 303);
        }
        if !funding.is_empty() {
            world.approve_at_paypal(&form.checkout, funding).await;
        }
        world.agree(&form.checkout, "succeeded", 1).await;
        let reference = format!("{}-1", world.reference(&form.checkout).await);
        let made = world.ask(&format!("/control/payments?reference={reference}")).await;
        assert_eq!(made["payments"].as_array().unwrap().len(), 1, "{}: {made}", wire.name);
        let keys: BTreeSet<String> = keys(&world).await[create].iter().cloned().collect();
        assert_eq!(keys.len(), 1, "{}: {keys:?}", wire.name);
    }
}

#[tokio::test]
async fn case_41_an_event_and_six_returns_at_once_complete_the_order_once() {
    let world = world().await;
    for _ in 0..5 {
        let checkout = world.buy("tok_3ds").await;
        world.until(&checkout, &["requires_action"]).await;
        let id = payment_id(&world).await;
        let path = format!("/checkout/{checkout}/return?payment={id}");
        let returns = (0..6).map(|_| world.request(Method::GET, &path).send());
        let confirmed = format!("/control/payments/{id}");
        let confirmed = json!({"path": confirmed, "body": {"status": "succeeded"}});
        let turn = world.control(confirmed["path"].as_str().unwrap(), &confirmed["body"]);
        let (_, visits) = futures::future::join(turn, futures::future::join_all(returns)).await;
        assert!(visits.iter().all(|it| it.as_ref().unwrap().status() == 303));
        world.agree(&checkout, "succeeded", 1).await;
        let history = world.history(&checkout).await;
        assert_eq!(history.iter().filter(|it| *it == "succeeded").count(), 1, "{history:?}");
    }
    world.until_number(NOT_APPLIED, 0).await;
    assert_eq!(world.number("select count(*) from outbox where topic = 'order.paid'").await, 5);
    assert_eq!(world.number("select sum(sold) from stock").await, 5);
    assert_eq!(world.number("select sum(reserved) from stock").await, 0);
}

#[tokio::test]
async fn case_45_an_event_that_cannot_be_judged_is_kept_holds_up_nobody_and_is_judged_later() {
    let world = world().await;
    let poisoned = world.buy("tok_3ds").await;
    world.until(&poisoned, &["requires_action"]).await;
    world.until_number(NOT_APPLIED, 0).await;
    let id = payment_id(&world).await;
    let held = "create trigger poison before insert on transitions when new.to_state = 'succeeded'
            and new.order_id = (select id from orders where checkout_id = '";
    let shop = SqliteConnectOptions::new().filename(world.database_file());
    let shop = SqlitePoolOptions::new().max_connections(1).connect_with(shop).await.unwrap();
    let trigger = format!("{held}{poisoned}') begin select raise(abort, 'poison'); end");
    sqlx::raw_sql(sqlx::AssertSqlSafe(trigger)).execute(&shop).await.unwrap();
    blind(&world).await;
    let turn = json!({"status": "succeeded", "silent": true});
    world.control(&format!("/control/payments/{id}"), &turn).await;
    let event = json!({"payment": id, "type": "payment.succeeded", "event_id": "evt_poison"});
    tell(&world, &event).await;
    assert_eq!(world.number(PARKED).await, 1, "it is kept");
    assert_eq!(alerts(&world, "parked_event").await, 1);
    // It is told again, and others come.
    tell(&world, &event).await;
    mode(&world, "normal").await;
    let other = world.buy("tok_lost_response").await;
    world.agree(&other, "succeeded", 1).await;
    assert_eq!(world.state(&poisoned).await, "requires_action");
    sqlx::query("drop trigger poison").execute(&shop).await.unwrap();
    world.agree(&poisoned, "succeeded", 1).await;
    assert_eq!(world.number("select count(*) from outbox where topic = 'order.paid'").await, 2);
    world.until_number(PARKED, 0).await;
    let open = "select count(*) from alerts where kind = 'parked_event' and closed_at is null";
    assert_eq!(world.number(open).await, 0, "the incident is over");
}

#[tokio::test]
async fn case_48_without_a_single_event_every_wire_finds_out() {
    for wire in WIRES {
        let world = world().await;
        mode(&world, "off").await;
        let checkout = paid(&world, wire).await;
        assert_eq!(ask(&world, &checkout, 2990).await, 202);
        settled(&world, &checkout, "refund", &["succeeded"]).await;
        until_order(&world, &checkout, "refunded").await;
        assert_eq!(world.number("select count(*) from provider_events").await, 0);
    }
}

#[tokio::test]
async fn case_68_two_refunds_at_once_share_what_is_left_to_the_last_cent() {
    for (first, second, taken) in [(1495, 1495, 2), (1496, 1495, 1), (2990, 1, 1)] {
        let world = world().await;
        let checkout = paid(&world, EXAMPLEPAY).await;
        let both = [first, second].map(|amount| ask(&world, &checkout, amount));
        let mut statuses = futures::future::join_all(both).await;
        statuses.sort_unstable();
        let wanted = if taken == 2 { [202, 202] } else { [202, 422] };
        assert_eq!(statuses, wanted, "{first} and {second}");
        let states = vec!["succeeded"; taken];
        settled(&world, &checkout, "refund", &states).await;
        let left = balance(&world, &checkout).await;
        assert!((0..2990).contains(&left), "{first} and {second}: {left}");
        assert_eq!(refundable(&world, &checkout).await, left);
    }
}

#[tokio::test]
async fn a_refund_id_of_another_order_or_of_a_checkout_is_no_second_refund() {
    let world = world().await;
    let (first, second) = (paid(&world, EXAMPLEPAY).await, paid(&world, EXAMPLEPAY).await);
    let id = Uuid::new_v4();
    assert_eq!(ask_for(&world, &first, id, 1000).await.0, 202);
    let (status, told) = ask_for(&world, &second, id, 1000).await;
    assert_eq!((status, &told["code"]), (422, &json!("IDEMPOTENCY_CONFLICT")));
    assert_eq!(refundable(&world, &second).await, 2990, "nothing was done to it");
    // The id of the checkout itself makes another key than its payment has.
    let id = Uuid::parse_str(&second).unwrap();
    assert_eq!(ask_for(&world, &second, id, 1000).await.0, 202);
    settled(&world, &second, "refund", &["succeeded"]).await;
    settled(&world, &first, "refund", &["succeeded"]).await;
    assert_eq!(balance(&world, &first).await + balance(&world, &second).await, 2 * 1990);
}

#[tokio::test]
async fn a_refund_that_was_refused_stays_refused_and_another_wish_has_another_key() {
    let world = world().await;
    let checkout = paid(&world, STRIPE).await;
    let no = r#"{"error":{"type":"invalid_request_error","code":"charge_already_refunded"}}"#;
    let no = json!({"kind": "status", "status": 400, "body": no});
    world.fault("create_refund", json!([{"execute": false, "answer": no}])).await;
    let id = Uuid::new_v4();
    assert_eq!(ask_for(&world, &checkout, id, 1000).await.0, 202);
    settled(&world, &checkout, "refund", &["rejected"]).await;
    assert_eq!(refundable(&world, &checkout).await, 2990, "its amount is free");
    let (status, told) = ask_for(&world, &checkout, id, 1000).await;
    assert_eq!(
        (status, &told["repeated"], &told["state"]),
        (202, &json!(true), &json!("rejected"))
    );
    assert_eq!(keys(&world).await["/v1/refunds"].len(), 1, "a no is not sent again");
    assert_eq!(ask(&world, &checkout, 1000).await, 202);
    settled(&world, &checkout, "refund", &["rejected", "succeeded"]).await;
    let keys = keys(&world).await.remove("/v1/refunds").unwrap();
    assert_eq!((keys.len(), keys[0] == keys[1]), (2, false), "{keys:?}");
    assert_eq!(balance(&world, &checkout).await, 1990);
}

#[tokio::test]
async fn news_of_our_refund_with_another_amount_or_currency_is_asked_about_and_not_believed() {
    for wire in WIRES {
        let world = world().await;
        let checkout = paid(&world, wire).await;
        world.until_number(NOT_APPLIED, 0).await;
        mode(&world, "off").await;
        blind(&world).await;
        world.fault("create_refund", json!([{"answer": {"kind": LOST}}])).await;
        assert_eq!(ask(&world, &checkout, 1000).await, 202);
        settled(&world, &checkout, "refund", &["pending_confirmation"]).await;
        let id = refund_id(&world).await;
        let reference = format!("{}-1-R1", world.reference(&checkout).await);
        let rows = [(1000, "USD"), (1000, "JPY"), (999, "EUR"), (100_000, "EUR"), (-1000, "EUR")];
        for (seen, (minor, currency)) in (1..).zip(rows) {
            let mut overrides = wire.amount(minor, currency);
            match wire.name {
                "stripe" => overrides["metadata"] = json!({"reference": reference}),
                "paypal" => overrides["custom_id"] = json!(reference),
                _ => overrides["reference"] = json!(reference),
            }
            let event = json!({"refund": id, "type": wire.refunded, "overrides": overrides});
            tell(&world, &event).await;
            let about = format!("{}: {minor} {currency}", wire.name);
            let odd = "select count(*) from anomalies where kind = 'mismatch'";
            assert_eq!(world.number(odd).await, seen, "{about}");
            assert_eq!(
                world.states(&checkout, "refund").await,
                ["pending_confirmation"],
                "{about}"
            );
            assert_eq!(refundable(&world, &checkout).await, 1990, "{about}");
            assert!(world.states(&checkout, "external").await.is_empty(), "{about}");
        }
        assert_eq!(world.number(PARKED).await, 0, "{}", wire.name);
        lookups(&world, json!({})).await;
        settled(&world, &checkout, "refund", &["succeeded"]).await;
        assert_eq!(refundable(&world, &checkout).await, 1990, "{}", wire.name);
    }
}

/// Somebody gives 500 back at the provider, and no event tells of it; gives the refund's id.
async fn silent_dashboard_refund(world: &World) -> String {
    mode(world, "off").await;
    let dashboard = format!("/control/payments/{}/refund", payment_id(world).await);
    world.control(&dashboard, &json!({"amount_minor": 500})).await;
    refund_id(world).await
}

#[tokio::test]
async fn what_went_back_elsewhere_by_less_than_nothing_changes_nothing_and_a_person_is_told() {
    for wire in WIRES {
        let world = world().await;
        let checkout = paid(&world, wire).await;
        world.until_number(NOT_APPLIED, 0).await;
        let id = silent_dashboard_refund(&world).await;
        for minor in [-500, 0] {
            let overrides = wire.amount(minor, "EUR");
            tell(&world, &json!({"refund": id, "type": wire.refunded, "overrides": overrides}))
                .await;
            let about = format!("{}: {minor}", wire.name);
            assert_eq!(world.number(PARKED).await, 0, "{about}");
            assert_eq!(refundable(&world, &checkout).await, 2990, "{about}");
            assert!(world.states(&checkout, "external").await.is_empty(), "{about}");
        }
        assert_eq!(alerts(&world, "unmatched_event").await, 2, "{}", wire.name);
        tell(&world, &json!({"refund": id, "type": wire.refunded})).await;
        settled(&world, &checkout, "external", &["succeeded"]).await;
        assert_eq!(refundable(&world, &checkout).await, 2490, "{}", wire.name);
        assert_eq!(world.order_state(&checkout).await, "partially_refunded", "{}", wire.name);
    }
}

#[tokio::test]
async fn what_went_back_elsewhere_in_another_currency_leaves_nothing_to_give_back_blindly() {
    for wire in WIRES {
        let world = world().await;
        let checkout = paid(&world, wire).await;
        let id = silent_dashboard_refund(&world).await;
        let overrides = wire.amount(540, "USD");
        tell(&world, &json!({"refund": id, "type": wire.refunded, "overrides": overrides})).await;
        settled(&world, &checkout, "external", &["succeeded"]).await;
        assert_eq!(alerts(&world, "external_effect").await, 1, "{}", wire.name);
        assert_eq!(refundable(&world, &checkout).await, 0, "{}", wire.name);
        assert_eq!(ask(&world, &checkout, 1).await, 422, "{}", wire.name);
        assert_eq!(world.order_state(&checkout).await, "partially_refunded", "{}", wire.name);
    }
}

#[tokio::test]
async fn amounts_past_all_bounds_count_as_everything_and_stop_nothing() {
    let world = with(Options {
        shop: vec![("PAYONCE_SWEEP_SECONDS", "1".to_owned())],
        ..Options::default()
    })
    .await;
    let checkout = paid(&world, STRIPE).await;
    let id = silent_dashboard_refund(&world).await;
    for number in 1..=2 {
        let overrides = json!({"id": format!("re_huge{number}"), "amount": i64::MAX});
        tell(&world, &json!({"refund": id, "type": "refund.created", "overrides": overrides}))
            .await;
    }
    assert_eq!(world.number(PARKED).await, 0);
    // The true one is found by the comparison all the same.
    settled(&world, &checkout, "external", &["succeeded"; 3]).await;
    assert_eq!(refundable(&world, &checkout).await, 0);
    assert_eq!(ask(&world, &checkout, 1).await, 422);
    assert_eq!(world.order_state(&checkout).await, "refunded");
    let other = paid(&world, EXAMPLEPAY).await;
    assert_eq!(refundable(&world, &other).await, 2990);
}

#[tokio::test]
async fn a_charge_that_tells_again_and_again_what_was_refunded_in_all_is_counted_once() {
    let world = world().await;
    let checkout = paid(&world, STRIPE).await;
    let id = payment_id(&world).await;
    for amount in [1000, 500] {
        assert_eq!(ask(&world, &checkout, amount).await, 202);
    }
    settled(&world, &checkout, "refund", &["succeeded"; 2]).await;
    for told in [1000, 1500, 1500, 1000, 0] {
        let overrides = json!({"amount_refunded": told});
        tell(&world, &json!({"payment": id, "type": "charge.refunded", "overrides": overrides}))
            .await;
    }
    world.until_number(NOT_APPLIED, 0).await;
    assert!(world.states(&checkout, "external").await.is_empty());
    assert_eq!(refundable(&world, &checkout).await, 1490);
    assert_eq!(world.order_state(&checkout).await, "partially_refunded");
    assert_eq!(world.state(&checkout).await, "succeeded");
}

#[tokio::test]
async fn a_dispute_takes_what_is_left_and_one_after_a_full_refund_breaks_nothing() {
    for refunded in [0, 1000, 2990] {
        let world = world().await;
        let checkout = paid(&world, STRIPE).await;
        if refunded > 0 {
            assert_eq!(ask(&world, &checkout, refunded).await, 202);
            settled(&world, &checkout, "refund", &["succeeded"]).await;
        }
        let id = payment_id(&world).await;
        let dispute = |status: &str| json!({"payment": id, "type": "charge.dispute.updated", "overrides": {"status": status}});
        tell(&world, &dispute("needs_response")).await;
        settled(&world, &checkout, "external", &["pending_confirmation"]).await;
        assert_eq!(refundable(&world, &checkout).await, 0, "{refunded}: it may all be gone");
        assert_eq!(ask(&world, &checkout, 1).await, 422, "{refunded}");
        let before = ["paid", "partially_refunded", "refunded"][match refunded {
            0 => 0,
            1000 => 1,
            _ => 2,
        }];
        assert_eq!(world.order_state(&checkout).await, before, "{refunded}: nothing is decided");
        tell(&world, &dispute("lost")).await;
        settled(&world, &checkout, "external", &["succeeded"]).await;
        assert_eq!(world.order_state(&checkout).await, "refunded", "{refunded}");
        assert_eq!(refundable(&world, &checkout).await, 0, "{refunded}");
        // News of an earlier stage comes late.
        tell(&world, &dispute("under_review")).await;
        world.until_number(NOT_APPLIED, 0).await;
        assert_eq!(world.states(&checkout, "external").await, ["succeeded"], "{refunded}");
        assert_eq!(world.state(&checkout).await, "succeeded", "{refunded}: the charge stays");
        assert_eq!(world.sends(&checkout).await.len(), 2, "{refunded}: nothing is charged again");
    }
}

#[tokio::test]
async fn a_dispute_that_took_nothing_leaves_no_trace_and_one_that_only_opens_answers_nobody() {
    let world = world().await;
    let checkout = paid(&world, STRIPE).await;
    let post = world
        .request(reqwest::Method::POST, &format!("/checkout/{checkout}/refund-request"))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body("number=1");
    assert_eq!(world.send(post).await.0, 303);
    let open = "select count(*) from refund_requests where state = 'open'";
    assert_eq!(world.number(open).await, 1);
    let id = payment_id(&world).await;
    let dispute = |status: &str| json!({"payment": id, "type": "charge.dispute.closed", "overrides": {"status": status}});
    for status in ["warning_closed", "won", "prevented"] {
        tell(&world, &dispute(status)).await;
        world.until_number(NOT_APPLIED, 0).await;
        assert!(world.states(&checkout, "external").await.is_empty(), "{status}");
        assert_eq!(world.number(open).await, 1, "{status}: the wish still waits for a person");
    }
    let told = "select count(*) from alerts where kind in ('external_effect', 'unmatched_event')";
    assert_eq!(world.number(told).await, 0, "nothing moved");
    tell(&world, &dispute("needs_response")).await;
    settled(&world, &checkout, "external", &["pending_confirmation"]).await;
    assert_eq!(world.number(open).await, 1, "nothing is decided");
    tell(&world, &dispute("lost")).await;
    settled(&world, &checkout, "external", &["succeeded"]).await;
    assert_eq!(world.number(open).await, 0, "the money is back");
}

#[tokio::test]
async fn a_dispute_that_is_heard_of_before_the_payment_decides_nothing_before_it_is_decided() {
    for (end, order, left) in [("won", "paid", 2990), ("lost", "refunded", 0)] {
        let world = world().await;
        mode(&world, "off").await;
        blind(&world).await;
        world.fault("confirm_payment", json!([{"answer": {"kind": LOST}}])).await;
        let checkout = world.buy("stripe:pm_card_visa").await;
        world.until(&checkout, &["pending_confirmation"]).await;
        mode(&world, "normal").await;
        let id = payment_id(&world).await;
        let dispute = |status: &str| json!({"payment": id, "type": "charge.dispute.updated", "overrides": {"status": status}});
        tell(&world, &dispute("needs_response")).await;
        settled(&world, &checkout, "external", &["pending_confirmation"]).await;
        lookups(&world, json!({})).await;
        world.until(&checkout, &["succeeded"]).await;
        assert_eq!(world.order_state(&checkout).await, "paid", "nothing is decided");
        assert_eq!(refundable(&world, &checkout).await, 0, "it may all be gone");
        assert_eq!(alerts(&world, "returned_before_taken").await, 1);
        tell(&world, &dispute(end)).await;
        until_order(&world, &checkout, order).await;
        assert_eq!(refundable(&world, &checkout).await, left, "{end}");
    }
}

#[tokio::test]
async fn an_event_of_a_connected_account_is_not_about_our_payment() {
    let world = world().await;
    mode(&world, "off").await;
    // The answer to the creation is lost: only our reference could tell whose it is.
    world.fault("create_payment", json!([{"answer": {"kind": LOST}, "delay_ms": 1500}])).await;
    let checkout = world.buy("stripe:pm_card_visa").await;
    world.until_sends(&checkout, 1).await;
    let reference = format!("{}-1", world.reference(&checkout).await);
    let event = |account: Value, object: Value| {
        json!({"door": "stripe", "raw": {
            "id": format!("evt_{}", Uuid::new_v4().simple()), "object": "event", "account": account,
            "created": 1_700_000_000, "livemode": false, "request": null,
            "type": if object["object"] == "refund" { "refund.created" } else { "payment_intent.succeeded" },
            "data": {"object": object},
        }})
    };
    let intent = json!({
        "id": "pi_theirs", "object": "payment_intent", "status": "succeeded", "amount": 2990,
        "amount_received": 2990, "currency": "eur", "livemode": false,
        "metadata": {"reference": reference},
    });
    tell(&world, &event(json!("acct_theirs"), intent)).await;
    assert_ne!(world.state(&checkout).await, "succeeded");
    assert_eq!(world.order_state(&checkout).await, "awaiting_payment");
    world.agree(&checkout, "succeeded", 1).await;
    let ours = payment_id(&world).await;
    assert_ne!(ours, "pi_theirs");
    let refund = json!({
        "id": "re_theirs", "object": "refund", "status": "succeeded", "amount": 500,
        "currency": "eur", "payment_intent": ours, "metadata": {},
    });
    tell(&world, &event(json!("acct_theirs"), refund.clone())).await;
    assert_eq!(refundable(&world, &checkout).await, 2990, "nothing of ours went back");
    tell(&world, &event(Value::Null, refund)).await;
    assert_eq!(refundable(&world, &checkout).await, 2490);
}

#[tokio::test]
async fn news_nobody_has_listed_is_taken_kept_and_told_on_every_wire() {
    let world = world().await;
    let examplepay = json!({
        "id": "evt_odd", "type": "payout.created", "created_at": 1, "livemode": false,
        "account": "acct_payonce", "data": {"object": {"id": "po_1", "object": "payout"}},
    });
    let stripe = json!({
        "id": "evt_odd", "object": "event", "type": "radar.early_fraud_warning.created",
        "created": 1, "livemode": false, "data": {"object": {"id": "issfr_1", "object": "radar.early_fraud_warning"}},
    });
    let paypal = json!({
        "id": "WH-ODD", "event_version": "1.0", "create_time": "2026-12-01T10:20:30Z",
        "resource_type": "dispute", "event_type": "CUSTOMER.DISPUTE.CREATED",
        "resource": {"dispute_id": "PP-D-1", "status": "OPEN"},
    });
    for (seen, (door, raw)) in
        (1..).zip([("examplepay", examplepay), ("stripe", stripe), ("paypal", paypal)])
    {
        tell(&world, &json!({"door": door, "raw": raw})).await;
        let kept = "select count(*) from provider_events where state = 'unmatched'";
        assert_eq!(world.number(kept).await, seen, "{door}");
        assert_eq!(alerts(&world, "unmatched_event").await, seen, "{door}");
    }
    // One that names a payment of ours wakes a question, and nothing more.
    for wire in WIRES {
        let checkout = paid(&world, wire).await;
        let id = payment_id(&world).await;
        let raw = match wire.name {
            "stripe" => json!({
                "id": "evt_new", "object": "event", "type": "payment_intent.partially_undone",
                "created": 1, "livemode": false,
                "data": {"object": {"id": id, "object": "payment_intent", "status": "undone"}},
            }),
            "paypal" => json!({
                "id": "WH-NEW", "create_time": "2026-12-01T10:20:30Z", "resource_type": "checkout-order",
                "event_type": "CHECKOUT.ORDER.UNDONE", "resource": {"id": id, "status": "UNDONE"},
            }),
            _ => json!({
                "id": "evt_new", "type": "payment.undone", "created_at": 1, "livemode": false,
                "data": {"object": {"id": id, "object": "payment"}},
            }),
        };
        tell(&world, &json!({"door": wire.name, "raw": raw})).await;
        world
            .until_that("it is kept with the payment it names", async || {
                let about = "select count(*) from provider_events where state = 'applied'
                     and event_id in ('evt_new', 'WH-NEW') and provider = ?";
                let found: i64 = sqlx::query_scalar(about)
                    .bind(wire.name)
                    .fetch_one(world.database())
                    .await
                    .unwrap();
                found == 1
            })
            .await;
        world.agree(&checkout, "succeeded", 1).await;
    }
}

#[tokio::test]
async fn a_body_past_all_bounds_is_refused_and_the_next_event_is_taken() {
    let world = world().await;
    for provider in ["examplepay", "stripe", "paypal"] {
        let url = world.url(&format!("/webhooks/{provider}"));
        let body = format!("{{\"id\":\"{}\"}}", "x".repeat(300 * 1024));
        let answer = world.http.post(url).body(body).send().await.unwrap();
        assert_eq!(answer.status(), 413, "{provider}");
    }
    assert_eq!(world.number("select count(*) from provider_events").await, 0);
    blind(&world).await;
    let checkout = world.buy("tok_lost_response").await;
    world.agree(&checkout, "succeeded", 1).await;
}

#[tokio::test]
async fn while_a_secret_is_changed_both_are_taken_and_then_the_old_one_no_more() {
    let mut world = world().await;
    for (name, old, both, new) in [
        ("PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET", "tok_3ds", "whsec_new,whsec_payonce", "whsec_new"),
        (
            "PAYONCE_STRIPE_WEBHOOK_SECRET",
            "stripe:pm_card_threeDSecure2Required",
            "whsec_new,whsec_payonce_stripe",
            "whsec_new",
        ),
    ] {
        let checkout = world.buy(old).await;
        world.until(&checkout, &["requires_action"]).await;
        world.until_number(NOT_APPLIED, 0).await;
        let id = payment_id(&world).await;
        let event = json!({"payment": id});
        for (secrets, status) in [(both, 200), (new, 400)] {
            world.restart_with(name, secrets);
            for offset in [0, -280, 280] {
                let mut event = event.clone();
                event["timestamp_offset_s"] = json!(offset);
                let answer = world.control("/control/webhooks", &event).await;
                assert_eq!(answer["statuses"], json!([status]), "{name}, {secrets}, {offset}");
            }
        }
        assert_eq!(world.order_state(&checkout).await, "awaiting_payment");
    }
}

#[tokio::test]
async fn a_capture_that_was_pending_and_then_denied_stays_denied_whatever_comes_late() {
    let world = world().await;
    let checkout = world.buy("paypal:wallet").await;
    world.approve_at_paypal(&checkout, "pending_declined").await;
    world.agree(&checkout, "rejected", 0).await;
    let id = payment_id(&world).await;
    for (kind, status) in [
        ("PAYMENT.CAPTURE.PENDING", "PENDING"),
        ("PAYMENT.CAPTURE.DENIED", "DECLINED"),
        ("PAYMENT.CAPTURE.COMPLETED", "COMPLETED"),
        ("CHECKOUT.ORDER.APPROVED", ""),
    ] {
        let overrides = if status.is_empty() { json!({}) } else { json!({"status": status}) };
        tell(&world, &json!({"payment": id, "type": kind, "overrides": overrides})).await;
    }
    world.until_number(NOT_APPLIED, 0).await;
    let asked = "select count(*) from operations where lookup_wanted = 1";
    world.until_number(asked, 0).await;
    world.agree(&checkout, "rejected", 0).await;
    assert_eq!(world.states(&checkout, "payment").await, ["rejected"]);
    assert!(world.next_form(&checkout).await.is_some(), "another attempt may follow");
}

#[tokio::test]
async fn a_capture_that_comes_after_its_order_was_left_behind_is_kept_or_given_back() {
    for given_up in [false, true] {
        let world = with(Options {
            scale: "0.005",
            provider: vec![("EXAMPLEPAY_ACTION_MS", "1200".to_owned())],
            ..Options::default()
        })
        .await;
        let checkout = world.buy("paypal:wallet").await;
        world.until(&checkout, &["requires_action"]).await;
        let id = payment_id(&world).await;
        if given_up {
            give_up(&world, &checkout).await;
            until_order(&world, &checkout, "canceled").await;
        }
        world.agree(&checkout, "canceled", 0).await;
        let turn = format!("/control/payments/{id}");
        world.control(&turn, &json!({"status": "succeeded"})).await;
        until_order(&world, &checkout, if given_up { "refunded" } else { "paid" }).await;
        assert_eq!(balance(&world, &checkout).await, if given_up { 0 } else { 2990 });
        assert_eq!(
            world.number("select count(*) from anomalies where kind = 'late_success'").await,
            1
        );
        assert!(world.next_form(&checkout).await.is_none());
    }
}

#[tokio::test]
async fn a_number_that_somebody_used_for_another_invoice_goes_to_a_person_and_is_not_ours() {
    for (amount, currency) in [(2991, "EUR"), (2990, "USD")] {
        let world = with(Options { partners: true, ..Options::default() }).await;
        let checkout = world.buy("tok_3ds").await;
        world.until(&checkout, &["requires_action"]).await;
        let number = format!("INV-{}", world.reference(&checkout).await);
        let theirs = json!({
            "invoiceNumber": number, "amountMinor": amount, "currency": currency,
            "buyerReference": "somebody else",
            "lines": [{"description": "x", "quantity": 1, "amountMinor": amount}],
        });
        let url = format!("{}/invoicing/invoices", world.partners_door());
        let answer = world.http.post(url).bearer_auth("key_partners").json(&theirs);
        assert_eq!(answer.send().await.unwrap().status(), 201);
        let turn = format!("/control/payments/{}", payment_id(&world).await);
        world.control(&turn, &json!({"status": "succeeded"})).await;
        world.agree(&checkout, "succeeded", 1).await;
        settled(&world, &checkout, "invoice", &["requires_review"]).await;
        settled(&world, &checkout, "shipment", &["succeeded"]).await;
        assert_eq!(world.order_state(&checkout).await, "paid", "the payment stays what it is");
        let reason = match currency {
            "EUR" => "select count(*) from operations where review_reason = 'amount_mismatch'",
            _ => "select count(*) from operations where review_reason = 'currency_mismatch'",
        };
        assert_eq!(world.number(reason).await, 1, "{amount} {currency}");
        assert_eq!(alerts(&world, "review").await, 1);
        let ledger = world.ask("/control/partners/ledger").await;
        let written = ledger["effects"].as_array().unwrap().iter();
        assert_eq!(written.filter(|it| it["kind"] == "invoice").count(), 1, "{ledger}");
    }
}

#[tokio::test]
async fn two_equal_refunds_whose_answers_are_both_lost_are_two_refunds() {
    for wire in WIRES {
        let world = world().await;
        let checkout = paid(&world, wire).await;
        world.until_number(NOT_APPLIED, 0).await;
        blind(&world).await;
        let lost = json!([{"answer": {"kind": LOST}}, {"answer": {"kind": LOST}}]);
        world.fault("create_refund", lost).await;
        for _ in 0..2 {
            assert_eq!(ask(&world, &checkout, 1000).await, 202);
        }
        lookups(&world, json!({})).await;
        settled(&world, &checkout, "refund", &["succeeded"; 2]).await;
        world.until_number(NOT_APPLIED, 0).await;
        let ids =
            "select count(distinct provider_operation_id) from operations where kind = 'refund'";
        assert_eq!(world.number(ids).await, 2, "{}", wire.name);
        assert!(world.states(&checkout, "external").await.is_empty(), "{}", wire.name);
        assert_eq!(refundable(&world, &checkout).await, 990, "{}", wire.name);
        assert_eq!(balance(&world, &checkout).await, 990, "{}", wire.name);
    }
}

#[tokio::test]
async fn case_18_all_was_given_back_by_somebody_else_is_no_success_of_our_refund() {
    for wire in WIRES {
        let world = world().await;
        let checkout = paid(&world, wire).await;
        world.until_number(NOT_APPLIED, 0).await;
        mode(&world, "off").await;
        let lost = json!([{"execute": false, "delay_ms": 700, "answer": {"kind": LOST}}]);
        world.fault("create_refund", lost).await;
        assert_eq!(ask(&world, &checkout, 2990).await, 202);
        let dashboard = format!("/control/payments/{}/refund", payment_id(&world).await);
        world.control(&dashboard, &json!({"amount_minor": 2990})).await;
        let repeated = "select count(*) from attempts where step = 'refund' and replay = 1
            and http_status in (400, 422)";
        world.until_number(repeated, 1).await;
        if wire.name != "examplepay" {
            assert_eq!(world.states(&checkout, "refund").await, ["pending_confirmation"]);
        }
        world.set_clock(2 * 24 * 3600);
        world
            .until_that("our refund is over", async || {
                let state = world.states(&checkout, "refund").await.remove(0);
                matches!(state.as_str(), "requires_review" | "rejected" | "succeeded")
            })
            .await;
        // ExamplePay keeps a no under its key, so that its repeat decides; the others do not.
        let end = if wire.name == "examplepay" { "rejected" } else { "requires_review" };
        assert_eq!(world.states(&checkout, "refund").await, [end], "{}", wire.name);
        assert_eq!(ask(&world, &checkout, 2990).await, if end == "rejected" { 202 } else { 422 });
    }
}

#[tokio::test]
async fn case_72_yen_are_taken_and_given_back_exactly_on_every_wire() {
    for wire in WIRES {
        let world = world().await;
        let chosen = world.request(Method::POST, "/currency").form(&[("currency", "JPY")]);
        let answer = chosen.send().await.unwrap();
        let cookies = answer.headers().get_all("set-cookie").iter();
        let pairs = cookies.map(|it| it.to_str().unwrap().split(';').next().unwrap().to_owned());
        world.remember_session(Some(pairs.collect::<Vec<_>>().join("; ")));
        let checkout = paid(&world, wire).await;
        assert_eq!(world.effects(&checkout).await, [("charge".to_owned(), 4800)], "{}", wire.name);
        let path = format!("/api/orders/{}/refunds", world.reference(&checkout).await);
        let wish = json!({
            "refund_request_id": Uuid::new_v4(), "amount_minor": 1, "currency": "JPY",
            "reason": "a yen too many",
        });
        let request = world.http.post(world.url(&path)).bearer_auth(TOKEN).json(&wish);
        assert_eq!(request.send().await.unwrap().status(), 202);
        settled(&world, &checkout, "refund", &["succeeded"]).await;
        let ledger = world.ask("/control/ledger").await;
        assert_eq!(ledger["sum_minor_by_currency"], json!({"JPY": 4799}), "{}", wire.name);
        assert_eq!(refundable(&world, &checkout).await, 4799, "{}", wire.name);
    }
}

#[tokio::test]
async fn a_retry_after_past_all_bounds_waits_no_longer_than_the_deadline() {
    for (after, end) in [
        ("18446744073709551615", "canceled"),
        ("9223372036854775807", "canceled"),
        ("99999999999999999999999", "succeeded"),
        ("-5", "succeeded"),
        ("soon", "succeeded"),
        ("Wed, 21 Oct 2099 07:28:00 GMT", "succeeded"),
    ] {
        let world = with(Options { scale: "0.003", ..Options::default() }).await;
        let later = json!({"kind": "status", "status": 429, "body": "{}", "headers": {"Retry-After": after}});
        world.fault("create_payment", json!([{"execute": false, "answer": later}])).await;
        let checkout = world.buy("tok_visa").await;
        world.agree(&checkout, end, usize::from(end == "succeeded")).await;
    }
}
