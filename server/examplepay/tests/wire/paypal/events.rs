//! PayPal's events: signed with a certificate's key, or as wrong as a script wants.

use axum::http::HeaderMap;
use base64::{Engine, engine::general_purpose::STANDARD};
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};

use super::*;

fn pair() -> RsaKeyPair {
    let pem = include_str!("../../../certs/leaf.key.pem");
    let base64: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    RsaKeyPair::from_pkcs8(&STANDARD.decode(base64).unwrap()).unwrap()
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).map_or("", |it| it.to_str().unwrap())
}

fn genuine((headers, body): &(HeaderMap, String)) -> bool {
    let message = format!(
        "{}|{}|WH-PAYONCE|{}",
        header(headers, "paypal-transmission-id"),
        header(headers, "paypal-transmission-time"),
        crc32fast::hash(body.as_bytes())
    );
    let signature = STANDARD.decode(header(headers, "paypal-transmission-sig")).unwrap();
    let pair = pair();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key());
    public.verify(message.as_bytes(), &signature).is_ok()
}

fn event((_, body): &(HeaderMap, String)) -> Value {
    serde_json::from_str(body).unwrap()
}

#[tokio::test]
async fn events_are_signed_with_the_key_of_the_certificate_they_name() {
    let paypal = PayPal::start().await;
    let capture = paypal.captured("k1", "balance").await;
    paypal.refund(&capture, "r1", None).await;
    until("events", async || paypal.world.paypal_received().len() >= 3).await;
    let mut kinds = Vec::new();
    for received in paypal.world.paypal_received() {
        assert!(genuine(&received));
        assert_eq!(header(&received.0, "paypal-auth-algo"), "SHA256withRSA");
        let told = event(&received);
        assert!(told["id"].as_str().unwrap().starts_with("WH-"));
        kinds.push(format!(
            "{} {}",
            told["event_type"].as_str().unwrap(),
            told["resource_type"].as_str().unwrap()
        ));
        let url = header(&received.0, "paypal-cert-url");
        assert!(url.ends_with("/v1/notifications/certs/CERT-payonce"));
        let pem = paypal.world.client.get(url).send().await.unwrap().text().await.unwrap();
        assert_eq!(pem.matches("BEGIN CERTIFICATE").count(), 2, "the leaf, then who issued it");
        let leaf: String =
            pem.lines().skip(1).take_while(|line| !line.starts_with("-----")).collect();
        let leaf = STANDARD.decode(leaf).unwrap();
        let public = pair().public_key().as_ref().to_vec();
        assert!(leaf.windows(public.len()).any(|it| it == public), "it is this key's certificate");
    }
    kinds.sort();
    let wanted = [
        "CHECKOUT.ORDER.APPROVED checkout-order",
        "PAYMENT.CAPTURE.COMPLETED capture",
        "PAYMENT.CAPTURE.REFUNDED refund",
    ];
    assert_eq!(kinds, wanted);
    let listed = paypal.get("/v1/notifications/webhooks-events").await.json();
    assert_eq!(listed["events"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn an_event_that_is_asked_for_again_is_the_same_one_in_another_transmission() {
    let paypal = PayPal::start().await;
    paypal.captured("k1", "balance").await;
    until("events", async || paypal.world.paypal_received().len() >= 2).await;
    let first = paypal.world.paypal_received()[0].clone();
    let id = event(&first)["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/notifications/webhooks-events/{id}");
    let found = paypal.get(&path).await;
    assert_eq!((found.status, &found.body), (200, &first.1));
    let resend = format!("{path}/resend");
    for body in [json!({}), json!({"webhook_ids": ["WH-PAYONCE"]})] {
        let before = paypal.world.paypal_received().len();
        let told = paypal.post(&resend, None, &body).await.unwrap();
        assert_eq!((told.status, &told.json()["id"]), (202, &json!(id)));
        until("it again", async || paypal.world.paypal_received().len() > before).await;
        let again = paypal.world.paypal_received().pop().unwrap();
        assert!(genuine(&again));
        assert_eq!(again.1, first.1, "the very bytes");
        let transmission =
            |of: &(HeaderMap, String)| header(&of.0, "paypal-transmission-id").to_owned();
        assert_ne!(transmission(&again), transmission(&first));
    }
    assert_eq!(paypal.world.effects("k1").await.len(), 1);
    for (path, body, status, issue) in [
        (&resend, json!({"webhook_ids": ["WH-OTHER"]}), 404, "INVALID_RESOURCE_ID"),
        (&resend, json!({"webhook_ids": "WH-PAYONCE"}), 400, "INVALID_PARAMETER_SYNTAX"),
        (&resend.replace(&id, "WH-NONE"), json!({}), 404, "INVALID_RESOURCE_ID"),
    ] {
        let told = paypal.post(path, None, &body).await.unwrap();
        assert_eq!((told.status, problem(&told).as_str()), (status, issue), "{path} {body}");
    }
    assert_eq!(paypal.get("/v1/notifications/webhooks-events/WH-NONE").await.status, 404);
}

#[tokio::test]
async fn a_lost_event_is_found_in_the_list_and_comes_when_it_is_asked_for_again() {
    let paypal = PayPal::start().await;
    let id = paypal.approved("k1", "balance").await;
    until("the approval", async || paypal.world.paypal_received().len() == 1).await;
    let script = json!({"match": {"operation": "capture_payment", "reference": "k1"}, "steps": [
        {"answer": {"kind": "drop_before_headers"}, "webhook": {"mode": "never"}}]});
    paypal.world.control("/control/faults", &script).await;
    assert!(paypal.capture(&id, "c1").await.is_err());
    let listed = paypal.get("/v1/notifications/webhooks-events").await.json();
    let lost = listed["events"][0].clone();
    assert_eq!(lost["event_type"], "PAYMENT.CAPTURE.COMPLETED");
    let lost = lost["id"].as_str().unwrap();
    let path = format!("/v1/notifications/webhooks-events/{lost}/resend");
    paypal.post(&path, None, &json!({})).await.unwrap();
    until("it", async || paypal.world.paypal_received().len() == 2).await;
    assert_eq!(event(&paypal.world.paypal_received()[1])["id"], lost);
}

#[tokio::test]
async fn a_signature_is_verified_for_a_merchant_over_the_very_bytes() {
    let paypal = PayPal::start().await;
    paypal.captured("k1", "balance").await;
    until("events", async || paypal.world.paypal_received().len() >= 2).await;
    let (headers, body) = paypal.world.paypal_received()[0].clone();
    let question = |event: &str, webhook_id: &str| {
        let word = |name: &str| json!(header(&headers, name)).to_string();
        format!(
            r#"{{"auth_algo":{},"cert_url":{},"transmission_id":{},"transmission_sig":{},"transmission_time":{},"webhook_id":"{webhook_id}","webhook_event": {event}}}"#,
            word("paypal-auth-algo"),
            word("paypal-cert-url"),
            word("paypal-transmission-id"),
            word("paypal-transmission-sig"),
            word("paypal-transmission-time"),
        )
    };
    let spaced = body.replacen('{', "{ ", 1);
    for (event, webhook_id, status) in [
        (&body, "WH-PAYONCE", "SUCCESS"),
        (&body, "WH-OTHER", "FAILURE"),
        (&spaced, "WH-PAYONCE", "FAILURE"),
    ] {
        let path = "/v1/notifications/verify-webhook-signature";
        let request = paypal.world.client.post(paypal.url(path)).bearer_auth(&paypal.token);
        let told = told_of(request.body(question(event, webhook_id))).await;
        assert_eq!(told.json()["verification_status"], status, "{webhook_id}");
    }
}

#[tokio::test]
async fn the_control_api_decides_reverses_and_tells_events_by_hand() {
    let paypal = PayPal::start().await;
    let world = &paypal.world;
    let id = paypal.post(ORDERS, Some("k1"), &order("k1")).await.unwrap().json()["id"].clone();
    let id = id.as_str().unwrap();
    let turn = format!("/control/payments/{id}");
    let told = world.control(&turn, &json!({"status": "approved"})).await;
    assert_eq!((&told["wire"], &told["status"]), (&json!("paypal"), &json!("approved")));
    assert_eq!(world.effects("k1").await, [], "an approval is no effect");
    let capture = first_capture(&paypal.capture(id, "c1").await.unwrap())["id"].clone();
    let path = format!("/v2/payments/captures/{}", capture.as_str().unwrap());
    world.control(&format!("{turn}/refund"), &json!({"amount_minor": 500})).await;
    assert_eq!(paypal.get(&path).await.json()["status"], "PARTIALLY_REFUNDED");
    world.control(&turn, &json!({"status": "reversed"})).await;
    until("events", async || world.paypal_received().len() >= 4).await;
    let kinds: Vec<_> =
        world.paypal_received().iter().map(|it| event(it)["event_type"].clone()).collect();
    assert!(kinds.contains(&json!("PAYMENT.CAPTURE.REVERSED")), "{kinds:?}");
    assert_eq!(world.try_control(&turn, &json!({"status": "approved"})).await.status, 400);
    for kind in ["good", "bad", "none", "old", "other_host"] {
        let call = json!({"payment": capture, "type": "PAYMENT.CAPTURE.DECLINED", "signature": kind,
            "event_id": "WH-1", "overrides": {"status": "DECLINED"}});
        assert_eq!(world.control("/control/webhooks", &call).await["statuses"], json!([200]));
        let last = world.paypal_received().pop().unwrap();
        assert_eq!(
            (&event(&last)["id"], &event(&last)["resource"]["status"]),
            (&json!("WH-1"), &json!("DECLINED"))
        );
        assert_eq!(event(&last)["resource"]["id"], capture);
        assert_eq!(genuine(&last), !["bad", "none"].contains(&kind), "{kind}");
        let host = header(&last.0, "paypal-cert-url");
        assert_eq!(host.starts_with("https://paypal.com.evil.test/"), kind == "other_host");
    }
    let call = json!({"status": "succeeded"});
    let other = paypal.post(ORDERS, Some("k2"), &order("k2")).await.unwrap().json()["id"].clone();
    world.control(&format!("/control/payments/{}", other.as_str().unwrap()), &call).await;
    let found = paypal.get(&format!("{ORDERS}/{}", other.as_str().unwrap())).await;
    assert_eq!(first_capture(&found)["status"], "COMPLETED");
    assert_eq!(world.effects("k2").await.len(), 1);
}
