//! Who a visitor is: an opaque cookie, opened by the first change and by nothing else.

use crate::shop::{TestShop, send};

#[tokio::test]
async fn a_session_is_opened_by_the_first_change_and_not_by_reading() {
    let shop = TestShop::start().await;
    for path in ["/", "/products/cups", "/cart", "/cart/count", "/checkout", "/orders", "/nothing"]
    {
        let answer = shop.get(path, None).await;
        assert!(answer.headers.get("set-cookie").is_none(), "{path}");
    }
    assert_eq!(shop.rows().await["sessions"], 0);
    let form = [("sku", "cups"), ("quantity", "2"), ("add", "1")];
    let answer = shop.post("/cart/lines", None, &form).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/cart"));
    let cookie = answer.header("set-cookie").to_owned();
    let parts: Vec<&str> = cookie.split("; ").collect();
    assert!(parts[0].starts_with("payonce_session=") && parts[0].len() == 16 + 64, "{cookie}");
    for part in ["Path=/", "HttpOnly", "SameSite=Lax"] {
        assert!(parts.contains(&part), "{part} in {cookie}");
    }
    assert!(!cookie.contains("Secure") && !cookie.contains("Domain"), "{cookie}");
    let again = shop.post("/cart/lines", answer.session().as_deref(), &form).await;
    assert_eq!(again.status, 303);
    assert!(again.headers.get("set-cookie").is_none(), "a known session keeps its cookie");
    let count = shop.get("/cart/count", answer.session().as_deref()).await;
    assert_eq!(count.body, r#"{"count":4}"#);
    assert_eq!(shop.rows().await["sessions"], 1);
    shop.running.stop().await;
}

#[tokio::test]
async fn behind_https_a_cookie_is_bound_to_host_and_https() {
    let shop = TestShop::with(&["--public-url", "https://shop.test"]).await;
    let form = [("sku", "cups"), ("quantity", "1")];
    let answer = shop.post("/cart/lines", None, &form).await;
    let cookie = answer.header("set-cookie");
    assert!(cookie.starts_with("__Host-payonce_session="), "{cookie}");
    assert!(cookie.contains("; Secure") && cookie.contains("; Path=/;"), "{cookie}");
    assert!(!cookie.contains("Domain"), "{cookie}");
    let session = answer.session().unwrap();
    assert_eq!(shop.get("/cart/count", Some(&session)).await.body, r#"{"count":1}"#);
    // The weaker name is worth nothing here: another host of the domain could have set it.
    let weaker = session.trim_start_matches("__Host-").to_owned();
    assert_eq!(shop.get("/cart/count", Some(&weaker)).await.body, r#"{"count":0}"#);
    assert_eq!(answer.header("strict-transport-security"), "max-age=31536000");
    shop.running.stop().await;
}

#[tokio::test]
async fn a_cookie_that_names_nobody_is_a_visitor_without_a_session() {
    let shop = TestShop::start().await;
    let unknown = format!("payonce_session={}", "a".repeat(64));
    let long = format!("payonce_session={}", "a".repeat(4000));
    for cookie in [
        "payonce_session=",
        "payonce_session",
        "payonce_session=../../etc",
        "=;;=;",
        "payonce_session=' or 1=1 --",
        &unknown,
        &long,
    ] {
        let answer = shop.get("/cart", Some(cookie)).await;
        assert_eq!(answer.status, 200, "{cookie}");
        let form = [("sku", "cups"), ("quantity", "1")];
        let answer = shop.post("/cart/lines", Some(cookie), &form).await;
        assert_eq!(answer.status, 303, "{cookie}");
        let session = answer.session().expect("a session that is worth something");
        assert_ne!(session, cookie);
    }
    let bytes = reqwest::header::HeaderValue::from_bytes(b"payonce_session=\xff\xfe").unwrap();
    let request = shop.request(reqwest::Method::GET, "/cart", None).header("cookie", bytes);
    assert_eq!(send(request).await.status, 200);
    shop.running.stop().await;
}

#[tokio::test]
async fn a_form_that_is_refused_opens_no_session() {
    let shop = TestShop::start().await;
    for (status, form) in [
        (400, [("sku", "unicorn"), ("quantity", "1")]),
        (400, [("sku", "cups"), ("quantity", "-1")]),
        (422, [("sku", "cups"), ("quantity", "21")]),
        (400, [("sku", "../../cups"), ("quantity", "1")]),
    ] {
        let answer = shop.post("/cart/lines", None, &form).await;
        assert_eq!(answer.status, status, "{form:?}");
        assert!(answer.session().is_none());
    }
    assert_eq!(shop.rows().await["sessions"], 0);
    shop.running.stop().await;
}

#[tokio::test]
async fn only_the_hash_of_a_session_is_stored() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let token = session.split('=').nth(1).unwrap();
    shop.running.stop().await;
    for file in std::fs::read_dir(shop.folder.path()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(token.len()).any(|it| it == token.as_bytes()), "{path:?}");
        }
    }
}

#[tokio::test]
async fn a_session_that_cannot_be_read_is_not_taken_for_a_stranger() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (action, fields) = shop.form(&session).await;
    shop.alter("alter table sessions rename to sessions_away").await;
    let form = [("sku", "cups"), ("quantity", "1")];
    for answer in [
        shop.get("/cart", Some(&session)).await,
        shop.post("/cart/lines", Some(&session), &form).await,
        shop.pay(&session, &action, &fields).await,
    ] {
        assert_eq!(answer.status, 503);
        assert_eq!(answer.header("retry-after"), "5");
        assert!(answer.headers.get("set-cookie").is_none(), "no other session takes its place");
        assert!(!answer.body.contains("sessions"), "a page does not repeat what a database says");
    }
    assert_eq!(shop.get("/", None).await.status, 200);
    shop.alter("alter table sessions_away rename to sessions").await;
    assert_eq!(shop.get("/cart/count", Some(&session)).await.body, r#"{"count":1}"#);
    assert_eq!(shop.rows().await["orders"], 0);
    shop.running.stop().await;
}
