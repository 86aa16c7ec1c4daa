//! PayPal's request ids: they give the latest state, for a while, and for their own request only.

use super::*;

#[tokio::test]
async fn a_request_id_gives_the_latest_state_and_not_a_frozen_one() {
    let paypal = PayPal::start().await;
    let first = paypal.post(ORDERS, Some("k1"), &order("k1")).await.unwrap().json();
    let id = first["id"].as_str().unwrap();
    paypal.press(id, "approve", "pending").await;
    let again = paypal.post(ORDERS, Some("k1"), &order("k1")).await.unwrap();
    assert_eq!(
        (again.status, &again.json()["id"], &again.json()["status"]),
        (200, &first["id"], &json!("APPROVED"))
    );
    let captured = paypal.capture(id, "c1").await.unwrap();
    assert_eq!((captured.status, &first_capture(&captured)["status"]), (201, &json!("PENDING")));
    until("the end", async || {
        let again = paypal.capture(id, "c1").await.unwrap();
        assert_eq!(again.status, 200);
        first_capture(&again)["status"] == "COMPLETED"
    })
    .await;
    let capture = first_capture(&captured)["id"].as_str().unwrap().to_owned();
    let refund = paypal.refund(&capture, "r1", Some("5.00")).await;
    let again = paypal.refund(&capture, "r1", Some("5.00")).await;
    assert_eq!((refund.status, again.status), (201, 200));
    assert_eq!(refund.json(), again.json());
    assert_eq!(paypal.sum("").await, 1499);
    assert_eq!(paypal.world.answers("c1").await[0], ("201".to_owned(), true));
}

#[tokio::test]
async fn a_request_id_is_not_taken_for_something_else_nor_while_it_is_executed() {
    let paypal = PayPal::start().await;
    let id = paypal.approved("k1", "balance").await;
    let mut other = order("k1");
    other["purchase_units"][0]["amount"]["value"] = json!("20.00");
    let told = paypal.post(ORDERS, Some("k1"), &other).await.unwrap();
    assert_eq!((told.status, problem(&told)), (422, "DUPLICATE_REQUEST_ID".to_owned()));
    let told = paypal.capture(&id, "k1").await.unwrap();
    assert_eq!(problem(&told), "DUPLICATE_REQUEST_ID", "one id for each call");
    let script = json!({"match": {"door": "paypal", "operation": "capture_payment"}, "steps": [
        {"execute": "later", "execute_after_ms": 300, "answer": {"kind": "drop_before_headers"}}]});
    paypal.world.control("/control/faults", &script).await;
    assert!(paypal.capture(&id, "c1").await.is_err());
    let told = paypal.capture(&id, "c1").await.unwrap();
    assert_eq!((told.status, problem(&told)), (409, "PREVIOUS_REQUEST_IN_PROGRESS".to_owned()));
    until("the capture", async || paypal.capture(&id, "c1").await.unwrap().status == 200).await;
    assert_eq!(paypal.world.effects("k1").await.len(), 1);
    let long = "x".repeat(109);
    assert_eq!(problem(&paypal.capture(&id, &long).await.unwrap()), "INVALID_STRING_LENGTH");
}

#[tokio::test]
async fn a_forgotten_request_id_and_a_missing_one_are_new_requests() {
    let world = World::with(|it| {
        it.paypal_order_window = Duration::ZERO;
        it.paypal_payment_window = Duration::from_secs(60);
    });
    let paypal = PayPal::with(world.await).await;
    let id = paypal.approved("k1", "balance").await;
    until("another order", async || {
        let again = paypal.post(ORDERS, Some("k1"), &order("k1")).await.unwrap().json();
        again["id"] != json!(id)
    })
    .await;
    let capture = first_capture(&paypal.capture(&id, "c1").await.unwrap());
    let path = format!("/v2/payments/captures/{}/refund", capture["id"].as_str().unwrap());
    let body = json!({"amount": {"currency_code": "EUR", "value": "5.00"}});
    for _ in 0..2 {
        assert_eq!(paypal.post(&path, None, &body).await.unwrap().status, 201, "given back again");
    }
    assert_eq!(paypal.sum("").await, 999);
}
