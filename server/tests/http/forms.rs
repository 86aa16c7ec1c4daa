//! Forms are read strictly, refused in words, and a refusal writes nothing.

use reqwest::Method;

use crate::shop::{Logs, TestShop, send, until};

const GOOD_ID: &str = "6f9619ff-8b86-4011-b42d-00cf4fc964ff";

#[tokio::test]
async fn an_id_that_is_none_names_nothing() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (_, fields) = shop.form(&session).await;
    let before = shop.rows().await;
    let long = "6".repeat(10_000);
    let upper = GOOD_ID.to_uppercase();
    let plain = GOOD_ID.replace('-', "");
    for id in
        ["1", "..%2f..%2fetc%2fpasswd", "%00", "%ff", "'%20or%201=1", "{}", &long, &upper, &plain]
    {
        for path in ["", "/status", "/events", "/return", "/check"] {
            let answer = shop.get(&format!("/checkout/{id}{path}"), Some(&session)).await;
            assert!((400..500).contains(&answer.status), "{id}{path}: {}", answer.status);
        }
        for path in ["/pay", "/cancel"] {
            let path = format!("/checkout/{id}{path}");
            let form = if path.ends_with("/pay") { &fields[..] } else { &[] };
            let answer = send(shop.request(Method::POST, &path, Some(&session)).form(form)).await;
            assert!((400..500).contains(&answer.status), "{path}: {}", answer.status);
        }
    }
    assert_eq!(shop.rows().await, before);
    let missing = shop.get(&format!("/checkout/{GOOD_ID}"), None).await;
    assert_eq!(missing.status, 404);
    assert!(missing.body.contains("We have no order under this link"), "{}", missing.body);
    shop.running.stop().await;
}

#[tokio::test]
async fn a_payment_form_with_anything_odd_is_refused_in_words() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (action, fields) = shop.form(&session).await;
    let before = shop.rows().await;
    let long = "t".repeat(10_000);
    let cases: &[(&str, &str, &str)] = &[
        ("attempt", "0", "Amount and attempt must be above zero"),
        ("attempt", "-1", "Attempt must be a whole number"),
        ("attempt", "1.5", "Attempt must be a whole number"),
        ("attempt", "1e3", "Attempt must be a whole number"),
        ("attempt", "+1", "Attempt must be a whole number"),
        ("attempt", "", "Attempt must be a whole number"),
        ("attempt", "4294967296", "Attempt must be a whole number"),
        ("amount_minor", "-2990", "Amount and attempt must be above zero"),
        ("amount_minor", "0", "Amount and attempt must be above zero"),
        ("amount_minor", "29.90", "Amount_minor must be a whole number"),
        ("amount_minor", "9223372036854775808", "Amount_minor must be a whole number"),
        ("amount_minor", "NaN", "Amount_minor must be a whole number"),
        ("cart_version", "one", "Cart_version must be a whole number"),
        ("cart_id", "../../carts", "Cart_id must be a cart"),
        ("cart_id", "", "Cart_id must be a cart"),
        ("currency", "eur", "Currency must be an ISO 4217 code"),
        ("currency", "BTC", "Currency must be an ISO 4217 code"),
        ("payment_token", &long, "The value of payment_token is too long"),
        ("payment_token", "tok\0visa", "The value of payment_token is too long or has impossible"),
        ("payment_token", "4242 4242 4242 4242", "A card number must never be sent"),
    ];
    for (name, value, said) in cases {
        let mut odd = fields.clone();
        odd.iter_mut().find(|it| it.0 == *name).unwrap().1 = (*value).to_owned();
        let answer = shop.pay(&session, &action, &odd).await;
        assert_eq!(answer.status, 400, "{name}={value}");
        assert!(answer.body.contains(said), "{name}={value}: {}", answer.body);
        assert!(answer.body.contains("nothing was charged"), "{name}={value}");
        odd.retain(|it| it.0 != *name);
        let answer = shop.pay(&session, &action, &odd).await;
        assert_eq!(answer.status, 400, "without {name}");
        assert!(answer.body.contains(&format!("The form has no {name}")), "{}", answer.body);
    }
    for (name, said) in [
        ("attempt", "The form has attempt twice"),
        ("price", "a field that this shop does not know"),
    ] {
        let mut odd = fields.clone();
        odd.push((name.to_owned(), "1".to_owned()));
        let answer = shop.pay(&session, &action, &odd).await;
        assert_eq!(answer.status, 400, "{name}");
        assert!(answer.body.contains(said), "{}", answer.body);
    }
    assert_eq!(shop.rows().await, before);
    shop.running.stop().await;
}

#[tokio::test]
async fn nothing_odd_in_an_address_keeps_an_order_from_being_shown() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (action, fields) = shop.form(&session).await;
    assert_eq!(shop.pay(&session, &action, &fields).await.status, 303);
    let page = action.trim_end_matches("/pay");
    for query in ["note=a&note=b", "note=%ff", "with=1&with=stripe", "&&=", "note"] {
        let answer = shop.get(&format!("{page}?{query}"), Some(&session)).await;
        assert_eq!(answer.status, 200, "{query}: {}", answer.body);
        assert!(answer.body.contains("data-panel"), "{query}");
    }
    for path in
        ["/checkout/%ff", "/checkout/%ff/status", "/products/%ff", "/%ff", "/checkout/%ff/pay"]
    {
        let answer = shop.get(path, Some(&session)).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
        assert!(answer.body.contains("There is no such page"), "{path}: {}", answer.body);
    }
    shop.running.stop().await;
}

#[tokio::test]
async fn cart_and_currency_forms_are_read_strictly_too() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let before = shop.rows().await;
    let many = [("sku", "cups"), ("quantity", "21")];
    let many = shop.post("/cart/lines", Some(&session), &many).await;
    assert_eq!(many.status, 422);
    assert!(many.body.contains("At most 20 of one product fit into a cart"), "{}", many.body);
    let more = [("sku", "cups"), ("quantity", "20"), ("add", "1")];
    let more = shop.post("/cart/lines", Some(&session), &more).await;
    assert_eq!(more.status, 422, "one is in the cart");
    assert!(more.body.contains("Your cart is as it was"), "{}", more.body);
    for quantity in ["-1", "1.5", "1e3", "9223372036854775808", "one", "", "0x1"] {
        let answer = shop
            .post("/cart/lines", Some(&session), &[("sku", "cups"), ("quantity", quantity)])
            .await;
        assert_eq!(answer.status, 400, "{quantity}");
        assert!(
            answer.body.contains("Quantity must be a whole number from 0 to 20"),
            "{}",
            answer.body
        );
    }
    let odd = [("sku", "cups"), ("quantity", "1"), ("add", "yes")];
    assert_eq!(shop.post("/cart/lines", Some(&session), &odd).await.status, 400);
    for currency in ["USD", "euro", "", "EUR "] {
        let answer = shop.post("/currency", Some(&session), &[("currency", currency)]).await;
        assert_eq!(answer.status, 400, "{currency}");
    }
    assert_eq!(shop.rows().await, before);
    assert_eq!(shop.get("/cart/count", Some(&session)).await.body, r#"{"count":1}"#);
    for (back, location) in [
        ("/cart", "/cart"),
        ("//evil.test", "/"),
        ("/\t/evil.test", "/"),
        ("https://evil.test", "/"),
    ] {
        let answer =
            shop.post("/currency", Some(&session), &[("currency", "JPY"), ("back", back)]).await;
        assert_eq!((answer.status, answer.header("location")), (303, location), "{back}");
    }
    shop.running.stop().await;
}

#[tokio::test]
async fn what_is_no_form_is_refused_as_such() {
    let shop = TestShop::start().await;
    for kind in
        ["application/json", "text/plain", "multipart/form-data; boundary=x", "application/xml"]
    {
        let request = shop.request(Method::POST, "/cart/lines", None);
        let answer = send(request.header("content-type", kind).body("sku=cups&quantity=1")).await;
        assert_eq!(answer.status, 415, "{kind}");
        assert!(answer.body.contains("This address takes plain forms only"), "{}", answer.body);
    }
    assert_eq!(shop.rows().await["sessions"], 0);
    shop.running.stop().await;
}

#[tokio::test]
async fn a_body_that_is_too_large_is_answered_by_a_page() {
    let shop = TestShop::start().await;
    let large = [("sku", "a".repeat(70_000)), ("quantity", "1".to_owned())];
    let request = shop.request(Method::POST, "/cart/lines", None).form(&large);
    let answer = send(request).await;
    assert_eq!(answer.status, 413);
    assert!(answer.body.contains("That was too much at once"), "{}", answer.body);
    let pieces = futures::stream::iter((0..300).map(|_| Ok::<_, std::io::Error>("a".repeat(1024))));
    let request = shop.request(Method::POST, "/webhooks/examplepay", None);
    let answer = send(request.body(reqwest::Body::wrap_stream(pieces))).await;
    assert_eq!(answer.status, 413, "its length is not told beforehand");
    shop.running.stop().await;
}

#[tokio::test]
async fn a_card_number_is_refused_and_never_logged() {
    let logs = Logs::listen();
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (action, mut fields) = shop.form(&session).await;
    fields.retain(|it| it.0 != "payment_token");
    fields.push(("payment_token".to_owned(), "5555555555554444".to_owned()));
    for (name, value) in [
        ("payment_token", "5555555555554444"),
        ("note", "5555-5555-5555-4444"),
        ("5555555555554444", ""),
    ] {
        let mut odd = fields.clone();
        odd.push((name.to_owned(), value.to_owned()));
        let answer = shop.pay(&session, &action, &odd).await;
        assert_eq!(answer.status, 400);
        assert!(answer.body.contains("A card number must never be sent"), "{}", answer.body);
        assert!(!answer.body.contains("4444"), "the number is not repeated");
    }
    // Nor where nobody expects one.
    shop.get("/products/5555555555554444?card=5555555555554444", Some(&session)).await;
    shop.get("/5555555555554444", Some(&session)).await;
    let marker = shop.get("/checkout/6f9619ff-8b86-4011-b42d-00cf4fc964aa/status", None).await;
    let id = marker.header("x-request-id").to_owned();
    let text = until("the last request is in the log", async || {
        Some(logs.text()).filter(|text| text.contains(&id))
    })
    .await;
    assert!(text.contains("POST /checkout/{id}/pay: 400"), "the refusal itself is logged");
    for number in ["5555555555554444", "5555-5555"] {
        let lines: Vec<&str> = text.lines().filter(|it| it.contains(number)).collect();
        assert!(lines.is_empty(), "a card number is in the log: {lines:#?}");
    }
    assert!(!text.contains(session.split('=').nth(1).unwrap()), "a session is in the log");
    assert!(
        !text.contains("sk_canary") && !text.contains("whsec_canary"),
        "a secret is in the log"
    );
    shop.running.stop().await;
}

#[tokio::test]
async fn the_address_of_a_form_leads_to_its_page() {
    let shop = TestShop::start().await;
    let page = format!("/checkout/{GOOD_ID}");
    for (path, location) in [
        ("/cart/lines", "/cart"),
        ("/currency", "/cart"),
        // No order of that id: its form stood on the checkout page.
        (&format!("{page}/pay"), "/checkout"),
        (&format!("{page}/cancel"), page.as_str()),
    ] {
        let answer = shop.get(path, None).await;
        assert_eq!((answer.status, answer.header("location")), (303, location), "{path}");
    }
    for path in ["/", "/orders", page.as_str()] {
        let answer = shop.post(path, None, &[]).await;
        assert_eq!(answer.status, 405, "{path}");
        assert!(answer.body.contains("There is no such page"), "{}", answer.body);
    }
    assert_eq!(shop.rows().await["orders"], 0);
    shop.running.stop().await;
}
