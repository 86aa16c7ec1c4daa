//! What each wire has of its own, and what holds on all of them.

use serde_json::{Value, json};

use crate::{
    harness::{Options, World},
    reported::NOT_APPLIED,
};

/// How a provider is paid and made to misbehave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    pub name: &'static str,
    /// What the shopper chooses: pays at once, is declined, waits for the shopper.
    pub pays: &'static str,
    pub declined: Option<&'static str>,
    pub asks: &'static str,
    /// The request that takes the money, as fault scripts name it.
    pub takes: &'static str,
    /// The request that only prepares it, where there is one.
    pub prepares: Option<&'static str>,
    /// A body that says "malformed", "not ours to do", and something nobody has listed.
    pub malformed: (u16, &'static str),
    pub unlisted: (u16, &'static str),
    /// What a 401 says.
    pub unauthorized: &'static str,
}

pub const EXAMPLEPAY: Wire = Wire {
    name: "examplepay",
    pays: "tok_visa",
    declined: Some("tok_declined"),
    asks: "tok_3ds",
    takes: "create_payment",
    prepares: None,
    malformed: (400, r#"{"error":{"type":"invalid_request","message":"no"}}"#),
    unlisted: (422, r#"{"error":{"type":"something_new","message":"?"}}"#),
    unauthorized: r#"{"error":{"type":"unauthorized","message":"no"}}"#,
};

pub const STRIPE: Wire = Wire {
    name: "stripe",
    pays: "stripe:pm_card_visa",
    declined: Some("stripe:pm_card_visa_chargeDeclined"),
    asks: "stripe:pm_card_threeDSecure2Required",
    takes: "confirm_payment",
    prepares: Some("create_payment"),
    malformed: (400, r#"{"error":{"type":"invalid_request_error","message":"no"}}"#),
    unlisted: (422, r#"{"error":{"type":"something_new","message":"?"}}"#),
    unauthorized: r#"{"error":{"type":"invalid_request_error","message":"no"}}"#,
};

/// The shopper approves on PayPal's page, each time by what the page offers.
pub const PAYPAL: Wire = Wire {
    name: "paypal",
    pays: "paypal:wallet",
    declined: Some("paypal:wallet"),
    asks: "paypal:wallet",
    takes: "capture_payment",
    prepares: Some("create_payment"),
    malformed: (
        400,
        r#"{"name":"INVALID_REQUEST","details":[{"issue":"MALFORMED_REQUEST_JSON"}]}"#,
    ),
    unlisted: (422, r#"{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"SOMETHING_NEW"}]}"#),
    unauthorized: r#"{"error":"invalid_token","error_description":"it expired"}"#,
};

pub const WIRES: [Wire; 3] = [EXAMPLEPAY, STRIPE, PAYPAL];

fn status(code: u16, body: &str) -> Value {
    json!({"kind": "status", "status": code, "body": body})
}

async fn play(world: &World, wire: Wire, name: &str) -> String {
    let checkout = world.buy(wire.pays).await;
    approve(world, wire, &checkout, "balance").await;
    world.until_paid_or(&checkout, name).await;
    checkout
}

/// At PayPal's page, where there is one.
pub async fn approve(world: &World, wire: Wire, checkout: &str, funding: &str) {
    if wire == PAYPAL {
        world.approve_at_paypal(checkout, funding).await;
    }
}

/// Whatever happened to the answer: one charge, one key per step, and never a no.
async fn expect_paid_once(world: &World, wire: Wire, checkout: &str, name: &str) {
    let about = format!("{}: {name}", wire.name);
    world.agree(checkout, "succeeded", 1).await;
    assert_eq!(world.order_state(checkout).await, "paid", "{about}");
    let history = world.history(checkout).await;
    assert!(
        !history.iter().any(|it| matches!(it.as_str(), "rejected" | "canceled" | "reversed")),
        "{about}: {history:?}"
    );
}

#[tokio::test]
async fn a_decline_closes_the_attempt_on_every_wire_and_the_next_card_has_its_own_keys() {
    for wire in WIRES {
        let Some(declined) = wire.declined else { continue };
        let world = World::start().await;
        let checkout = world.buy(declined).await;
        approve(&world, wire, &checkout, "declined").await;
        world.agree(&checkout, "rejected", 0).await;
        let form = world.next_form(&checkout).await.expect("after a no there is another attempt");
        assert_eq!(world.post(&form, wire.pays).await.0, 303);
        approve(&world, wire, &checkout, "balance").await;
        world.agree(&checkout, "succeeded", 1).await;
        let sends = world.sends(&checkout).await;
        let keys: std::collections::BTreeSet<_> =
            sends.iter().map(|it| it["key"].as_str().unwrap().to_owned()).collect();
        assert_eq!(keys.len(), sends.len(), "{}: {keys:?}", wire.name);
    }
}

#[tokio::test]
async fn a_decline_whose_answer_is_lost_is_still_a_decline_and_takes_nothing() {
    for wire in WIRES {
        let Some(declined) = wire.declined else { continue };
        let world = World::start().await;
        world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
        world.fault(wire.takes, json!([{"answer": {"kind": "drop_before_headers"}}])).await;
        let checkout = world.buy(declined).await;
        approve(&world, wire, &checkout, "refused").await;
        world.agree(&checkout, "rejected", 0).await;
        assert!(world.history(&checkout).await.contains(&"pending_confirmation".to_owned()));
    }
}

#[tokio::test]
async fn what_the_shopper_never_confirms_ends_without_money_on_every_wire() {
    for wire in WIRES {
        let world = World::with(Options {
            scale: "0.005",
            provider: vec![("EXAMPLEPAY_ACTION_MS", "1200".to_owned())],
            ..crate::harness::Options::default()
        })
        .await;
        let checkout = world.buy(wire.asks).await;
        world.until(&checkout, &["requires_action"]).await;
        world.agree(&checkout, "canceled", 0).await;
        let form = world.next_form(&checkout).await.expect("another attempt is safe now");
        assert_eq!(world.post(&form, wire.pays).await.0, 303, "{}", wire.name);
    }
}

#[tokio::test]
async fn an_outage_of_the_door_is_sent_again_with_the_same_key_on_every_wire() {
    for wire in WIRES {
        let world = World::start().await;
        world.control("/control/outage", &json!({"mode": "refuse", "for_ms": 1000})).await;
        let checkout = play(&world, wire, "refused").await;
        expect_paid_once(&world, wire, &checkout, "refused").await;
        let history = world.history(&checkout).await;
        assert!(
            !history.contains(&"pending_confirmation".to_owned()),
            "{}: nothing was ever unknown: {history:?}",
            wire.name
        );
    }
}

#[tokio::test]
async fn a_paypal_event_that_paypal_did_not_sign_is_refused_and_nothing_is_fetched_for_it() {
    let world = World::start().await;
    let checkout = world.buy(PAYPAL.pays).await;
    approve(&world, PAYPAL, &checkout, "pending").await;
    world.until(&checkout, &["pending_confirmation"]).await;
    let id: String = sqlx::query_scalar("select provider_operation_id from operations")
        .fetch_one(world.database())
        .await
        .unwrap();
    for signature in ["bad", "none", "other_host"] {
        let told = json!({
            "payment": id, "type": "PAYMENT.CAPTURE.COMPLETED", "signature": signature,
            "overrides": {"status": "COMPLETED"},
        });
        let answer = world.control("/control/webhooks", &told).await;
        assert!(answer.to_string().contains("400"), "{signature}: {answer}");
    }
    // The genuine one comes when it is done; it is the only one that is kept.
    world.agree(&checkout, "succeeded", 1).await;
    world.until_all_is_told().await;
    let kept =
        "select count(*) from provider_events where event_type = 'PAYMENT.CAPTURE.COMPLETED'";
    assert_eq!(world.number(kept).await, 1);
}

#[tokio::test]
async fn paypal_itself_may_be_asked_whether_an_event_is_its_own() {
    let world = World::with(Options {
        shop: vec![("PAYONCE_PAYPAL_WEBHOOK_CHECK", "call".to_owned())],
        ..crate::harness::Options::default()
    })
    .await;
    let checkout = play(&world, PAYPAL, "verified by asking").await;
    expect_paid_once(&world, PAYPAL, &checkout, "verified by asking").await;
    let told =
        "select count(*) from provider_events where event_type = 'PAYMENT.CAPTURE.COMPLETED'";
    world.until_number(told, 1).await;
    let id: String = sqlx::query_scalar("select provider_operation_id from operations")
        .fetch_one(world.database())
        .await
        .unwrap();
    let forged = json!({"payment": id, "type": "PAYMENT.CAPTURE.COMPLETED", "signature": "bad"});
    let answer = world.control("/control/webhooks", &forged).await;
    assert!(answer.to_string().contains("400"), "{answer}");
    assert_eq!(world.number(told).await, 1);
    let asked = async || {
        let requests = world.requests().await;
        let path = "/v1/notifications/verify-webhook-signature";
        requests.iter().filter(|it| it["path"] == path).count()
    };
    let before = asked().await;
    assert!(before >= 2, "the log tells who asked: {before}");
    // Whoever has no signature to show, or an old one, does not make us ask.
    for (name, value) in [
        ("PayPal-Transmission-Sig", "not base64!"),
        ("PayPal-Transmission-Time", "2020-01-01T00:00:00Z"),
        ("PayPal-Auth-Algo", "none"),
    ] {
        let post = crate::guards::forged(&world, &[(name, value.to_owned())]).await;
        assert_eq!(post.send().await.unwrap().status(), 400, "{name}: {value}");
    }
    assert_eq!(asked().await, before);
}

#[tokio::test]
async fn without_an_access_token_nothing_was_sent_and_an_expired_one_is_replaced() {
    let world = World::start().await;
    // Whoever asks first: the daily comparison wants a token of its own.
    let down = json!([{"answer": status(503, "{}")}]);
    world.fault_then("token", down, "repeat_last").await;
    let checkout = world.buy(PAYPAL.pays).await;
    world.until(&checkout, &["retry_scheduled"]).await;
    world.control("/control/faults/clear", &json!({})).await;
    approve(&world, PAYPAL, &checkout, "balance").await;
    expect_paid_once(&world, PAYPAL, &checkout, "no token at first").await;
    let history = world.history(&checkout).await;
    assert_eq!(
        history.get(..3),
        Some(&["created", "requested", "retry_scheduled"].map(str::to_owned)[..]),
        "{history:?}"
    );
    assert!(
        !history.contains(&"pending_confirmation".to_owned()),
        "nothing was unknown: {history:?}"
    );
    let expired = r#"{"error":"invalid_token","error_description":"it expired"}"#;
    world
        .fault("create_payment", json!([{"execute": false, "answer": status(401, expired)}]))
        .await;
    let second = world.buy(PAYPAL.pays).await;
    approve(&world, PAYPAL, &second, "balance").await;
    expect_paid_once(&world, PAYPAL, &second, "an expired token").await;
    assert_eq!(world.number("select count(*) from alerts where kind = 'configuration'").await, 0);
}

#[tokio::test]
async fn a_completed_order_with_a_pending_capture_is_not_paid() {
    for (funding, end, charges) in
        [("pending", "succeeded", 1), ("pending_declined", "rejected", 0)]
    {
        let world = World::start().await;
        let checkout = world.buy(PAYPAL.pays).await;
        approve(&world, PAYPAL, &checkout, funding).await;
        world.until(&checkout, &["pending_confirmation"]).await;
        assert_eq!(world.order_state(&checkout).await, "awaiting_payment", "{funding}");
        world.agree(&checkout, end, charges).await;
    }
}

#[tokio::test]
async fn a_dispute_at_stripe_is_an_effect_of_its_own_and_the_payment_is_not_charged_again() {
    let world = World::start().await;
    let checkout = play(&world, STRIPE, "paid").await;
    let id: String = sqlx::query_scalar("select provider_operation_id from operations")
        .fetch_one(world.database())
        .await
        .unwrap();
    world.control(&format!("/control/payments/{id}"), &json!({"status": "reversed"})).await;
    world
        .until_that("the dispute is on record", async || {
            world.states(&checkout, "external").await.len() == 1
        })
        .await;
    assert_eq!(world.number("select count(*) from alerts where kind = 'external_effect'").await, 1);
    // Its end may be months away: it is not looked at all the time, and nobody waits for it.
    let version = "select version from operations where kind = 'external'";
    let before = world.number(version).await;
    let other = play(&world, EXAMPLEPAY, "meanwhile").await;
    expect_paid_once(&world, EXAMPLEPAY, &other, "meanwhile").await;
    assert!(world.number(version).await <= before + 1, "it does not spin");
    assert_eq!(world.status(&checkout).await["end"], true);
    assert_eq!(world.state(&checkout).await, "succeeded", "the charge itself stays what it is");
    assert!(world.next_form(&checkout).await.is_none());
    assert_eq!(world.sends(&checkout).await.len(), 2, "one create and one confirm");
}

#[tokio::test]
async fn every_request_bears_the_headers_that_its_provider_asks_for() {
    let world = World::start().await;
    for wire in [STRIPE, PAYPAL] {
        let checkout = play(&world, wire, "headers").await;
        expect_paid_once(&world, wire, &checkout, "headers").await;
    }
    let (mut stripe, mut paypal) = (0, 0);
    for request in world.requests().await {
        let headers: Value = match request["request_headers"].as_str() {
            Some(text) => serde_json::from_str(text).unwrap(),
            None => request["request_headers"].clone(),
        };
        let path = request["path"].as_str().unwrap();
        match request["door"].as_str().unwrap() {
            "stripe" => {
                stripe += 1;
                assert_eq!(headers["stripe-version"], "2024-06-20", "{request}");
                if request["method"] == "POST" {
                    let form = "application/x-www-form-urlencoded";
                    assert_eq!(headers["content-type"], form, "{request}");
                }
            }
            "paypal" if request["method"] == "POST" && path.starts_with("/v2/") => {
                paypal += 1;
                assert_eq!(headers["prefer"], "return=representation", "{request}");
                assert_eq!(headers["content-type"], "application/json", "{request}");
                assert!(request["key"].as_str().is_some_and(|it| it.len() <= 108), "{request}");
            }
            _ => {}
        }
    }
    assert!(stripe >= 2 && paypal >= 2, "{stripe} {paypal}");
}

#[tokio::test]
async fn an_event_that_names_nothing_but_our_key_is_about_the_operation_of_that_key() {
    let world = World::start().await;
    world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
    // The PaymentIntent is there, and its id was never told.
    let lost = json!([{"answer": {"kind": "drop_before_headers"}}]);
    world.fault_then("create_payment", lost, "repeat_last").await;
    let checkout = world.buy(STRIPE.pays).await;
    world.until(&checkout, &["pending_confirmation"]).await;
    let reference = format!("{}-1", world.reference(&checkout).await);
    let held = world.ask(&format!("/control/payments?reference={reference}")).await;
    let key = world.sends(&checkout).await[0]["key"].clone();
    let event = json!({
        "id": "evt_by_key", "object": "event", "type": "payment_intent.created",
        "created": 1_700_000_000, "livemode": false,
        "request": {"id": "req_1", "idempotency_key": key},
        "data": {"object": {
            "id": held["payments"][0]["id"], "object": "payment_intent", "livemode": false,
            "status": "requires_confirmation", "amount": 2990, "currency": "eur", "metadata": {},
        }},
    });
    let told = world.control("/control/webhooks", &json!({"raw": event, "door": "stripe"})).await;
    assert!(told.to_string().contains("200"), "{told}");
    let named = "select count(*) from provider_events
         where event_id = 'evt_by_key' and state = 'applied' and operation_id = (select id from operations where kind = 'payment')";
    world.until_number(named, 1).await;
    world.control("/control/faults/clear", &json!({})).await;
    world.agree(&checkout, "succeeded", 1).await;
}

#[tokio::test]
async fn an_event_of_the_other_mode_is_kept_told_and_moves_nothing() {
    for wire in [EXAMPLEPAY, STRIPE] {
        let world = World::start().await;
        let checkout = world.buy(wire.asks).await;
        world.until(&checkout, &["requires_action"]).await;
        let reference = format!("{}-1", world.reference(&checkout).await);
        let held = world.ask(&format!("/control/payments?reference={reference}")).await;
        let id = &held["payments"][0]["id"];
        let event = match wire.name {
            "stripe" => json!({
                "id": "evt_live", "object": "event", "type": "payment_intent.succeeded",
                "created": 1_700_000_000, "livemode": true, "request": null,
                "data": {"object": {
                    "id": id, "object": "payment_intent", "status": "succeeded", "livemode": true,
                    "amount": 2990, "amount_received": 2990, "currency": "eur",
                    "metadata": {"reference": reference},
                }},
            }),
            _ => json!({
                "id": "evt_live", "type": "payment.succeeded", "created_at": 1_700_000_000_000_i64,
                "livemode": true, "account": "acct_payonce", "request": null,
                "data": {"object": {
                    "id": id, "object": "payment", "account": "acct_payonce", "livemode": true,
                    "reference": reference, "amount_minor": 2990, "currency": "EUR",
                    "status": "succeeded",
                }},
            }),
        };
        let before = world.history(&checkout).await;
        let raw = json!({"raw": event, "door": wire.name});
        let told = world.control("/control/webhooks", &raw).await;
        assert!(told.to_string().contains("200"), "{}: {told}", wire.name);
        let alerts: Vec<String> = sqlx::query_scalar("select kind from alerts")
            .fetch_all(world.database())
            .await
            .unwrap();
        assert_eq!(alerts, ["live_mode"], "{}", wire.name);
        let kept = "select count(*) from provider_events
             where event_id = 'evt_live' and state = 'unmatched' and operation_id is null";
        assert_eq!(world.number(kept).await, 1, "{}", wire.name);
        assert_eq!(world.state(&checkout).await, "requires_action", "{}", wire.name);
        assert_eq!(world.history(&checkout).await, before, "{}", wire.name);
        assert_eq!(world.order_state(&checkout).await, "awaiting_payment", "{}", wire.name);
        assert!(world.effects(&checkout).await.is_empty(), "{}", wire.name);
    }
}

#[tokio::test]
async fn case_28_an_idempotency_error_is_never_a_decline_and_tells_a_person() {
    let world = World::start().await;
    let error = r#"{"error":{"type":"idempotency_error","message":"other parameters"}}"#;
    world.fault("confirm_payment", json!([{"execute": false, "answer": status(400, error)}])).await;
    let checkout = play(&world, STRIPE, "an idempotency error").await;
    expect_paid_once(&world, STRIPE, &checkout, "an idempotency error").await;
    assert!(world.history(&checkout).await.contains(&"pending_confirmation".to_owned()));
    assert_eq!(world.number("select count(*) from alerts where kind = 'unlisted'").await, 1);
}

#[tokio::test]
async fn a_known_issue_that_says_done_already_is_looked_up_on_paypals_wire() {
    let issue = |code: &str| {
        format!(r#"{{"name":"UNPROCESSABLE_ENTITY","details":[{{"issue":"{code}"}}]}}"#)
    };
    for code in ["ORDER_ALREADY_CAPTURED", "ORDER_COMPLETION_IN_PROGRESS", "DUPLICATE_INVOICE_ID"] {
        let world = World::start().await;
        world.fault("capture_payment", json!([{"answer": status(422, &issue(code))}])).await;
        let checkout = play(&world, PAYPAL, code).await;
        expect_paid_once(&world, PAYPAL, &checkout, code).await;
    }
}

#[tokio::test]
async fn a_door_that_takes_connections_and_says_nothing_ends_in_one_charge_on_every_wire() {
    for wire in WIRES {
        let short = |name: &'static str| (name, "600".to_owned());
        let world = World::with(Options {
            shop: vec![
                short("PAYONCE_EXAMPLEPAY_RESPONSE_TIMEOUT_MS"),
                short("PAYONCE_STRIPE_RESPONSE_TIMEOUT_MS"),
                short("PAYONCE_PAYPAL_RESPONSE_TIMEOUT_MS"),
                short("PAYONCE_EXAMPLEPAY_CONNECT_TIMEOUT_MS"),
                short("PAYONCE_STRIPE_CONNECT_TIMEOUT_MS"),
                short("PAYONCE_PAYPAL_CONNECT_TIMEOUT_MS"),
            ],
            ..crate::harness::Options::default()
        })
        .await;
        world.control("/control/outage", &json!({"mode": "hang", "for_ms": 2500})).await;
        let checkout = play(&world, wire, "the door hangs").await;
        expect_paid_once(&world, wire, &checkout, "the door hangs").await;
    }
}

/// What the events are that come the wrong way round, newest news first, and how it ends.
struct Reversed {
    wire: Wire,
    /// What the shopper chooses; behind the bar, on PayPal's page.
    pays: &'static str,
    heard: [&'static str; 2],
    ends: &'static str,
}

const REVERSED: [Reversed; 6] = [
    Reversed {
        wire: EXAMPLEPAY,
        pays: "tok_processing",
        heard: ["payment.succeeded", "payment.processing"],
        ends: "succeeded",
    },
    Reversed {
        wire: EXAMPLEPAY,
        pays: "tok_processing_declined",
        heard: ["payment.declined", "payment.processing"],
        ends: "rejected",
    },
    Reversed {
        wire: STRIPE,
        pays: "stripe:pm_sim_processing",
        heard: ["payment_intent.succeeded", "payment_intent.processing"],
        ends: "succeeded",
    },
    Reversed {
        wire: STRIPE,
        pays: "stripe:pm_sim_processing_declined",
        heard: ["payment_intent.payment_failed", "payment_intent.processing"],
        ends: "rejected",
    },
    Reversed {
        wire: PAYPAL,
        pays: "paypal:wallet|pending",
        heard: ["PAYMENT.CAPTURE.COMPLETED", "PAYMENT.CAPTURE.PENDING"],
        ends: "succeeded",
    },
    Reversed {
        wire: PAYPAL,
        pays: "paypal:wallet|pending_declined",
        heard: ["PAYMENT.CAPTURE.DECLINED", "PAYMENT.CAPTURE.PENDING"],
        ends: "rejected",
    },
];

#[tokio::test]
async fn old_news_that_comes_after_newer_news_changes_nothing_on_every_wire() {
    for Reversed { wire, pays, heard, ends } in REVERSED {
        let about = format!("{}, {pays}", wire.name);
        let world = World::start().await;
        // From the request on nothing but events tells.
        let blind = json!({"not_found_for_ms": 600_000});
        world.fault(wire.takes, json!([{"webhook": {"reverse": true}, "lookup": blind}])).await;
        let (pays, funding) = pays.split_once('|').unwrap_or((pays, ""));
        let checkout = world.buy(pays).await;
        approve(&world, wire, &checkout, funding).await;
        let told = async || {
            let all: Vec<String> =
                sqlx::query_scalar("select event_type from provider_events order by id")
                    .fetch_all(world.database())
                    .await
                    .unwrap();
            all.into_iter().filter(|it| heard.contains(&it.as_str())).collect::<Vec<_>>()
        };
        world
            .until_that(&format!("{about}: both are here"), async || told().await.len() == 2)
            .await;
        assert_eq!(told().await, heard, "{about}: the newer one came first");
        // A success that fits counts at once; a no has to be confirmed by the provider's record.
        let meanwhile = if ends == "succeeded" { ends } else { "pending_confirmation" };
        assert_eq!(world.state(&checkout).await, meanwhile, "{about}");
        world.control("/control/faults/clear", &json!({})).await;
        world.until(&checkout, &[ends]).await;
        world.until_number("select count(*) from operations where lookup_wanted = 1", 0).await;
        world.agree(&checkout, ends, usize::from(ends == "succeeded")).await;
        let history = world.history(&checkout).await;
        let moved = history.iter().filter(|it| *it == ends).count();
        assert_eq!((moved, history.last().map(String::as_str)), (1, Some(ends)), "{about}");
        let again = world.next_form(&checkout).await.is_some();
        assert_eq!(again, ends == "rejected", "{about}: another attempt");
        assert_eq!(
            world.number("select count(*) from provider_events where state <> 'applied'").await,
            0
        );
    }
}

#[tokio::test]
async fn an_abandoned_confirmation_is_asked_about_and_closed_at_stripe_before_it_ends_here() {
    let world = World::with(Options { scale: "0.005", ..crate::harness::Options::default() }).await;
    world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
    let checkout = world.buy(STRIPE.asks).await;
    world.until(&checkout, &["requires_action"]).await;
    let id = crate::attacks::id_of(&world, &checkout, 1).await;
    world.agree(&checkout, "canceled", 0).await;
    let ended: i64 = sqlx::query_scalar("select at from transitions where to_state = 'canceled'")
        .fetch_one(world.database())
        .await
        .unwrap();
    let log = world.requests().await;
    let intent = format!("/v1/payment_intents/{id}");
    let about_it: Vec<_> =
        log.iter().filter(|it| it["path"].as_str().unwrap().starts_with(&intent)).collect();
    let cancel = format!("{intent}/cancel");
    let closed = about_it.iter().position(|it| it["path"] == cancel.as_str()).expect("a cancel");
    let asked = about_it[closed - 1];
    assert_eq!((&asked["method"], &asked["path"]), (&json!("GET"), &json!(intent)));
    assert_eq!(about_it[closed]["method"], "POST");
    assert_eq!(about_it[closed]["executed"], true);
    assert!(
        about_it[closed]["at_ms"].as_i64().unwrap() <= ended,
        "it ends here after it ended there"
    );
    assert_eq!(about_it.iter().filter(|it| it["path"] == cancel.as_str()).count(), 1);
    // The question that came before the cancel was one more than those of the wait: the time was over.
    let deadline: i64 = sqlx::query_scalar("select deadline_at from operations")
        .fetch_one(world.database())
        .await
        .unwrap();
    assert!(asked["at_ms"].as_i64().unwrap() >= deadline, "{asked}: {deadline}");
    let held = world
        .ask(&format!("/control/payments?reference={}-1", world.reference(&checkout).await))
        .await;
    assert_eq!(held["payments"][0]["status"], "canceled", "{held}");
}

/// Declined at the bank, and its PaymentIntent cannot be closed as long as the fault is there: the
/// checkout, and where the control API has the payment.
async fn declined_at_the_bank(world: &World) -> (String, String) {
    let down = json!([{"execute": false, "answer": status(500, "{}")}]);
    world.fault_then("cancel_payment", down, "repeat_last").await;
    let checkout = world.buy(STRIPE.asks).await;
    world.until(&checkout, &["requires_action"]).await;
    let id: String = sqlx::query_scalar("select provider_operation_id from operations")
        .fetch_one(world.database())
        .await
        .unwrap();
    let at = format!("/control/payments/{id}");
    world.control(&at, &json!({"status": "declined"})).await;
    // Whoever came back from the bank holds the object's secret, and could pay it with it.
    world
        .until_that("closing it was tried", async || {
            let sent = world.requests().await;
            sent.iter().any(|it| it["path"].as_str().is_some_and(|it| it.ends_with("/cancel")))
        })
        .await;
    (checkout, at)
}

#[tokio::test]
async fn a_decline_at_the_bank_counts_once_its_payment_intent_is_closed() {
    let world = World::start().await;
    let (checkout, _) = declined_at_the_bank(&world).await;
    assert_ne!(world.state(&checkout).await, "rejected");
    assert_eq!(world.status(&checkout).await["face"], "checking");
    assert!(world.next_form(&checkout).await.is_none(), "no second payment beside it");
    world.control("/control/faults/clear", &json!({})).await;
    world.until(&checkout, &["rejected"]).await;
    let reference = format!("{}-1", world.reference(&checkout).await);
    let held = world.ask(&format!("/control/payments?reference={reference}")).await;
    assert!(held.to_string().contains("canceled"), "{held}");
    assert_eq!(world.status(&checkout).await["face"], "declined");
    let form = world.next_form(&checkout).await.expect("now another card may be tried");
    assert_eq!(world.post(&form, STRIPE.pays).await.0, 303);
    world
        .until_that("the second one pays", async || {
            world.states(&checkout, "payment").await == ["rejected", "succeeded"]
        })
        .await;
    assert_eq!(world.effects(&checkout).await.len(), 1);
}

#[tokio::test]
async fn a_declined_payment_intent_that_was_paid_meanwhile_is_a_success() {
    let world = World::start().await;
    world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
    let (checkout, at) = declined_at_the_bank(&world).await;
    world.control(&at, &json!({"status": "succeeded"})).await;
    world.agree(&checkout, "succeeded", 1).await;
    assert!(!world.history(&checkout).await.contains(&"rejected".to_owned()));
}

/// An endpoint that is told everything hears of charges too, whose news is news of their intent.
#[tokio::test]
async fn all_of_stripes_events_tell_no_more_than_those_that_are_needed() {
    let every = vec![("EXAMPLEPAY_STRIPE_EVENTS", "*".to_owned())];
    let world = World::with(Options { provider: every, ..Options::default() }).await;
    for (card, state, charges) in [
        ("stripe:pm_card_visa", "succeeded", 1),
        ("stripe:pm_card_visa_chargeDeclined", "rejected", 0),
        ("stripe:pm_sim_processing", "succeeded", 1),
        ("stripe:pm_sim_processing_declined", "rejected", 0),
    ] {
        let checkout = world.buy(card).await;
        world.agree(&checkout, state, charges).await;
    }
    world.until_all_is_told().await;
    world.until_number(NOT_APPLIED, 0).await;
    let of_charges = "select count(distinct event_type) from provider_events
         where event_type in ('charge.succeeded', 'charge.failed', 'charge.pending')";
    assert_eq!(world.number(of_charges).await, 3);
    assert_eq!(world.number("select count(*) from alerts").await, 0);
    assert_eq!(world.number("select count(*) from anomalies").await, 0);
}

/// PayPal takes an approval back that was not captured for three hours: by then the capture whose
/// outcome is unknown is known to have taken nothing so far.
#[tokio::test]
async fn an_approval_that_paypal_takes_back_before_the_capture_is_told_and_nothing_is_taken() {
    let world = World::start().await;
    let lost = json!([{"execute": false, "answer": {"kind": "drop_before_headers"}}]);
    world.fault_then("capture_payment", lost, "repeat_last").await;
    let checkout = world.buy("paypal:wallet").await;
    world.approve_at_paypal(&checkout, "balance").await;
    world.until(&checkout, &["pending_confirmation"]).await;
    let id: String = sqlx::query_scalar("select provider_operation_id from operations")
        .fetch_one(world.database())
        .await
        .unwrap();
    let back = json!({"status": "unapproved"});
    world.control(&format!("/control/payments/{id}"), &back).await;
    let told = "select count(*) from provider_events where state = 'applied'
         and event_type = 'CHECKOUT.PAYMENT-APPROVAL.REVERSED'";
    world.until_number(told, 1).await;
    world.until(&checkout, &["requires_action"]).await;
    assert_eq!(world.status(&checkout).await["face"], "confirm_at_bank");
    assert!(world.next_form(&checkout).await.is_none(), "that order may still be paid");
    assert!(world.effects(&checkout).await.is_empty());
    assert_eq!(world.number("select count(*) from alerts").await, 0);
}
