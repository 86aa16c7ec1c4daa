//! Goods stay kept while an outcome is unknown, and are never sold twice.

use serde_json::json;

use crate::harness::World;

#[tokio::test]
async fn goods_stay_reserved_while_the_outcome_is_unknown_and_are_free_after_a_no() {
    let world = World::start().await;
    let reserved = "select reserved from stock where sku = 'cups'";
    world
        .fault(
            "create_payment",
            json!([{"execute": true, "answer": {"kind": "drop_before_headers"}}]),
        )
        .await;
    world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
    world.control("/control/lookups", &json!({"status": 503, "for_ms": 2000})).await;
    let unknown = world.buy("tok_visa").await;
    world.until(&unknown, &["pending_confirmation"]).await;
    assert_eq!(world.number(reserved).await, 1);
    world.agree(&unknown, "succeeded", 1).await;
    assert_eq!(world.number(reserved).await, 0);
    assert_eq!(world.number("select sold from stock where sku = 'cups'").await, 1);
    let declined = world.buy("tok_declined").await;
    world.agree(&declined, "rejected", 0).await;
    assert_eq!(world.number(reserved).await, 0);
}

#[tokio::test]
async fn the_last_pieces_go_to_as_many_orders_as_there_are_pieces() {
    let world = World::start().await;
    // 40 kettles, 4 carts of 12: three orders fit.
    let mut taken = Vec::new();
    let mut refused = 0;
    for _ in 0..4 {
        world.forget_session();
        world.add("kettle", 12).await;
        let form = world.form().await;
        let (status, _, body) = world.post(&form, "tok_visa").await;
        match status {
            303 => taken.push(form.checkout),
            409 => refused += 1,
            other => panic!("{other}: {body}"),
        }
    }
    assert_eq!((taken.len(), refused), (3, 1));
    world.until_number("select sold from stock where sku = 'kettle'", 36).await;
    assert_eq!(
        world.number("select count(*) from orders").await,
        3,
        "a refused order leaves nothing"
    );
}

#[tokio::test]
async fn twenty_buyers_at_once_never_oversell() {
    let world = World::start().await;
    let mut carts = Vec::new();
    for _ in 0..20 {
        world.forget_session();
        world.add("kettle", 3).await;
        let form = world.form().await;
        carts.push((form, world.forget_session()));
    }
    let mut posts = Vec::new();
    for (form, session) in &carts {
        world.remember_session(session.clone());
        let mut fields = form.fields.clone();
        fields.push(("payment_token".to_owned(), "tok_visa".to_owned()));
        let path = format!("/checkout/{}/pay", form.checkout);
        posts.push(world.request(reqwest::Method::POST, &path).form(&fields).send());
    }
    let answers = futures::future::join_all(posts).await;
    let taken = answers.iter().filter(|it| it.as_ref().is_ok_and(|it| it.status() == 303)).count();
    assert_eq!(taken, 13, "40 kettles are 13 carts of 3");
    world.until_number("select sold from stock where sku = 'kettle'", 39).await;
    assert_eq!(world.number("select count(*) from stock where reserved + sold > on_hand").await, 0);
}

#[tokio::test]
async fn another_attempt_for_goods_that_others_took_meanwhile_leaves_the_order_as_it_is() {
    let world = World::start().await;
    world.add("kettle", 12).await;
    let form = world.form().await;
    assert_eq!(world.post(&form, "tok_declined").await.0, 303);
    world.until(&form.checkout, &["rejected"]).await;
    let again = world.next_form(&form.checkout).await.expect("there is enough so far");
    let session = world.forget_session();
    for _ in 0..3 {
        world.forget_session();
        world.add("kettle", 12).await;
        let others = world.form().await;
        assert_eq!(world.post(&others, "tok_visa").await.0, 303);
        world.until(&others.checkout, &["succeeded"]).await;
    }
    world.remember_session(session);
    let (status, _, page) = world.post(&again, "tok_visa").await;
    assert_eq!(status, 409);
    assert!(page.contains("No new payment was begun"), "{page}");
    assert!(page.contains(&format!("href=\"/checkout/{}\"", form.checkout)), "{page}");
    assert_eq!(world.order_state(&form.checkout).await, "awaiting_payment");
    assert!(world.effects(&form.checkout).await.is_empty());
}
