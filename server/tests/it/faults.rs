//! One list of faults through every payment adapter, and one table of what has to come of them.

use End::{Known, None as Nothing, Open, Told};
use serde_json::{Value, json};

use crate::{
    harness::World,
    wires::{EXAMPLEPAY, PAYPAL, STRIPE, WIRES, Wire, approve},
};

/// What has to come of a fault. Whatever it is, it is never a no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Paid once, and at no moment was the outcome unknown.
    Known,
    /// Paid once; the outcome was unknown until a lookup, a repeat or an event told it.
    Told,
    /// Nobody can be asked and no event tells: unknown until the deadline, and nothing is taken.
    Open,
    /// There is nothing to play: this request makes no event, or none that can say this.
    None,
}

/// What a provider does with the requests of one step, one after the other.
struct Fault {
    name: &'static str,
    steps: fn(Wire) -> Value,
    /// ExamplePay takes; Stripe prepares, takes; PayPal prepares, takes.
    ends: [End; 5],
}

/// How fault scripts name a request of a wire.
type Named = fn(Wire) -> &'static str;

/// The requests that are made to misbehave, in the order of [`Fault::ends`].
const COLUMNS: [(Wire, Named); 5] = [
    (EXAMPLEPAY, |it| it.takes),
    (STRIPE, |it| it.prepares.unwrap()),
    (STRIPE, |it| it.takes),
    (PAYPAL, |it| it.prepares.unwrap()),
    (PAYPAL, |it| it.takes),
];

const ERROR: &str = r#"{"error":{"type":"api_error","message":"?"}}"#;

fn status(code: u16, body: &str) -> Value {
    json!({"kind": "status", "status": code, "body": body})
}

fn lost() -> Value {
    json!({"kind": "drop_before_headers"})
}

/// Done, the answer dropped, and this happens to the event.
fn lost_with(webhook: &Value) -> Value {
    json!([{"answer": lost(), "webhook": webhook}])
}

const FAULTS: [Fault; 24] = [
    Fault { name: "nothing", steps: |_| json!([{}]), ends: [Known; 5] },
    Fault { name: "done, answer dropped", steps: |_| json!([{"answer": lost()}]), ends: [Told; 5] },
    Fault {
        name: "not done, connection dropped",
        steps: |_| json!([{"execute": false, "answer": lost()}]),
        ends: [Told; 5],
    },
    Fault {
        name: "done, 500",
        steps: |_| json!([{"answer": status(500, ERROR)}]),
        ends: [Told; 5],
    },
    Fault {
        name: "done, 500 for ever",
        steps: |_| json!([{"answer": status(500, ERROR), "save": true}]),
        ends: [Told, Told, Told, Open, Told],
    },
    Fault {
        name: "not done, 500",
        steps: |_| json!([{"execute": false, "answer": status(500, ERROR)}]),
        ends: [Told; 5],
    },
    Fault {
        name: "done, half an answer",
        steps: |_| json!([{"answer": {"kind": "cut_mid_body"}}]),
        ends: [Told; 5],
    },
    Fault {
        name: "done, a web page",
        steps: |_| json!([{"answer": status(200, "<html>Welcome</html>")}]),
        ends: [Told; 5],
    },
    Fault {
        name: "done, an answer past all bounds",
        steps: |_| json!([{"answer": status(200, &"x".repeat(1_200_000))}]),
        ends: [Told; 5],
    },
    Fault {
        name: "done, 424",
        steps: |_| json!([{"answer": status(424, ERROR)}]),
        ends: [Told; 5],
    },
    Fault {
        name: "done, a code nobody has listed",
        steps: |it| json!([{"answer": status(it.unlisted.0, it.unlisted.1)}]),
        ends: [Told; 5],
    },
    Fault {
        name: "not done, 429",
        steps: |_| json!([{"execute": false, "answer": status(429, ERROR)}]),
        ends: [Known; 5],
    },
    Fault {
        name: "done, dropped, then the repeat is called malformed",
        steps: |it| {
            let malformed = status(it.malformed.0, it.malformed.1);
            json!([{"answer": lost()}, {"execute": false, "answer": malformed}])
        },
        ends: [Told; 5],
    },
    Fault {
        name: "done, dropped, and not found for a while",
        steps: |_| json!([{"answer": lost(), "lookup": {"not_found_for_ms": 1500}}]),
        ends: [Told; 5],
    },
    Fault {
        name: "done, the event before the answer",
        steps: |_| json!([{"delay_ms": 700, "webhook": {"mode": "before_response"}}]),
        ends: [Known, Known, Known, Nothing, Known],
    },
    Fault {
        name: "done, dropped, the event three times",
        steps: |_| lost_with(&json!({"mode": "copies", "copies": 3})),
        ends: [Told, Nothing, Told, Nothing, Told],
    },
    Fault {
        name: "done, dropped, the event late",
        steps: |_| lost_with(&json!({"mode": "delayed", "delay_ms": 2000})),
        ends: [Told, Nothing, Told, Nothing, Told],
    },
    Fault {
        name: "done, dropped, no event",
        steps: |_| lost_with(&json!({"mode": "never"})),
        ends: [Told, Told, Told, Nothing, Told],
    },
    Fault {
        name: "done, dropped, an event with another amount",
        steps: |_| lost_with(&json!({"wrong": "amount"})),
        ends: [Told, Nothing, Told, Nothing, Told],
    },
    Fault {
        name: "done, dropped, an event in another currency",
        steps: |_| lost_with(&json!({"wrong": "currency"})),
        ends: [Told, Nothing, Told, Nothing, Told],
    },
    Fault {
        name: "done, dropped, an event with another's reference",
        steps: |_| lost_with(&json!({"wrong": "reference"})),
        ends: [Told, Nothing, Told, Nothing, Told],
    },
    Fault {
        name: "done, dropped, an event of another account",
        steps: |_| lost_with(&json!({"wrong": "account"})),
        ends: [Told, Nothing, Told, Nothing, Nothing],
    },
    Fault {
        name: "done, dropped, a live event about a test",
        steps: |_| lost_with(&json!({"wrong": "livemode"})),
        ends: [Told, Nothing, Told, Nothing, Nothing],
    },
    Fault {
        name: "done, dropped, an event with a false signature",
        steps: |_| lost_with(&json!({"wrong": "signature"})),
        ends: [Told, Nothing, Told, Nothing, Told],
    },
];

/// Follows a payment to an end that a fault must not reach unseen: at every moment the page offers
/// no second payment, and calls paid what is paid and nothing else.
async fn follow(world: &World, checkout: &str, about: &str) {
    let paid = async || {
        let shown = world.status(checkout).await;
        let html = shown["html"].as_str().unwrap();
        assert!(!html.contains("data-pay-control"), "{about}: a second payment is offered");
        assert_ne!(shown["face"], "declined", "{about}");
        // The page was read first: what it calls paid was paid before.
        let succeeded = world.state(checkout).await == "succeeded";
        assert!(succeeded || shown["face"] != "paid", "{about}: {shown}");
        succeeded && shown["face"] == "paid"
    };
    world.until_that(&format!("{about}: it is paid"), paid).await;
}

/// Who told that a payment succeeded.
async fn told_by(world: &World, checkout: &str) -> String {
    sqlx::query_scalar(
        "select source from transitions join orders on orders.id = order_id
         where checkout_id = ? and to_state = 'succeeded' order by order_sequence limit 1",
    )
    .bind(checkout)
    .fetch_one(world.database())
    .await
    .unwrap()
}

/// One cell of the table.
async fn play(world: &World, wire: Wire, operation: &str, fault: &Fault, end: End) {
    let about = format!("{}, {operation}: {}", wire.name, fault.name);
    world.control("/control/faults/clear", &json!({})).await;
    world.fault(operation, (fault.steps)(wire)).await;
    let checkout = world.buy(wire.pays).await;
    approve(world, wire, &checkout, "balance").await;
    follow(world, &checkout, &about).await;
    world.agree(&checkout, "succeeded", 1).await;
    assert_eq!(world.order_state(&checkout).await, "paid", "{about}");
    let history = world.history(&checkout).await;
    let no = |it: &String| matches!(it.as_str(), "rejected" | "canceled" | "reversed");
    assert!(!history.iter().any(no), "{about}: {history:?}");
    let doubted = history.contains(&"pending_confirmation".to_owned());
    match end {
        Known => assert!(!doubted, "{about}: nothing was unknown: {history:?}"),
        // An event may be faster than the loss of the answer.
        Told if doubted || told_by(world, &checkout).await == "webhook" => {}
        Told => panic!("{about}: nobody knew: {history:?}"),
        Open | Nothing => unreachable!("it is not played here"),
    }
}

/// In a world of its own, whose clock is set past the deadline.
async fn stays_open(wire: Wire, operation: &str, fault: &Fault) {
    let about = format!("{}, {operation}: {}", wire.name, fault.name);
    let world = World::start().await;
    world.fault(operation, (fault.steps)(wire)).await;
    let checkout = world.buy(wire.pays).await;
    world.until_sends(&checkout, 3).await;
    world.until(&checkout, &["pending_confirmation"]).await;
    assert!(world.next_form(&checkout).await.is_none(), "{about}: no second payment");
    assert_eq!(world.status(&checkout).await["face"], "checking", "{about}");
    world.set_clock(2 * 3600);
    world.until(&checkout, &["requires_review"]).await;
    assert_eq!(world.status(&checkout).await["face"], "in_review", "{about}");
    assert!(world.next_form(&checkout).await.is_none(), "{about}: a person looks first");
    assert!(
        world.effects(&checkout).await.is_empty(),
        "{about}: nothing moves without our capture"
    );
}

/// All faults of one column.
async fn play_all(column: usize) {
    let (wire, operation) = COLUMNS[column];
    let world = World::start().await;
    for fault in &FAULTS {
        match fault.ends[column] {
            Nothing => {}
            Open => stays_open(wire, operation(wire), fault).await,
            end @ (Known | Told) => play(&world, wire, operation(wire), fault, end).await,
        }
    }
}

#[tokio::test]
async fn every_fault_of_examplepays_payment_ends_as_the_table_says() {
    play_all(0).await;
}

#[tokio::test]
async fn every_fault_of_a_stripe_intent_ends_as_the_table_says() {
    play_all(1).await;
}

#[tokio::test]
async fn every_fault_of_a_stripe_confirmation_ends_as_the_table_says() {
    play_all(2).await;
}

#[tokio::test]
async fn every_fault_of_a_paypal_order_ends_as_the_table_says() {
    play_all(3).await;
}

#[tokio::test]
async fn every_fault_of_a_paypal_capture_ends_as_the_table_says() {
    play_all(4).await;
}

/// Both tables as the documentation shows them.
fn tables() -> String {
    let word = |end: &End| match end {
        Known => "paid",
        Told => "unknown, then paid",
        Open => "unknown until the deadline; nothing taken",
        Nothing => "-",
    };
    let mut lines = vec![
        "| fault | ExamplePay pays | Stripe `create` | Stripe `confirm` | PayPal `create` | PayPal `capture` |".to_owned(),
        "|---|---|---|---|---|---|".to_owned(),
    ];
    lines.extend(FAULTS.iter().map(|it| {
        let ends: Vec<&str> = it.ends.iter().map(word).collect();
        format!("| {} | {} |", it.name, ends.join(" | "))
    }));
    lines.push(String::new());
    lines.push("| on record | becomes | charges | the page says | another attempt |".to_owned());
    lines.push("|---|---|---|---|---|".to_owned());
    lines.extend(RECORDS.iter().map(|it| {
        let review = it.review.map_or(String::new(), |why| format!(", `{why}`"));
        let again = if it.again { "yes" } else { "no" };
        let (state, effects, face) = (it.state, it.effects, it.face);
        format!("| {} | `{state}`{review} | {effects:?} | `{face}` | {again} |", it.name)
    }));
    lines.join("\n")
}

#[test]
fn the_documentation_shows_the_tables_that_are_played() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/providers.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("<!-- faults -->\n").unwrap();
    let (shown, after) = rest.split_once("\n<!-- /faults -->").unwrap();
    if std::env::var_os("UPDATE_TABLE").is_some() {
        let page = format!("{before}<!-- faults -->\n{}\n<!-- /faults -->{after}", tables());
        return std::fs::write(path, page).unwrap();
    }
    println!("{}", tables());
    assert_eq!(shown, tables(), "UPDATE_TABLE=1 cargo test -p server --test it tables writes them");
}

/// What a provider may have on record, and what has to come of that.
struct OnRecord {
    name: &'static str,
    /// What the shopper chooses at ExamplePay, Stripe and PayPal; behind the bar, on PayPal's page.
    pays: [&'static str; 3],
    state: &'static str,
    review: Option<&'static str>,
    effects: &'static [i64],
    face: &'static str,
    /// Whether another attempt may be made.
    again: bool,
}

const RECORDS: [OnRecord; 7] = [
    OnRecord {
        name: "charged as asked",
        pays: ["tok_visa", "stripe:pm_card_visa", "paypal:wallet|balance"],
        state: "succeeded",
        review: None,
        effects: &[2990],
        face: "paid",
        again: false,
    },
    OnRecord {
        name: "declined",
        pays: ["tok_declined", "stripe:pm_card_visa_chargeDeclined", "paypal:wallet|refused"],
        state: "rejected",
        review: None,
        effects: &[],
        face: "declined",
        again: true,
    },
    OnRecord {
        name: "in processing, then charged",
        pays: ["tok_processing", "stripe:pm_sim_processing", "paypal:wallet|pending"],
        state: "succeeded",
        review: None,
        effects: &[2990],
        face: "paid",
        again: false,
    },
    OnRecord {
        name: "in processing, then declined",
        pays: [
            "tok_processing_declined",
            "stripe:pm_sim_processing_declined",
            "paypal:wallet|pending_declined",
        ],
        state: "rejected",
        review: None,
        effects: &[],
        face: "declined",
        again: true,
    },
    OnRecord {
        name: "another amount charged",
        pays: ["tok_wrong_amount", "stripe:pm_sim_wrong_amount", "paypal:wallet|wrong_amount"],
        state: "requires_review",
        review: Some("amount_mismatch"),
        effects: &[2991],
        face: "in_review",
        again: false,
    },
    OnRecord {
        name: "another currency charged",
        pays: [
            "tok_wrong_currency",
            "stripe:pm_sim_wrong_currency",
            "paypal:wallet|wrong_currency",
        ],
        state: "requires_review",
        review: Some("currency_mismatch"),
        effects: &[2990],
        face: "in_review",
        again: false,
    },
    OnRecord {
        name: "a status nobody has listed",
        pays: [
            "tok_unknown_status",
            "stripe:pm_sim_unknown_status",
            "paypal:wallet|unknown_status",
        ],
        state: "pending_confirmation",
        review: None,
        effects: &[],
        face: "checking",
        again: false,
    },
];

/// Whether the answer tells it or is lost: the record counts, and not how it was heard of.
#[tokio::test]
async fn what_the_provider_has_on_record_decides_on_every_wire() {
    for (place, wire) in WIRES.into_iter().enumerate() {
        for heard in ["by the answer", "by a lookup"] {
            let world = World::start().await;
            for record in &RECORDS {
                let about = format!("{}, {}, heard {heard}", wire.name, record.name);
                world.control("/control/faults/clear", &json!({})).await;
                if heard == "by a lookup" {
                    world.fault(wire.takes, lost_with(&json!({"mode": "never"}))).await;
                }
                let (pays, funding) =
                    record.pays[place].split_once('|').unwrap_or((record.pays[place], ""));
                let checkout = world.buy(pays).await;
                approve(&world, wire, &checkout, funding).await;
                let shown = async || world.status(&checkout).await["face"] == record.face;
                world.until(&checkout, &[record.state]).await;
                world.until_that(&about, shown).await;
                let effects: Vec<i64> =
                    world.effects(&checkout).await.iter().map(|it| it.1).collect();
                assert_eq!(effects, record.effects, "{about}");
                let review: Option<String> = sqlx::query_scalar(
                    "select review_reason from operations join orders on orders.id = order_id
                     where checkout_id = ? and kind = 'payment'",
                )
                .bind(&checkout)
                .fetch_one(world.database())
                .await
                .unwrap();
                assert_eq!(review.as_deref(), record.review, "{about}");
                let again = world.next_form(&checkout).await.is_some();
                assert_eq!(again, record.again, "{about}");
            }
        }
    }
}
