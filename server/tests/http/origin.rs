//! Forms are taken from this shop only; the browser says where a request comes from.

use reqwest::Method;

use crate::shop::{TestShop, send};

const FORM: [(&str, &str); 3] = [("sku", "cups"), ("quantity", "1"), ("add", "1")];

#[tokio::test]
async fn posts_from_elsewhere_are_refused_and_write_nothing() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (action, _) = shop.form(&session).await;
    let before = shop.rows().await;
    let own = shop.url("");
    let port = shop.addr().port();
    let other_port = format!("http://127.0.0.1:{}", port ^ 1);
    let other_name = format!("http://localhost:{port}");
    let longer = format!("{own}.evil.test");
    let cases: &[&[(&str, &str)]] = &[
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "cross-site"), ("origin", "https://evil.test")],
        &[("sec-fetch-site", "cross-site"), ("origin", "null")],
        &[("origin", "null")],
        &[("origin", "https://evil.test")],
        &[("origin", &other_port)],
        &[("origin", &other_name)],
        &[("origin", &longer)],
    ];
    let cancel = action.replace("/pay", "/cancel");
    for headers in cases {
        for path in ["/cart/lines", "/currency", action.as_str(), cancel.as_str()] {
            let mut request = shop.request(Method::POST, path, Some(&session)).form(&FORM);
            for (name, value) in *headers {
                request = request.header(*name, *value);
            }
            let answer = send(request).await;
            assert_eq!(answer.status, 403, "{path} {headers:?}");
            assert!(answer.body.contains("This came from another site"), "{}", answer.body);
            assert!(answer.headers.get("set-cookie").is_none());
        }
    }
    assert_eq!(shop.rows().await, before);
    assert_eq!(shop.get("/cart/count", Some(&session)).await.body, r#"{"count":1}"#);
    shop.running.stop().await;
}

#[tokio::test]
async fn posts_from_here_are_taken() {
    let shop = TestShop::start().await;
    let own = shop.url("");
    let cases: &[&[(&str, &str)]] = &[
        &[],
        &[("sec-fetch-site", "same-origin")],
        &[("sec-fetch-site", "none")],
        &[("sec-fetch-site", "same-origin"), ("origin", &own)],
        &[("origin", &own)],
    ];
    for headers in cases {
        let mut request = shop.request(Method::POST, "/cart/lines", None).form(&FORM);
        for (name, value) in *headers {
            request = request.header(*name, *value);
        }
        assert_eq!(send(request).await.status, 303, "{headers:?}");
    }
    shop.running.stop().await;
}

#[tokio::test]
async fn a_program_is_told_in_its_own_way() {
    let shop = TestShop::start().await;
    let request = shop.request(Method::POST, "/currency", None).form(&[("currency", "JPY")]);
    let request =
        request.header("sec-fetch-site", "cross-site").header("accept", "application/json");
    let answer = send(request).await;
    assert_eq!((answer.status, answer.header("content-type")), (403, "application/problem+json"));
    assert!(answer.body.contains(r#""code":"CROSS_SITE""#), "{}", answer.body);
    shop.running.stop().await;
}

#[tokio::test]
async fn webhooks_are_judged_by_their_signature_and_not_by_their_origin() {
    let shop = TestShop::start().await;
    for (path, status) in [("/webhooks/examplepay", 400), ("/webhooks/nobody", 404)] {
        let request = shop.request(Method::POST, path, None).body("{}");
        let request = request.header("origin", "https://examplepay.test");
        assert_eq!(send(request).await.status, status, "{path}");
    }
    shop.running.stop().await;
    let off = TestShop::with(&["--examplepay-webhook-secret", ""]).await;
    assert_eq!(off.post("/webhooks/examplepay", None, &[]).await.status, 404);
    off.running.stop().await;
}
