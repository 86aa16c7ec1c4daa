//! PayPal's wire: orders that a payer approves, captures, refunds, and the one ledger behind.

mod authorizations;
mod confirm;
mod events;
mod keys;
mod report;

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Told, World, told, until};

const ORDERS: &str = "/v2/checkout/orders";

/// A world, and a good access token.
struct PayPal {
    world: World,
    token: String,
}

impl PayPal {
    async fn start() -> Self {
        Self::with(World::start().await).await
    }

    async fn with(world: World) -> Self {
        let told = ask_token(&world, "payonce_secret").await;
        assert_eq!(told.status, 200, "{}", told.body);
        let token = told.json()["access_token"].as_str().unwrap().to_owned();
        Self { world, token }
    }

    fn url(&self, path: &str) -> String {
        url(&self.world, path)
    }

    async fn post(&self, path: &str, id: Option<&str>, body: &Value) -> reqwest::Result<Told> {
        let mut request =
            self.world.client.post(self.url(path)).bearer_auth(&self.token).json(body);
        if let Some(id) = id {
            request = request.header("PayPal-Request-Id", id);
        }
        told(request.send().await?).await
    }

    async fn get(&self, path: &str) -> Told {
        let request = self.world.client.get(self.url(path)).bearer_auth(&self.token);
        told(request.send().await.unwrap()).await.unwrap()
    }

    /// An order whose payer has approved it with this; its id.
    async fn approved(&self, reference: &str, funding: &str) -> String {
        self.approved_of(reference, &order(reference), funding).await
    }

    async fn approved_of(&self, reference: &str, order: &Value, funding: &str) -> String {
        let told = self.post(ORDERS, Some(reference), order).await.unwrap();
        let id = told.json()["id"].as_str().unwrap().to_owned();
        let (status, place) = self.press(&id, "approve", funding).await;
        assert_eq!(status, 303);
        assert!(
            place.starts_with(&format!("https://shop.test/return?token={id}&PayerID=")),
            "{place}"
        );
        id
    }

    async fn press(&self, id: &str, act: &str, funding: &str) -> (u16, String) {
        let fields = [("token", id), ("act", act), ("funding", funding)];
        let request = self.world.client.post(self.url("/checkoutnow")).form(&fields);
        let answer = request.send().await.unwrap();
        let place = answer.headers().get("location").map_or("", |it| it.to_str().unwrap());
        (answer.status().as_u16(), place.to_owned())
    }

    async fn capture(&self, id: &str, request: &str) -> reqwest::Result<Told> {
        self.post(&format!("{ORDERS}/{id}/capture"), Some(request), &json!({})).await
    }

    /// An order that was captured; its capture's id.
    async fn captured(&self, reference: &str, funding: &str) -> String {
        let id = self.approved(reference, funding).await;
        let told = self.capture(&id, &format!("c-{reference}")).await.unwrap();
        assert_eq!(told.status, 201, "{}", told.body);
        first_capture(&told)["id"].as_str().unwrap().to_owned()
    }

    async fn refund(&self, capture: &str, reference: &str, value: Option<&str>) -> Told {
        let amount = value.map(|value| json!({"currency_code": "EUR", "value": value}));
        let body = json!({"amount": amount, "custom_id": reference});
        let path = format!("/v2/payments/captures/{capture}/refund");
        self.post(&path, Some(reference), &body).await.unwrap()
    }

    async fn sum(&self, prefix: &str) -> i64 {
        let ledger = self.world.ask(&format!("/control/ledger?reference_prefix={prefix}")).await;
        ledger["sum_minor_by_currency"]["EUR"].as_i64().unwrap_or(0)
    }
}

fn url(world: &World, path: &str) -> String {
    format!("http://{}{path}", world.running.as_ref().unwrap().paypal_addr)
}

async fn ask_token(world: &World, secret: &str) -> Told {
    let request = world.client.post(url(world, "/v1/oauth2/token"));
    let request = request.basic_auth("payonce", Some(secret));
    let request = request.form(&[("grant_type", "client_credentials")]);
    told(request.send().await.unwrap()).await.unwrap()
}

/// 19.99 EUR; its reference is its custom and its invoice id.
fn order(reference: &str) -> Value {
    json!({
        "intent": "CAPTURE",
        "purchase_units": [{
            "reference_id": "unit", "custom_id": reference, "invoice_id": reference,
            "amount": {"currency_code": "EUR", "value": "19.99"},
        }],
        "payment_source": {"paypal": {"experience_context": {
            "return_url": "https://shop.test/return", "cancel_url": "https://shop.test/cancel",
        }}},
    })
}

fn first_capture(told: &Told) -> Value {
    told.json()["purchase_units"][0]["payments"]["captures"][0].clone()
}

fn problem(told: &Told) -> String {
    let body = told.json();
    assert_eq!(body["debug_id"], told.request_id, "{body}");
    body["details"][0]["issue"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_token_is_given_for_the_secret_and_good_for_a_while() {
    let world = World::with(|it| it.paypal_token = Duration::from_millis(1500)).await;
    assert_eq!(ask_token(&world, "wrong").await.status, 401);
    let paypal = PayPal::with(world).await;
    let path = "/v2/checkout/orders/NONE";
    assert_eq!(paypal.get(path).await.status, 404);
    until("its end", async || paypal.get(path).await.status == 401).await;
    assert_eq!(paypal.get(path).await.json()["name"], "AUTHENTICATION_FAILURE");
    let told = ask_token(&paypal.world, "payonce_secret").await.json();
    assert_eq!((&told["token_type"], &told["expires_in"]), (&json!("Bearer"), &json!(1)));
    let script = json!({"match": {"operation": "token"}, "steps": [{"answer": {"kind": "status", "status": 503}}]});
    paypal.world.control("/control/faults", &script).await;
    assert_eq!(ask_token(&paypal.world, "payonce_secret").await.status, 503);
    let logged = paypal.world.ask("/control/requests").await.to_string();
    assert!(!logged.contains("payonce_secret") && !logged.contains(&paypal.token));
}

#[tokio::test]
async fn an_order_takes_nothing_until_it_is_approved_and_captured() {
    let paypal = PayPal::start().await;
    let told = paypal.post(ORDERS, Some("k1"), &order("k1")).await.unwrap();
    assert_eq!((told.status, &told.json()["status"]), (200, &json!("PAYER_ACTION_REQUIRED")));
    let id = told.json()["id"].as_str().unwrap().to_owned();
    let links = told.json()["links"].clone();
    assert_eq!((&links[0]["rel"], &links[1]["rel"]), (&json!("self"), &json!("payer-action")));
    let early = paypal.capture(&id, "c1").await.unwrap();
    assert_eq!((early.status, problem(&early)), (422, "ORDER_NOT_APPROVED".to_owned()));
    let page = paypal.world.client.get(links[1]["href"].as_str().unwrap()).send().await.unwrap();
    assert!(
        page.headers()["content-security-policy"].to_str().unwrap().contains("default-src 'none'")
    );
    let page = page.text().await.unwrap();
    assert!(page.contains("19.99 EUR") && page.contains("https://shop.test/cancel?token="));
    assert_eq!(
        paypal.press(&id, "cancel", "").await.1,
        format!("https://shop.test/cancel?token={id}")
    );
    for _ in 0..2 {
        assert_eq!(paypal.press(&id, "approve", "balance").await.0, 303);
    }
    assert_eq!(paypal.get(&format!("{ORDERS}/{id}")).await.json()["status"], "APPROVED");
    assert_eq!(paypal.world.effects("k1").await, []);
    let told = paypal.capture(&id, "c1").await.unwrap();
    assert_eq!(
        (told.status, &told.json()["status"]),
        (201, &json!("COMPLETED")),
        "its id was free"
    );
    let capture = first_capture(&told);
    assert_eq!(capture["status"], "COMPLETED");
    assert_eq!(capture["amount"], json!({"currency_code": "EUR", "value": "19.99"}));
    assert_eq!((&capture["custom_id"], &capture["invoice_id"]), (&json!("k1"), &json!("k1")));
    assert_eq!(capture["final_capture"], true);
    let rels: Vec<_> = capture["links"].as_array().unwrap().iter().map(|it| &it["rel"]).collect();
    assert_eq!(rels, ["self", "refund", "up"]);
    let path = format!("/v2/payments/captures/{}", capture["id"].as_str().unwrap());
    assert_eq!(paypal.get(&path).await.json(), capture);
    assert_eq!(paypal.world.effects("k1").await, [("charge".to_owned(), 1999)]);
}

#[tokio::test]
async fn an_order_with_an_application_context_is_created_and_told_whole_if_asked() {
    let paypal = PayPal::start().await;
    let mut body = order("k1");
    body["application_context"] = json!({"return_url": "https://shop.test/return"});
    body.as_object_mut().unwrap().remove("payment_source");
    let told = paypal.post(ORDERS, None, &body).await.unwrap();
    assert_eq!((told.status, &told.json()["status"]), (201, &json!("CREATED")));
    assert!(told.json()["purchase_units"].is_null());
    let rels: Vec<_> =
        told.json()["links"].as_array().unwrap().iter().map(|it| it["rel"].clone()).collect();
    assert_eq!(rels, ["self", "approve", "capture"]);
    let request = paypal.world.client.post(paypal.url(ORDERS)).bearer_auth(&paypal.token);
    let request = request.header("Prefer", "return=representation").json(&body);
    let whole = told_of(request).await.json();
    assert_eq!(whole["purchase_units"][0]["custom_id"], "k1");
    assert_ne!(whole["id"], told.json()["id"], "without a request id it is made again");
    let keyless = paypal.post(ORDERS, None, &order("k2")).await.unwrap();
    assert_eq!((keyless.status, problem(&keyless)), (400, "PAYPAL_REQUEST_ID_REQUIRED".to_owned()));
}

async fn told_of(request: reqwest::RequestBuilder) -> Told {
    told(request.send().await.unwrap()).await.unwrap()
}

#[tokio::test]
async fn each_instrument_does_what_its_payer_chose() {
    let paypal = PayPal::start().await;
    let rows = [
        ("balance", "COMPLETED", "COMPLETED", 1999),
        ("refused", "DECLINED", "DECLINED", 0),
        ("pending", "PENDING", "COMPLETED", 1999),
        ("pending_declined", "PENDING", "DECLINED", 0),
    ];
    for (funding, first, last, taken) in rows {
        let id = paypal.approved(funding, funding).await;
        let told = paypal.capture(&id, &format!("c-{funding}")).await.unwrap();
        assert_eq!(
            (told.status, &told.json()["status"]),
            (201, &json!("COMPLETED")),
            "{}",
            told.body
        );
        assert_eq!(first_capture(&told)["status"], first, "{funding}");
        let path =
            format!("/v2/payments/captures/{}", first_capture(&told)["id"].as_str().unwrap());
        until("the end", async || paypal.get(&path).await.json()["status"] == last).await;
        assert_eq!(paypal.world.effects(funding).await.iter().map(|it| it.1).sum::<i64>(), taken);
        let again = paypal.capture(&id, &format!("d-{funding}")).await.unwrap();
        assert_eq!((again.status, problem(&again)), (422, "ORDER_ALREADY_CAPTURED".to_owned()));
    }
}

#[tokio::test]
async fn a_declined_instrument_leaves_the_order_to_another_one() {
    let paypal = PayPal::start().await;
    let id = paypal.approved("k1", "declined").await;
    for _ in 0..2 {
        let told = paypal.capture(&id, "c1").await.unwrap();
        assert_eq!((told.status, problem(&told)), (422, "INSTRUMENT_DECLINED".to_owned()));
        assert_eq!(told.json()["links"][0]["rel"], "redirect");
    }
    assert_eq!(paypal.world.effects("k1").await, []);
    assert_eq!(paypal.press(&id, "approve", "balance").await.0, 303);
    let told = paypal.capture(&id, "c1").await.unwrap();
    assert_eq!(problem(&told), "INSTRUMENT_DECLINED", "the id speaks for its own request");
    assert_eq!(paypal.capture(&id, "c2").await.unwrap().status, 201);
    assert_eq!(paypal.world.effects("k1").await, [("charge".to_owned(), 1999)]);
}

#[tokio::test]
async fn refunds_never_exceed_the_capture() {
    let paypal = PayPal::start().await;
    let capture = paypal.captured("k1", "balance").await;
    let state = async || {
        paypal.get(&format!("/v2/payments/captures/{capture}")).await.json()["status"].clone()
    };
    let made = paypal.refund(&capture, "r1", Some("5.00")).await.json();
    assert_eq!((&made["status"], &made["custom_id"]), (&json!("COMPLETED"), &json!("r1")));
    assert_eq!(made["amount"]["value"], "5.00");
    assert_eq!(
        paypal.get(&format!("/v2/payments/refunds/{}", made["id"].as_str().unwrap())).await.json(),
        made
    );
    assert_eq!(state().await, "PARTIALLY_REFUNDED");
    let told = paypal.refund(&capture, "r2", Some("15.00")).await;
    assert_eq!((told.status, problem(&told)), (422, "REFUND_AMOUNT_EXCEEDED".to_owned()));
    assert_eq!(paypal.refund(&capture, "r3", None).await.json()["amount"]["value"], "14.99");
    assert_eq!(state().await, "REFUNDED");
    assert_eq!(problem(&paypal.refund(&capture, "r4", None).await), "CAPTURE_FULLY_REFUNDED");
    assert_eq!(paypal.sum("").await, 0);
    assert_eq!(paypal.refund("NONE", "r5", None).await.status, 404);
    for (funding, first, last, sum) in [
        ("refund_pending", "PENDING", "COMPLETED", 0),
        ("refund_refused", "PENDING", "FAILED", 1999),
        ("refund_fails", "COMPLETED", "FAILED", 1999),
    ] {
        let capture = paypal.captured(funding, funding).await;
        let made = paypal.refund(&capture, &format!("{funding}-r"), None).await.json();
        assert_eq!(made["status"], first);
        let path = format!("/v2/payments/refunds/{}", made["id"].as_str().unwrap());
        until("the end", async || paypal.get(&path).await.json()["status"] == last).await;
        assert_eq!(paypal.sum(funding).await, sum);
    }
}

#[tokio::test]
async fn a_capture_may_differ_from_its_order_and_the_ledger_has_what_was_captured() {
    let paypal = PayPal::start().await;
    for (funding, status, currency, value, charged) in [
        ("wrong_amount", "COMPLETED", "EUR", "20.00", &[2000][..]),
        ("wrong_currency", "COMPLETED", "USD", "19.99", &[1999]),
        ("unknown_status", "UNDER_REVIEW", "EUR", "19.99", &[]),
    ] {
        let capture = paypal.captured(funding, funding).await;
        let shown = paypal.get(&format!("/v2/payments/captures/{capture}")).await.json();
        assert_eq!(shown["status"], status, "{funding}");
        assert_eq!(shown["amount"], json!({"currency_code": currency, "value": value}));
        let effects = paypal.world.effects(funding).await;
        assert_eq!(effects.iter().map(|it| it.1).collect::<Vec<_>>(), charged, "{funding}");
    }
}

#[tokio::test]
async fn one_invoice_is_paid_once() {
    let paypal = PayPal::start().await;
    paypal.captured("k1", "balance").await;
    let mut second = order("k2");
    second["purchase_units"][0]["invoice_id"] = json!("k1");
    let id = paypal.post(ORDERS, Some("k2"), &second).await.unwrap().json()["id"].clone();
    paypal.press(id.as_str().unwrap(), "approve", "balance").await;
    let told = paypal.capture(id.as_str().unwrap(), "c2").await.unwrap();
    assert_eq!((told.status, problem(&told)), (422, "DUPLICATE_INVOICE_ID".to_owned()));
    assert_eq!(paypal.world.effects("k2").await, []);
}

#[tokio::test]
async fn amounts_are_exact_and_follow_this_wires_decimals() {
    let paypal = PayPal::start().await;
    let rows = [
        ("EUR", "19.9", "19.90", 1990),
        ("USD", "7", "7.00", 700),
        ("JPY", "500", "500", 500),
        ("HUF", "500", "500", 50_000),
        ("TWD", "500", "500", 50_000),
    ];
    for (currency, given, shown, minor) in rows {
        let mut body = order(currency);
        body["purchase_units"][0]["amount"] = json!({"currency_code": currency, "value": given});
        let id = paypal.post(ORDERS, Some(currency), &body).await.unwrap().json()["id"].clone();
        paypal.press(id.as_str().unwrap(), "approve", "balance").await;
        let told = paypal.capture(id.as_str().unwrap(), &format!("c-{currency}")).await.unwrap();
        assert_eq!(first_capture(&told)["amount"]["value"], shown, "{currency}");
        assert_eq!(paypal.world.effects(currency).await, [("charge".to_owned(), minor)]);
    }
    for (currency, value, issue) in [
        ("JPY", "500.00", "DECIMALS_NOT_SUPPORTED"),
        ("HUF", "500.5", "DECIMALS_NOT_SUPPORTED"),
        ("TWD", "1.0", "DECIMALS_NOT_SUPPORTED"),
        ("EUR", "1.999", "DECIMAL_PRECISION"),
        ("EUR", "0.00", "CANNOT_BE_ZERO_OR_NEGATIVE"),
        ("EUR", "-1.00", "CANNOT_BE_ZERO_OR_NEGATIVE"),
        ("EUR", "1,99", "INVALID_PARAMETER_SYNTAX"),
        ("EUR", "1e2", "INVALID_PARAMETER_SYNTAX"),
        ("KWD", "1.00", "CURRENCY_NOT_SUPPORTED"),
    ] {
        let mut body = order("k1");
        body["purchase_units"][0]["amount"] = json!({"currency_code": currency, "value": value});
        let told = paypal.post(ORDERS, Some("bad"), &body).await.unwrap();
        assert_eq!(problem(&told), issue, "{currency} {value}");
    }
}

#[tokio::test]
async fn faults_hit_each_operation_and_the_ledger_tells_what_really_happened() {
    let paypal = PayPal::start().await;
    let script = async |operation: &str, reference: &str, step: Value| {
        let body = json!({"match": {"door": "paypal", "operation": operation, "reference": reference}, "steps": [step]});
        paypal.world.control("/control/faults", &body).await;
    };
    let lost = json!({"answer": {"kind": "drop_before_headers"}});
    script("create_payment", "k1", lost.clone()).await;
    assert!(paypal.post(ORDERS, Some("k1"), &order("k1")).await.is_err());
    let id = paypal.approved("k1", "balance").await;
    script("capture_payment", "k1", lost.clone()).await;
    assert!(paypal.capture(&id, "c1").await.is_err());
    assert_eq!(paypal.world.effects("k1").await.len(), 1, "executed, and nobody was told");
    let found = paypal.get(&format!("{ORDERS}/{id}")).await;
    assert_eq!(first_capture(&found)["status"], "COMPLETED");
    let capture = first_capture(&found)["id"].as_str().unwrap().to_owned();
    script(
        "create_refund",
        "r1",
        json!({"execute": false, "answer": {"kind": "status", "status": 500}}),
    )
    .await;
    assert_eq!(paypal.refund(&capture, "r1", None).await.status, 500);
    assert_eq!(paypal.world.effects("r1").await, []);
    let refund = paypal.refund(&capture, "r1", None).await;
    assert_eq!(refund.status, 201);
    let refund = refund.json()["id"].as_str().unwrap().to_owned();
    for (operation, reference, path) in [
        ("get_payment", "k1", format!("{ORDERS}/{id}")),
        ("get_capture", "k1", format!("/v2/payments/captures/{capture}")),
        ("get_refund", "r1", format!("/v2/payments/refunds/{refund}")),
    ] {
        script(operation, reference, json!({"answer": {"kind": "status", "status": 502}})).await;
        assert_eq!(paypal.get(&path).await.status, 502, "{operation}");
        assert_eq!(paypal.get(&path).await.status, 200, "{operation}");
    }
    paypal.world.control("/control/lookups", &json!({"not_found_for_ms": 60_000})).await;
    assert_eq!(problem(&paypal.get(&format!("{ORDERS}/{id}")).await), "INVALID_RESOURCE_ID");
    paypal.world.control("/control/lookups", &json!({})).await;
    // A refund that lookups are to miss is not shown in its order either.
    let refunds = async || {
        let order = paypal.get(&format!("{ORDERS}/{id}")).await.json();
        order["purchase_units"][0]["payments"]["refunds"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(refunds().await, 1);
    let missed = json!({"not_found_for_ms": 60_000, "reference": "r1"});
    paypal.world.control("/control/lookups", &missed).await;
    assert_eq!(refunds().await, 0);
    paypal.world.control("/control/lookups", &json!({})).await;
    let logged = paypal.world.ask("/control/requests?key=r1").await["requests"][0].clone();
    assert_eq!((&logged["door"], &logged["reference"]), (&json!("paypal"), &json!("r1")));
    assert!(logged["body"].as_str().unwrap().contains("custom_id"));
    assert!(logged["request_headers"].as_str().unwrap().contains("paypal-request-id"));
}

#[tokio::test]
async fn an_approval_that_comes_too_late_decides_nothing() {
    let world = World::with(|it| it.action = Duration::ZERO).await;
    let paypal = PayPal::with(world).await;
    let id = paypal.post(ORDERS, Some("k1"), &order("k1")).await.unwrap().json()["id"].clone();
    let id = id.as_str().unwrap();
    assert_eq!(paypal.press(id, "approve", "balance").await.0, 409);
    assert_eq!(problem(&paypal.capture(id, "c1").await.unwrap()), "ORDER_NOT_APPROVED");
    assert_eq!(paypal.press("NONE", "approve", "balance").await.0, 404);
}

#[tokio::test]
async fn an_approval_that_is_taken_back_is_told_and_cannot_be_captured_until_there_is_another() {
    let paypal = PayPal::start().await;
    let id = paypal.approved("k1", "balance").await;
    let turn = format!("/control/payments/{id}");
    paypal.world.control(&turn, &json!({"status": "unapproved"})).await;
    assert_eq!(problem(&paypal.capture(&id, "c1").await.unwrap()), "ORDER_NOT_APPROVED");
    let told = || {
        let all = paypal.world.paypal_received();
        let all = all.iter().map(|(_, body)| serde_json::from_str::<Value>(body).unwrap());
        all.filter(|it| it["event_type"] == "CHECKOUT.PAYMENT-APPROVAL.REVERSED")
            .collect::<Vec<_>>()
    };
    until("it is told", async || told().len() == 1).await;
    let resource = &told()[0]["resource"];
    assert_eq!(resource["order_id"], *id);
    assert_eq!(resource["purchase_units"][0]["custom_id"], "k1");
    assert_eq!(paypal.press(&id, "approve", "balance").await.0, 303);
    assert_eq!(paypal.capture(&id, "c2").await.unwrap().status, 201);
    assert_eq!(paypal.world.effects("k1").await.len(), 1);
    let refused = paypal.world.try_control(&turn, &json!({"status": "unapproved"})).await;
    assert_eq!(refused.status, 400, "what was captured is no approval any more");
}

#[tokio::test]
async fn an_outage_may_close_this_door_alone() {
    let paypal = PayPal::start().await;
    let outage = |mode| json!({"mode": mode, "door": "paypal"});
    paypal.world.control("/control/outage", &outage("refuse")).await;
    until("the door", async || {
        let refused = paypal.post(ORDERS, Some("k1"), &order("k1")).await;
        refused.is_err_and(|it| it.is_connect())
    })
    .await;
    assert_eq!(paypal.world.pay("k1", "tok_visa").await.unwrap().status, 201);
    paypal.world.control("/control/outage", &outage("off")).await;
    until("the end", async || paypal.post(ORDERS, Some("k1"), &order("k1")).await.is_ok()).await;
}
