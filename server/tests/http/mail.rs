//! An address is optional, and one that nobody can be written to loses nothing.

use reqwest::Method;

use crate::shop::{Logs, TestShop, send};

fn with_email(fields: &[(String, String)], email: &str) -> Vec<(String, String)> {
    let mut fields = fields.to_vec();
    fields.push(("email".to_owned(), email.to_owned()));
    fields
}

#[tokio::test]
async fn the_first_form_asks_for_an_address_and_says_what_for() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let page = shop.get("/checkout", Some(&session)).await.body;
    let field = page.split("<input").find(|it| it.contains("name=\"email\"")).expect("a field");
    let field = field.split('>').next().unwrap();
    for part in ["type=\"email\"", "autocomplete=\"email\"", "maxlength=\"254\"", "email-hint"] {
        assert!(field.contains(part), "{part}: {field}");
    }
    assert!(!field.contains("required"), "{field}");
    assert!(page.contains("and for nothing else."), "{page}");
    shop.running.stop().await;
}

#[tokio::test]
async fn an_address_that_cannot_be_written_to_brings_the_whole_form_back() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (action, mut fields) = shop.form(&session).await;
    let before = shop.rows().await;
    fields.iter_mut().find(|it| it.0 == "payment_token").unwrap().1 = "tok_declined".to_owned();
    for typed in ["anna", "anna@example", "<b>@\"x", "a@example.org,b@example.org"] {
        let answer = shop.pay(&session, &action, &with_email(&fields, typed)).await;
        assert_eq!(answer.status, 400, "{typed}");
        let form = answer.body.split("<form").find(|it| it.contains("data-pay-form"));
        let form = form.expect("the form").split("</form>").next().unwrap();
        assert!(form.contains(&format!("action=\"{action}\"")), "the same checkout: {form}");
        assert!(form.contains("We cannot write to this address"), "{form}");
        assert!(form.contains("nothing was charged"), "{form}");
        assert!(form.contains("aria-invalid=\"true\""), "{form}");
        // A summary stands before everything else of the page's content, and leads to the field.
        let content = answer.body.split("<main").nth(1).expect("the content");
        let summary = content.split("<h1").next().unwrap();
        for part in [
            "error-summary",
            "role=\"alert\"",
            "autofocus",
            "href=\"#email\"",
            "We cannot write to",
        ] {
            assert!(summary.contains(part), "{part}: {summary}");
        }
        let title = answer.body.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
        assert!(title.starts_with("Please look at the e-mail address: Checkout"), "{title}");
        assert!(
            !answer.body.contains(&format!("name=\"back\" value=\"{action}\"")),
            "another language or currency leads to the checkout"
        );
        assert!(!form.contains("<b>@"), "what was typed is no markup: {form}");
        let chosen = form.split("<input").find(|it| it.contains("value=\"tok_declined\"")).unwrap();
        assert!(
            chosen.split('>').next().unwrap().contains("checked"),
            "the choice stays: {chosen}"
        );
    }
    let russian = shop.request(Method::POST, &action, Some(&session));
    let russian = russian.header("accept-language", "ru").form(&with_email(&fields, "anna"));
    assert!(send(russian).await.body.contains("На этот адрес мы не сможем написать"));
    let json = shop.request(Method::POST, &action, Some(&session));
    let json = json.header("accept", "application/json").form(&with_email(&fields, "anna"));
    let json = send(json).await;
    assert_eq!(json.status, 400);
    assert!(json.body.contains(r#""code":"MAIL_ADDRESS""#), "{}", json.body);
    assert_eq!(shop.rows().await, before, "nothing was written");
    let reloaded = shop.get(&action, Some(&session)).await;
    assert_eq!((reloaded.status, reloaded.header("location")), (303, "/checkout"));
    let good = shop.pay(&session, &action, &with_email(&fields, "anna@example.org")).await;
    assert_eq!(good.status, 303, "{}", good.body);
    let reloaded = shop.get(&action, Some(&session)).await;
    let page = action.trim_end_matches("/pay");
    assert_eq!((reloaded.status, reloaded.header("location")), (303, page), "now it is an order");
    shop.running.stop().await;
}

#[tokio::test]
async fn a_repeat_with_another_address_changes_nothing_and_is_no_conflict() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (action, fields) = shop.form(&session).await;
    let page = action.trim_end_matches("/pay").to_owned();
    let first = shop.pay(&session, &action, &with_email(&fields, "anna@example.org")).await;
    assert_eq!(first.status, 303, "{}", first.body);
    for other in ["bob@example.net", "", "not an address"] {
        let again = shop.pay(&session, &action, &with_email(&fields, other)).await;
        assert_eq!((again.status, again.header("location")), (303, page.as_str()), "{other:?}");
    }
    assert_eq!(shop.pay(&session, &action, &fields).await.status, 303);
    let own = shop.get(&page, Some(&session)).await.body;
    assert!(own.contains("a…@example.org") && !own.contains("bob"), "{own}");
    assert_eq!(shop.rows().await["orders"], 1);
    shop.running.stop().await;
}

#[tokio::test]
async fn the_address_is_told_to_nobody() {
    let token = "an-operators-token-of-these-tests";
    let shop = TestShop::with(&["--operator-token", token]).await;
    let logs = Logs::listen();
    let session = shop.session().await;
    let (action, fields) = shop.form(&session).await;
    let page = action.trim_end_matches("/pay").to_owned();
    let address = "quiet.canary@mail.example";
    assert_eq!(shop.pay(&session, &action, &with_email(&fields, address)).await.status, 303);
    let own = shop.get(&page, Some(&session)).await.body;
    assert!(own.contains("q…@mail.example"), "{own}");
    let status = shop.get(&format!("{page}/status"), Some(&session)).await.body;
    let stranger = shop.get(&page, None).await.body;
    let strange_status = shop.get(&format!("{page}/status"), None).await.body;
    let list = shop.get("/orders", Some(&session)).await.body;
    let reference = own.split("P-").nth(1).unwrap().get(..9).unwrap().to_owned();
    let api = shop.request(Method::GET, &format!("/api/orders/P-{reference}"), None);
    let api = send(api.header("authorization", format!("Bearer {token}"))).await;
    assert_eq!(api.status, 200, "{}", api.body);
    let metrics = shop.get("/metrics", None).await.body;
    for text in [&own, &status, &stranger, &strange_status, &list, &api.body, &metrics] {
        assert!(!text.contains("canary@"), "{text}");
    }
    for text in [&stranger, &strange_status, &api.body, &metrics] {
        assert!(!text.contains("mail.example"), "{text}");
    }
    shop.running.stop().await;
    assert!(!logs.text().contains("quiet.canary"), "an address is in the log");
}

#[tokio::test]
async fn a_request_for_a_refund_is_read_strictly_and_asks_nothing_of_an_unpaid_order() {
    let shop = TestShop::start().await;
    let session = shop.session().await;
    let (action, fields) = shop.form(&session).await;
    assert_eq!(shop.pay(&session, &action, &fields).await.status, 303);
    let page = action.trim_end_matches("/pay").to_owned();
    let path = format!("{page}/refund-request");
    for odd in [
        &[("number", "one")][..],
        &[("number", "-1")],
        &[],
        &[("number", "1"), ("reason", "because")],
        &[("number", "1"), ("amount_minor", "1")],
    ] {
        let answer = shop.post(&path, Some(&session), odd).await;
        assert_eq!(answer.status, 400, "{odd:?}");
    }
    let unpaid = shop.post(&path, Some(&session), &[("number", "1"), ("reason", "")]).await;
    assert_eq!(unpaid.status, 303);
    assert_eq!(unpaid.header("location"), format!("{page}?note=no-refund"));
    let nobody = shop.post(&path, None, &[("number", "1")]).await;
    assert_eq!(nobody.status, 404);
    assert_eq!(shop.get(&path, Some(&session)).await.status, 303, "loaded again");
    assert_eq!(shop.rows().await["refund_requests"], 0);
    shop.running.stop().await;
}
