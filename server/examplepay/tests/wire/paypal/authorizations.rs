//! Authorizations: money that is held, then taken once, or let go.

use super::{report::at, *};

const DAY_MS: i64 = 24 * 3_600_000;

fn to_authorize(reference: &str) -> Value {
    let mut body = order(reference);
    body["intent"] = json!("AUTHORIZE");
    body
}

fn eur(value: &str) -> Value {
    json!({"amount": {"currency_code": "EUR", "value": value}})
}

fn first_authorization(told: &Told) -> Value {
    told.json()["purchase_units"][0]["payments"]["authorizations"][0].clone()
}

fn path_of(authorization: &str) -> String {
    format!("/v2/payments/authorizations/{authorization}")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

impl PayPal {
    /// An approved order whose money is to be held; its id.
    async fn to_authorize(&self, reference: &str, funding: &str) -> String {
        self.approved_of(reference, &to_authorize(reference), funding).await
    }

    async fn authorize(&self, order: &str, request: &str) -> reqwest::Result<Told> {
        self.post(&format!("{ORDERS}/{order}/authorize"), Some(request), &json!({})).await
    }

    /// An authorization; its id.
    async fn authorized(&self, reference: &str, funding: &str) -> String {
        let order = self.to_authorize(reference, funding).await;
        let told = self.authorize(&order, &format!("a-{reference}")).await.unwrap();
        assert_eq!(told.status, 201, "{}", told.body);
        text(&first_authorization(&told)["id"])
    }

    /// A POST to something under an authorization.
    async fn ask(
        &self,
        authorization: &str,
        word: &str,
        request: &str,
        body: &Value,
    ) -> reqwest::Result<Told> {
        self.post(&format!("{}/{word}", path_of(authorization)), Some(request), body).await
    }

    async fn status_of(&self, authorization: &str) -> Value {
        self.get(&path_of(authorization)).await.json()["status"].clone()
    }

    /// The answer to the next request with this key is lost, after it was executed.
    async fn lose(&self, key: &str) {
        let script = json!({"match": {"door": "paypal", "key": key},
            "steps": [{"answer": {"kind": "drop_before_headers"}}]});
        self.world.control("/control/faults", &script).await;
    }

    fn kinds_of_events(&self) -> Vec<String> {
        let received = self.world.paypal_received();
        let event = |body: &str| serde_json::from_str::<Value>(body).unwrap();
        received.iter().map(|(_, body)| text(&event(body)["event_type"])).collect()
    }
}

#[tokio::test]
async fn an_authorization_holds_money_and_takes_none() {
    let paypal = PayPal::start().await;
    let order = paypal.to_authorize("k1", "balance").await;
    let links = paypal.get(&format!("{ORDERS}/{order}")).await.json()["links"].clone();
    assert_eq!(links[1]["rel"], "authorize");
    let (earliest, told, latest) =
        (at(29 * DAY_MS), paypal.authorize(&order, "a1").await.unwrap(), at(29 * DAY_MS));
    assert_eq!((told.status, &told.json()["status"]), (201, &json!("COMPLETED")));
    assert_eq!(told.json()["intent"], "AUTHORIZE");
    assert_eq!(told.json()["purchase_units"][0]["payments"].as_object().unwrap().len(), 1);
    let held = first_authorization(&told);
    assert_eq!(held["status"], "CREATED");
    assert_eq!(held["amount"], eur("19.99")["amount"]);
    assert_eq!((&held["custom_id"], &held["invoice_id"]), (&json!("k1"), &json!("k1")));
    let expires = text(&held["expiration_time"]);
    assert!((earliest..=latest).contains(&expires), "{expires}");
    assert_ne!(held["id"], order.as_str());
    let rels: Vec<_> = held["links"].as_array().unwrap().iter().map(|it| &it["rel"]).collect();
    assert_eq!(rels, ["self", "capture", "void", "reauthorize", "up"]);
    assert_eq!(paypal.get(&path_of(&text(&held["id"]))).await.json(), held);
    assert_eq!(paypal.world.effects("k1").await, []);
    let payments = paypal.world.ask("/control/payments?reference=k1").await;
    assert_eq!(payments["payments"][0]["status"], "authorized");
    let again = paypal.authorize(&order, "a2").await.unwrap();
    assert_eq!((again.status, problem(&again)), (422, "ORDER_ALREADY_AUTHORIZED".to_owned()));
    until("its event", async || {
        paypal.kinds_of_events().contains(&"PAYMENT.AUTHORIZATION.CREATED".to_owned())
    })
    .await;
}

#[tokio::test]
async fn each_instrument_is_held_as_its_payer_chose() {
    let paypal = PayPal::start().await;
    for (funding, first, last) in [
        ("balance", "CREATED", "CREATED"),
        ("refused", "DENIED", "DENIED"),
        ("pending", "PENDING", "CREATED"),
        ("pending_declined", "PENDING", "DENIED"),
    ] {
        let order = paypal.to_authorize(funding, funding).await;
        let told = paypal.authorize(&order, &format!("a-{funding}")).await.unwrap();
        let held = first_authorization(&told);
        assert_eq!((told.status, &held["status"]), (201, &json!(first)), "{funding}");
        assert_eq!(!held["status_details"].is_null(), first == "PENDING", "{funding}");
        let id = text(&held["id"]);
        until("the end", async || paypal.status_of(&id).await == last).await;
        let found = paypal.get(&format!("{ORDERS}/{order}")).await.json();
        assert_eq!(found["status"], "COMPLETED");
        assert!(found["purchase_units"][0]["payments"]["captures"].is_null(), "{funding}");
        assert_eq!(paypal.world.effects(funding).await, []);
    }
    let order = paypal.to_authorize("declined", "declined").await;
    let told = paypal.authorize(&order, "a1").await.unwrap();
    assert_eq!((told.status, problem(&told)), (422, "INSTRUMENT_DECLINED".to_owned()));
    assert_eq!(paypal.press(&order, "approve", "balance").await.0, 303);
    assert_eq!(paypal.authorize(&order, "a2").await.unwrap().status, 201);
}

#[tokio::test]
async fn an_order_is_taken_or_held_as_its_intent_was() {
    let paypal = PayPal::start().await;
    let to_capture = paypal.approved("k1", "balance").await;
    let to_hold = paypal.to_authorize("k2", "balance").await;
    let told = paypal.authorize(&to_capture, "a1").await.unwrap();
    assert_eq!((told.status, problem(&told)), (422, "ACTION_DOES_NOT_MATCH_INTENT".to_owned()));
    let told = paypal.capture(&to_hold, "c2").await.unwrap();
    assert_eq!((told.status, problem(&told)), (422, "ACTION_DOES_NOT_MATCH_INTENT".to_owned()));
    for id in [&to_capture, &to_hold] {
        assert_eq!(paypal.get(&format!("{ORDERS}/{id}")).await.json()["status"], "APPROVED");
    }
    let mut other = order("k3");
    other["intent"] = json!("LATER");
    let told = paypal.post(ORDERS, Some("k3"), &other).await.unwrap();
    assert_eq!(problem(&told), "UNSUPPORTED_INTENT");
    let early = paypal.post(ORDERS, Some("k4"), &to_authorize("k4")).await;
    let early = text(&early.unwrap().json()["id"]);
    assert_eq!(problem(&paypal.authorize(&early, "a4").await.unwrap()), "ORDER_NOT_APPROVED");
}

#[tokio::test]
async fn a_part_is_captured_and_refunds_never_exceed_it() {
    let paypal = PayPal::start().await;
    let id = paypal.authorized("k1", "balance").await;
    let mut part = eur("12.00");
    part["invoice_id"] = json!("i1");
    part["final_capture"] = json!(true);
    let told = paypal.ask(&id, "capture", "c1", &part).await.unwrap();
    let capture = told.json();
    assert_eq!((told.status, &capture["status"]), (201, &json!("COMPLETED")), "{}", told.body);
    assert_eq!(capture["amount"], part["amount"]);
    assert_eq!((&capture["custom_id"], &capture["invoice_id"]), (&json!("k1"), &json!("i1")));
    assert_eq!(capture["supplementary_data"]["related_ids"]["authorization_id"], id.as_str());
    assert_eq!(paypal.world.effects("k1").await, [("charge".to_owned(), 1200)]);
    let held = paypal.get(&path_of(&id)).await.json();
    assert_eq!((&held["status"], &held["amount"]["value"]), (&json!("CAPTURED"), &json!("19.99")));
    assert_eq!(held["invoice_id"], "k1");
    let order = text(&capture["supplementary_data"]["related_ids"]["order_id"]);
    let found = paypal.get(&format!("{ORDERS}/{order}")).await;
    assert_eq!(found.json()["purchase_units"][0]["amount"]["value"], "19.99");
    assert_eq!((first_capture(&found), first_authorization(&found)), (capture.clone(), held));
    let capture = text(&capture["id"]);
    let told = paypal.refund(&capture, "r1", Some("12.01")).await;
    assert_eq!((told.status, problem(&told)), (422, "REFUND_AMOUNT_EXCEEDED".to_owned()));
    assert_eq!(paypal.refund(&capture, "r2", Some("2.00")).await.status, 201);
    assert_eq!(paypal.refund(&capture, "r3", None).await.json()["amount"]["value"], "10.00");
    assert_eq!(problem(&paypal.refund(&capture, "r4", None).await), "CAPTURE_FULLY_REFUNDED");
    assert_eq!(paypal.sum("").await, 0);
    until("its event", async || {
        paypal.kinds_of_events().contains(&"PAYMENT.CAPTURE.COMPLETED".to_owned())
    })
    .await;
}

#[tokio::test]
async fn a_capture_of_an_authorization_is_read_strictly_and_nothing_is_taken_meanwhile() {
    let paypal = PayPal::start().await;
    paypal.captured("paid", "balance").await;
    let id = paypal.authorized("k1", "balance").await;
    for (body, status, issue) in [
        (eur("20.00"), 422, "MAX_CAPTURE_AMOUNT_EXCEEDED"),
        (eur("0.00"), 422, "CANNOT_BE_ZERO_OR_NEGATIVE"),
        (
            json!({"amount": {"currency_code": "USD", "value": "1.00"}}),
            422,
            "AUTH_CAPTURE_CURRENCY_MISMATCH",
        ),
        (json!({"invoice_id": "paid"}), 422, "DUPLICATE_INVOICE_ID"),
        (json!({"final_capture": false}), 400, "INVALID_PARAMETER_VALUE"),
        (json!({"final_capture": "yes"}), 400, "INVALID_PARAMETER_SYNTAX"),
        (json!({"invoice_id": ""}), 400, "INVALID_STRING_LENGTH"),
        (json!([]), 400, "MALFORMED_REQUEST_JSON"),
    ] {
        let told = paypal.ask(&id, "capture", "c1", &body).await.unwrap();
        assert_eq!((told.status, problem(&told).as_str()), (status, issue), "{body}");
    }
    assert_eq!(paypal.world.effects("k1").await, []);
    let request = paypal.world.client.post(paypal.url(&format!("{}/capture", path_of(&id))));
    let request = request.bearer_auth(&paypal.token).header("PayPal-Request-Id", "c1");
    let least = told_of(request.header("Prefer", "return=minimal")).await;
    assert_eq!((least.status, least.json().as_object().unwrap().len()), (201, 3), "all of it");
    assert_eq!(paypal.world.effects("k1").await, [("charge".to_owned(), 1999)]);
}

#[tokio::test]
async fn an_authorization_that_is_over_is_neither_taken_nor_let_go() {
    let paypal = PayPal::start().await;
    let created = paypal.authorized("created", "balance").await;
    let told = paypal.ask(&created, "reauthorize", "n", &eur("19.99")).await.unwrap();
    assert_eq!((told.status, problem(&told)), (422, "REAUTHORIZATION_TOO_SOON".to_owned()));
    let captured = paypal.authorized("captured", "balance").await;
    paypal.ask(&captured, "capture", "c", &json!({})).await.unwrap();
    let voided = paypal.authorized("voided", "balance").await;
    paypal.ask(&voided, "void", "v", &json!({})).await.unwrap();
    let denied = paypal.authorized("denied", "refused").await;
    let twice = "AUTHORIZATION_ALREADY_CAPTURED";
    for (id, taken, let_go) in [
        (&captured, twice, "PREVIOUSLY_CAPTURED"),
        (&voided, "AUTHORIZATION_VOIDED", "PREVIOUSLY_VOIDED"),
        (&denied, "AUTHORIZATION_DENIED", "CANNOT_BE_VOIDED"),
    ] {
        for (word, issue) in [("capture", taken), ("reauthorize", taken), ("void", let_go)] {
            let told = paypal.ask(id, word, "again", &json!({})).await.unwrap();
            assert_eq!((told.status, problem(&told).as_str()), (422, issue), "{word}");
        }
    }
    for word in ["capture", "void", "reauthorize"] {
        let told = paypal.ask("NONE", word, "none", &json!({})).await.unwrap();
        assert_eq!((told.status, problem(&told).as_str()), (404, "INVALID_RESOURCE_ID"));
    }
    assert_eq!(paypal.get(&path_of("NONE")).await.status, 404);
    assert_eq!(paypal.sum("").await, 1999, "one capture, and no other effect");
}

#[tokio::test]
async fn what_is_reviewed_is_not_taken_yet_but_may_be_let_go() {
    let world = World::with(|it| it.processing = Duration::from_secs(3600)).await;
    let paypal = PayPal::with(world).await;
    let id = paypal.authorized("k1", "pending").await;
    let told = paypal.ask(&id, "capture", "c1", &json!({})).await.unwrap();
    assert_eq!((told.status, problem(&told)), (422, "TRANSACTION_REFUSED".to_owned()));
    assert_eq!(paypal.ask(&id, "void", "v1", &json!({})).await.unwrap().status, 204);
    assert_eq!(paypal.status_of(&id).await, "VOIDED");
}

#[tokio::test]
async fn what_is_held_is_let_go_once_and_takes_nothing() {
    let paypal = PayPal::start().await;
    let id = paypal.authorized("k1", "balance").await;
    let told = paypal.ask(&id, "void", "v1", &json!({})).await.unwrap();
    assert_eq!((told.status, told.body.as_str()), (204, ""));
    let held = paypal.get(&path_of(&id)).await.json();
    assert_eq!(held["status"], "VOIDED");
    let again = paypal.ask(&id, "void", "v1", &json!({})).await.unwrap();
    assert_eq!((again.status, again.json()), (200, held), "the latest state");
    let whole = paypal.authorized("k2", "balance").await;
    let request = paypal.world.client.post(paypal.url(&format!("{}/void", path_of(&whole))));
    let request = request.bearer_auth(&paypal.token).header("Prefer", "return=representation");
    let told = told_of(request).await;
    assert_eq!((told.status, &told.json()["status"]), (200, &json!("VOIDED")));
    let payments = paypal.world.ask("/control/payments?reference=k1").await;
    assert_eq!(payments["payments"][0]["status"], "canceled");
    assert_eq!(paypal.sum("").await, 0);
    until("their events", async || {
        let kinds = paypal.kinds_of_events();
        kinds.iter().filter(|it| *it == "PAYMENT.AUTHORIZATION.VOIDED").count() == 2
    })
    .await;
}

#[tokio::test]
async fn a_lost_answer_to_an_authorization_is_given_again_and_nothing_is_held_twice() {
    let paypal = PayPal::start().await;
    let order = paypal.to_authorize("k1", "balance").await;
    paypal.lose("a1").await;
    assert!(paypal.authorize(&order, "a1").await.is_err());
    let found = first_authorization(&paypal.get(&format!("{ORDERS}/{order}")).await);
    assert_eq!(found["status"], "CREATED", "executed, and nobody was told");
    let again = paypal.authorize(&order, "a1").await.unwrap();
    assert_eq!((again.status, first_authorization(&again)), (200, found));
    let held = again.json()["purchase_units"][0]["payments"]["authorizations"].clone();
    assert_eq!(held.as_array().unwrap().len(), 1);
    assert_eq!(
        paypal.world.answers("a1").await,
        [("dropped".to_owned(), true), ("200".to_owned(), false)]
    );
}

#[tokio::test]
async fn a_lost_answer_to_a_capture_is_given_again_and_nothing_is_taken_twice() {
    let paypal = PayPal::start().await;
    let id = paypal.authorized("k1", "balance").await;
    paypal.lose("c1").await;
    assert!(paypal.ask(&id, "capture", "c1", &eur("12.00")).await.is_err());
    assert_eq!(paypal.status_of(&id).await, "CAPTURED");
    let again = paypal.ask(&id, "capture", "c1", &eur("12.00")).await.unwrap();
    assert_eq!((again.status, &again.json()["status"]), (200, &json!("COMPLETED")));
    let capture = text(&again.json()["id"]);
    assert_eq!(paypal.world.effects("k1").await, [("charge".to_owned(), 1200)]);
    paypal.refund(&capture, "r1", Some("2.00")).await;
    let again = paypal.ask(&id, "capture", "c1", &eur("12.00")).await.unwrap();
    assert_eq!(again.json()["status"], "PARTIALLY_REFUNDED", "as it is now");
    let other = paypal.ask(&id, "capture", "c1", &eur("12.01")).await.unwrap();
    assert_eq!((other.status, problem(&other)), (422, "DUPLICATE_REQUEST_ID".to_owned()));
    paypal.lose("v1").await;
    let second = paypal.authorized("k2", "balance").await;
    assert!(paypal.ask(&second, "void", "v1", &json!({})).await.is_err());
    let again = paypal.ask(&second, "void", "v1", &json!({})).await.unwrap();
    assert_eq!((again.status, &again.json()["status"]), (200, &json!("VOIDED")));
}

#[tokio::test]
async fn scripts_and_lookups_reach_an_authorization_by_the_reference_of_its_order() {
    let paypal = PayPal::start().await;
    let id = paypal.authorized("k1", "balance").await;
    let script = json!({"match": {"door": "paypal", "reference": "k1"}, "steps": [
        {"execute": false, "answer": {"kind": "status", "status": 500}},
        {"answer": {"kind": "status", "status": 502}}]});
    paypal.world.control("/control/faults", &script).await;
    assert_eq!(paypal.ask(&id, "capture", "c1", &json!({})).await.unwrap().status, 500);
    assert_eq!(paypal.get(&path_of(&id)).await.status, 502);
    assert_eq!(paypal.status_of(&id).await, "CREATED", "nothing was done");
    let hidden = json!({"not_found_for_ms": 60_000, "reference": "k1"});
    paypal.world.control("/control/lookups", &hidden).await;
    assert_eq!(paypal.get(&path_of(&id)).await.status, 404);
}

#[tokio::test]
async fn the_control_api_decides_what_is_held_and_tells_of_it_by_hand() {
    let paypal = PayPal::start().await;
    let order = paypal.to_authorize("k1", "balance").await;
    let id = text(&first_authorization(&paypal.authorize(&order, "a1").await.unwrap())["id"]);
    let call = json!({"payment": order, "type": "PAYMENT.AUTHORIZATION.CREATED"});
    assert_eq!(paypal.world.control("/control/webhooks", &call).await["statuses"], json!([200]));
    let (_, body) = paypal.world.paypal_received().pop().unwrap();
    let told: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&told["resource_type"], &told["resource"]["id"]),
        (&json!("authorization"), &json!(id))
    );
    let turn = format!("/control/payments/{order}");
    paypal.world.control(&turn, &json!({"status": "succeeded"})).await;
    assert_eq!(paypal.status_of(&id).await, "CAPTURED");
    assert_eq!(paypal.world.effects("k1").await, [("charge".to_owned(), 1999)]);
}

#[tokio::test]
async fn nothing_of_this_is_done_or_told_without_a_token() {
    let paypal = PayPal::start().await;
    let order = paypal.to_authorize("k1", "balance").await;
    let id = paypal.authorized("k2", "balance").await;
    let held = path_of(&id);
    let event = paypal.get("/v1/notifications/webhooks-events").await.json()["events"][0].clone();
    let event = format!("/v1/notifications/webhooks-events/{}", text(&event["id"]));
    let client = &paypal.world.client;
    for request in [
        client.post(paypal.url(&format!("{ORDERS}/{order}/authorize"))),
        client.post(paypal.url(&format!("{ORDERS}/{order}/confirm-payment-source"))),
        client.get(paypal.url(&held)),
        client.post(paypal.url(&format!("{held}/capture"))),
        client.post(paypal.url(&format!("{held}/void"))),
        client.post(paypal.url(&format!("{held}/reauthorize"))),
        client.get(paypal.url(&event)),
        client.post(paypal.url(&format!("{event}/resend"))),
    ] {
        let forged = request.try_clone().unwrap().bearer_auth("nobody");
        for request in [request, forged] {
            let told = told_of(request).await;
            assert_eq!(
                (told.status, &told.json()["name"]),
                (401, &json!("AUTHENTICATION_FAILURE"))
            );
        }
    }
    assert_eq!(paypal.status_of(&id).await, "CREATED");
    assert_eq!(paypal.get(&format!("{ORDERS}/{order}")).await.json()["status"], "APPROVED");
    assert_eq!(paypal.sum("").await, 0);
}
