//! Failures reported for other shops, played against this one. Numbers are those of the reports.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Options, World};

const LOST: &str = "drop_before_headers";

fn lost(execute: bool) -> Value {
    json!([{"execute": execute, "answer": {"kind": LOST}}])
}

async fn quiet(world: &World) {
    world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
}

#[tokio::test]
async fn case_1_unknown_until_the_deadline_is_reviewed_and_a_late_webhook_ends_it() {
    let world = World::with(Options { scale: "0.003", ..Options::default() }).await;
    world
        .fault(
            "create_payment",
            json!([{"execute": true, "answer": {"kind": LOST}, "webhook": {"mode": "never"}}]),
        )
        .await;
    world.control("/control/lookups", &json!({"not_found_for_ms": 600_000})).await;
    // Replays would find the object; here they are lost as well.
    world.fault_then("create_payment", lost(true), "repeat_last").await;
    let checkout = world.buy("tok_visa").await;
    world.until(&checkout, &["requires_review"]).await;
    let history = world.history(&checkout).await;
    assert!(!history.iter().any(|it| it == "rejected" || it == "canceled"), "{history:?}");
    let payments = world
        .ask(&format!("/control/payments?reference={}-1", world.reference(&checkout).await))
        .await;
    let id =
        payments["payments"].as_array().or_else(|| payments["data"].as_array()).unwrap()[0]["id"]
            .clone();
    world.control("/control/webhooks", &json!({"payment": id, "type": "payment.succeeded"})).await;
    world.agree(&checkout, "succeeded", 1).await;
}

#[tokio::test]
async fn case_3_a_refused_lookup_says_nothing_about_the_payment_and_alerts() {
    let world = World::start().await;
    quiet(&world).await;
    world.fault("create_payment", lost(true)).await;
    world.control("/control/lookups", &json!({"status": 403, "for_ms": 1500})).await;
    let checkout = world.buy("tok_visa").await;
    world.until_number("select count(*) from alerts where kind = 'unlisted'", 1).await;
    assert_eq!(world.state(&checkout).await, "pending_confirmation");
    world.agree(&checkout, "succeeded", 1).await;
}

#[tokio::test]
async fn case_6_a_refused_connection_is_sent_again_with_the_same_key() {
    let world = World::start().await;
    world.control("/control/outage", &json!({"mode": "refuse", "for_ms": 1200})).await;
    let checkout = world.buy("tok_visa").await;
    world.until(&checkout, &["retry_scheduled", "succeeded"]).await;
    assert_eq!(world.status(&checkout).await["face"], "sending");
    world.agree(&checkout, "succeeded", 1).await;
    let history = world.history(&checkout).await;
    assert!(
        !history.contains(&"pending_confirmation".to_owned()),
        "nothing was ever unknown: {history:?}"
    );
}

#[tokio::test]
async fn case_11_a_lost_answer_is_found_out_although_nobody_looks() {
    let world = World::start().await;
    quiet(&world).await;
    world.fault("create_payment", lost(true)).await;
    let checkout = world.buy("tok_visa").await;
    world.agree(&checkout, "succeeded", 1).await;
}

#[tokio::test]
async fn case_14_no_page_of_an_open_payment_offers_another_one() {
    let world = World::start().await;
    for token in ["tok_processing", "tok_3ds", "tok_unknown_status"] {
        let checkout = world.buy(token).await;
        world.until(&checkout, &["pending_confirmation", "requires_action"]).await;
        let (_, _, html) =
            world.send(world.request(Method::GET, &format!("/checkout/{checkout}"))).await;
        assert!(!html.contains("data-pay-control"), "{token}");
        for word in ["failed", "Failed", "try again", "Try again", "error"] {
            let words = html.split("<main").nth(1).unwrap().split("</main").next().unwrap();
            assert!(!words.contains(word), "{token} says {word:?}");
        }
    }
}

#[tokio::test]
async fn case_17_a_500_after_the_charge_is_unknown_and_its_request_id_is_kept() {
    let world = World::start().await;
    quiet(&world).await;
    let checkout = world.buy("tok_500_executed").await;
    world.until(&checkout, &["pending_confirmation", "succeeded"]).await;
    world.agree(&checkout, "succeeded", 1).await;
    assert!(world.history(&checkout).await.contains(&"pending_confirmation".to_owned()));
    let kept =
        "select count(*) from attempts where http_status = 500 and provider_request_id is not null";
    assert_eq!(world.number(kept).await, 1);
}

#[tokio::test]
async fn case_23_after_a_decline_the_next_card_has_its_own_key() {
    let world = World::start().await;
    let checkout = world.buy("tok_declined").await;
    world.agree(&checkout, "rejected", 0).await;
    let form = world
        .next_form(&checkout)
        .await
        .expect("a declined payment may be tried with another card");
    assert_eq!(form.checkout, checkout);
    assert_eq!(world.post(&form, "tok_visa").await.0, 303);
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.states(&checkout, "payment").await, ["rejected", "succeeded"]);
    let keys: Vec<String> = world
        .sends(&checkout)
        .await
        .iter()
        .map(|it| it["key"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(keys, [format!("pay:{checkout}:v1:create"), format!("pay:{checkout}:v2:create")]);
}

#[tokio::test]
async fn case_36_fifty_posts_at_once_are_one_charge() {
    let world = World::start().await;
    world.add("cups", 1).await;
    let form = world.form().await;
    let mut fields = form.fields.clone();
    fields.push(("payment_token".to_owned(), "tok_visa".to_owned()));
    let path = format!("/checkout/{}/pay", form.checkout);
    let posts = (0..50).map(|_| world.request(Method::POST, &path).form(&fields).send());
    let answers = futures::future::join_all(posts).await;
    for answer in answers {
        assert_eq!(answer.unwrap().status(), 303);
    }
    world.agree(&form.checkout, "succeeded", 1).await;
    assert_eq!(world.number("select count(*) from operations").await, 1);
    assert_eq!(world.sends(&form.checkout).await.len(), 1);
}

#[tokio::test]
async fn case_36a_a_second_checkout_id_for_one_cart_leads_to_the_first() {
    let world = World::start().await;
    world.add("cups", 1).await;
    let form = world.form().await;
    assert_eq!(world.post(&form, "tok_processing").await.0, 303);
    let mut other = form.clone();
    other.checkout = uuid::Uuid::new_v4().to_string();
    let (status, location, _) = world.post(&other, "tok_visa").await;
    assert_eq!(status, 303);
    assert_eq!(location, format!("/checkout/{}?note=already-paying", form.checkout));
    world.agree(&form.checkout, "succeeded", 1).await;
    assert_eq!(world.number("select count(*) from orders").await, 1);
}

#[tokio::test]
async fn case_39_a_processing_webhook_completes_nothing() {
    let world = World::with(Options {
        provider: vec![("EXAMPLEPAY_PROCESSING_MS", "3000".to_owned())],
        ..Options::default()
    })
    .await;
    let checkout = world.buy("tok_processing").await;
    world.until_number("select count(*) from provider_events where event_type = 'payment.processing' and state = 'applied'", 1).await;
    assert_eq!(world.state(&checkout).await, "pending_confirmation");
    assert_eq!(world.order_state(&checkout).await, "awaiting_payment");
    world.agree(&checkout, "succeeded", 1).await;
}

#[tokio::test]
async fn case_46_an_event_about_nothing_of_ours_is_stored_and_told() {
    let world = World::start().await;
    let event = json!({
        "id": "evt_stranger", "type": "payment.succeeded", "created_at": 1, "livemode": false,
        "account": "acct_payonce", "request": {"id": "req_1", "idempotency_key": "other"},
        "data": {"object": {"id": "pay_stranger", "object": "payment", "account": "acct_payonce",
            "livemode": false, "reference": "Q-1", "amount_minor": 100, "currency": "EUR",
            "status": "succeeded"}}
    });
    let told = world.control("/control/webhooks", &json!({"raw": event})).await;
    assert!(told.to_string().contains("200"), "{told}");
    assert_eq!(
        world.number("select count(*) from provider_events where state = 'unmatched'").await,
        1
    );
    assert_eq!(world.number("select count(*) from alerts where kind = 'unmatched_event'").await, 1);
}

#[tokio::test]
async fn case_50_a_late_failure_does_not_undo_a_success() {
    let world = World::start().await;
    let checkout = world.buy("tok_visa").await;
    world.agree(&checkout, "succeeded", 1).await;
    let id: String = sqlx::query_scalar("select provider_operation_id from operations")
        .fetch_one(world.database())
        .await
        .unwrap();
    let told =
        json!({"payment": id, "type": "payment.declined", "overrides": {"status": "declined"}});
    world.control("/control/webhooks", &told).await;
    world.until_number("select count(*) from anomalies where kind = 'late_failure'", 1).await;
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.order_state(&checkout).await, "paid");
}

#[tokio::test]
async fn case_52_the_return_url_decides_nothing_however_often_it_is_opened() {
    let world = World::start().await;
    let checkout = world.buy("tok_3ds").await;
    world.until(&checkout, &["requires_action"]).await;
    let path = format!("/checkout/{checkout}/return?payment=pay_forged&status=succeeded");
    let visits = (0..6).map(|_| world.request(Method::GET, &path).send());
    for visit in futures::future::join_all(visits).await {
        assert_eq!(visit.unwrap().status(), 303);
    }
    // Without the session's cookie it leads to the page all the same.
    let session = world.forget_session();
    let (status, location, _) = world.send(world.request(Method::GET, &path)).await;
    assert_eq!((status, location), (303, format!("/checkout/{checkout}")));
    world.remember_session(session);
    assert_eq!(world.state(&checkout).await, "requires_action");
    world.agree(&checkout, "requires_action", 0).await;
}

#[tokio::test]
async fn case_61_an_abandoned_confirmation_is_canceled_at_the_provider_first() {
    let world = World::with(Options {
        provider: vec![("EXAMPLEPAY_ACTION_MS", "1200".to_owned())],
        ..Options::default()
    })
    .await;
    let checkout = world.buy("tok_3ds").await;
    world.until(&checkout, &["requires_action"]).await;
    assert!(
        world.next_form(&checkout).await.is_none(),
        "no new attempt while the page may still be confirmed"
    );
    world.agree(&checkout, "canceled", 0).await;
    let form = world.next_form(&checkout).await.expect("now another attempt is safe");
    assert_eq!(world.post(&form, "tok_visa").await.0, 303);
    world.agree(&checkout, "succeeded", 1).await;
}

#[tokio::test]
async fn case_63_clock_jobs_leave_a_success_alone() {
    let mut world = World::with(Options { scale: "0.02", ..Options::default() }).await;
    let checkout = world.buy("tok_visa").await;
    world.agree(&checkout, "succeeded", 1).await;
    // Every wait is over at once, expiry of unpaid orders included.
    world.restart_with("PAYONCE_TIME_SCALE", "0.001");
    let declined = world.buy("tok_declined").await;
    world.until(&declined, &["rejected"]).await;
    world.until_number("select count(*) from orders where state = 'canceled'", 1).await;
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.order_state(&checkout).await, "paid");
}

#[tokio::test]
async fn case_71_money_that_arrives_after_a_cancel_goes_back_by_itself() {
    let world = World::start().await;
    let checkout = world.buy("tok_3ds").await;
    world.until(&checkout, &["requires_action"]).await;
    let id: String = sqlx::query_scalar("select provider_operation_id from operations")
        .fetch_one(world.database())
        .await
        .unwrap();
    // The shopper confirms at the bank, and gives the order up before anybody here knows.
    world.control("/control/lookups", &json!({"status": 503, "for_ms": 600_000})).await;
    world
        .control(
            &format!("/control/payments/{id}"),
            &json!({"status": "succeeded", "silent": true}),
        )
        .await;
    let empty = world.request(Method::POST, &format!("/checkout/{checkout}/cancel"));
    let empty = empty.header("Content-Type", "application/x-www-form-urlencoded").body("");
    assert_eq!(world.send(empty).await.0, 303);
    world.control("/control/lookups", &json!({})).await;
    world
        .until_number(
            "select count(*) from operations where kind = 'refund' and state = 'succeeded'",
            1,
        )
        .await;
    let effects = world.effects(&checkout).await;
    assert_eq!(effects.iter().map(|(_, amount)| amount).sum::<i64>(), 0, "{effects:?}");
    assert_eq!(world.order_state(&checkout).await, "refunded");
    assert_eq!(world.number("select count(*) from anomalies where kind = 'late_success'").await, 1);
}

#[tokio::test]
async fn attack_5_another_session_writes_nothing_and_learns_only_the_state() {
    let world = World::start().await;
    world.add("cups", 1).await;
    let form = world.form().await;
    assert_eq!(world.post(&form, "tok_visa").await.0, 303);
    world.agree(&form.checkout, "succeeded", 1).await;
    let owner = world.forget_session();
    world.add("tray", 1).await;
    let before = world.number("select count(*) from transitions").await;
    let (status, location, _) = world.post(&form, "tok_visa").await;
    assert_eq!((status, location), (303, format!("/checkout/{}", form.checkout)));
    assert_eq!(world.number("select count(*) from transitions").await, before);
    let (_, _, html) =
        world.send(world.request(Method::GET, &format!("/checkout/{}", form.checkout))).await;
    let reference = world.reference(&form.checkout).await;
    assert!(html.contains(&reference));
    let main = html.split("<main").nth(1).unwrap();
    assert!(!main.contains("29.90") && !main.contains("cups"), "lines and amounts are the owner's");
    world.remember_session(owner);
}

#[tokio::test]
async fn attack_11_half_an_answer_is_no_answer() {
    let world = World::start().await;
    quiet(&world).await;
    for token in ["tok_cut_body", "tok_html"] {
        let checkout = world.buy(token).await;
        world.agree(&checkout, "succeeded", 1).await;
        assert!(
            world.history(&checkout).await.contains(&"pending_confirmation".to_owned()),
            "{token}"
        );
    }
}

#[tokio::test]
async fn attack_14_retry_after_is_obeyed_with_the_same_key() {
    let world = World::start().await;
    let checkout = world.buy("tok_429").await;
    world.until(&checkout, &["retry_scheduled"]).await;
    world.agree(&checkout, "succeeded", 1).await;
    let sends = world.sends(&checkout).await;
    assert_eq!(sends.len(), 2);
    assert_eq!(sends[0]["key"], sends[1]["key"]);
    let wait = sends[1]["at_ms"].as_i64().unwrap() - sends[0]["at_ms"].as_i64().unwrap();
    assert!(wait >= 2000, "asked to wait 2 s, came back after {wait} ms");
}

#[tokio::test]
async fn attack_23_a_genuine_signature_with_another_amount_pays_nothing() {
    for token in ["tok_wrong_amount", "tok_wrong_currency"] {
        let world = World::start().await;
        let checkout = world.buy(token).await;
        world.until(&checkout, &["requires_review"]).await;
        assert_eq!(world.order_state(&checkout).await, "awaiting_payment", "{token}");
        assert!(
            world.next_form(&checkout).await.is_none(),
            "{token}: no second payment while a person looks"
        );
        assert!(world.number("select effect_minor from operations").await > 0);
        let history = world.history(&checkout).await;
        assert!(!history.contains(&"succeeded".to_owned()), "{history:?}");
    }
}

#[tokio::test]
async fn attack_26_webhooks_without_a_fresh_genuine_signature_are_refused() {
    let world = World::start().await;
    let checkout = world.buy("tok_3ds").await;
    world.until(&checkout, &["requires_action"]).await;
    world.until_number("select count(*) from provider_events", 1).await;
    let id: String = sqlx::query_scalar("select provider_operation_id from operations")
        .fetch_one(world.database())
        .await
        .unwrap();
    let forged =
        json!({"payment": id, "type": "payment.succeeded", "overrides": {"status": "succeeded"}});
    for (field, value) in [
        ("signature", json!("bad")),
        ("signature", json!("none")),
        ("signature", json!("v0_only")),
        ("signature", json!("empty_v1")),
        ("timestamp_offset_s", json!(-310)),
        ("timestamp_offset_s", json!(310)),
    ] {
        let mut told = forged.clone();
        told[field] = value.clone();
        let answer = world.control("/control/webhooks", &told).await;
        assert!(answer.to_string().contains("400"), "{field}={value}: {answer}");
    }
    assert_eq!(world.number("select count(*) from provider_events").await, 1, "nothing was stored");
    assert_eq!(world.state(&checkout).await, "requires_action");
}

#[tokio::test]
async fn attack_32_a_changed_webhook_secret_leaves_stored_keys_alone() {
    let mut world = World::start().await;
    quiet(&world).await;
    world.fault("create_payment", lost(false)).await;
    let checkout = world.buy("tok_visa").await;
    world.until(&checkout, &["pending_confirmation"]).await;
    world.restart_with("PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET", "whsec_other,whsec_payonce");
    world.agree(&checkout, "succeeded", 1).await;
    let sends = world.sends(&checkout).await;
    assert_eq!(sends[0]["key"], sends[1]["key"]);
}

#[tokio::test]
async fn a_yen_order_is_charged_in_yen_without_decimals() {
    let world = World::start().await;
    let form = [("currency", "JPY")];
    let request = world.request(Method::POST, "/currency").form(&form);
    let answer = request.send().await.unwrap();
    let cookies: Vec<String> = answer
        .headers()
        .get_all("set-cookie")
        .iter()
        .map(|it| it.to_str().unwrap().split(';').next().unwrap().to_owned())
        .collect();
    world.remember_session(Some(cookies.join("; ")));
    world.add("cups", 2).await;
    let form = world.form().await;
    assert!(form.fields.contains(&("amount_minor".to_owned(), "9600".to_owned())), "{form:?}");
    assert_eq!(world.post(&form, "tok_visa").await.0, 303);
    world.agree(&form.checkout, "succeeded", 1).await;
    assert_eq!(world.effects(&form.checkout).await, [("charge".to_owned(), 9600)]);
}
