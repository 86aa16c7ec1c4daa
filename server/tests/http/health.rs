//! Whether the process lives, whether it can serve, and its numbers.

use reqwest::Method;

use crate::shop::{TestShop, send, until};

#[tokio::test]
async fn it_lives_and_is_ready_until_it_stops() {
    let shop = TestShop::start().await;
    let alive = shop.get("/healthz", None).await;
    assert_eq!((alive.status, alive.body.as_str()), (200, "ok"));
    let ready = shop.get("/readyz", None).await;
    assert_eq!((ready.status, ready.body.as_str()), (200, "ready"));
    shop.alter("alter table stock rename to stock_away").await;
    let ready = shop.get("/readyz", None).await;
    assert_eq!((ready.status, ready.body.as_str()), (503, "the database does not answer"));
    assert_eq!(shop.get("/healthz", None).await.status, 200, "the process itself lives");
    shop.alter("alter table stock_away rename to stock").await;
    assert_eq!(shop.get("/readyz", None).await.status, 200);
    let (http, url) = (shop.http.clone(), shop.url("/readyz"));
    shop.running.stop().await;
    until("nobody listens", async || http.get(&url).send().await.err()).await;
}

#[tokio::test]
async fn numbers_are_given_to_this_machine_and_not_through_a_proxy() {
    let shop = TestShop::start().await;
    shop.get("/products/cups", None).await;
    let numbers = shop.get("/metrics", None).await;
    assert_eq!(numbers.status, 200);
    assert!(numbers.body.contains("payonce_alerts_open 0"), "{}", numbers.body);
    let line = numbers.body.lines().find(|it| {
        it.starts_with("payonce_http_requests_total")
            && it.contains(r#"method="GET""#)
            && it.contains(r#"route="/products/{sku}""#)
            && it.contains(r#"status="200""#)
    });
    assert!(line.is_some(), "{}", numbers.body);
    for name in ["x-forwarded-for", "forwarded", "via", "x-real-ip"] {
        let request = shop.request(Method::GET, "/metrics", None).header(name, "203.0.113.7");
        assert_eq!(send(request).await.status, 404, "{name}");
    }
    shop.running.stop().await;
}

#[tokio::test]
async fn numbers_have_a_port_of_their_own_where_one_is_set() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = free.local_addr().unwrap().to_string();
    drop(free);
    let shop = TestShop::with(&["--metrics-addr", &addr]).await;
    assert_eq!(shop.get("/metrics", None).await.status, 404);
    let numbers = send(shop.http.get(format!("http://{addr}/metrics"))).await;
    assert_eq!(numbers.status, 200);
    assert!(numbers.body.contains("payonce_alerts_open"), "{}", numbers.body);
    assert_eq!(send(shop.http.get(format!("http://{addr}/orders"))).await.status, 404);
    shop.running.stop().await;
}
