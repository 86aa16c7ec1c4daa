//! Pressing Pay: committed at once, whatever the provider does; nobody else's form counts.

use reqwest::Method;

use crate::shop::{Answer, TestShop, send, until};

async fn pay_json(
    shop: &TestShop,
    session: &str,
    action: &str,
    fields: &[(String, String)],
) -> Answer {
    let request = shop.request(Method::POST, action, Some(session)).form(fields);
    send(request.header("accept", "application/json")).await
}

#[tokio::test]
async fn pay_is_answered_although_the_provider_cannot_be_reached() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (action, fields) = shop.form(&session).await;
    let page = action.trim_end_matches("/pay").to_owned();
    let first = shop.pay(&session, &action, &fields).await;
    assert_eq!((first.status, first.header("location")), (303, page.as_str()));
    let again = pay_json(&shop, &session, &action, &fields).await;
    assert_eq!(again.status, 202, "{}", again.body);
    let told: serde_json::Value = serde_json::from_str(&again.body).unwrap();
    assert_eq!(told["location"], page);
    let rows = shop.rows().await;
    assert_eq!((rows["orders"], rows["operations"]), (1, 1), "the second press is the first");
    let status = until("the refused connection is on record", async || {
        let status = shop.get(&format!("{page}/status"), Some(&session)).await;
        status.body.contains("retry_scheduled").then_some(status)
    })
    .await;
    let told: serde_json::Value = serde_json::from_str(&status.body).unwrap();
    assert_eq!((told["face"].as_str(), told["end"].as_bool()), (Some("sending"), Some(false)));
    let html = shop.get(&page, Some(&session)).await;
    assert!(html.body.contains(told["heading"].as_str().unwrap()), "{}", html.body);
    assert!(!html.body.contains("data-pay-control"), "no second payment is offered");
    let main = html.body.split("<main").nth(1).unwrap().split("</main>").next().unwrap();
    let lower = main.to_lowercase();
    assert!(!lower.contains("failed") && !lower.contains("error"), "{}", html.body);
    shop.running.stop().await;
}

#[tokio::test]
async fn another_sessions_post_writes_nothing_and_learns_only_the_state() {
    let shop = TestShop::start().await;
    let (owner, other) = (shop.session().await, shop.session().await);
    let (action, fields) = shop.form(&owner).await;
    let page = action.trim_end_matches("/pay").to_owned();
    let before = shop.rows().await;
    let early = pay_json(&shop, &other, &action, &fields).await;
    assert_eq!(early.status, 403, "the cart is not theirs: {}", early.body);
    let nobody = send(shop.request(Method::POST, &action, None).form(&fields)).await;
    assert_eq!(nobody.status, 403, "{}", nobody.body);
    assert_eq!(shop.rows().await, before);

    assert_eq!(shop.pay(&owner, &action, &fields).await.status, 303);
    let orders = |rows: std::collections::BTreeMap<String, i64>| {
        ["orders", "operations", "carts", "sessions", "order_lines"].map(|it| rows[it])
    };
    let before = orders(shop.rows().await);
    let mut changed = fields.clone();
    changed.iter_mut().find(|it| it.0 == "amount_minor").unwrap().1 = "1".to_owned();
    for form in [&fields, &changed] {
        let answer = shop.pay(&other, &action, form).await;
        assert_eq!((answer.status, answer.header("location")), (303, page.as_str()));
        let answer = pay_json(&shop, &other, &action, form).await;
        assert_eq!(answer.status, 403, "{}", answer.body);
        assert!(answer.body.contains(r#""code":"NOT_YOURS""#), "{}", answer.body);
    }
    let cancel = shop.post(&format!("{page}/cancel"), Some(&other), &[]).await;
    assert_eq!(cancel.status, 404);
    assert_eq!(orders(shop.rows().await), before);
    let (own, stranger) =
        (shop.get(&page, Some(&owner)).await, shop.get(&page, Some(&other)).await);
    assert!(own.body.contains("29.90") && own.body.contains("Two cups"), "{}", own.body);
    assert_eq!(stranger.status, 200);
    assert!(!stranger.body.contains("29.90") && !stranger.body.contains("Two cups"));
    assert!(!shop.get("/orders", Some(&other)).await.body.contains(&page));
    shop.running.stop().await;
}

#[tokio::test]
async fn the_same_id_with_other_content_is_a_conflict() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (action, fields) = shop.form(&session).await;
    assert_eq!(shop.pay(&session, &action, &fields).await.status, 303);
    let before = shop.rows().await["operations"];
    let mut changed = fields.clone();
    changed.iter_mut().find(|it| it.0 == "amount_minor").unwrap().1 = "1".to_owned();
    let page = shop.pay(&session, &action, &changed).await;
    assert_eq!(page.status, 422);
    assert!(
        page.body.contains(&format!("href=\"{}\"", action.trim_end_matches("/pay"))),
        "{}",
        page.body
    );
    let json = pay_json(&shop, &session, &action, &changed).await;
    assert_eq!((json.status, json.header("content-type")), (422, "application/problem+json"));
    assert!(json.body.contains(r#""code":"IDEMPOTENCY_CONFLICT""#), "{}", json.body);
    assert_eq!(shop.rows().await["operations"], before);
    shop.running.stop().await;
}

#[tokio::test]
async fn a_second_id_for_one_cart_leads_to_the_first() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (first, fields) = shop.form(&session).await;
    let (second, other) = shop.form(&session).await;
    assert_ne!(first, second, "every form has an id of its own");
    assert_eq!(shop.pay(&session, &first, &fields).await.status, 303);
    let answer = shop.pay(&session, &second, &other).await;
    assert_eq!(answer.status, 303);
    assert!(answer.header("location").starts_with(first.trim_end_matches("/pay")));
    let json = pay_json(&shop, &session, &second, &other).await;
    assert_eq!(json.status, 202);
    assert!(json.body.contains(first.trim_end_matches("/pay")), "{}", json.body);
    assert_eq!(shop.rows().await["orders"], 1);
    shop.running.stop().await;
}

#[tokio::test]
async fn who_posts_too_often_is_told_when_to_come_back_and_loses_nothing() {
    let shop = TestShop::with(&["--pay-rate-per-minute", "4"]).await;
    let session = shop.session().await;
    let (action, fields) = shop.form(&session).await;
    assert_eq!(shop.pay(&session, &action, &fields).await.status, 303);
    assert_eq!(shop.pay(&session, &action, &fields).await.status, 303);
    let page = shop.pay(&session, &action, &fields).await;
    assert_eq!(page.status, 429);
    let said = "this one was not taken: nothing was ordered and nothing was charged for it";
    assert!(page.body.contains(said), "{}", page.body);
    let wait: u64 = page.header("retry-after").parse().unwrap();
    assert!((1..=15).contains(&wait), "{wait}");
    let json = pay_json(&shop, &session, &action, &fields).await;
    assert_eq!(json.status, 429);
    assert!(json.body.contains(r#""code":"TOO_MANY_REQUESTS""#), "{}", json.body);
    let status = format!("{}/status", action.trim_end_matches("/pay"));
    assert_eq!(shop.get(&status, Some(&session)).await.status, 200);
    let other = shop.session().await;
    let (action, fields) = shop.form(&other).await;
    assert_eq!(shop.pay(&other, &action, &fields).await.status, 303, "others are not held up");
    shop.running.stop().await;
}
