//! Reported failures on the wires and in the turns where nobody had played them yet: late news over
//! Stripe and PayPal, a refund whose neighbour is unknown, keys that outlive a changed secret.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    attacks::{decides, id_of, pay_again},
    harness::{Options, World},
    reported::{
        EXAMPLEPAY, LOST, NOT_APPLIED, PAYPAL, STRIPE, WIRES, Wire, alerts, ask, balance, blind,
        buy, give_up, keys, lookups, mode, paid, payment_id, refundable, settled, tell,
        until_order, with, world,
    },
};

/// How a wire is declined, left open, and told that a payment failed.
struct Late {
    wire: Wire,
    /// A card that is declined at once; at PayPal, what the shopper chooses on its page.
    declined: &'static str,
    /// One whose outcome stays unknown, and one that waits for the shopper.
    open: [(&'static str, &'static str); 2],
    /// The events that tell of a failure, and what their object then says.
    failures: fn() -> Vec<(&'static str, Value)>,
}

const LATE: [Late; 2] = [
    Late {
        wire: STRIPE,
        declined: "stripe:pm_card_visa_chargeDeclined",
        open: [
            ("stripe:pm_sim_processing", "pending_confirmation"),
            ("stripe:pm_card_threeDSecure2Required", "requires_action"),
        ],
        failures: || {
            let error = json!({"type": "card_error", "code": "card_declined", "decline_code": "generic_decline"});
            let declined = json!({
                "status": "requires_payment_method", "last_payment_error": error,
                "amount_received": 0, "latest_charge": null,
            });
            let canceled = json!({"status": "canceled", "amount_received": 0});
            vec![("payment_intent.payment_failed", declined), ("payment_intent.canceled", canceled)]
        },
    },
    Late {
        wire: PAYPAL,
        declined: "paypal:wallet|refused",
        open: [
            ("paypal:wallet|pending", "pending_confirmation"),
            ("paypal:wallet", "requires_action"),
        ],
        failures: || vec![("PAYMENT.CAPTURE.DENIED", json!({"status": "DECLINED"}))],
    },
];

/// Pays with a card; behind the bar, what the shopper chooses on PayPal's page.
async fn choose(world: &World, checkout: &str, card: &str) {
    if let Some((_, funding)) = card.split_once('|') {
        world.approve_at_paypal(checkout, funding).await;
    }
}

fn card_of(card: &str) -> &str {
    card.split_once('|').map_or(card, |(card, _)| card)
}

async fn anomalies(world: &World, kind: &str) -> i64 {
    sqlx::query_scalar("select count(*) from anomalies where kind = ?")
        .bind(kind)
        .fetch_one(world.database())
        .await
        .unwrap()
}

/// Everything that is stored of the steps: their keys, addresses and bytes.
async fn stored_steps(world: &World) -> Vec<(String, String, String, Option<String>)> {
    sqlx::query_as(
        "select idempotency_key, request_path, request_hash, request_body from steps
         order by idempotency_key",
    )
    .fetch_all(world.database())
    .await
    .unwrap()
}

/// A question is answered, and finds nothing: only then a request is sent again with its key.
async fn unfound(world: &World) {
    lookups(world, json!({"not_found_for_ms": 600_000})).await;
}

/// The request that takes the money, and the number of requests up to it.
fn takes(wire: Wire) -> (&'static str, usize) {
    let before_refund = wire.effects.len() - 1;
    (wire.effects[before_refund - 1], before_refund)
}

/// Its answer will be lost; held back long enough to hide its outcome from all questions first.
async fn lose(world: &World, wire: Wire, executed: bool) {
    mode(world, "off").await;
    let lost = json!([{"execute": executed, "answer": {"kind": LOST}, "delay_ms": 1500}]);
    world.fault(takes(wire).0, lost).await;
}

/// From when it was sent nobody can find out what became of it.
async fn until_lost(world: &World, wire: Wire, checkout: &str) {
    world.until_sends(checkout, takes(wire).1).await;
    blind(world).await;
    world.until(checkout, &["pending_confirmation"]).await;
}

fn status(code: u16, body: &str) -> Value {
    json!({"kind": "status", "status": code, "body": body})
}

#[tokio::test]
async fn case_50_a_failure_told_after_the_success_changes_nothing_on_every_wire() {
    for late in LATE {
        let world = world().await;
        let checkout = paid(&world, late.wire).await;
        world.until_number(NOT_APPLIED, 0).await;
        let id = payment_id(&world).await;
        let history = world.history(&checkout).await;
        let failures = (late.failures)();
        for (seen, (kind, overrides)) in (1..).zip(&failures) {
            // The same event twice, and the same news as another event.
            for event_id in ["a", "a", "b"] {
                let event_id = format!("evt_{kind}_{event_id}");
                let event = json!({"payment": id, "type": kind, "event_id": event_id, "overrides": overrides});
                tell(&world, &event).await;
            }
            let about = format!("{}: {kind}", late.wire.name);
            assert_eq!(anomalies(&world, "late_failure").await, 2 * seen, "{about}");
            assert_eq!(world.state(&checkout).await, "succeeded", "{about}");
            assert_eq!(world.order_state(&checkout).await, "paid", "{about}");
        }
        world.until_number(NOT_APPLIED, 0).await;
        world.until_number("select count(*) from operations where lookup_wanted = 1", 0).await;
        world.agree(&checkout, "succeeded", 1).await;
        assert_eq!(world.history(&checkout).await, history, "{}", late.wire.name);
        assert_eq!(world.effects(&checkout).await.len(), 1, "{}", late.wire.name);
        assert_eq!(world.number("select sum(sold) from stock").await, 1);
        assert_eq!(world.number("select sum(reserved) from stock").await, 0);
        let told = "select count(*) from outbox where topic = 'order.paid'";
        assert_eq!(world.number(told).await, 1);
        assert!(world.next_form(&checkout).await.is_none(), "it is paid");
    }
}

/// Where the second attempt and its order stand, and what the worker has begun and ended about it.
async fn second(world: &World, checkout: &str) -> ((String, String, i64), i64) {
    let (state, order, sequence, attempts) = sqlx::query_as(
        "select operations.state, orders.state, orders.sequence,
             (select count(*) + count(ended_at) from attempts where operation_id = operations.id)
                 + 1000 * (lease_owner is not null)
         from operations join orders on orders.id = order_id
         where checkout_id = ? and kind = 'payment' and attempt = 2",
    )
    .bind(checkout)
    .fetch_one(world.database())
    .await
    .unwrap();
    ((state, order, sequence), attempts)
}

#[tokio::test]
async fn case_42_a_late_failure_of_the_first_attempt_leaves_the_open_second_alone() {
    for late in LATE {
        for (card, open) in late.open {
            // In real time, so that hardly anything else happens while the news come.
            let world = with(Options {
                scale: "1",
                provider: vec![("EXAMPLEPAY_PROCESSING_MS", "600000".to_owned())],
                ..Options::default()
            })
            .await;
            let checkout = world.buy(card_of(late.declined)).await;
            choose(&world, &checkout, late.declined).await;
            world.agree(&checkout, "rejected", 0).await;
            world.until_number(NOT_APPLIED, 0).await;
            let first = id_of(&world, &checkout, 1).await;
            pay_again(&world, &checkout, card_of(card)).await;
            choose(&world, &checkout, card).await;
            world.until(&checkout, &[open]).await;
            for (number, (kind, overrides)) in (late.failures)().iter().enumerate() {
                let about = format!("{}: {kind} while the second is {open}", late.wire.name);
                let mut undisturbed = false;
                for repeat in 0..20 {
                    let event_id = format!("evt_late_{number}_{repeat}");
                    let before = second(&world, &checkout).await;
                    let event = json!({"payment": first, "type": kind, "event_id": event_id, "overrides": overrides});
                    tell(&world, &event).await;
                    let after = second(&world, &checkout).await;
                    // A question of the schedule that was answered meanwhile is another cause.
                    if before.1 == after.1 && after.1 < 1000 {
                        assert_eq!(before.0, after.0, "{about}");
                        undisturbed = true;
                        break;
                    }
                }
                assert!(undisturbed, "{about}: somebody asks all the time");
                assert_eq!(world.states(&checkout, "payment").await, ["rejected", open], "{about}");
                assert_eq!(world.order_state(&checkout).await, "awaiting_payment", "{about}");
                let of_first = "select count(*) from provider_events join operations
                     on operations.id = operation_id where event_id like 'evt_late_%' and attempt = 2";
                assert_eq!(world.number(of_first).await, 0, "{about}");
            }
            decides(&world, &id_of(&world, &checkout, 2).await, "succeeded", false).await;
            world.agree(&checkout, "succeeded", 1).await;
            assert_eq!(world.states(&checkout, "payment").await, ["rejected", "succeeded"]);
            assert_eq!(world.order_state(&checkout).await, "paid");
        }
    }
}

#[tokio::test]
async fn case_43_one_intent_that_tells_a_failure_and_then_a_success_is_paid_on_stripes_wire() {
    // Both told while the answer is unknown; and the failure answered before the success is told.
    for answered in [false, true] {
        let world = world().await;
        let overrides = (LATE[0].failures)().remove(0).1;
        let failed = |id: &str| json!({"payment": id, "type": "payment_intent.payment_failed", "overrides": overrides});
        let checkout = if answered {
            let checkout = world.buy("stripe:pm_card_visa_chargeDeclined").await;
            world.until(&checkout, &["rejected"]).await;
            // Its own event comes in its time, and is not to be counted below.
            let own = "select count(*) from provider_events where state = 'applied'
                 and event_type = 'payment_intent.payment_failed'";
            world.until_number(own, 1).await;
            checkout
        } else {
            mode(&world, "off").await;
            blind(&world).await;
            world.fault("confirm_payment", json!([{"answer": {"kind": LOST}}])).await;
            let checkout = world.buy("stripe:pm_card_visa").await;
            world.until(&checkout, &["pending_confirmation"]).await;
            checkout
        };
        let id = payment_id(&world).await;
        tell(&world, &failed(&id)).await;
        let stands = if answered { "rejected" } else { "pending_confirmation" };
        assert_eq!(world.state(&checkout).await, stands, "an event alone is no proof of a no");
        if answered {
            decides(&world, &id, "succeeded", false).await;
        } else {
            tell(&world, &json!({"payment": id, "type": "payment_intent.succeeded"})).await;
            assert_eq!(world.state(&checkout).await, "succeeded", "and nobody had to be asked");
        }
        world.agree(&checkout, "succeeded", 1).await;
        // The failure once more, after the success of the same intent.
        tell(&world, &failed(&id)).await;
        world.agree(&checkout, "succeeded", 1).await;
        assert_eq!(world.order_state(&checkout).await, "paid");
        assert_eq!(anomalies(&world, "late_success").await, i64::from(answered));
        assert_eq!(anomalies(&world, "late_failure").await, 1);
        assert_eq!(world.states(&checkout, "payment").await, ["succeeded"]);
        assert!(world.next_form(&checkout).await.is_none(), "it is paid");
    }
}

#[tokio::test]
async fn case_69_a_refund_that_is_done_and_one_that_is_unknown_are_tracked_apart() {
    for wire in WIRES {
        let world = world().await;
        let checkout = paid(&world, wire).await;
        assert_eq!(ask(&world, &checkout, 1000).await, 202);
        settled(&world, &checkout, "refund", &["succeeded"]).await;
        until_order(&world, &checkout, "partially_refunded").await;
        world.until_all_is_told().await;
        world.until_number(NOT_APPLIED, 0).await;
        world.until_number("select count(*) from operations where lookup_wanted = 1", 0).await;
        let first = "select version from operations where kind = 'refund' and attempt = 1";
        let version = world.number(first).await;
        mode(&world, "off").await;
        blind(&world).await;
        let lost = json!([{"answer": {"kind": LOST}}]);
        world.fault_then("create_refund", lost, "repeat_last").await;
        assert_eq!(ask(&world, &checkout, 500).await, 202);
        settled(&world, &checkout, "refund", &["succeeded", "pending_confirmation"]).await;
        assert_eq!(world.order_state(&checkout).await, "partially_refunded", "{}", wire.name);
        assert_eq!(refundable(&world, &checkout).await, 1490, "the unknown one is not offered");
        lookups(&world, json!({})).await;
        world.control("/control/faults/clear", &json!({})).await;
        settled(&world, &checkout, "refund", &["succeeded"; 2]).await;
        assert_eq!(world.number(first).await, version, "{}: the first is untouched", wire.name);
        assert_eq!(world.order_state(&checkout).await, "partially_refunded", "{}", wire.name);
        assert_eq!(balance(&world, &checkout).await, 1490, "{}", wire.name);
        assert_eq!(world.effects(&checkout).await.len(), 3, "{}", wire.name);
        let stored = "select count(distinct idempotency_key) from steps join operations
             on operations.id = operation_id where kind = 'refund'";
        assert_eq!(world.number(stored).await, 2, "{}: a key each", wire.name);
        let refunds: BTreeSet<String> = keys(&world)
            .await
            .into_iter()
            .filter(|(path, _)| path.contains("refund"))
            .flat_map(|(_, sent)| sent)
            .collect();
        assert_eq!(refunds.len(), 2, "{}: {refunds:?}", wire.name);
    }
}

#[tokio::test]
async fn case_71_settled_after_a_cancel_goes_back_once_under_a_key_of_its_own() {
    for (wire, card, told) in [
        (EXAMPLEPAY, "tok_3ds", "payment.succeeded"),
        (STRIPE, "stripe:pm_card_threeDSecure2Required", "payment_intent.succeeded"),
    ] {
        let world = world().await;
        let checkout = world.buy(card).await;
        world.until(&checkout, &["requires_action"]).await;
        give_up(&world, &checkout).await;
        until_order(&world, &checkout, "canceled").await;
        world.agree(&checkout, "canceled", 0).await;
        let id = payment_id(&world).await;
        decides(&world, &id, "succeeded", false).await;
        until_order(&world, &checkout, "refunded").await;
        for event_id in ["evt_again", "evt_again", "evt_once_more"] {
            tell(&world, &json!({"payment": id, "type": told, "event_id": event_id})).await;
        }
        world.until_number(NOT_APPLIED, 0).await;
        world.until_number("select count(*) from operations where lookup_wanted = 1", 0).await;
        assert_eq!(world.states(&checkout, "refund").await, ["succeeded"], "{}", wire.name);
        let stored = stored_steps(&world).await;
        let is_ours = |key: &str| key.starts_with("refund:comp:");
        let ours: Vec<_> = stored.iter().filter(|(key, ..)| is_ours(key)).collect();
        assert_eq!(ours.len(), 1, "{}: {stored:?}", wire.name);
        assert!(
            stored.iter().all(|(key, ..)| is_ours(key) || key.starts_with("pay:")),
            "{stored:?}"
        );
        let sent: BTreeSet<String> = keys(&world).await.into_values().flatten().collect();
        assert_eq!(sent.iter().filter(|key| is_ours(key)).count(), 1, "{}: {sent:?}", wire.name);
        assert_eq!(world.effects(&checkout).await.len(), 2, "{}", wire.name);
        assert_eq!(balance(&world, &checkout).await, 0, "{}", wire.name);
        assert_eq!(world.order_state(&checkout).await, "refunded", "{}", wire.name);
        assert_eq!(world.number("select sum(sold) + sum(reserved) from stock").await, 0);
    }
}

#[tokio::test]
async fn case_27_an_idempotency_error_on_a_repeat_after_a_decline_is_never_a_decline() {
    let error = r#"{"error":{"type":"idempotency_error","message":"other parameters"}}"#;
    let refused = || json!({"execute": false, "answer": status(400, error)});
    // An intent that was never confirmed is canceled at Stripe when its time is over: that is proof.
    for (executed, end, charges) in [(true, "succeeded", 1), (false, "canceled", 0)] {
        for endless in [false, true] {
            let about = format!("executed: {executed}, endless: {endless}");
            let world = with(Options { scale: "0.004", ..Options::default() }).await;
            mode(&world, "off").await;
            let checkout = world.buy("stripe:pm_card_visa_chargeDeclined").await;
            world.agree(&checkout, "rejected", 0).await;
            unfound(&world).await;
            let steps = json!([{"execute": executed, "answer": {"kind": LOST}}, refused()]);
            let then = if endless { "repeat_last" } else { "normal" };
            world.fault_then("confirm_payment", steps, then).await;
            pay_again(&world, &checkout, "stripe:pm_card_visa").await;
            let met = "select count(*) from attempts where replay = 1 and http_status = 400";
            world
                .until_that(&format!("{about}: the repeat met the error"), async || {
                    let face = world.status(&checkout).await["face"].take();
                    assert!(face == "sending" || face == "checking", "{about}: {face}");
                    world.number(met).await > 0
                })
                .await;
            assert_eq!(world.state(&checkout).await, "pending_confirmation", "{about}");
            assert!(world.next_form(&checkout).await.is_none(), "{about}: no third attempt");
            lookups(&world, json!({})).await;
            world
                .until_that(&format!("{about}: it is {end}"), async || {
                    let face = world.status(&checkout).await["face"].take();
                    assert_ne!(face, "declined", "{about}");
                    world.state(&checkout).await == end
                })
                .await;
            world.agree(&checkout, end, charges).await;
            let face = world.status(&checkout).await["face"].take();
            assert_eq!(face, if executed { "paid" } else { "not_completed" }, "{about}");
            assert_eq!(world.states(&checkout, "payment").await, ["rejected", end], "{about}");
            let history = world.history(&checkout).await;
            assert_eq!(history.iter().filter(|it| *it == "rejected").count(), 1, "{history:?}");
            assert_eq!(alerts(&world, "unlisted").await, 1, "{about}: a person is told");
        }
    }
}

#[tokio::test]
async fn case_30_a_stored_500_is_known_as_no_news_on_every_repeat() {
    let error = r#"{"error":{"type":"api_error","message":"?"}}"#;
    for (wire, step, operation) in [
        (EXAMPLEPAY, "create", "create_payment"),
        (STRIPE, "create", "create_payment"),
        (STRIPE, "confirm", "confirm_payment"),
    ] {
        for executed in [true, false] {
            let about = format!("{} {step}, executed: {executed}", wire.name);
            let world = with(Options { scale: "0.004", ..Options::default() }).await;
            mode(&world, "off").await;
            unfound(&world).await;
            if executed {
                // The provider keeps it, and marks what it gives again by itself.
                world.fault(operation, json!([{"answer": status(500, error), "save": true}])).await;
            } else {
                let mut again = status(500, error);
                again["headers"] = json!({"Idempotent-Replayed": "true"});
                let steps = json!([
                    {"execute": false, "answer": status(500, error)},
                    {"execute": false, "answer": again},
                ]);
                world.fault_then(operation, steps, "repeat_last").await;
            }
            let checkout = buy(&world, wire).await;
            let repeated = "select count(*) from attempts where http_status = 500
                 and step is not null and replay = 1 and cached = 1";
            world.until_that(&about, async || world.number(repeated).await > 0).await;
            let other = "select count(*) from attempts where http_status = 500
                 and step is not null and replay <> cached";
            assert_eq!(
                world.number(other).await,
                0,
                "{about}: a first answer is none, each repeat is"
            );
            assert_eq!(world.state(&checkout).await, "pending_confirmation", "{about}");
            lookups(&world, json!({})).await;
            let end = match (step, executed) {
                // An intent whose id was never told cannot be asked about.
                ("create", _) if wire.name == "stripe" => "requires_review",
                (_, true) => "succeeded",
                // One that says it was never confirmed is canceled there when its time is over.
                ("confirm", false) => "canceled",
                (_, false) => "requires_review",
            };
            world.until(&checkout, &[end]).await;
            assert_eq!(world.number(other).await, 0, "{about}");
            let sends = world.sends(&checkout).await;
            let ours = |it: &&Value| it["key"].as_str().unwrap().ends_with(step);
            assert!(sends.iter().filter(ours).count() <= 4, "{about}: {sends:?}");
            let history = world.history(&checkout).await;
            assert!(!history.contains(&"rejected".to_owned()), "{about}: {history:?}");
            let charges = usize::from(end == "succeeded");
            world.agree(&checkout, end, charges).await;
            assert_eq!(world.effects(&checkout).await.len(), charges, "{about}");
        }
    }
}

#[tokio::test]
async fn case_32_a_secret_that_is_changed_while_an_outcome_is_unknown_changes_no_stored_key() {
    for (wire, setting, right) in [
        (EXAMPLEPAY, "PAYONCE_EXAMPLEPAY_API_KEY", "sk_test_payonce"),
        (STRIPE, "PAYONCE_STRIPE_API_KEY", "sk_test_payonce_stripe"),
        (PAYPAL, "PAYONCE_PAYPAL_CLIENT_SECRET", "payonce_secret"),
    ] {
        for executed in [true, false] {
            let about = format!("{}, executed: {executed}", wire.name);
            let mut world = world().await;
            lose(&world, wire, executed).await;
            let checkout = buy(&world, wire).await;
            until_lost(&world, wire, &checkout).await;
            let before = stored_steps(&world).await;
            world.restart_with(setting, "sk_test_changed");
            let refused = async || {
                let requests = world.requests().await;
                requests.iter().filter(|it| it["answered"] == "401").count()
            };
            lookups(&world, json!({})).await;
            world
                .until_that(&format!("{about}: the changed key is refused"), async || {
                    refused().await > 0
                })
                .await;
            assert_eq!(world.state(&checkout).await, "pending_confirmation", "{about}");
            assert!(world.next_form(&checkout).await.is_none(), "{about}");
            assert_eq!(stored_steps(&world).await, before, "{about}");
            world.restart_with(setting, right);
            world.agree(&checkout, "succeeded", 1).await;
            let after = stored_steps(&world).await;
            let known = |steps: &[(String, String, String, Option<String>)]| {
                let kept = steps.iter().map(|(key, path, hash, _)| (key, path, hash));
                kept.map(|(key, path, hash)| [key.clone(), path.clone(), hash.clone()])
                    .collect::<Vec<_>>()
            };
            assert_eq!(known(&after), known(&before), "{about}");
            let stored: BTreeSet<&String> = after.iter().map(|(key, ..)| key).collect();
            for (path, sent) in keys(&world).await {
                assert!(sent.iter().all(|key| stored.contains(key)), "{about}: {path} {sent:?}");
            }
            assert_eq!(world.order_state(&checkout).await, "paid", "{about}");
        }
    }
}

#[tokio::test]
async fn case_36_fifty_equal_posts_get_fifty_equal_answers() {
    for json in [false, true] {
        let world = world().await;
        world.add("cups", 1).await;
        let form = world.form().await;
        let mut fields = form.fields.clone();
        fields.push(("payment_token".to_owned(), "tok_visa".to_owned()));
        let path = format!("/checkout/{}/pay", form.checkout);
        let post = || async {
            let request = world.request(Method::POST, &path).form(&fields);
            let request = if json { request.header("Accept", "application/json") } else { request };
            let answer = request.send().await.unwrap();
            let location = answer.headers().get("location").cloned();
            (answer.status().as_u16(), location, answer.text().await.unwrap())
        };
        let answers = futures::future::join_all((0..50).map(|_| post())).await;
        let page = format!("/checkout/{}", form.checkout);
        for (status, location, body) in &answers {
            if json {
                let told: Value = serde_json::from_str(body).unwrap();
                assert_eq!((*status, &told["location"]), (202, &json!(page)), "{body}");
            } else {
                assert_eq!((*status, location.as_ref().unwrap().to_str().unwrap()), (303, &*page));
            }
            assert_eq!(body, &answers[0].2, "equal bodies");
        }
        world.agree(&form.checkout, "succeeded", 1).await;
        assert_eq!(world.number("select count(*) from orders").await, 1);
        assert_eq!(world.number("select count(*) from operations").await, 1);
        assert_eq!(world.sends(&form.checkout).await.len(), 1);
    }
}

#[tokio::test]
async fn case_36a_a_new_id_for_every_click_at_once_is_one_order_and_one_charge() {
    for wire in WIRES {
        let world = world().await;
        world.add("cups", 1).await;
        let form = world.form().await;
        let (card, funding) = wire.card.split_once('|').unwrap_or((wire.card, ""));
        let mut fields = form.fields.clone();
        fields.push(("payment_token".to_owned(), card.to_owned()));
        let ids: Vec<String> = (0..20).map(|_| Uuid::new_v4().to_string()).collect();
        let posts = ids.iter().map(|id| {
            let path = format!("/checkout/{id}/pay");
            world.request(Method::POST, &path).form(&fields).send()
        });
        let answers = futures::future::join_all(posts).await;
        let mut places = BTreeSet::new();
        let mut plain = 0;
        for answer in answers {
            let answer = answer.unwrap();
            assert_eq!(answer.status(), 303, "{}", wire.name);
            let location = answer.headers()["location"].to_str().unwrap().to_owned();
            let (page, note) = location.split_once('?').unwrap_or((&location, ""));
            places.insert(page.to_owned());
            plain += usize::from(note.is_empty());
            assert!(note.is_empty() || note == "note=already-paying", "{location}");
        }
        assert_eq!(places.len(), 1, "{}: {places:?}", wire.name);
        assert_eq!(plain, 1, "{}: one of them made the order", wire.name);
        let page = places.pop_first().unwrap();
        let checkout = page.strip_prefix("/checkout/").unwrap();
        assert!(ids.iter().any(|id| id == checkout), "{page}");
        if !funding.is_empty() {
            world.approve_at_paypal(checkout, funding).await;
        }
        world.agree(checkout, "succeeded", 1).await;
        assert_eq!(world.number("select count(*) from orders").await, 1, "{}", wire.name);
        assert_eq!(world.number("select count(*) from operations").await, 1, "{}", wire.name);
        let ledger = world.ask("/control/ledger").await;
        assert_eq!(ledger["effects"].as_array().unwrap().len(), 1, "{}: {ledger}", wire.name);
    }
}

#[tokio::test]
async fn case_12_pay_pressed_again_while_the_taking_of_the_money_is_unknown_makes_no_second_object()
{
    for wire in [STRIPE, PAYPAL] {
        for executed in [true, false] {
            let about = format!("{}, executed: {executed}", wire.name);
            let world = world().await;
            lose(&world, wire, executed).await;
            world.add("cups", 1).await;
            let form = world.form().await;
            let (card, funding) = wire.card.split_once('|').unwrap_or((wire.card, ""));
            assert_eq!(world.post(&form, card).await.0, 303);
            let checkout = form.checkout.clone();
            if !funding.is_empty() {
                world.approve_at_paypal(&checkout, funding).await;
            }
            until_lost(&world, wire, &checkout).await;
            for (attempt, token) in
                [("1", card), ("2", card), ("1", "tok_visa"), ("2", "tok_visa"), ("3", card)]
            {
                let again = form.clone().with("attempt", attempt);
                let (status, location, _) = world.post(&again, token).await;
                assert_eq!(status, 303, "{about}: {attempt} {token}");
                assert!(location.starts_with(&format!("/checkout/{checkout}")), "{location}");
                assert_eq!(
                    world.states(&checkout, "payment").await,
                    ["pending_confirmation"],
                    "{about}: {attempt} {token}"
                );
            }
            lookups(&world, json!({})).await;
            world.agree(&checkout, "succeeded", 1).await;
            let reference = world.reference(&checkout).await;
            let made = world.ask(&format!("/control/payments?reference={reference}-1")).await;
            assert_eq!(made["payments"].as_array().unwrap().len(), 1, "{about}: {made}");
            let next = world.ask(&format!("/control/payments?reference={reference}-2")).await;
            assert!(next["payments"].as_array().unwrap().is_empty(), "{about}: {next}");
            let keys = keys(&world).await;
            assert_eq!(keys.len(), 2, "{about}: one creation and one taking: {keys:?}");
            for (path, sent) in keys {
                assert!(sent.iter().all(|key| *key == sent[0]), "{about}: {path} {sent:?}");
            }
        }
    }
}

#[tokio::test]
async fn case_5_a_word_nobody_has_listed_in_a_lookup_stays_unknown_and_is_told_once() {
    for (card, takes) in [
        ("tok_unknown_status", "create_payment"),
        ("stripe:pm_sim_unknown_status", "confirm_payment"),
        ("paypal:wallet|unknown_status", "capture_payment"),
    ] {
        let world = world().await;
        mode(&world, "off").await;
        world.fault(takes, json!([{"answer": {"kind": LOST}}])).await;
        let (token, funding) = card.split_once('|').unwrap_or((card, ""));
        let checkout = world.buy(token).await;
        if !funding.is_empty() {
            world.approve_at_paypal(&checkout, funding).await;
        }
        let asked = "select count(*) from attempts where step is null and http_status = 200";
        world
            .until_that("it is asked about again and again", async || world.number(asked).await > 3)
            .await;
        assert_eq!(world.state(&checkout).await, "pending_confirmation", "{card}");
        assert_eq!(world.status(&checkout).await["face"], "checking", "{card}");
        assert_eq!(alerts(&world, "unlisted").await, 1, "{card}: once, however often it is seen");
        // At PayPal it was also asked about while its shopper had yet to approve it.
        let verdicts: Vec<String> = sqlx::query_scalar(
            "select distinct verdict from attempts where step is null and verdict is not null",
        )
        .fetch_all(world.database())
        .await
        .unwrap();
        let before: &[&str] = match card.starts_with("paypal") {
            true => &["accepted", "definitive_action_required"],
            false => &[],
        };
        let says = |it: &String| it != "no_news" && !before.contains(&it.as_str());
        assert!(!verdicts.iter().any(says), "{card}: {verdicts:?}");
        let detail: String =
            sqlx::query_scalar("select detail from alerts where kind = 'unlisted'")
                .fetch_one(world.database())
                .await
                .unwrap();
        assert!(detail.to_lowercase().contains("under_review"), "{card}: {detail}");
        assert!(world.next_form(&checkout).await.is_none(), "{card}");
        decides(&world, &provider_id(&world, &checkout).await, "succeeded", true).await;
        world.agree(&checkout, "succeeded", 1).await;
        let history = world.history(&checkout).await;
        assert!(!history.iter().any(|it| matches!(it.as_str(), "rejected" | "canceled")));
    }
}

/// What the provider calls the order's first payment.
async fn provider_id(world: &World, checkout: &str) -> String {
    let reference = world.reference(checkout).await;
    let made = world.ask(&format!("/control/payments?reference={reference}-1")).await;
    made["payments"][0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn case_74a_a_refund_that_is_pending_for_ever_goes_to_a_person_after_its_deadline() {
    for (wire, card) in [
        (EXAMPLEPAY, "tok_refund_pending"),
        (STRIPE, "stripe:pm_sim_refund_pending"),
        (PAYPAL, "paypal:wallet|refund_pending"),
    ] {
        let world = with(Options {
            provider: vec![("EXAMPLEPAY_PROCESSING_MS", "3600000".to_owned())],
            ..Options::default()
        })
        .await;
        let checkout = paid(&world, Wire { card, ..wire }).await;
        assert_eq!(ask(&world, &checkout, 1000).await, 202);
        let asked = "select count(*) from attempts join operations on operations.id = operation_id
             where kind = 'refund' and step is null and verdict = 'definitive_processing'";
        world.until_that("it is asked about", async || world.number(asked).await > 0).await;
        assert_eq!(world.states(&checkout, "refund").await, ["pending_confirmation"]);
        assert_eq!(world.order_state(&checkout).await, "paid", "{}: nothing went back", wire.name);
        world.set_clock(2 * 24 * 3600);
        settled(&world, &checkout, "refund", &["requires_review"]).await;
        assert_eq!(alerts(&world, "review").await, 1, "{}", wire.name);
        assert_eq!(world.order_state(&checkout).await, "paid", "{}", wire.name);
        assert_eq!(refundable(&world, &checkout).await, 1990, "{}: it may still come", wire.name);
        assert_eq!(ask(&world, &checkout, 1991).await, 422, "{}", wire.name);
        let sent = keys(&world).await;
        let sent: Vec<_> = sent.iter().filter(|(path, _)| path.contains("refund")).collect();
        assert_eq!((sent.len(), sent[0].1.len()), (1, 1), "{}: never sent again", wire.name);
    }
}

#[tokio::test]
async fn a_lost_answer_counts_as_transport_and_a_decline_as_a_no() {
    let world = world().await;
    mode(&world, "off").await;
    world.fault("create_payment", json!([{"answer": {"kind": LOST}}])).await;
    let checkout = world.buy("tok_visa").await;
    world.agree(&checkout, "succeeded", 1).await;
    let metrics = async || world.send(world.request(Method::GET, "/metrics")).await.2;
    let told = metrics().await;
    let count = |metrics: &str, name: &str, labels: &[&str]| -> u64 {
        let lines = metrics.lines().filter(|it| it.starts_with(&format!("{name}{{")));
        let ours = lines.filter(|it| labels.iter().all(|label| it.contains(label)));
        ours.map(|it| it.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
    };
    let requests = "payonce_provider_requests_total";
    let lost =
        ["provider=\"examplepay\"", "transport=\"connection_lost\"", "verdict=\"indeterminate\""];
    assert_eq!(count(&told, requests, &lost), 1, "{told}");
    let moves = "payonce_transitions_total";
    assert_eq!(count(&told, moves, &["kind=\"payment\"", "to=\"pending_confirmation\""]), 1);
    assert_eq!(count(&told, moves, &["kind=\"payment\"", "to=\"succeeded\""]), 1);
    for no in ["to=\"rejected\"", "to=\"canceled\""] {
        assert_eq!(count(&told, moves, &[no]), 0, "{told}");
    }
    assert_eq!(count(&told, requests, &["verdict=\"definitive_rejected\""]), 0);
    // A real no is an answer, and no failure of the wire.
    let declined = world.buy("tok_declined").await;
    world.agree(&declined, "rejected", 0).await;
    let told = metrics().await;
    let no = ["transport=\"answered\"", "verdict=\"definitive_rejected\""];
    assert_eq!(count(&told, requests, &no), 1, "{told}");
    assert_eq!(count(&told, moves, &["kind=\"payment\"", "to=\"rejected\""]), 1);
    assert_eq!(count(&told, requests, &lost), 1);
}

#[tokio::test]
async fn a_charge_of_another_amount_at_stripe_pays_no_order_and_is_recorded_for_a_person() {
    for lost in [false, true] {
        let world = world().await;
        mode(&world, "off").await;
        if lost {
            world.fault("confirm_payment", json!([{"answer": {"kind": LOST}}])).await;
        }
        let checkout = world.buy("stripe:pm_sim_wrong_amount").await;
        world.agree(&checkout, "requires_review", 1).await;
        let (reason, minor, currency): (Option<String>, Option<i64>, Option<String>) =
            sqlx::query_as(
                "select review_reason, effect_minor, effect_currency from operations where kind = 'payment'",
            )
            .fetch_one(world.database())
            .await
            .unwrap();
        assert_eq!(
            (reason.as_deref(), minor, currency.as_deref()),
            (Some("amount_mismatch"), Some(2991), Some("EUR"))
        );
        assert_eq!(world.effects(&checkout).await, [("charge".to_owned(), 2991)]);
        assert_eq!(world.order_state(&checkout).await, "awaiting_payment");
        assert_eq!(alerts(&world, "review").await, 1);
        assert_eq!(world.number("select sum(sold) from stock").await, 0);
        assert_eq!(world.number("select sum(reserved) from stock").await, 1, "kept meanwhile");
        assert!(world.next_form(&checkout).await.is_none(), "a person looks at it first");
        assert_eq!(world.number("select count(*) from outbox where topic = 'order.paid'").await, 0);
    }
}
