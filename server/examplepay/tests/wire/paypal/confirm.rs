//! Orders that name their payment source only after they were made.

use super::*;

fn without_source(reference: &str) -> Value {
    let mut body = order(reference);
    body.as_object_mut().unwrap().remove("payment_source");
    body
}

fn source() -> Value {
    json!({"payment_source": order("")["payment_source"]})
}

async fn confirm(paypal: &PayPal, id: &str, body: &Value) -> Told {
    let path = format!("{ORDERS}/{id}/confirm-payment-source");
    paypal.post(&path, None, body).await.unwrap()
}

async fn created(paypal: &PayPal, reference: &str) -> String {
    let told = paypal.post(ORDERS, Some(reference), &without_source(reference)).await.unwrap();
    assert_eq!((told.status, &told.json()["status"]), (201, &json!("CREATED")));
    told.json()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_created_order_waits_for_its_payer_once_its_source_is_confirmed() {
    let paypal = PayPal::start().await;
    let id = created(&paypal, "k1").await;
    let told = confirm(&paypal, &id, &source()).await;
    assert_eq!((told.status, &told.json()["status"]), (200, &json!("PAYER_ACTION_REQUIRED")));
    assert_eq!(told.json()["links"][1]["rel"], "payer-action");
    let (status, place) = paypal.press(&id, "approve", "balance").await;
    assert_eq!(status, 303);
    assert!(place.starts_with("https://shop.test/return?token="), "{place}");
    assert_eq!(paypal.capture(&id, "c1").await.unwrap().status, 201);
    assert_eq!(paypal.world.effects("k1").await, [("charge".to_owned(), 1999)]);
}

#[tokio::test]
async fn an_order_that_stands_otherwise_is_not_confirmed() {
    let paypal = PayPal::start().await;
    let waiting = paypal.post(ORDERS, Some("k1"), &order("k1")).await.unwrap().json()["id"].clone();
    let waiting = waiting.as_str().unwrap().to_owned();
    let approved = paypal.approved("k2", "balance").await;
    let captured = paypal.approved("k3", "balance").await;
    paypal.capture(&captured, "c3").await.unwrap();
    let canceled = created(&paypal, "k4").await;
    let turn = format!("/control/payments/{canceled}");
    paypal.world.control(&turn, &json!({"status": "canceled"})).await;
    for (id, status, issue) in [
        (waiting.as_str(), 422, "ORDER_IS_PENDING_APPROVAL"),
        (&approved, 422, "PAYMENT_ALREADY_APPROVED"),
        (&captured, 422, "ORDER_ALREADY_CAPTURED"),
        (&canceled, 422, "ORDER_CANNOT_BE_CONFIRMED"),
        ("NONE", 404, "INVALID_RESOURCE_ID"),
    ] {
        let told = confirm(&paypal, id, &source()).await;
        assert_eq!((told.status, problem(&told).as_str()), (status, issue));
    }
}

#[tokio::test]
async fn a_source_names_paypal_and_both_ways_back() {
    let paypal = PayPal::start().await;
    let id = created(&paypal, "k1").await;
    let lacking = |name: &str| {
        let mut body = source();
        let context = &mut body["payment_source"]["paypal"]["experience_context"];
        context.as_object_mut().unwrap().remove(name);
        body
    };
    for (body, status, issue) in [
        (json!({}), 400, "MISSING_REQUIRED_PARAMETER"),
        (json!({"payment_source": {}}), 422, "NO_PAYMENT_SOURCE_PROVIDED"),
        (json!({"payment_source": {"card": {}}}), 422, "PAYMENT_SOURCE_CANNOT_BE_USED"),
        (lacking("return_url"), 422, "RETURN_URL_REQUIRED"),
        (lacking("cancel_url"), 422, "CANCEL_URL_REQUIRED"),
    ] {
        let told = confirm(&paypal, &id, &body).await;
        assert_eq!((told.status, problem(&told).as_str()), (status, issue), "{body}");
    }
    assert_eq!(paypal.get(&format!("{ORDERS}/{id}")).await.json()["status"], "CREATED");
}
