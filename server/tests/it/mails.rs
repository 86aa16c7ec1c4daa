//! One mail per fact: whatever news repeat it, whoever is killed, and whatever the mail server does.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};
use uuid::Uuid;

use crate::{
    harness::{Options, World},
    mail_server::{Does, MailServer},
};

const TOKEN: &str = "an-operators-token-of-these-tests";
const TO: &str = "anna.canary@example.org";
const LOST: &str = "drop_before_headers";
const WAITING: &str = "select count(*) from mails where state = 'waiting'";
const SENT: &str = "select count(*) from mails where state = 'sent'";
/// Settings of a shop whose mail server is not there, and of one whose mails become files again.
const AWAY: [(&str, &str); 2] =
    [("PAYONCE_SMTP_URL", "smtp://127.0.0.1:9"), ("PAYONCE_MAIL_FROM", "orders@shop.test")];
const FILES: [(&str, &str); 2] = [("PAYONCE_SMTP_URL", ""), ("PAYONCE_MAIL_FROM", "")];

/// The facts that were told, in the order in which they became true: (fact, state, tries).
async fn told(world: &World) -> Vec<(String, String, i64)> {
    sqlx::query_as("select fact, state, tries from mails order by rowid")
        .fetch_all(world.database())
        .await
        .unwrap()
}

async fn facts(world: &World) -> Vec<String> {
    told(world).await.into_iter().map(|(fact, ..)| fact).collect()
}

/// Waits until nothing waits to be sent any more.
async fn at_rest(world: &World) {
    world.until_number(WAITING, 0).await;
}

/// Looks at a mail that became a file: where it goes, its name, and what it is about.
fn header(mail: &str, name: &str) -> String {
    let line = mail.lines().find(|it| it.starts_with(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("no {name} in {mail}"))[name.len() + 2..].to_owned()
}

async fn quiet(world: &World) {
    world.control("/control/webhooks/mode", &json!({"mode": "off"})).await;
}

async fn payment_at_provider(world: &World, checkout: &str) -> Value {
    let reference = world.reference(checkout).await;
    let found = world.ask(&format!("/control/payments?reference={reference}-1")).await;
    let list = found["payments"].as_array().or_else(|| found["data"].as_array()).unwrap().clone();
    list[0]["id"].clone()
}

#[tokio::test]
async fn a_receipt_is_sent_once_however_often_the_news_come() {
    let world = World::start().await;
    let checkout = world.buy_with_mail("tok_visa", TO).await;
    world.agree(&checkout, "succeeded", 1).await;
    world.until_number(SENT, 1).await;
    let id = payment_at_provider(&world, &checkout).await;
    for n in 0..5 {
        let event =
            json!({"payment": id, "type": "payment.succeeded", "event_id": format!("evt_{n}")});
        world.control("/control/webhooks", &event).await;
    }
    // A late no changes nothing either.
    let late = json!({"payment": id, "type": "payment.declined", "event_id": "evt_late", "overrides": {"status": "declined"}});
    world.control("/control/webhooks", &late).await;
    world
        .until_that("the news are taken", async || {
            world.number("select count(*) from provider_events").await >= 6
        })
        .await;
    at_rest(&world).await;
    assert_eq!(facts(&world).await, ["paid"]);
    let mails = world.mails();
    assert_eq!(mails.len(), 1, "{mails:#?}");
    let (name, text) = &mails[0];
    let reference = world.reference(&checkout).await;
    assert!(name.starts_with(&format!("{reference}-paid-")), "{name}");
    assert_eq!(header(text, "To"), TO);
    assert_eq!(header(text, "From"), "Yuge <hello@yuge.example>");
    assert_eq!(
        header(text, "Subject"),
        format!("Order {reference}: Thank you. Your order is paid")
    );
    assert_eq!(header(text, "Auto-Submitted"), "auto-generated");
    assert!(header(text, "Message-ID").ends_with("@yuge.example>"), "{text}");
    assert!(text.contains("text/plain") && text.contains("text/html"), "{text}");
    assert!(text.contains(&format!("/checkout/{checkout}")), "{text}");
}

#[tokio::test]
async fn without_an_address_nothing_is_written() {
    let world = World::start().await;
    let checkout = world.buy_with_mail("tok_visa", " ").await;
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.number("select count(*) from mails").await, 0);
    assert!(world.mails().is_empty());
}

#[tokio::test]
async fn who_waits_too_long_is_told_so_once_and_then_how_it_ended() {
    let world = World::start().await;
    quiet(&world).await;
    world.fault("create_payment", json!([{"execute": true, "answer": {"kind": LOST}}])).await;
    world.control("/control/lookups", &json!({"status": 503, "for_ms": 600_000})).await;
    let checkout = world.buy_with_mail("tok_visa", TO).await;
    world.until(&checkout, &["pending_confirmation"]).await;
    let status = world.status(&checkout).await;
    let html = status["html"].as_str().unwrap();
    assert!(html.contains("We will write to you as soon as we know."), "{html}");
    assert!(html.contains("a…@example.org") && !html.contains(TO), "{html}");
    world.until_number(SENT, 1).await;
    assert_eq!(facts(&world).await, ["still_unknown"]);
    world.control("/control/lookups", &json!({})).await;
    world.agree(&checkout, "succeeded", 1).await;
    world.until_number(SENT, 2).await;
    assert_eq!(facts(&world).await, ["still_unknown", "paid"]);
    let mails = world.mails();
    assert_eq!(mails.len(), 2, "{mails:#?}");
    let waits = mails.iter().find(|(name, _)| name.contains("still_unknown")).unwrap();
    assert!(waits.1.contains("payment not confirmed yet"), "{}", waits.1);
    for word in ["failed", "declined", "try again"] {
        assert!(!waits.1.to_lowercase().contains(word), "{word}: {}", waits.1);
    }
}

#[tokio::test]
async fn a_no_at_once_is_on_the_page_and_a_no_after_waiting_is_written() {
    let world = World::start().await;
    quiet(&world).await;
    let checkout = world.buy_with_mail("tok_insufficient_funds", TO).await;
    world.agree(&checkout, "rejected", 0).await;
    assert!(facts(&world).await.is_empty());
    world.fault("create_payment", json!([{"execute": true, "answer": {"kind": LOST}}])).await;
    let checkout = world.buy_with_mail("tok_insufficient_funds", TO).await;
    world.agree(&checkout, "rejected", 0).await;
    world.until_number(SENT, 1).await;
    assert_eq!(facts(&world).await, ["declined"]);
    let (_, text) = world.mails().remove(0);
    assert!(text.contains("Declined."), "{text}");
}

#[tokio::test]
async fn what_is_handed_to_a_person_is_told_once_and_late_truth_after_it() {
    let world = World::with(Options { scale: "0.003", ..Options::default() }).await;
    let lost = json!([{"execute": true, "answer": {"kind": LOST}, "webhook": {"mode": "never"}}]);
    world.fault_then("create_payment", lost, "repeat_last").await;
    world.control("/control/lookups", &json!({"not_found_for_ms": 600_000})).await;
    let checkout = world.buy_with_mail("tok_visa", TO).await;
    world.until(&checkout, &["requires_review"]).await;
    at_rest(&world).await;
    let id = payment_at_provider(&world, &checkout).await;
    for n in 0..3 {
        let event =
            json!({"payment": id, "type": "payment.succeeded", "event_id": format!("evt_{n}")});
        world.control("/control/webhooks", &event).await;
    }
    world.agree(&checkout, "succeeded", 1).await;
    at_rest(&world).await;
    let facts = facts(&world).await;
    assert_eq!(facts.iter().filter(|it| *it == "with_a_person").count(), 1, "{facts:?}");
    assert_eq!(facts.last().unwrap(), "paid", "{facts:?}");
}

async fn dies_with_a_mail(point: &str) {
    let mut world = World::start().await;
    world.add("cups", 1).await;
    let mut form = world.form().await;
    form.fields.push(("email".to_owned(), TO.to_owned()));
    world.restart(Some(point));
    let mut fields = form.fields.clone();
    fields.push(("payment_token".to_owned(), "tok_visa".to_owned()));
    let path = format!("/checkout/{}/pay", form.checkout);
    let _lost_or_not = world.request(Method::POST, &path).form(&fields).send().await;
    assert!(world.shop.ended(), "the shop did not die at {point}");
    let cut = world.mails();
    world.restart(None);
    world.agree(&form.checkout, "succeeded", 1).await;
    world.until_number(SENT, 1).await;
    assert_eq!(facts(&world).await, ["paid"], "{point}");
    let mails = world.mails();
    assert_eq!(mails.len(), 1, "{point}: {mails:#?}");
    if let Some((name, text)) = cut.first() {
        assert_eq!((name, text), (&mails[0].0, &mails[0].1), "the repeat is the same mail");
    }
}

macro_rules! crash_points {
    ($($name:ident => $point:literal),+ $(,)?) => {$(
        #[tokio::test]
        async fn $name() {
            dies_with_a_mail($point).await;
        }
    )+};
}

crash_points! {
    killed_between_the_fact_and_its_mail => "after_outcome_commit",
    killed_before_the_fact_is_committed => "before_outcome_commit",
    killed_with_a_mail_in_its_hand => "mail_taken",
    killed_before_it_noted_that_the_mail_is_gone => "mail_handed_over",
}

#[tokio::test]
async fn a_mail_that_is_cut_again_and_again_is_told_to_a_person() {
    let mut world = World::start().await;
    world.restart(Some("mail_taken"));
    let checkout = world.buy_with_mail("tok_visa", TO).await;
    // The first try, and one after each wait.
    let tries = domain::schedule::Timing::default().mails.len() + 1;
    for _ in 0..tries {
        assert!(world.shop.ended());
        world.restart(Some("mail_taken"));
    }
    world.until_number("select count(*) from alerts where kind = 'mail_not_sent'", 1).await;
    assert_eq!(
        told(&world).await,
        [("paid".to_owned(), "given_up".to_owned(), i64::try_from(tries).unwrap())]
    );
    let detail: String =
        sqlx::query_scalar("select detail from alerts where kind = 'mail_not_sent'")
            .fetch_one(world.database())
            .await
            .unwrap();
    assert!(detail.contains(&world.reference(&checkout).await), "{detail}");
    assert!(!detail.contains("canary"), "{detail}");
}

#[tokio::test]
async fn news_overtake_a_mail_that_was_held_up() {
    let mut world = World::start().await;
    quiet(&world).await;
    world.fault("create_payment", json!([{"execute": true, "answer": {"kind": LOST}}])).await;
    world.control("/control/lookups", &json!({"status": 503, "for_ms": 600_000})).await;
    world.restart_with_all(&AWAY);
    let checkout = world.buy_with_mail("tok_visa", TO).await;
    world
        .until_number("select count(*) from mails where fact = 'still_unknown' and tries > 0", 1)
        .await;
    world.control("/control/lookups", &json!({})).await;
    world.agree(&checkout, "succeeded", 1).await;
    world.restart_with_all(&FILES);
    world.until_number(SENT, 1).await;
    let told: Vec<_> =
        told(&world).await.into_iter().map(|(fact, state, _)| (fact, state)).collect();
    let wanted = [("still_unknown", "overtaken"), ("paid", "sent")];
    assert_eq!(told, wanted.map(|(fact, state)| (fact.to_owned(), state.to_owned())));
    assert_eq!(world.mails().len(), 1, "nobody is told what is not so any more");
}

#[tokio::test]
async fn a_mail_server_that_hangs_up_gets_the_mail_again_and_the_shopper_gets_one() {
    let server = MailServer::start(&[Does::HangsUp, Does::Busy, Does::TakesAndHangsUp]).await;
    let world = World::with(server.options()).await;
    let checkout = world.buy_with_mail("tok_visa", TO).await;
    world.agree(&checkout, "succeeded", 1).await;
    world.until_number(SENT, 1).await;
    assert_eq!(told(&world).await, [("paid".to_owned(), "sent".to_owned(), 4)]);
    let mails = server.mails();
    assert_eq!(mails.len(), 2, "taken without a word, and taken");
    assert_eq!(mails[0], mails[1], "the repeat is the same mail, byte for byte");
    assert_eq!(header(&mails[0], "Message-ID"), header(&mails[1], "Message-ID"));
    assert!(header(&mails[0], "Message-ID").ends_with("@shop.test>"), "{}", mails[0]);
    assert_eq!(world.number("select count(*) from alerts").await, 0);
    // Nobody reads where it went: not in what is logged at the finest level there is.
    let log = world.log();
    assert!(log.contains("the mail paid of order"), "{log}");
    assert!(!log.contains("canary"), "the address is in the log");
}

#[tokio::test]
async fn what_a_mail_server_refuses_for_good_is_not_sent_again_and_told_to_a_person() {
    let server = MailServer::start(&[Does::Refuses]).await;
    let world = World::with(server.options()).await;
    let checkout = world.buy_with_mail("tok_visa", TO).await;
    world.agree(&checkout, "succeeded", 1).await;
    world.until_number("select count(*) from mails where state = 'refused'", 1).await;
    world.until_number("select count(*) from alerts where kind = 'mail_not_sent'", 1).await;
    assert_eq!(
        world.number("select count(*) from mails where next_action_at is not null").await,
        0
    );
    assert_eq!(server.connections(), 1);
    assert_eq!(told(&world).await, [("paid".to_owned(), "refused".to_owned(), 1)]);
    assert!(!world.log().contains("canary"), "the address is in the log");
    let details: Vec<String> =
        sqlx::query_scalar("select detail from alerts").fetch_all(world.database()).await.unwrap();
    assert!(!details.concat().contains("canary"), "{details:?}");
}

#[tokio::test]
async fn an_order_is_paid_whether_or_not_its_mail_can_be_sent() {
    let shop = AWAY.map(|(name, value)| (name, value.to_owned())).to_vec();
    let world = World::with(Options { shop, ..Options::default() }).await;
    let checkout = world.buy_with_mail("tok_visa", TO).await;
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.order_state(&checkout).await, "paid");
    world.until_number("select count(*) from mails where state = 'waiting' and tries > 0", 1).await;
}

#[tokio::test]
async fn a_mail_that_was_taken_is_not_sent_again_when_the_good_bye_is_not_answered() {
    let server = MailServer::start(&[Does::TakesAndIgnoresQuit; 2]).await;
    let world = World::with(server.options()).await;
    for sent in 1..=2 {
        let checkout = world.buy_with_mail("tok_visa", TO).await;
        world.agree(&checkout, "succeeded", 1).await;
        // The second one is not held up by the first one's silence either.
        world.until_number(SENT, sent).await;
    }
    let paid = ("paid".to_owned(), "sent".to_owned(), 1);
    assert_eq!(told(&world).await, [paid.clone(), paid]);
    assert_eq!((server.mails().len(), server.connections()), (2, 2));
}

#[tokio::test]
async fn what_is_said_before_a_mail_was_judged_burns_no_mail() {
    let plan = [Does::ServesNobody, Does::OffersNoLogin, Does::RefusesLogin];
    let server = MailServer::start(&plan).await;
    let world = World::with(Options { scale: "0.005", ..server.options_with_login() }).await;
    let checkout = world.buy_with_mail("tok_visa", TO).await;
    world.agree(&checkout, "succeeded", 1).await;
    world.until_number(SENT, 1).await;
    assert_eq!(told(&world).await, [("paid".to_owned(), "sent".to_owned(), 4)]);
    assert_eq!(server.mails().len(), 1);
    assert_eq!(world.number("select count(*) from alerts").await, 0);
    let log = world.log();
    for told in ["it does not serve us (521)", "does not offer", "it does not serve us (535)"] {
        assert!(log.contains(told), "{told:?} is not in {log}");
    }
    assert!(!log.contains("canary"), "the address is in the log");
}

/// Writes into the shop's database behind its back.
async fn write(world: &World, sql: &'static str, checkout: &str) {
    let options = SqliteConnectOptions::new()
        .filename(world.database_file())
        .busy_timeout(Duration::from_secs(10));
    let mut connection = options.connect().await.unwrap();
    let done = sqlx::query(sql).bind(checkout).execute(&mut connection).await.unwrap();
    assert_eq!(done.rows_affected(), 1, "{sql}");
}

#[tokio::test]
async fn one_bad_row_holds_up_no_other_mail() {
    let mut world = World::start().await;
    world.restart_with_all(&AWAY);
    let mut checkouts = Vec::new();
    for _ in 0..3 {
        let checkout = world.buy_with_mail("tok_visa", TO).await;
        world.agree(&checkout, "succeeded", 1).await;
        checkouts.push(checkout);
    }
    world.until_number("select count(*) from mails where state = 'waiting'", 3).await;
    let unreadable = "update mails set fact = 'gibberish'
         where order_id = (select id from orders where checkout_id = ?)";
    write(&world, unreadable, &checkouts[0]).await;
    write(&world, "update orders set mail_to = null where checkout_id = ?", &checkouts[1]).await;
    world.restart_with_all(&FILES);
    world.until_number(SENT, 1).await;
    world.until_number("select count(*) from mails where state = 'overtaken'", 1).await;
    let mails = world.mails();
    assert_eq!(mails.len(), 1, "{mails:#?}");
    assert!(mails[0].0.starts_with(&world.reference(&checkouts[2]).await), "{}", mails[0].0);
    assert_eq!(world.number(WAITING).await, 1, "the unreadable one waits for a person");
    let told = async || world.log().contains("could not be looked after");
    world.until_that("it is in the log", told).await;
}

#[tokio::test]
async fn an_order_in_russian_gets_its_mail_in_russian_whatever_is_chosen_later() {
    let mut world = World::start().await;
    world.restart_with_all(&AWAY);
    world.add("cups", 1).await;
    let mut form = world.form().await;
    form.fields.push(("email".to_owned(), TO.to_owned()));
    form.fields.push(("payment_token".to_owned(), "tok_visa".to_owned()));
    let path = format!("/checkout/{}/pay", form.checkout);
    let post = world.request(Method::POST, &path).header("Accept-Language", "ru");
    let (status, _, body) = world.send(post.form(&form.fields)).await;
    assert_eq!(status, 303, "{body}");
    world.agree(&form.checkout, "succeeded", 1).await;
    let english = [("language", "en"), ("back", "/")];
    let (status, ..) = world.send(world.request(Method::POST, "/language").form(&english)).await;
    assert_eq!(status, 303);
    assert!(page(&world, &form.checkout).await.contains("<html lang=\"en\""));
    world.restart_with_all(&FILES);
    world.until_number(SENT, 1).await;
    let (_, text) = world.mails().remove(0);
    // «Заказ …», as a header says it.
    let subject = header(&text, "Subject");
    assert!(subject.starts_with("=?utf-8?b?0JfQsNC60LDQ"), "{subject}");
}

#[tokio::test]
async fn an_address_is_stored_as_a_mail_server_can_carry_it_and_shown_as_text() {
    let rows = [
        ("yu@пример.рф", "yu@xn--e1afmkfd.xn--p1ai", "y…@xn--e1afmkfd.xn--p1ai"),
        ("&amp@example.org", "&amp@example.org", "&amp;…@example.org"),
    ];
    for (typed, stored, shown) in rows {
        let world = World::start().await;
        let checkout = world.buy_with_mail("tok_visa", typed).await;
        world.agree(&checkout, "succeeded", 1).await;
        world.until_number(SENT, 1).await;
        assert_eq!(header(&world.mails()[0].1, "To"), stored);
        let html = page(&world, &checkout).await;
        assert!(html.contains(shown), "{shown:?} is not in {html}");
    }
}

#[tokio::test]
async fn a_refund_that_comes_back_later_is_told_as_sent_and_then_as_come_back() {
    let world = with_api().await;
    let checkout = world.buy_with_mail("tok_refund_fails_later", TO).await;
    world.agree(&checkout, "succeeded", 1).await;
    let path = format!("/api/orders/{}/refunds", world.reference(&checkout).await);
    let refund = json!({"refund_request_id": Uuid::new_v4(), "amount_minor": 1000, "currency": "EUR", "reason": "they asked"});
    assert_eq!(api(&world, Method::POST, &path, Some(refund)).await.0, 202);
    world
        .until_that("the refund came back", async || {
            world.states(&checkout, "refund").await == ["reversed"]
        })
        .await;
    world.until_number(SENT, 3).await;
    assert_eq!(facts(&world).await, ["paid", "refund_sent", "refund_undone"]);
}

#[tokio::test]
async fn case_66_a_pending_refund_that_ends_refused_is_never_told_as_sent() {
    for card in [
        "tok_refund_refused_later",
        "stripe:pm_sim_refund_refused_later",
        "paypal:wallet|refund_refused",
    ] {
        let world = with_api().await;
        let (token, funding) = card.split_once('|').unwrap_or((card, ""));
        let checkout = world.buy_with_mail(token, TO).await;
        if !funding.is_empty() {
            world.approve_at_paypal(&checkout, funding).await;
        }
        world.agree(&checkout, "succeeded", 1).await;
        let path = format!("/api/orders/{}/refunds", world.reference(&checkout).await);
        let refund = json!({"refund_request_id": Uuid::new_v4(), "amount_minor": 1000, "currency": "EUR", "reason": "they asked"});
        assert_eq!(api(&world, Method::POST, &path, Some(refund)).await.0, 202);
        let refunds = async || world.states(&checkout, "refund").await;
        world
            .until_that("it is pending", async || refunds().await == ["pending_confirmation"])
            .await;
        assert_eq!(world.order_state(&checkout).await, "paid", "{card}: pending is not refunded");
        world.until_that("it is refused", async || refunds().await == ["rejected"]).await;
        world.until_number(SENT, 2).await;
        assert_eq!(facts(&world).await, ["paid", "refund_refused"], "{card}");
        assert_eq!(world.order_state(&checkout).await, "paid", "{card}");
        let order = format!("/api/orders/{}", world.reference(&checkout).await);
        let (_, told) = api(&world, Method::GET, &order, None).await;
        assert_eq!(told["refundable_minor"], 2990, "{card}: its amount is free again");
        assert_eq!(world.effects(&checkout).await, [("charge".to_owned(), 2990)], "{card}");
    }
}

#[tokio::test]
async fn what_went_back_without_us_is_not_told_as_sent_by_us() {
    let world = World::start().await;
    let checkout = world.buy_with_mail("tok_visa", TO).await;
    world.agree(&checkout, "succeeded", 1).await;
    let id = payment_at_provider(&world, &checkout).await;
    let dashboard = format!("/control/payments/{}/refund", id.as_str().unwrap());
    world.control(&dashboard, &json!({"amount_minor": 1000})).await;
    world.until_number(SENT, 2).await;
    assert_eq!(facts(&world).await, ["paid", "refund_sent"]);
    let mails = world.mails();
    let (_, text) = mails.iter().find(|(name, _)| name.contains("refund_sent")).unwrap();
    // Lines are cut as mails cut them.
    let text = text.replace("=\r\n", "").replace("=\n", "");
    assert!(text.contains("without a refund of ours"), "{text}");
    for ours in ["We sent", "The payment service confirmed the refund"] {
        assert!(!text.contains(ours), "{ours:?} is in {text}");
    }
}

async fn with_api() -> World {
    let shop = vec![("PAYONCE_OPERATOR_TOKEN", TOKEN.to_owned())];
    World::with(Options { shop, ..Options::default() }).await
}

async fn api(world: &World, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
    let request = world.http.request(method, world.url(path)).bearer_auth(TOKEN);
    let request = match body {
        Some(body) => request.json(&body),
        None => request,
    };
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
}

async fn page(world: &World, checkout: &str) -> String {
    let request = world.request(Method::GET, &format!("/checkout/{checkout}"));
    let (status, _, html) = world.send(request).await;
    assert_eq!(status, 200, "{html}");
    html
}

async fn ask(world: &World, checkout: &str, number: u32, why: &str) -> (u16, String) {
    let path = format!("/checkout/{checkout}/refund-request");
    let form = [("number", number.to_string()), ("reason", why.to_owned())];
    let (status, location, _) = world.send(world.request(Method::POST, &path).form(&form)).await;
    (status, location)
}

#[tokio::test]
async fn a_shopper_asks_for_a_refund_once_and_a_person_answers() {
    let world = with_api().await;
    let checkout = world.buy_with_mail("tok_visa", TO).await;
    world.agree(&checkout, "succeeded", 1).await;
    let own = format!("/checkout/{checkout}");
    assert!(page(&world, &checkout).await.contains("data-ask-refund"));
    // A double click, and a third one later.
    let both = tokio::join!(
        ask(&world, &checkout, 1, "changed_mind"),
        ask(&world, &checkout, 1, "changed_mind")
    );
    assert_eq!(both, ((303, own.clone()), (303, own.clone())));
    assert_eq!(ask(&world, &checkout, 1, "").await, (303, own.clone()));
    assert_eq!(ask(&world, &checkout, 2, "").await, (303, own.clone()), "one is open");
    assert_eq!(world.number("select count(*) from refund_requests").await, 1);
    let asked = "select count(*) from alerts where kind = 'refund_asked'";
    let open = "select count(*) from alerts where kind = 'refund_asked' and closed_at is null";
    assert_eq!((world.number(asked).await, world.number(open).await), (1, 1));
    let html = page(&world, &checkout).await;
    assert!(html.contains("You asked for a refund on"), "{html}");
    assert!(html.contains("a person answers within two working days"), "{html}");
    assert!(!html.contains("data-ask-refund"), "{html}");
    // Nothing moves by itself.
    assert!(world.states(&checkout, "refund").await.is_empty());
    world.agree(&checkout, "succeeded", 1).await;
    let order = format!("/api/orders/{}", world.reference(&checkout).await);
    let (status, body) = api(&world, Method::GET, &order, None).await;
    assert_eq!((status, &body["refund_request"]["state"]), (200, &json!("open")), "{body}");
    assert_eq!(body["refund_request"]["reason"], "changed_mind");
    assert!(!body.to_string().contains("canary"), "{body}");

    let refund = json!({"refund_request_id": Uuid::new_v4(), "amount_minor": 1000, "currency": "EUR", "reason": "they asked"});
    let (status, body) = api(&world, Method::POST, &format!("{order}/refunds"), Some(refund)).await;
    assert_eq!(status, 202, "{body}");
    world
        .until_that("the refund is confirmed", async || {
            world.states(&checkout, "refund").await == ["succeeded"]
        })
        .await;
    assert_eq!(world.number(open).await, 0, "a refund answers it");
    let (_, body) = api(&world, Method::GET, &order, None).await;
    assert_eq!(body["refund_request"]["state"], "answered");
    world.until_number(SENT, 2).await;
    assert_eq!(facts(&world).await, ["paid", "refund_sent"]);
    let html = page(&world, &checkout).await;
    assert!(!html.contains("You asked for a refund on"), "{html}");
    // Something is left, so that there may be another request: a new one, under a new number.
    assert!(html.contains("name=\"number\" value=\"2\""), "{html}");
    assert_eq!(ask(&world, &checkout, 1, "damaged").await, (303, own.clone()));
    assert_eq!(world.number("select count(*) from refund_requests").await, 1, "an old form");
    assert_eq!(ask(&world, &checkout, 2, "damaged").await, (303, own));
    assert_eq!((world.number(asked).await, world.number(open).await), (2, 1));
}

#[tokio::test]
async fn a_no_to_a_request_is_told_with_its_reason_and_stands() {
    let world = with_api().await;
    let checkout = world.buy_with_mail("tok_visa", TO).await;
    world.agree(&checkout, "succeeded", 1).await;
    let order = format!("/api/orders/{}", world.reference(&checkout).await);
    let decline = format!("{order}/refund-request/decline");
    let no = |why: &str| Some(json!({"reason": why}));
    assert_eq!(api(&world, Method::POST, &decline, no("not_returned")).await.0, 422);
    assert_eq!(ask(&world, &checkout, 1, "").await.0, 303);
    assert_eq!(api(&world, Method::POST, &decline, no("because")).await.0, 400);
    let (status, body) = api(&world, Method::POST, &decline, no("not_returned")).await;
    assert_eq!((status, &body["repeated"]), (200, &json!(false)), "{body}");
    let (status, body) = api(&world, Method::POST, &decline, no("not_returned")).await;
    assert_eq!((status, &body["repeated"]), (200, &json!(true)), "{body}");
    assert_eq!(api(&world, Method::POST, &decline, no("other")).await.0, 422);
    let open = "select count(*) from alerts where closed_at is null";
    assert_eq!(world.number(open).await, 0);
    let html = page(&world, &checkout).await;
    assert!(html.contains("The goods have not come back to us."), "{html}");
    assert!(!html.contains("data-ask-refund"), "{html}");
    let again = ask(&world, &checkout, 2, "").await;
    assert_eq!(again, (303, format!("/checkout/{checkout}?note=no-refund")));
    // A person may change their mind: a refund is still possible.
    let refund = json!({"refund_request_id": Uuid::new_v4(), "amount_minor": 2990, "currency": "EUR", "reason": "it came back"});
    assert_eq!(api(&world, Method::POST, &format!("{order}/refunds"), Some(refund)).await.0, 202);
}

#[tokio::test]
async fn a_refund_is_asked_for_only_by_its_owner_of_a_paid_order_and_for_thirty_days() {
    let world = World::start().await;
    let unpaid = world.buy("tok_insufficient_funds").await;
    world.agree(&unpaid, "rejected", 0).await;
    let not_possible = (303, format!("/checkout/{unpaid}?note=no-refund"));
    assert_eq!(ask(&world, &unpaid, 1, "").await, not_possible);
    let checkout = world.buy("tok_visa").await;
    world.agree(&checkout, "succeeded", 1).await;
    let owner = world.forget_session();
    world.add("cups", 1).await;
    assert_eq!(ask(&world, &checkout, 1, "").await.0, 404, "a stranger");
    assert!(!page(&world, &checkout).await.contains("data-ask-refund"));
    world.remember_session(owner);
    world.set_clock(31 * 24 * 3600);
    assert!(!page(&world, &checkout).await.contains("data-ask-refund"));
    let late = format!("/checkout/{checkout}?note=no-refund");
    assert_eq!(ask(&world, &checkout, 1, "").await, (303, late.clone()));
    let (_, _, html) = world.send(world.request(Method::GET, &late)).await;
    assert!(html.contains("cannot be asked for here any more"), "{html}");
    assert_eq!(world.number("select count(*) from refund_requests").await, 0);
}
