//! The shop is killed at every dangerous moment, started again, and ends right.

use serde_json::json;

use crate::harness::World;

/// Buys while the shop is going to die at `point`; gives the checkout id.
///
/// The browser may lose the shop's answer in the crash: then it is in the same position as the
/// shop towards the provider, and posts the same form again after the restart.
async fn buy_through_a_crash(world: &mut World, point: &str, token: &str) -> String {
    world.add("cups", 1).await;
    let form = world.form().await;
    // The session and the cart were made by the shop that runs now; the next one dies.
    world.restart(Some(point));
    let mut fields = form.fields.clone();
    fields.push(("payment_token".to_owned(), token.to_owned()));
    let path = format!("/checkout/{}/pay", form.checkout);
    let _lost_or_not = world.request(reqwest::Method::POST, &path).form(&fields).send().await;
    assert!(world.shop.ended(), "the shop did not die at {point}");
    world.restart(None);
    let (status, _, body) = world.post(&form, token).await;
    assert_eq!(status, 303, "{body}");
    form.checkout
}

async fn dies_and_ends_right(point: &str) {
    let mut world = World::start().await;
    let checkout = buy_through_a_crash(&mut world, point, "tok_visa").await;
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.order_state(&checkout).await, "paid", "{point}");
    assert_eq!(world.number("select count(*) from orders").await, 1, "{point}");
    assert_eq!(world.number("select count(*) from operations").await, 1, "{point}");
    assert_eq!(world.number("select sold from stock where sku = 'cups'").await, 1, "{point}");
    assert_eq!(world.number("select reserved from stock where sku = 'cups'").await, 0, "{point}");
}

macro_rules! crash_points {
    ($($name:ident => $point:literal),+ $(,)?) => {$(
        #[tokio::test]
        async fn $name() {
            dies_and_ends_right($point).await;
        }
    )+};
}

crash_points! {
    the_shop_dies_after_the_order_is_committed => "order_committed",
    the_shop_dies_after_the_claim_is_committed => "claim_committed",
    the_shop_dies_before_the_first_byte => "before_first_byte",
    the_shop_dies_in_the_middle_of_the_body => "mid_body",
    the_shop_dies_after_the_answer => "after_answer",
    the_shop_dies_before_the_outcome_is_committed => "before_outcome_commit",
    the_shop_dies_after_the_outcome_is_committed => "after_outcome_commit",
}

#[tokio::test]
async fn the_shop_dies_after_the_send_and_before_the_answer() {
    let mut world = World::start().await;
    world.fault("create_payment", json!([{"execute": true, "delay_ms": 3000}])).await;
    let checkout = world.buy("tok_visa").await;
    world.until_sends(&checkout, 1).await;
    world.shop.kill();
    world.restart(None);
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.order_state(&checkout).await, "paid");
}

async fn dies_in_a_webhook(point: &str) {
    let mut world = World::start().await;
    // Only the webhook can tell: the answer is lost and lookups find nothing.
    world
        .fault("create_payment", json!([{"execute": true, "answer": {"kind": "drop_before_headers"}, "webhook": {"mode": "delayed", "delay_ms": 1500}}]))
        .await;
    world.control("/control/lookups", &json!({"status": 503, "for_ms": 60000})).await;
    world.add("cups", 1).await;
    let form = world.form().await;
    world.restart(Some(point));
    assert_eq!(world.post(&form, "tok_visa").await.0, 303);
    assert!(world.shop.ended(), "the shop did not die at {point}");
    world.restart(None);
    world.agree(&form.checkout, "succeeded", 1).await;
    assert_eq!(
        world.number("select count(*) from provider_events where state = 'applied'").await,
        1,
        "{point}"
    );
    assert_eq!(world.number("select count(*) from provider_events").await, 1, "{point}");
    assert_eq!(
        world.number("select count(*) from outbox where topic = 'order.paid'").await,
        1,
        "{point}"
    );
}

macro_rules! webhook_crash_points {
    ($($name:ident => $point:literal),+ $(,)?) => {$(
        #[tokio::test]
        async fn $name() {
            dies_in_a_webhook($point).await;
        }
    )+};
}

webhook_crash_points! {
    the_shop_dies_after_a_webhook_is_inserted => "webhook_inserted",
    the_shop_dies_after_a_webhook_is_applied => "webhook_applied",
    the_shop_dies_after_a_webhook_is_committed => "webhook_committed",
    the_shop_dies_before_a_webhook_is_answered => "webhook_before_answer",
}

#[tokio::test]
async fn a_graceful_stop_loses_nothing_and_ends_open_streams() {
    let mut world = World::start().await;
    world.fault("create_payment", json!([{"execute": true, "delay_ms": 700}])).await;
    let checkout = world.buy("tok_visa").await;
    let stream = world
        .request(reqwest::Method::GET, &format!("/checkout/{checkout}/events"))
        .send()
        .await
        .unwrap();
    world.until_sends(&checkout, 1).await;
    world.shop.terminate();
    let text = stream.text().await;
    assert!(text.is_ok_and(|text| text.contains("event: state")), "the stream ended in order");
    assert!(world.shop.ended());
    assert_eq!(world.state(&checkout).await, "succeeded", "the request on the wire was waited for");
    world.restart(None);
    world.agree(&checkout, "succeeded", 1).await;
}
