//! The columns of the table, and the list that is played in each of them.

use serde_json::{Value, json};

use super::End::{self, Known, None as Nothing, Open, Person, Told};
use crate::wires::{EXAMPLEPAY, PAYPAL, STRIPE, Wire};

/// The requests that are made to misbehave: those of a payment, of a refund, and of a partner.
pub struct Column {
    pub title: &'static str,
    /// Who pays, and what its wire calls malformed, unlisted and unauthorized.
    pub wire: Wire,
    /// The request, as fault scripts name it.
    pub request: &'static str,
    /// The kind of the operation that sends it.
    pub kind: &'static str,
    /// When a request is done that nobody waits for any more.
    pub later_ms: u64,
}

const fn column(
    title: &'static str,
    wire: Wire,
    request: &'static str,
    kind: &'static str,
) -> Column {
    Column { title, wire, request, kind, later_ms: 2000 }
}

/// A partner, with what its wire says; the order is paid at ExamplePay. The shop waits 6 s for it.
const fn partner(title: &'static str, request: &'static str, kind: &'static str) -> Column {
    let wire = Wire {
        takes: request,
        malformed: (400, r#"{"error":"invalid_request","message":"no"}"#),
        unlisted: (418, r#"{"error":"something_new","message":"?"}"#),
        unauthorized: r#"{"error":"unauthorized"}"#,
        ..EXAMPLEPAY
    };
    Column { later_ms: 6500, ..column(title, wire, request, kind) }
}

/// In the order of [`Fault::ends`].
pub const COLUMNS: [Column; 10] = [
    column("ExamplePay pays", EXAMPLEPAY, EXAMPLEPAY.takes, "payment"),
    column("Stripe `create`", STRIPE, STRIPE.prepares.unwrap(), "payment"),
    column("Stripe `confirm`", STRIPE, STRIPE.takes, "payment"),
    column("PayPal `create`", PAYPAL, PAYPAL.prepares.unwrap(), "payment"),
    column("PayPal `capture`", PAYPAL, PAYPAL.takes, "payment"),
    column("ExamplePay refunds", EXAMPLEPAY, "create_refund", "refund"),
    column("Stripe refunds", STRIPE, "create_refund", "refund"),
    column("PayPal refunds", PAYPAL, "create_refund", "refund"),
    partner("an invoice", "create_invoice", "invoice"),
    partner("a parcel", "create_shipment", "shipment"),
];

/// What a provider does with the requests of one step, one after the other.
pub struct Fault {
    pub name: &'static str,
    pub steps: fn(&Column) -> Value,
    /// ExamplePay takes; Stripe prepares, takes; PayPal prepares, takes.
    pays: [End; 5],
    /// ExamplePay, Stripe and PayPal give back.
    refunds: [End; 3],
    /// The invoice, and the parcel.
    partners: [End; 2],
}

impl Fault {
    /// What has to come of it, column by column.
    pub fn ends(&self) -> impl Iterator<Item = End> {
        self.pays.into_iter().chain(self.refunds).chain(self.partners)
    }
}

const ERROR: &str = r#"{"error":{"type":"api_error","message":"?"}}"#;

fn status(code: u16, body: &str) -> Value {
    json!({"kind": "status", "status": code, "body": body})
}

fn lost() -> Value {
    json!({"kind": "drop_before_headers"})
}

fn never() -> Value {
    json!({"kind": "never"})
}

/// Done, the answer dropped, and this happens to the event.
pub fn lost_with(webhook: &Value) -> Value {
    json!([{"answer": lost(), "webhook": webhook}])
}

/// The list. A parcel is sent once: it has no repeat, and nobody to ask.
pub const FAULTS: [Fault; 28] = [
    Fault {
        name: "nothing",
        steps: |_| json!([{}]),
        pays: [Known; 5],
        refunds: [Known; 3],
        partners: [Known; 2],
    },
    Fault {
        name: "done, answer dropped",
        steps: |_| json!([{"answer": lost()}]),
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Person],
    },
    Fault {
        name: "not done, connection dropped",
        steps: |_| json!([{"execute": false, "answer": lost()}]),
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Person],
    },
    Fault {
        name: "done, never answered",
        steps: |_| json!([{"answer": never()}]),
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Person],
    },
    Fault {
        name: "not done, never answered",
        steps: |_| json!([{"execute": false, "answer": never()}]),
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Person],
    },
    Fault {
        name: "done later than anybody waits",
        steps: |it| json!([{"execute": "later", "execute_after_ms": it.later_ms, "answer": never()}]),
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Person],
    },
    Fault {
        name: "done, 500",
        steps: |_| json!([{"answer": status(500, ERROR)}]),
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Person],
    },
    Fault {
        name: "done, 500 for ever",
        steps: |_| json!([{"answer": status(500, ERROR), "save": true}]),
        pays: [Told, Told, Told, Open, Told],
        refunds: [Told; 3],
        partners: [Told, Person],
    },
    Fault {
        name: "not done, 500",
        steps: |_| json!([{"execute": false, "answer": status(500, ERROR)}]),
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Person],
    },
    Fault {
        name: "done, half an answer",
        steps: |_| json!([{"answer": {"kind": "cut_mid_body"}}]),
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Person],
    },
    Fault {
        name: "done, a web page",
        steps: |_| json!([{"answer": status(200, "<html>Welcome</html>")}]),
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Person],
    },
    Fault {
        name: "done, an answer past all bounds",
        steps: |_| json!([{"answer": status(200, &"x".repeat(1_200_000))}]),
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Person],
    },
    Fault {
        name: "done, 424",
        steps: |_| json!([{"answer": status(424, ERROR)}]),
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Person],
    },
    Fault {
        name: "done, a code nobody has listed",
        steps: |it| json!([{"answer": status(it.wire.unlisted.0, it.wire.unlisted.1)}]),
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Person],
    },
    Fault {
        name: "not done, 429",
        steps: |_| json!([{"execute": false, "answer": status(429, ERROR)}]),
        pays: [Known; 5],
        refunds: [Known; 3],
        partners: [Known; 2],
    },
    Fault {
        name: "not done, our key is not taken",
        steps: |it| json!([{"execute": false, "answer": status(401, it.wire.unauthorized)}]),
        pays: [Known; 5],
        refunds: [Known; 3],
        partners: [Known; 2],
    },
    Fault {
        name: "done, dropped, then the repeat is called malformed",
        steps: |it| {
            let malformed = status(it.wire.malformed.0, it.wire.malformed.1);
            let hidden = json!({"not_found_for_ms": 2500});
            json!([
                {"answer": lost(), "webhook": {"mode": "never"}, "lookup": hidden},
                {"execute": false, "answer": malformed},
            ])
        },
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Nothing],
    },
    Fault {
        name: "done, dropped, and not found for a while",
        steps: |_| json!([{"answer": lost(), "lookup": {"not_found_for_ms": 1500}}]),
        pays: [Told; 5],
        refunds: [Told; 3],
        partners: [Told, Nothing],
    },
    Fault {
        name: "done, the event before the answer",
        steps: |_| json!([{"delay_ms": 700, "webhook": {"mode": "before_response"}}]),
        pays: [Known, Known, Known, Nothing, Known],
        refunds: [Known; 3],
        partners: [Nothing; 2],
    },
    Fault {
        name: "done, dropped, the event three times",
        steps: |_| lost_with(&json!({"mode": "copies", "copies": 3})),
        pays: [Told, Nothing, Told, Nothing, Told],
        refunds: [Told; 3],
        partners: [Nothing; 2],
    },
    Fault {
        name: "done, dropped, the event late",
        steps: |_| lost_with(&json!({"mode": "delayed", "delay_ms": 2000})),
        pays: [Told, Nothing, Told, Nothing, Told],
        refunds: [Told; 3],
        partners: [Nothing; 2],
    },
    Fault {
        name: "done, dropped, no event",
        steps: |_| lost_with(&json!({"mode": "never"})),
        pays: [Told, Told, Told, Nothing, Told],
        refunds: [Told; 3],
        partners: [Nothing; 2],
    },
    Fault {
        name: "done, dropped, an event with another amount",
        steps: |_| lost_with(&json!({"wrong": "amount"})),
        pays: [Told, Nothing, Told, Nothing, Told],
        refunds: [Told; 3],
        partners: [Nothing; 2],
    },
    Fault {
        name: "done, dropped, an event in another currency",
        steps: |_| lost_with(&json!({"wrong": "currency"})),
        pays: [Told, Nothing, Told, Nothing, Told],
        refunds: [Told; 3],
        partners: [Nothing; 2],
    },
    Fault {
        name: "done, dropped, an event with another's reference",
        steps: |_| lost_with(&json!({"wrong": "reference"})),
        pays: [Told, Nothing, Told, Nothing, Told],
        refunds: [Told; 3],
        partners: [Nothing; 2],
    },
    Fault {
        name: "done, dropped, an event of another account",
        steps: |_| lost_with(&json!({"wrong": "account"})),
        pays: [Told, Nothing, Told, Nothing, Nothing],
        refunds: [Told, Told, Nothing],
        partners: [Nothing; 2],
    },
    Fault {
        name: "done, dropped, a live event about a test",
        steps: |_| lost_with(&json!({"wrong": "livemode"})),
        pays: [Told, Nothing, Told, Nothing, Nothing],
        refunds: [Told, Told, Nothing],
        partners: [Nothing; 2],
    },
    Fault {
        name: "done, dropped, an event with a false signature",
        steps: |_| lost_with(&json!({"wrong": "signature"})),
        pays: [Told, Nothing, Told, Nothing, Told],
        refunds: [Told; 3],
        partners: [Nothing; 2],
    },
];
