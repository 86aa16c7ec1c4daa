//! The hosted page: the only place where a shopper, and not the shop, decides.

use std::time::Duration;

use serde_json::Value;

use crate::harness::World;

/// A payment that waits for its shopper: its id, and the address of its page.
async fn waiting(world: &World, token: &str) -> (String, String) {
    let made = world.pay("k1", token).await.unwrap().json();
    assert_eq!(made["status"], "requires_action");
    assert!(made["action_expires_at"].is_i64());
    let word = |name: &str| made[name].as_str().unwrap().to_owned();
    (word("id"), word("action_url"))
}

async fn press(world: &World, url: &str, fields: &[(&str, &str)]) -> (u16, String, String) {
    let answer = world.client.post(url).form(fields).send().await.unwrap();
    let place = answer.headers().get("location").map_or("", |it| it.to_str().unwrap()).to_owned();
    (answer.status().as_u16(), place, answer.text().await.unwrap())
}

async fn state(world: &World, id: &str) -> Value {
    world.get(&format!("/v1/payments/{id}")).await.json()["status"].clone()
}

#[tokio::test]
async fn approval_takes_the_money_once_and_leads_back_to_the_shop() {
    let world = World::start().await;
    let (id, url) = waiting(&world, "tok_3ds").await;
    let page = world.client.get(&url).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("19.99 EUR") && page.contains("Approve") && page.contains("Decline"));
    assert!(page.contains("href=\"https://shop.test/return\""));
    assert_eq!(world.effects("k1").await, []);
    for _ in 0..2 {
        let (status, place, _) = press(&world, &url, &[("act", "approve")]).await;
        assert_eq!((status, place), (303, format!("https://shop.test/return?payment={id}")));
    }
    assert_eq!(state(&world, &id).await, "succeeded");
    assert_eq!(world.effects("k1").await.len(), 1);
    let (status, _, page) = press(&world, &url, &[("act", "decline")]).await;
    assert_eq!(status, 409);
    assert!(page.contains("This payment is confirmed."));
}

#[tokio::test]
async fn a_refusal_at_the_bank_is_a_decline() {
    let world = World::start().await;
    let (id, url) = waiting(&world, "tok_3ds").await;
    assert_eq!(press(&world, &url, &[("act", "decline")]).await.0, 303);
    assert_eq!(state(&world, &id).await, "declined");
    assert_eq!(press(&world, &url, &[("act", "approve")]).await.0, 409);
    assert_eq!(world.effects("k1").await, []);
}

#[tokio::test]
async fn a_declined_card_may_be_followed_by_another_one_on_the_page() {
    let world = World::start().await;
    let (id, url) = waiting(&world, "tok_hosted_card").await;
    let card = |number| [("act", "pay"), ("number", number), ("expiry", "12/40"), ("cvc", "123")];
    for number in ["4000 0000 0000 0002", "4000 0000 0000 9995", "1234", "5555 5555 5555 4444"] {
        let (status, _, page) = press(&world, &url, &card(number)).await;
        assert_eq!(status, 200, "{number}");
        assert!(page.contains("role=\"alert\"") && !page.contains(number));
        assert_eq!(state(&world, &id).await, "requires_action");
    }
    assert_eq!(press(&world, &url, &card("4242 4242 4242 4242")).await.0, 303);
    assert_eq!(state(&world, &id).await, "succeeded");
    assert_eq!(world.effects("k1").await.len(), 1);
}

#[tokio::test]
async fn a_page_whose_time_is_over_decides_nothing() {
    let world = World::with(|it| it.action = Duration::ZERO).await;
    let (id, url) = waiting(&world, "tok_3ds").await;
    let (status, _, page) = press(&world, &url, &[("act", "approve")]).await;
    assert_eq!(status, 409);
    assert!(page.contains("is over"));
    assert_eq!(state(&world, &id).await, "requires_action");
    assert_eq!(world.effects("k1").await, []);
}

#[tokio::test]
async fn an_unknown_page_says_so_and_the_overview_shows_the_ledger() {
    let world = World::start().await;
    let answer = world.client.get(world.url("/confirm/pay_unknown")).send().await.unwrap();
    assert_eq!(answer.status(), 404);
    world.paid("k1", "tok_visa").await;
    let control = world.running.as_ref().unwrap().control_addr.unwrap();
    let page = world.client.get(format!("http://{control}/")).send().await.unwrap();
    let page = page.text().await.unwrap();
    assert!(page.contains("charge") && page.contains("1999") && page.contains("/v1/payments"));
}
