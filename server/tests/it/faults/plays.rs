//! How a cell of the table is played: through the shop's process, against the simulator.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    End::{self, Known, None as Nothing, Open, Person, Told},
    list::{COLUMNS, Column, FAULTS, Fault},
};
use crate::{
    harness::{Options, World},
    partners, refunds,
    wires::approve,
};

/// What is given back of 2990.
const BACK: i64 = 1000;

/// One operation that meets a fault.
struct Played<'a> {
    world: &'a World,
    column: &'a Column,
    fault: &'a Fault,
    checkout: String,
    /// What its requests are known by: a part of their keys, or of their reference.
    named: String,
}

/// A world with all that a column needs. `brief`: the shop does not wait long for payment answers.
async fn world(column: &Column, brief: bool) -> World {
    let timeouts = [
        "PAYONCE_EXAMPLEPAY_RESPONSE_TIMEOUT_MS",
        "PAYONCE_STRIPE_RESPONSE_TIMEOUT_MS",
        "PAYONCE_PAYPAL_RESPONSE_TIMEOUT_MS",
    ];
    let mut shop = vec![("PAYONCE_OPERATOR_TOKEN", refunds::TOKEN.to_owned())];
    if brief {
        shop.extend(timeouts.map(|name| (name, "600".to_owned())));
    }
    let partners = matches!(column.kind, "invoice" | "shipment");
    World::with(Options { shop, partners, ..Options::default() }).await
}

/// All faults of one column.
pub async fn play_all(title: &str) {
    let place = COLUMNS.iter().position(|it| it.title == title).unwrap();
    let column = &COLUMNS[place];
    let usual = world(column, false).await;
    let brief = world(column, true).await;
    let mut unsettled = Vec::new();
    for fault in &FAULTS {
        let end = fault.ends().nth(place).unwrap();
        let never = (fault.steps)(column).to_string().contains("never\"}");
        let world = if never { &brief } else { &usual };
        match end {
            Nothing => {}
            Open => stays_open(column, fault).await,
            Known | Told => play(world, column, fault, end).await,
            Person => unsettled.push(is_a_persons(world, column, fault).await),
        }
    }
    never_sent_again(&[usual, brief], column, &unsettled).await;
}

/// Begins what meets the fault: a payment, a refund of one, or what a paid order needs.
async fn begin<'a>(world: &'a World, column: &'a Column, fault: &'a Fault) -> Played<'a> {
    world.control("/control/faults/clear", &json!({})).await;
    let steps = (fault.steps)(column);
    let refunds = column.kind == "refund";
    if !refunds {
        world.fault(column.request, steps.clone()).await;
    }
    let checkout = world.buy(column.wire.pays).await;
    approve(world, column.wire, &checkout, "balance").await;
    let mut named = checkout.clone();
    if column.kind != "payment" {
        world.agree(&checkout, "succeeded", 1).await;
        named = world.reference(&checkout).await;
    }
    if refunds {
        world.fault(column.request, steps).await;
        let id = Uuid::new_v4();
        assert_eq!(refunds::ask(world, &checkout, id, BACK).await.0, 202);
        named = id.to_string();
    }
    Played { world, column, fault, checkout, named }
}

/// A cell whose end is that it was done once.
async fn play(world: &World, column: &Column, fault: &Fault, end: End) {
    let it = begin(world, column, fault).await;
    let about = it.about();
    if column.kind == "payment" {
        it.follow_payment().await;
        world.agree(&it.checkout, "succeeded", 1).await;
    } else {
        it.follow_row("succeeded").await;
    }
    it.check_effects(1).await;
    it.check_sends().await;
    let wanted = if column.kind == "refund" { "partially_refunded" } else { "paid" };
    assert_eq!(world.order_state(&it.checkout).await, wanted, "{about}");
    let history = it.history().await;
    let no = |it: &String| {
        matches!(it.as_str(), "rejected" | "canceled" | "reversed" | "requires_review")
    };
    assert!(!history.iter().any(no), "{about}: {history:?}");
    let doubted = history.contains(&"pending_confirmation".to_owned());
    match end {
        Known => assert!(!doubted, "{about}: nothing was unknown: {history:?}"),
        // An event may be faster than the loss of the answer.
        Told if doubted || it.told_by().await == "webhook" => {}
        Told => panic!("{about}: nobody knew: {history:?}"),
        Open | Person | Nothing => unreachable!("it is not played here"),
    }
}

/// Nobody can be asked: a person's, for this very reason, done once if it was done, sent once.
async fn is_a_persons(world: &World, column: &Column, fault: &Fault) -> (String, String) {
    let it = begin(world, column, fault).await;
    let about = it.about();
    it.follow_row("requires_review").await;
    let reason: Option<String> = sqlx::query_scalar(
        "select review_reason from operations join orders on orders.id = order_id
         where checkout_id = ? and kind = ?",
    )
    .bind(&it.checkout)
    .bind(column.kind)
    .fetch_one(world.database())
    .await
    .unwrap();
    assert_eq!(reason.as_deref(), Some("no_lookup"), "{about}");
    let executed = (fault.steps)(column)[0]["execute"] != false;
    it.check_effects(usize::from(executed)).await;
    assert_eq!(it.sends().await.len(), 1, "{about}: sent once");
    assert_eq!(world.order_state(&it.checkout).await, "paid", "{about}");
    let history = it.history().await;
    assert_eq!(history.last().map(String::as_str), Some("requires_review"), "{about}: {history:?}");
    (about, it.named)
}

/// Long after every deadline, and when the next order was seen to, what is a person's is still
/// theirs: no second request, no second effect.
async fn never_sent_again(worlds: &[World], column: &Column, unsettled: &[(String, String)]) {
    if unsettled.is_empty() {
        return;
    }
    let mut seen = 0;
    for world in worlds {
        world.set_clock(24 * 3600);
        play(world, column, &FAULTS[0], Known).await;
        let requests = world.requests().await;
        let open: i64 = sqlx::query_scalar(
            "select count(*) from operations where kind = ? and state = 'requires_review'",
        )
        .bind(column.kind)
        .fetch_one(world.database())
        .await
        .unwrap();
        seen += usize::try_from(open).unwrap();
        for (about, named) in unsettled {
            let sent = requests.iter().filter(|it| is_send(column, named, it)).count();
            assert!(sent <= 1, "{about}: sent {sent} times");
        }
    }
    assert_eq!(seen, unsettled.len(), "all of them wait for a person");
}

/// In a world of its own, whose clock is set past the deadline.
async fn stays_open(column: &Column, fault: &Fault) {
    let world = world(column, false).await;
    world.fault(column.request, (fault.steps)(column)).await;
    let checkout = world.buy(column.wire.pays).await;
    let about = format!("{}: {}", column.title, fault.name);
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

/// Whether the log shows a request of this operation that may do something.
fn is_send(column: &Column, named: &str, request: &Value) -> bool {
    let (name, path) = match column.kind {
        "invoice" => ("reference", "/invoicing/invoices"),
        "shipment" => ("reference", "/shipping/shipments"),
        _ => ("key", ""),
    };
    request["method"] == "POST"
        && request["path"].as_str().is_some_and(|it| it.starts_with(path))
        && request[name].as_str().is_some_and(|it| it.contains(named))
}

impl Played<'_> {
    fn about(&self) -> String {
        format!("{}: {}", self.column.title, self.fault.name)
    }

    /// Follows a payment to an end that a fault must not reach unseen: at every moment the page
    /// offers no second payment, and calls paid what is paid and nothing else.
    async fn follow_payment(&self) {
        let (world, checkout, about) = (self.world, &self.checkout, self.about());
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

    /// Follows what its row on the page says of a refund, an invoice or a parcel: no more than is
    /// known, never a no, and the amount of a refund is kept all along.
    async fn follow_row(&self, wanted: &str) {
        let (world, about) = (self.world, self.about());
        let reached = async || {
            let shown = world.status(&self.checkout).await;
            assert_eq!(shown["face"], "paid", "{about}: the payment stays what it is");
            let html = shown["html"].as_str().unwrap();
            let (state, row) = self.row(html);
            let words: &[&str] = match (self.column.kind, state) {
                ("refund", "created" | "requested" | "retry_scheduled") => &["being sent"],
                ("refund", "pending_confirmation") => &["sent, not confirmed yet"],
                ("refund", "succeeded") => &["sent back"],
                ("invoice", "created" | "requested" | "retry_scheduled") => &["being written"],
                ("shipment", "created" | "requested" | "retry_scheduled") => &["being ordered"],
                ("invoice", "pending_confirmation") => &["being confirmed"],
                ("invoice", "succeeded") => &["INV-"],
                ("shipment", "requires_review") => &["being confirmed by a person"],
                ("shipment", "succeeded") => &["accepted by the shipping service"],
                (_, other) => panic!("{about}: the page shows {other}: {row}"),
            };
            assert!(words.iter().all(|it| row.contains(it)), "{about}: {state}: {row}");
            if self.column.kind == "refund" {
                let left = refunds::refundable(world, &self.checkout).await;
                assert_eq!(left, 2990 - BACK, "{about}: its amount is kept");
                assert!(
                    state == "succeeded" || !row.contains("sent back"),
                    "{about}: {state}: {row}"
                );
                assert!(
                    state == "succeeded" || !html.contains("refunded"),
                    "{about}: {state}: {html}"
                );
            }
            // The page was read first: what it says was so before.
            let now = world.states(&self.checkout, self.column.kind).await;
            assert!(state != "succeeded" || now == ["succeeded"], "{about}: {now:?}");
            state == wanted && now == [wanted]
        };
        world.until_that(&format!("{about}: {wanted}"), reached).await;
    }

    /// The state and the words of its row on the page.
    fn row<'a>(&self, html: &'a str) -> (&'a str, &'a str) {
        let (mark, end) = match self.column.kind {
            "refund" => ("class=\"refunds\"".to_owned(), "</li>"),
            "shipment" => ("data-partner=\"parcel\"".to_owned(), "</div>"),
            kind => (format!("data-partner=\"{kind}\""), "</div>"),
        };
        let about = self.about();
        let (_, rest) = html.split_once(&mark).unwrap_or_else(|| panic!("{about}: {html}"));
        let (row, _) = rest.split_once(end).unwrap();
        let (_, state) = row.split_once("data-state=\"").unwrap();
        (state.split_once('"').unwrap().0, row)
    }

    /// What really happened for it, and nothing besides. What is done late is waited for.
    async fn check_effects(&self, wanted: usize) {
        let about = self.about();
        let done = async || match self.column.kind {
            "payment" => self.world.effects(&self.checkout).await,
            "refund" => {
                let mut all = self.world.effects(&self.checkout).await;
                assert_eq!(all.first(), Some(&("charge".to_owned(), 2990)), "{about}: {all:?}");
                all.remove(0);
                all
            }
            kind => {
                let all = partners::done(self.world, &self.checkout).await;
                all.into_iter().filter(|it| it == kind).map(|it| (it, 0)).collect()
            }
        };
        let so_many = async || {
            let effects = done().await;
            assert!(effects.len() <= wanted, "{about}: {effects:?}");
            effects.len() == wanted
        };
        self.world.until_that(&format!("{about}: {wanted} effects"), so_many).await;
        let what = match self.column.kind {
            "payment" => ("charge".to_owned(), 2990),
            "refund" => ("refund".to_owned(), -BACK),
            kind => (kind.to_owned(), 0),
        };
        assert!(done().await.iter().all(|it| *it == what), "{about}: {what:?}");
    }

    async fn sends(&self) -> Vec<Value> {
        let mut all = self.world.requests().await;
        all.retain(|it| is_send(self.column, &self.named, it));
        all
    }

    /// Equal bytes under each key, or at all where there is none; each step of the fault was met;
    /// and no request without a row that was written before it.
    async fn check_sends(&self) {
        let about = self.about();
        let mut sends: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for send in self.sends().await {
            let key = send["key"].as_str().unwrap_or_default().to_owned();
            sends.entry(key).or_default().push(send["body_sha256"].clone());
        }
        assert!(sends.values().flatten().all(|it| it.is_string()), "{about}: {sends:?}");
        let equal = |bytes: &Vec<Value>| bytes.iter().all(|it| *it == bytes[0]);
        assert!(sends.values().all(equal), "{about}: the bytes changed: {sends:?}");
        let steps = (self.fault.steps)(self.column).as_array().unwrap().len();
        let most = sends.values().map(Vec::len).max().unwrap_or_default();
        assert!(most >= steps, "{about}: the fault was not met: {sends:?}");
        let written: i64 = sqlx::query_scalar(
            "select count(*) from attempts join operations on operations.id = operation_id
             join orders on orders.id = order_id
             where checkout_id = ? and kind = ? and step is not null",
        )
        .bind(&self.checkout)
        .bind(self.column.kind)
        .fetch_one(self.world.database())
        .await
        .unwrap();
        let sent: usize = sends.values().map(Vec::len).sum();
        assert!(sent <= usize::try_from(written).unwrap(), "{about}: {sent} sends, {written} rows");
    }

    /// Every state that the operation went through.
    async fn history(&self) -> Vec<String> {
        sqlx::query_scalar(
            "select to_state from transitions join orders on orders.id = transitions.order_id
             join operations on operations.id = operation_id
             where checkout_id = ? and kind = ? order by order_sequence",
        )
        .bind(&self.checkout)
        .bind(self.column.kind)
        .fetch_all(self.world.database())
        .await
        .unwrap()
    }

    /// Who told that it succeeded.
    async fn told_by(&self) -> String {
        sqlx::query_scalar(
            "select source from transitions join orders on orders.id = transitions.order_id
             join operations on operations.id = operation_id
             where checkout_id = ? and kind = ? and to_state = 'succeeded'
             order by order_sequence limit 1",
        )
        .bind(&self.checkout)
        .bind(self.column.kind)
        .fetch_one(self.world.database())
        .await
        .unwrap()
    }
}
