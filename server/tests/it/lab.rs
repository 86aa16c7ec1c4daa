//! The fault lab: what its page shows is what the ledger and the database hold, the naive shop is
//! really run, and nobody's fault meets anybody else.

use std::time::{Duration, Instant};

use app::pages::lab::scenario::{STORIES, Scenario, TESTS};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use crate::harness::{Options, World};

const BY_NEWS: &str =
    "select count(*) from operations where kind = 'payment' and confirmed_by = 'webhook'";

async fn world() -> World {
    world_of("0.02").await
}

async fn world_of(scale: &'static str) -> World {
    world_with(scale, false).await
}

/// With partners for invoices and parcels, or without.
async fn world_with(scale: &'static str, partners: bool) -> World {
    let shop = vec![("PAYONCE_EXAMPLEPAY_RESPONSE_TIMEOUT_MS", "4000".to_owned())];
    World::with(Options { scale, lab: true, shop, partners, ..Options::default() }).await
}

/// The scenario that needs a partner.
const INVOICE: &str = "invoice_without_keys";

/// Presses a form's button; where it leads.
async fn press(world: &World, path: &str, fields: &[(&str, &str)]) -> String {
    let request = world.request(Method::POST, path).form(fields);
    let (status, location, body) = world.send(request).await;
    assert_eq!(status, 303, "{path}: {body}");
    location
}

/// Starts a scenario; its checkout.
async fn start(world: &World, fields: &[(&str, &str)]) -> String {
    let location = press(world, "/lab/start", fields).await;
    location.strip_prefix("/lab/").unwrap().to_owned()
}

/// Presses Pay on the lab's page, with the one card that is there.
async fn pay(world: &World, checkout: &str) {
    let path = format!("/lab/{checkout}");
    let (_, _, html) = world.send(world.request(Method::GET, &path)).await;
    let card = told(&html, "data-card").expect("a card");
    let form = world.form_on(&path).await.expect("a payment form");
    assert_eq!(form.checkout, checkout, "the fault waits for this id");
    let (status, location, body) = world.post(&form, &card).await;
    assert_eq!((status, location), (303, format!("/checkout/{checkout}")), "{body}");
}

/// Starts a listed scenario and pays.
async fn play(world: &World, scenario: Scenario) -> String {
    let checkout = start(world, &[("scenario", scenario.as_str())]).await;
    pay(world, &checkout).await;
    checkout
}

/// What the page's script is given.
async fn watch(world: &World, checkout: &str) -> String {
    let request = world.request(Method::GET, &format!("/lab/{checkout}/watch"));
    let (status, _, html) = world.send(request).await;
    assert_eq!(status, 200, "{html}");
    html
}

/// The value of an attribute that is there once.
fn told(html: &str, name: &str) -> Option<String> {
    let (_, rest) = html.split_once(&format!(" {name}=\""))?;
    Some(rest.split('"').next()?.to_owned())
}

fn count(html: &str, what: &str) -> usize {
    html.matches(what).count()
}

/// Waits until the page says that nothing moves by itself any more, and gives it.
async fn until_over(world: &World, checkout: &str) -> String {
    let over = async || {
        let html = watch(world, checkout).await;
        // Whoever waits for a person looks again now and then, without an end.
        told(&html, "data-again").is_none_or(|it| it == "5000")
    };
    world.until_that(&format!("{checkout} is over"), over).await;
    watch(world, checkout).await
}

/// Both columns are what the ledger and the database hold.
async fn expect_true(world: &World, checkout: &str, html: &str, what: &str) {
    let effects = world.effects(checkout).await;
    let of = |kind: &str| -> Vec<i64> {
        effects.iter().filter(|(it, _)| it == kind).map(|(_, amount)| *amount).collect()
    };
    let charges = of("charge");
    assert_eq!(told(html, "data-charges"), Some(charges.len().to_string()), "{what}");
    let sum: i64 = charges.iter().sum();
    assert_eq!(told(html, "data-sum"), Some(sum.to_string()), "{what}");
    assert_eq!(all(html, "data-effect"), effects.iter().map(|it| it.0.clone()).collect::<Vec<_>>());
    assert_eq!(told(html, "data-state"), Some(world.state(checkout).await), "{what}");
    assert_eq!(told(html, "data-order-state"), Some(world.order_state(checkout).await), "{what}");
    let refunds = world.states(checkout, "refund").await;
    assert_eq!(all(html, "data-refund"), refunds, "{what}");
    let reached = all(html, "data-to");
    assert_eq!(reached, stored(world, checkout).await, "{what}: every stored change, in order");
    let reference = world.reference(checkout).await;
    let mut requests = 0;
    for prefix in [format!("{reference}-"), format!("INV-{reference}")] {
        let log = world.ask(&format!("/control/requests?reference_prefix={prefix}")).await;
        requests += log["requests"].as_array().unwrap().len();
    }
    // Beside a person's review questions go on.
    let shown = count(html, "data-what=\"request\"");
    let more = usize::from(world.state(checkout).await == "requires_review");
    assert!((shown..=shown + more).contains(&requests), "{what}: {shown} of {requests}");
    let sent = count(html, "data-what=\"sent\"") - count(html, "data-unsent");
    assert_eq!(sent, shown, "{what}: written down, then sent");
}

/// Every stored change of an order but for its parcel's, in order.
async fn stored(world: &World, checkout: &str) -> Vec<String> {
    let rows = sqlx::query_scalar(
        "select to_state from transitions join orders on orders.id = transitions.order_id
         join operations on operations.id = operation_id
         where checkout_id = ? and kind != 'shipment' order by order_sequence",
    );
    rows.bind(checkout).fetch_all(world.database()).await.unwrap()
}

/// The values of an attribute, in order.
fn all(html: &str, name: &str) -> Vec<String> {
    let rest = format!(" {name}=\"");
    html.split(&rest).skip(1).map(|it| it.split('"').next().unwrap().to_owned()).collect()
}

/// How a scenario ends: the payment's state, the charges, what both sides are to each other, and
/// where its refunds stand.
fn end(scenario: Scenario) -> (&'static str, usize, &'static str, &'static [&'static str]) {
    let refunds: &[&str] = match scenario.as_str() {
        "refund_twice" => &["succeeded", "succeeded"],
        "refund_behind_500" | "refund_pending" => &["succeeded"],
        "refund_refused" | "refund_refused_later" => &["rejected"],
        "refund_comes_back" => &["reversed"],
        _ => &[],
    };
    match scenario.as_str() {
        "wrong_amount" => ("requires_review", 1, "review", refunds),
        "processing_declined" => ("rejected", 0, "agree", refunds),
        _ => ("succeeded", 1, "agree", refunds),
    }
}

/// Gives money back as often as the page offers it, each wish twice.
async fn give_back(world: &World, checkout: &str) {
    loop {
        let html = until_over(world, checkout).await;
        let Some(number) = told(&html, "data-lab-refund") else { return };
        let made = world.states(checkout, "refund").await.len();
        for _ in 0..2 {
            press(world, &format!("/lab/{checkout}/refund/{number}"), &[]).await;
        }
        assert_eq!(world.states(checkout, "refund").await.len(), made + 1, "one wish, one refund");
    }
}

/// Plays a scenario to its end and compares all that is shown with ledger and database.
async fn play_to_its_end(world: &World, scenario: Scenario) {
    let checkout = play(world, scenario).await;
    if scenario == Scenario::HourOfTimeouts {
        let asked = async || count(&watch(world, &checkout).await, "data-what=\"heard\"") >= 4;
        world.until_that("it has asked in vain", asked).await;
        let html = watch(world, &checkout).await;
        assert!(html.contains("data-lab-calm"), "{html}");
        assert_eq!(told(&html, "data-agreement").as_deref(), Some("wait"));
        press(world, &format!("/lab/{checkout}/calm"), &[]).await;
    }
    give_back(world, &checkout).await;
    let html = until_over(world, &checkout).await;
    expect_true(world, &checkout, &html, scenario.as_str()).await;
    let (state, charges, agreement, refunds) = end(scenario);
    world.agree(&checkout, state, charges).await;
    assert_eq!(world.states(&checkout, "refund").await, refunds, "{scenario}");
    assert_eq!(told(&html, "data-agreement").as_deref(), Some(agreement), "{scenario}");
    assert!(!html.contains("data-lab-calm"), "{scenario}: its fault is gone");
}

/// How fast the shop is in the walk through all scenarios; 0.2 is the pace of a presenter.
fn pace() -> &'static str {
    match std::env::var("LAB_TIME_SCALE") {
        Ok(scale) => scale.leak(),
        Err(_) => "0.02",
    }
}

#[tokio::test]
async fn every_scenario_in_the_order_of_the_page_shows_what_ledger_and_database_hold() {
    let scale = pace();
    let world = world_of(scale).await;
    let (_, _, page) = world.send(world.request(Method::GET, "/lab")).await;
    let listed = all(&page, "data-scenario");
    assert_eq!(listed, Scenario::listed().map(|it| it.to_string()).collect::<Vec<_>>());
    let mut parts = ["tests", "stories", "more"].map(|it| (it, Duration::ZERO)).to_vec();
    for (place, name) in listed.iter().enumerate() {
        let begun = Instant::now();
        let scenario: Scenario = name.parse().unwrap();
        // An order's invoice and parcel would be in every other history as well.
        let with_partners =
            if name == INVOICE { Some(world_with(scale, true).await) } else { None };
        let world = with_partners.as_ref().unwrap_or(&world);
        play_to_its_end(world, scenario).await;
        let part = usize::from(place >= TESTS) + usize::from(place >= TESTS + STORIES);
        parts[part].1 += begun.elapsed();
        println!("{:>3}. {name}: {:.1} s", place + 1, begun.elapsed().as_secs_f64());
        // What follows is as ordinary as ever.
        let next = world.buy("tok_visa").await;
        world.agree(&next, "succeeded", 1).await;
        assert_eq!(world.sends(&next).await.len(), 1, "after {scenario}");
    }
    let article = parts[0].1 + parts[1].1;
    parts.extend([("article", article), ("total", article + parts[2].1)]);
    let mut figures = vec![
        ("lab_scenarios".to_owned(), listed.len().to_string()),
        ("lab_time_scale".to_owned(), scale.to_owned()),
    ];
    let seconds = |time: Duration| format!("{:.1}", time.as_secs_f64());
    figures
        .extend(parts.into_iter().map(|(it, time)| (format!("lab_{it}_seconds"), seconds(time))));
    for (name, figure) in &figures {
        println!("{name} {figure}");
    }
    keep(&figures);
}

/// Keeps figures as `target/reports/lab.json`.
fn keep(figures: &[(String, String)]) {
    let lines: Vec<String> = figures.iter().map(|(name, it)| format!("  {name:?}: {it}")).collect();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/reports");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("lab.json"), format!("{{\n{}\n}}\n", lines.join(",\n"))).unwrap();
}

#[tokio::test]
async fn news_two_seconds_after_a_lost_call_decides() {
    let world = world().await;
    let checkout = play(&world, Scenario::NewsAfterLoss).await;
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.number(BY_NEWS).await, 1);
}

#[tokio::test]
async fn a_provider_that_needs_longer_than_anybody_waits_charges_once_here() {
    let world = world().await;
    let checkout = play(&world, Scenario::TooSlow).await;
    let history = ["created", "requested", "pending_confirmation", "succeeded"];
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.history(&checkout).await, history);
    assert_eq!(world.sends(&checkout).await.len(), 1);
    assert_eq!(naive(&world, &checkout).await, (3, "failed".to_owned()));
}

#[tokio::test]
async fn a_repeat_that_overtakes_the_first_request_makes_no_second_charge() {
    let world = world().await;
    let checkout = play(&world, Scenario::Overtaken).await;
    world.until_sends(&checkout, 2).await;
    world.agree(&checkout, "succeeded", 1).await;
    let sends = world.sends(&checkout).await;
    assert_eq!(sends[0]["key"], sends[1]["key"]);
    // Under keys of its own, the first and the second of a naive shop are both done.
    assert_eq!(naive(&world, &checkout).await.1, "paid");
    let both = async || effects_of(&world, "naive-").await.len() == 2;
    world.until_that("the naive shop has charged twice", both).await;
}

#[tokio::test]
async fn news_in_reverse_order_changes_nothing() {
    let world = world().await;
    let checkout = play(&world, Scenario::NewsReversed).await;
    world.agree(&checkout, "succeeded", 1).await;
    let html = until_over(&world, &checkout).await;
    expect_true(&world, &checkout, &html, "news in reverse order").await;
    world.until_number("select count(*) from provider_events", 2).await;
    let order = "select count(*) from provider_events as late, provider_events as early
         where late.event_type = 'payment.processing' and early.event_type = 'payment.succeeded'
         and late.received_at >= early.received_at";
    assert_eq!(world.number(order).await, 1, "the older one came last");
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.order_state(&checkout).await, "paid");
}

#[tokio::test]
async fn a_second_click_under_another_id_leads_to_the_first_order() {
    let world = world().await;
    let checkout = play(&world, Scenario::TwoOrders).await;
    world.agree(&checkout, "succeeded", 1).await;
    let form = world.form_on(&format!("/lab/{checkout}")).await.expect("the second post");
    assert_ne!(form.checkout, checkout);
    let path = format!("/checkout/{}/pay", form.checkout);
    let request = world.request(Method::POST, &path).form(&form.fields);
    let (status, location, body) = world.send(request).await;
    assert_eq!(status, 303, "{body}");
    assert!(location.starts_with(&format!("/checkout/{checkout}?")), "{location}");
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.number("select count(*) from orders").await, 1);
    assert_eq!(naive(&world, &checkout).await, (2, "paid".to_owned()));
}

#[tokio::test]
async fn a_naive_shop_gives_back_twice_what_this_one_gives_back_once() {
    let world = world().await;
    for (scenario, refunds, balance) in
        [(Scenario::RefundBehind500, 2, -2000), (Scenario::RefundTwice, 2, -1500)]
    {
        let checkout = play(&world, scenario).await;
        give_back(&world, &checkout).await;
        let before = effects_of(&world, "naive-").await.len();
        assert_eq!(naive(&world, &checkout).await, (1, "paid".to_owned()), "{scenario}");
        let html = watch(&world, &checkout).await;
        assert_eq!(told(&html, "data-naive-refunds"), Some(refunds.to_string()), "{scenario}");
        let effects = effects_of(&world, "naive-").await;
        let back = effects[before..].iter().filter(|it| it["kind"] == "refund");
        let sum: i64 = back.map(|it| it["amount_minor"].as_i64().unwrap()).sum();
        assert_eq!(sum, balance, "{scenario}: {effects:?}");
    }
    let ours =
        "select sum(amount_minor) from operations where kind = 'refund' and state = 'succeeded'";
    assert_eq!(world.number(ours).await, 2500, "ten, and ten and five");
}

#[tokio::test]
async fn a_door_that_is_shut_for_one_payment_opens_once_it_was_met() {
    let world = world().await;
    let checkout = play(&world, Scenario::Refused).await;
    world.agree(&checkout, "succeeded", 1).await;
    let history = world.history(&checkout).await;
    assert_eq!(history[..3], ["created", "requested", "retry_scheduled"], "{history:?}");
    let refused = "select count(*) from attempts where transport_state = 'not_sent'";
    let refused = world.number(refused).await;
    assert!((1..=3).contains(&refused), "{refused} of its sends met the door");
    // The naive shop meets it for as long as it tries.
    assert_eq!(naive(&world, &checkout).await, (0, "failed".to_owned()));
    let next = world.buy("tok_visa").await;
    world.agree(&next, "succeeded", 1).await;
    // Whoever starts something else, or ends it, opens it.
    let left = start(&world, &[("scenario", "refused")]).await;
    start(&world, &[("scenario", "copies")]).await;
    let next = world.buy("tok_visa").await;
    world.agree(&next, "succeeded", 1).await;
    let again = start(&world, &[("scenario", "refused")]).await;
    assert_ne!(left, again);
    pay(&world, &again).await;
    press(&world, &format!("/lab/{again}/calm"), &[]).await;
    world.agree(&again, "succeeded", 1).await;
}

/// Beyond one checkout: what would be 20,000 jobs in the article is sixty here.
#[tokio::test]
async fn payments_that_all_time_out_at_once_are_asked_about_one_after_the_other() {
    const PAYMENTS: usize = 60;
    let world = World::start().await;
    let lost = json!([{"answer": {"kind": "drop_before_headers"}, "webhook": {"mode": "never"}}]);
    world.fault_then("create_payment", lost, "repeat_last").await;
    world.control("/control/lookups", &json!({"status": 503, "for_ms": 3000})).await;
    let mut checkouts = Vec::new();
    for _ in 0..PAYMENTS {
        checkouts.push(world.buy("tok_visa").await);
    }
    for checkout in &checkouts {
        world.until_paid_or(checkout, "one of many").await;
    }
    for checkout in &checkouts {
        world.agree(checkout, "succeeded", 1).await;
    }
    let most =
        "select max(sent) from (select count(*) as sent from attempts group by operation_id)";
    assert!((2..=18).contains(&world.number(most).await), "requests of one operation");
    let sends = "select max(sent) from (select count(*) as sent from attempts
         where step is not null group by operation_id)";
    assert!((1..=4).contains(&world.number(sends).await), "mutating ones");
    // Whatever their number, two requests begin at least twenty milliseconds apart.
    let log = world.requests().await;
    let times: Vec<i64> = log.iter().map(|it| it["at_ms"].as_i64().unwrap()).collect();
    let (first, last) = (times.iter().min().unwrap(), times.iter().max().unwrap());
    assert!(times.len() >= 2 * PAYMENTS, "{} requests", times.len());
    // One of them may have been slow to arrive; a storm would need a tenth of this time.
    let least = i64::try_from(times.len() * 20).unwrap() * 9 / 10;
    assert!(last - first >= least, "{} requests within {} ms", times.len(), last - first);
}

/// A line between shop and provider that lets only a part of the first payment through.
async fn cutting_line(provider: String) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let line = tokio::spawn(async move {
        let mut cut = false;
        while let Ok((mut shop, _)) = listener.accept().await {
            let mut provider = TcpStream::connect(&provider).await.unwrap();
            let mut request = Vec::new();
            while !is_whole(&request) {
                let got = shop.read_buf(&mut request).await.unwrap();
                assert_ne!(got, 0, "the shop sends it whole");
            }
            let pays = request.starts_with(b"POST /v1/payments ");
            let part = request.len() - if pays && !cut { 20 } else { 0 };
            provider.write_all(&request[..part]).await.unwrap();
            if part == request.len() {
                tokio::spawn(async move { copy_bidirectional(&mut shop, &mut provider).await });
            }
            cut |= pays;
        }
    });
    (address, line)
}

/// Whether a request has its whole body.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|it| {
        it.to_ascii_lowercase().strip_prefix("content-length: ").map(|it| it.parse::<usize>())
    });
    body.len() >= length.map_or(0, |it| it.unwrap())
}

/// A free port that no program is given by chance, and no other test takes.
fn port_for_provider() -> u16 {
    let start = u16::try_from(std::process::id() % 900).unwrap();
    let free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (18_000 + start..19_999).find(free).expect("a free port")
}

#[tokio::test]
async fn half_a_request_is_sent_again_whole_with_the_same_key() {
    let provider = format!("127.0.0.1:{}", port_for_provider());
    let (line, task) = cutting_line(provider.clone()).await;
    let any = || "127.0.0.1:0".to_owned();
    let world = World::with(Options {
        shop: vec![("PAYONCE_EXAMPLEPAY_URL", line)],
        provider: vec![
            ("EXAMPLEPAY_ADDR", provider),
            ("EXAMPLEPAY_STRIPE_ADDR", any()),
            ("EXAMPLEPAY_PAYPAL_ADDR", any()),
            ("EXAMPLEPAY_PARTNERS_ADDR", any()),
        ],
        ..Options::default()
    })
    .await;
    let checkout = world.buy("tok_visa").await;
    world.agree(&checkout, "succeeded", 1).await;
    assert!(world.history(&checkout).await.contains(&"pending_confirmation".to_owned()));
    assert_eq!(world.sends(&checkout).await.len(), 1, "the half that came was no request");
    let sent = "select count(*) from attempts where step = 'create'";
    assert_eq!(world.number(sent).await, 2, "and the shop sent it twice");
    task.abort();
}

#[tokio::test]
async fn copies_of_one_event_are_stored_and_applied_once() {
    let world = world().await;
    let checkout = play(&world, Scenario::Copies).await;
    let html = until_over(&world, &checkout).await;
    assert_eq!(count(&html, "data-what=\"delivered\""), 3, "{html}");
    assert_eq!(count(&html, "data-what=\"made\""), 1);
    assert_eq!(world.number("select count(*) from provider_events").await, 1);
    assert_eq!(world.history(&checkout).await, ["created", "requested", "succeeded"]);
}

#[tokio::test]
async fn news_decides_where_questions_are_in_vain() {
    let world = world().await;
    let checkout = play(&world, Scenario::WebhookDecides).await;
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.number(BY_NEWS).await, 1);
}

#[tokio::test]
async fn a_wrong_amount_is_shown_as_a_difference() {
    let world = world().await;
    let checkout = play(&world, Scenario::WrongAmount).await;
    let html = until_over(&world, &checkout).await;
    let ordered = world.number("select amount_minor from orders").await;
    assert_eq!(told(&html, "data-sum"), Some((ordered + 1).to_string()));
    assert_eq!(told(&html, "data-state").as_deref(), Some("requires_review"));
    assert_eq!(told(&html, "data-agreement").as_deref(), Some("review"));
}

#[tokio::test]
async fn the_same_id_with_another_amount_is_refused_and_the_naive_shop_takes_both() {
    let world = world().await;
    let checkout = play(&world, Scenario::OtherPayload).await;
    world.agree(&checkout, "succeeded", 1).await;
    let form = world.form_on(&format!("/lab/{checkout}")).await.expect("the second post");
    let path = format!("/checkout/{}/pay", form.checkout);
    let (status, _, body) = world.send(world.request(Method::POST, &path).form(&form.fields)).await;
    assert_eq!(status, 422, "{body}");
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(naive(&world, &checkout).await, (2, "paid".to_owned()));
}

/// Lets the naive shop meet the same fault: its charges as the page says, and what it told.
async fn naive(world: &World, checkout: &str) -> (usize, String) {
    press(world, &format!("/lab/{checkout}/naive"), &[]).await;
    let done = async || told(&watch(world, checkout).await, "data-naive-charges").is_some();
    world.until_that("the naive shop has tried", done).await;
    let html = watch(world, checkout).await;
    let charges = told(&html, "data-naive-charges").unwrap().parse().unwrap();
    (charges, told(&html, "data-naive-told").unwrap())
}

#[tokio::test]
async fn the_naive_shop_charges_more_than_once_where_this_one_charges_once() {
    let world = world().await;
    let rows = [
        // Charged and lost; charged again under a new key.
        (Scenario::LostResponse, 2, "paid"),
        (Scenario::Behind500, 2, "paid"),
        (Scenario::WebhookFirst, 2, "paid"),
        (Scenario::HourOfTimeouts, 3, "failed"),
        (Scenario::NeverArrived, 1, "paid"),
        (Scenario::HalfARequest, 1, "paid"),
        (Scenario::NewsAndQuestion, 2, "paid"),
        // It keeps its shopper waiting, and then says what is not so.
        (Scenario::PatienceTooLong, 1, "failed"),
    ];
    for (scenario, charges, said) in rows {
        let checkout = play(&world, scenario).await;
        if scenario == Scenario::HourOfTimeouts {
            world.until(&checkout, &["pending_confirmation"]).await;
            press(&world, &format!("/lab/{checkout}/calm"), &[]).await;
        }
        world.agree(&checkout, "succeeded", 1).await;
        let before = effects_of(&world, "naive-").await.len();
        assert_eq!(naive(&world, &checkout).await, (charges, said.to_owned()), "{scenario}");
        let ledger = effects_of(&world, "naive-").await;
        assert_eq!(ledger.len() - before, charges, "{scenario}: {ledger:?}");
        // It pays for nothing of ours, and its news come to nobody.
        world.agree(&checkout, "succeeded", 1).await;
    }
    assert_eq!(
        world.number("select count(*) from provider_events where operation_id is null").await,
        0
    );
}

#[tokio::test]
async fn three_layers_that_repeat_send_forty_five_times_what_this_shop_sends_a_few_times() {
    let world = world().await;
    let checkout = play(&world, Scenario::HiddenRetries).await;
    world.agree(&checkout, "succeeded", 1).await;
    let sends = world.sends(&checkout).await.len();
    assert!((2..=4).contains(&sends), "{sends} requests that take money");
    assert_eq!(naive(&world, &checkout).await, (0, "failed".to_owned()));
    let html = watch(&world, &checkout).await;
    assert_eq!(told(&html, "data-naive-sends").as_deref(), Some("45"));
    let log = world.ask("/control/requests?reference_prefix=naive-").await;
    assert_eq!(log["requests"].as_array().unwrap().len(), 45, "as the provider counts them");
}

#[tokio::test]
async fn an_invoice_whose_answer_is_lost_is_written_once_here_and_twice_by_the_naive_shop() {
    let world = world_with("0.02", true).await;
    let checkout = play(&world, Scenario::InvoiceWithoutKeys).await;
    world.agree(&checkout, "succeeded", 1).await;
    let html = until_over(&world, &checkout).await;
    expect_true(&world, &checkout, &html, INVOICE).await;
    assert_eq!(told(&html, "data-invoice").as_deref(), Some("succeeded"));
    assert_eq!(told(&html, "data-invoices").as_deref(), Some("1"));
    let number = format!("INV-{}", world.reference(&checkout).await);
    let log = world.ask(&format!("/control/requests?reference_prefix={number}")).await;
    let log = log["requests"].as_array().unwrap();
    let answers = log.iter().filter(|it| it["method"] == "POST").map(|it| &it["answered"]);
    assert_eq!(answers.collect::<Vec<_>>(), ["dropped", "409"], "it was sent again: {log:?}");
    assert_eq!(naive(&world, &checkout).await, (1, "paid".to_owned()));
    let html = watch(&world, &checkout).await;
    assert_eq!(told(&html, "data-naive-invoices").as_deref(), Some("2"));
    let written = world.ask("/control/partners/ledger?reference_prefix=naive-").await;
    assert_eq!(written["effects"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn news_that_comes_while_a_question_is_answered_moves_the_payment_once() {
    let world = world().await;
    let checkout = play(&world, Scenario::NewsAndQuestion).await;
    world.agree(&checkout, "succeeded", 1).await;
    world.until_number("select count(*) from provider_events", 1).await;
    let history = ["created", "requested", "pending_confirmation", "succeeded"];
    assert_eq!(world.history(&checkout).await, history);
    assert_eq!(world.sends(&checkout).await.len(), 1);
}

/// A row of a table on a page of the lab.
fn row(html: &str, name: &str) -> String {
    let (_, rest) = html.split_once(&format!("data-row=\"{name}\"")).unwrap();
    let (_, rest) = rest.split_once("<td>").unwrap();
    rest.split("</td>").next().unwrap().to_owned()
}

#[tokio::test]
async fn what_was_played_is_counted_on_the_wire_and_as_payments() {
    let world = world().await;
    let page = async || world.send(world.request(Method::GET, "/lab/numbers")).await.2;
    assert!(page().await.contains("You have not played anything yet"));
    let lost = play(&world, Scenario::LostResponse).await;
    world.agree(&lost, "succeeded", 1).await;
    until_over(&world, &lost).await;
    let declined = own(&world, &[("card", "declined")]).await;
    pay(&world, &declined).await;
    world.agree(&declined, "rejected", 0).await;
    let html = page().await;
    let requests =
        world.number("select count(*) from attempts join operations on operations.id = operation_id where kind = 'payment'").await;
    assert_eq!(row(&html, "requests"), requests.to_string());
    assert_eq!(row(&html, "unanswered").split(' ').next(), Some("1"), "{html}");
    for (name, value) in [
        ("payments", "2"),
        ("lost", "1 (50.0 %)"),
        ("lost-paid", "1 (100.0 %)"),
        ("paid", "1 (50.0 %)"),
        ("declined", "1 (50.0 %)"),
        ("open", "0 (0.0 %)"),
        ("known", "2 (100.0 %)"),
    ] {
        assert_eq!(row(&html, name), value, "{name}: {html}");
    }
    let session = world.forget_session();
    assert!(page().await.contains("You have not played anything yet"), "another visitor");
    world.remember_session(session);
}

#[tokio::test]
async fn a_naive_shop_calls_a_slow_payment_failed_that_is_taken_all_the_same() {
    let world = world().await;
    let checkout = play(&world, Scenario::Processing).await;
    let said = naive(&world, &checkout).await.1;
    assert_eq!(said, "failed");
    world.agree(&checkout, "succeeded", 1).await;
    let taken = async || effects_of(&world, "naive-").await.len() == 1;
    world.until_that("the naive shop's payment is taken", taken).await;
}

async fn effects_of(world: &World, prefix: &str) -> Vec<Value> {
    let ledger = world.ask(&format!("/control/ledger?reference_prefix={prefix}")).await;
    ledger["effects"].as_array().unwrap().clone()
}

#[tokio::test]
async fn two_visitors_do_not_disturb_each_other() {
    let world = world().await;
    let first = play(&world, Scenario::HourOfTimeouts).await;
    world.until(&first, &["pending_confirmation"]).await;
    let one = world.forget_session();
    // Another visitor buys as ever, and starts a scenario of their own.
    let ordinary = world.buy("tok_visa").await;
    world.agree(&ordinary, "succeeded", 1).await;
    assert_eq!(world.sends(&ordinary).await.len(), 1);
    let second = play(&world, Scenario::Busy).await;
    world.agree(&second, "succeeded", 1).await;
    assert_eq!(world.sends(&second).await.len(), 2);
    let html = until_over(&world, &second).await;
    assert!(!html.contains(&first), "each sees what is their own");
    let stranger = world.request(Method::POST, &format!("/lab/{first}/calm"));
    assert_eq!(world.send(stranger).await.0, 404);
    // The first one's fault is still there, whoever else has begun or ended one.
    let two = world.forget_session();
    world.remember_session(one);
    assert_eq!(world.state(&first).await, "pending_confirmation");
    assert!(watch(&world, &first).await.contains("data-lab-calm"));
    press(&world, &format!("/lab/{first}/calm"), &[]).await;
    world.agree(&first, "succeeded", 1).await;
    // One's next scenario ends one's earlier fault.
    let again = play(&world, Scenario::HourOfTimeouts).await;
    world.until(&again, &["pending_confirmation"]).await;
    start(&world, &[("scenario", "copies")]).await;
    world.agree(&again, "succeeded", 1).await;
    world.remember_session(two);
    assert_eq!(world.send(world.request(Method::GET, &format!("/lab/{first}"))).await.0, 404);
}

#[tokio::test]
async fn a_fault_of_ones_own_is_what_was_chosen() {
    let world = world().await;
    let rows = [
        (
            [
                ("execute", "later"),
                ("answer", "drop"),
                ("webhook", "never"),
                ("lookup", "truthful"),
                ("card", "visa"),
                ("refund", "normal"),
                ("times", "once"),
            ],
            "succeeded",
            1,
        ),
        (
            [
                ("execute", "now"),
                ("answer", "cut"),
                ("webhook", "forged"),
                ("lookup", "dropped"),
                ("card", "visa"),
                ("refund", "normal"),
                ("times", "once"),
            ],
            "succeeded",
            1,
        ),
        (
            [
                ("execute", "now"),
                ("answer", "html"),
                ("webhook", "copies"),
                ("lookup", "down"),
                ("card", "declined"),
                ("refund", "normal"),
                ("times", "once"),
            ],
            "rejected",
            0,
        ),
        (
            [
                ("execute", "no"),
                ("answer", "error_saved"),
                ("webhook", "normal"),
                ("lookup", "hidden"),
                ("card", "visa"),
                ("refund", "normal"),
                ("times", "once"),
            ],
            "succeeded",
            1,
        ),
    ];
    for (chosen, state, charges) in rows {
        let checkout = own(&world, &chosen).await;
        pay(&world, &checkout).await;
        world.agree(&checkout, state, charges).await;
        let html = watch(&world, &checkout).await;
        expect_true(&world, &checkout, &html, &format!("{chosen:?}")).await;
    }
}

/// Starts a fault of one's own: these fields are as chosen, the others as they stand on the page.
async fn own(world: &World, chosen: &[(&str, &str)]) -> String {
    let usual = [
        ("execute", "now"),
        ("answer", "normal"),
        ("webhook", "normal"),
        ("lookup", "truthful"),
        ("card", "visa"),
        ("refund", "normal"),
        ("times", "once"),
    ];
    let mut fields = vec![("scenario", "own")];
    for (name, word) in usual {
        let word = chosen.iter().find(|(it, _)| *it == name).map_or(word, |(_, word)| *word);
        fields.push((name, word));
    }
    start(world, &fields).await
}

/// The words that a field of the page offers.
fn offered(page: &str, field: &str) -> Vec<String> {
    let (_, rest) = page.split_once(&format!(" name=\"{field}\"")).unwrap();
    all(&rest[..rest.find("</select>").unwrap()], "value")
}

#[tokio::test]
async fn every_choice_of_ones_own_fault_ends_in_one_charge_or_in_a_no() {
    let world = world().await;
    let (_, _, page) = world.send(world.request(Method::GET, "/lab")).await;
    for field in ["answer", "webhook", "lookup", "card"] {
        for word in offered(&page, field) {
            let what = format!("{field}: {word}");
            // So that there is something to ask about, and something to be told twice.
            let lost = ("answer", if field == "answer" { word.as_str() } else { "drop" });
            let slow = ("card", if word == "reversed" { "processing" } else { "visa" });
            let checkout = own(&world, &[(field, &word), lost, slow]).await;
            pay(&world, &checkout).await;
            let (state, charges) = match word.as_str() {
                "malformed" => ("canceled", 0),
                "declined" | "poor" | "processing_declined" => ("rejected", 0),
                "amount" | "currency" if field == "card" => ("requires_review", 1),
                "unknown" => ("pending_confirmation", 0),
                "bank" | "hosted" => ("requires_action", 0),
                _ => ("succeeded", 1),
            };
            world.until_that(&what, async || world.state(&checkout).await == state).await;
            world.agree(&checkout, state, charges).await;
            if ["succeeded", "rejected", "canceled"].contains(&state) {
                let html = until_over(&world, &checkout).await;
                expect_true(&world, &checkout, &html, &what).await;
                let agreement = told(&html, "data-agreement");
                assert_eq!(agreement.as_deref(), Some("agree"), "{what}");
            }
        }
    }
}

#[tokio::test]
async fn every_choice_of_a_refunds_fault_ends_in_one_refund_or_in_a_no() {
    let world = world().await;
    let (_, _, page) = world.send(world.request(Method::GET, "/lab")).await;
    for word in offered(&page, "refund") {
        let checkout = own(&world, &[("refund", &word)]).await;
        pay(&world, &checkout).await;
        give_back(&world, &checkout).await;
        let html = until_over(&world, &checkout).await;
        expect_true(&world, &checkout, &html, &word).await;
        let first = if word == "no" { "rejected" } else { "succeeded" };
        assert_eq!(world.states(&checkout, "refund").await[0], first, "{word}");
        assert_eq!(told(&html, "data-agreement").as_deref(), Some("agree"), "{word}");
    }
}

#[tokio::test]
async fn a_cart_that_was_filled_before_is_replaced_and_a_scenario_can_be_left_alone() {
    let world = world().await;
    world.add("tray", 2).await;
    let first = start(&world, &[("scenario", "cut_body")]).await;
    let second = start(&world, &[("scenario", "copies")]).await;
    assert_ne!(first, second);
    assert_eq!(world.number("select count(*) from cart_lines where quantity = 1").await, 1);
    assert_eq!(world.number("select count(*) from cart_lines").await, 1);
    assert_eq!(world.number("select count(*) from orders").await, 0);
    // The cart may be paid as any other.
    let form = world.form().await;
    assert_eq!(world.post(&form, "tok_visa").await.0, 303);
    world.agree(&form.checkout, "succeeded", 1).await;
    assert_eq!(world.sends(&form.checkout).await.len(), 1);
    let (status, _, page) = world.send(world.request(Method::GET, &format!("/lab/{second}"))).await;
    assert_eq!(status, 200);
    assert!(page.contains("Start it once more"), "{page}");
    assert!(world.form_on(&format!("/lab/{second}")).await.is_none());
}
