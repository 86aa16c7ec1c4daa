//! The fault lab: what its page shows is what the ledger and the database hold, the naive shop is
//! really run, and nobody's fault meets anybody else.

use app::pages::lab::scenario::Scenario;
use reqwest::Method;
use serde_json::Value;

use crate::harness::{Options, World};

async fn world() -> World {
    let shop = vec![("PAYONCE_EXAMPLEPAY_RESPONSE_TIMEOUT_MS", "4000".to_owned())];
    World::with(Options { lab: true, shop, ..Options::default() }).await
}

fn token(scenario: Scenario) -> &'static str {
    match scenario.as_str() {
        "processing" => "tok_processing",
        "wrong_amount" => "tok_wrong_amount",
        _ => "tok_visa",
    }
}

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

/// Presses Pay on the lab's page.
async fn pay(world: &World, checkout: &str, token: &str) {
    let form = world.form_on(&format!("/lab/{checkout}")).await.expect("a payment form");
    assert_eq!(form.checkout, checkout, "the fault waits for this id");
    let (status, location, body) = world.post(&form, token).await;
    assert_eq!((status, location), (303, format!("/checkout/{checkout}")), "{body}");
}

/// Starts a listed scenario and pays.
async fn play(world: &World, scenario: Scenario) -> String {
    let checkout = start(world, &[("scenario", scenario.as_str())]).await;
    pay(world, &checkout, token(scenario)).await;
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
    let charges: Vec<i64> =
        effects.iter().filter(|(kind, _)| kind == "charge").map(|(_, amount)| *amount).collect();
    assert_eq!(told(html, "data-charges"), Some(charges.len().to_string()), "{what}");
    let sum: i64 = charges.iter().sum();
    assert_eq!(told(html, "data-sum"), Some(sum.to_string()), "{what}");
    assert_eq!(told(html, "data-state"), Some(world.state(checkout).await), "{what}");
    assert_eq!(told(html, "data-order-state"), Some(world.order_state(checkout).await), "{what}");
    let reached: Vec<String> = html
        .split(" data-to=\"")
        .skip(1)
        .map(|it| it.split('"').next().unwrap().to_owned())
        .collect();
    assert_eq!(reached, world.history(checkout).await, "{what}: every stored change, in order");
    let reference = format!("{}-", world.reference(checkout).await);
    let log = world.ask(&format!("/control/requests?reference_prefix={reference}")).await;
    let requests = log["requests"].as_array().unwrap().len();
    // Beside a person's review questions go on.
    let shown = count(html, "data-what=\"request\"");
    let more = usize::from(world.state(checkout).await == "requires_review");
    assert!((shown..=shown + more).contains(&requests), "{what}: {shown} of {requests}");
    assert_eq!(count(html, "data-what=\"sent\""), shown, "{what}: written down, then sent");
}

/// Plays scenarios one after the other; each ends paid, once, but for the one that differs.
async fn all_true(scenarios: impl Iterator<Item = Scenario>) {
    let world = world().await;
    for scenario in scenarios {
        let checkout = play(&world, scenario).await;
        if scenario == Scenario::HourOfTimeouts {
            let asked = async || count(&watch(&world, &checkout).await, "data-what=\"heard\"") >= 4;
            world.until_that("it has asked in vain", asked).await;
            let html = watch(&world, &checkout).await;
            assert!(html.contains("data-lab-calm"), "{html}");
            assert_eq!(told(&html, "data-agreement").as_deref(), Some("wait"));
            press(&world, &format!("/lab/{checkout}/calm"), &[]).await;
        }
        let html = until_over(&world, &checkout).await;
        expect_true(&world, &checkout, &html, scenario.as_str()).await;
        let (state, agreement) = if scenario == Scenario::WrongAmount {
            ("requires_review", "review")
        } else {
            ("succeeded", "agree")
        };
        world.agree(&checkout, state, 1).await;
        assert_eq!(told(&html, "data-agreement").as_deref(), Some(agreement), "{scenario}");
        assert!(!html.contains("data-lab-calm"), "{scenario}: its fault is gone");
        // What follows is as ordinary as ever.
        let next = world.buy("tok_visa").await;
        world.agree(&next, "succeeded", 1).await;
        assert_eq!(world.sends(&next).await.len(), 1, "after {scenario}");
    }
}

#[tokio::test]
async fn the_articles_scenarios_show_what_ledger_and_database_hold() {
    all_true(Scenario::listed().take(8)).await;
}

#[tokio::test]
async fn scenarios_of_lost_answers_and_news_show_what_ledger_and_database_hold() {
    all_true(Scenario::listed().skip(8).take(6)).await;
}

#[tokio::test]
async fn the_other_scenarios_show_what_ledger_and_database_hold() {
    all_true(Scenario::listed().skip(14)).await;
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
    let by = "select count(*) from operations where kind = 'payment' and confirmed_by = 'webhook'";
    assert_eq!(world.number(by).await, 1);
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
                ("times", "once"),
            ],
            "succeeded",
            1,
        ),
    ];
    for (chosen, state, charges) in rows {
        let mut fields = vec![("scenario", "own")];
        fields.extend(chosen);
        let checkout = start(&world, &fields).await;
        let token = if state == "rejected" { "tok_declined" } else { "tok_visa" };
        pay(&world, &checkout, token).await;
        world.agree(&checkout, state, charges).await;
        let html = watch(&world, &checkout).await;
        expect_true(&world, &checkout, &html, &format!("{chosen:?}")).await;
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
