//! Clients that take their time are not waited for.

use std::time::{Duration, Instant};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::shop::{BOUND, TestShop};

/// Says something, and then one byte a second; gives what comes back until the end, how long that
/// took, and when it was.
async fn drip(shop: &TestShop, head: &str) -> (String, Duration, Instant) {
    let mut stream = TcpStream::connect(shop.addr()).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let started = Instant::now();
    let dripping = tokio::spawn(async move {
        while writing.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let read = async {
        while let Ok(n @ 1..) = reading.read(&mut piece).await {
            bytes.extend_from_slice(&piece[..n]);
        }
    };
    tokio::time::timeout(BOUND, read).await.expect("the shop ends the connection");
    dripping.abort();
    (String::from_utf8_lossy(&bytes).into_owned(), started.elapsed(), Instant::now())
}

#[tokio::test]
async fn slow_heads_and_slow_bodies_are_cut_and_others_are_served_meanwhile() {
    let shop = TestShop::start().await;
    let form = "POST /cart/lines HTTP/1.1\r\nHost: shop\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nsku=";
    let webhook =
        "POST /webhooks/examplepay HTTP/1.1\r\nHost: shop\r\nContent-Length: 1000\r\n\r\n{";
    let others = async {
        for _ in 0..20 {
            assert_eq!(shop.get("/healthz", None).await.status, 200);
        }
        Instant::now()
    };
    let (head, form, webhook, served) = tokio::join!(
        drip(&shop, "GET / HTTP/1.1\r\nHost: shop\r\nX-Slow: "),
        drip(&shop, form),
        drip(&shop, webhook),
        others,
    );
    for (what, (_, took, ended)) in [("head", &head), ("form", &form), ("webhook", &webhook)] {
        assert!(*took > Duration::from_secs(9), "{what} had its time: {took:?}");
        assert!(served < *ended, "{what}: others were served meanwhile");
    }
    assert!(form.0.starts_with("HTTP/1.1 408"), "{}", form.0);
    assert!(form.0.contains("did not arrive completely in time"), "{}", form.0);
    assert!(webhook.0.starts_with("HTTP/1.1 408"), "{}", webhook.0);
    assert!(!head.0.contains("HTTP/1.1 200"), "{}", head.0);
    assert_eq!(shop.rows().await["sessions"], 0);
    shop.running.stop().await;
}
