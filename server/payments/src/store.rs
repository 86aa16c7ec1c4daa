//! The few statements the engine needs, in the domain's words.
//!
//! Only files below this one hold SQL. A [`Work`] is one transaction: nothing of it is seen by
//! others before [`Work::commit`], and dropping it undoes all. No provider is ever awaited while
//! one is open.

pub mod sqlite;

use async_trait::async_trait;
use domain::{
    catalogue::{Shortage, Sku},
    id::{AttemptId, CartId, CheckoutId, CustomerId, OperationId, OrderId},
    mail::{Fact, Recipient},
    money::{Currency, Money},
    operation::{Anomaly, CanceledWhy, Kind, ReviewReason, State},
    order::OrderState,
    refund_request::{AskedWhy, DeclinedWhy, RequestState},
    schedule::Timestamp,
};
use uuid::Uuid;

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database said no or did not answer.
    #[error("the database did not do what was asked")]
    Database(#[from] sqlx::Error),
    /// A row holds something this version does not understand.
    #[error("a stored value of {0} is not understood")]
    Unreadable(&'static str),
    /// A constraint forbids it: somebody else was first.
    #[error("the constraint {0} forbids it")]
    Constraint(String),
}

/// What became of a compare-and-set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    /// Written.
    Done,
    /// Somebody else was first: load again, decide again.
    Stale,
}

/// A customer's cart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cart {
    /// Which cart.
    pub id: CartId,
    /// Whose.
    pub customer: CustomerId,
    /// The price list it is counted in.
    pub currency: Currency,
    /// Counts its changes.
    pub version: i64,
    /// It became an order and does not change any more.
    pub ordered: bool,
    /// What is in it.
    pub lines: Vec<(Sku, u32)>,
}

/// What became of an order's goods.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goods {
    /// Kept aside while an outcome may still come.
    Reserved,
    /// Free for others.
    Free,
    /// Sold to this order.
    Sold,
}

domain::words!(Goods { Reserved => "reserved", Free => "free", Sold => "sold" });

/// A line of an order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderLine {
    /// Which product.
    pub sku: Sku,
    /// How many.
    pub quantity: u32,
    /// The price of one, in the order's currency.
    pub unit_minor: i64,
}

/// An order as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// Our id.
    pub id: OrderId,
    /// The shopper's intent.
    pub checkout_id: CheckoutId,
    /// The cart it came from.
    pub cart_id: CartId,
    /// That cart's version.
    pub cart_version: i64,
    /// Whose.
    pub customer: CustomerId,
    /// The number for people.
    pub reference: String,
    /// Where it stands.
    pub state: OrderState,
    /// The fingerprint of what was asked for.
    pub request_hash: String,
    /// What it costs.
    pub amount: Money,
    /// What became of its goods.
    pub goods: Goods,
    /// Counts its committed changes.
    pub sequence: i64,
    /// Where the shopper wants to be written to.
    pub mail_to: Option<Recipient>,
    /// In which language.
    pub language: String,
    /// When it was placed.
    pub created_at: Timestamp,
    /// What was ordered.
    pub lines: Vec<OrderLine>,
}

/// An operation as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the columns are explained where they are made: migrations/sqlite")]
pub struct Operation {
    pub id: OperationId,
    pub kind: Kind,
    pub order_id: OrderId,
    pub attempt: u32,
    pub provider: String,
    pub provider_operation_id: Option<String>,
    pub effect_id: Option<String>,
    pub reference: String,
    pub account: Option<String>,
    pub state: State,
    pub version: i64,
    pub request_hash: String,
    pub amount: Money,
    pub instrument: Option<String>,
    pub acknowledged: bool,
    pub entered_at: Timestamp,
    pub unknown_since: Option<Timestamp>,
    pub next_action_at: Option<Timestamp>,
    pub deadline_at: Timestamp,
    pub lease_owner: Option<String>,
    pub lease_until: Option<Timestamp>,
    pub fence: i64,
    pub lookup_wanted: bool,
    pub lookups: u32,
    pub replays: u32,
    pub clean_sends: u32,
    pub looked_up_at: Option<Timestamp>,
    pub action_url: Option<String>,
    pub action_expires_at: Option<Timestamp>,
    pub decline_code: Option<String>,
    pub canceled_why: Option<CanceledWhy>,
    pub review_reason: Option<ReviewReason>,
    pub effect: Option<Money>,
    pub compensates: Option<OperationId>,
    pub refunds: Option<OperationId>,
    pub refund_request_id: Option<String>,
    pub created_at: Timestamp,
    pub confirmed_at: Option<Timestamp>,
    pub confirmed_by: Option<String>,
}

/// A step as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the columns are explained where they are made: migrations/sqlite")]
pub struct Step {
    pub operation_id: OperationId,
    pub name: String,
    pub position: i64,
    pub cancels: bool,
    pub idempotency_key: String,
    pub request_path: String,
    pub request_body: Option<String>,
    pub request_hash: String,
    pub window_ms: Option<i64>,
    pub first_sent_at: Option<Timestamp>,
    pub tainted: bool,
    pub in_flight: bool,
    pub accepted: bool,
    pub sends: u32,
}

/// What is known of one request on the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the columns are explained where they are made: migrations/sqlite")]
pub struct Attempt {
    pub id: AttemptId,
    pub operation_id: OperationId,
    /// The step that is sent; `None` for a lookup.
    pub step: Option<String>,
    pub fence: i64,
    pub sent_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub replay: bool,
}

/// How a request ended, for the record.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the columns are explained where they are made: migrations/sqlite")]
pub struct AttemptEnd {
    pub ended_at: Timestamp,
    pub duration_ms: i64,
    pub transport_state: &'static str,
    pub http_status: Option<u16>,
    pub provider_request_id: Option<String>,
    pub provider_error: Option<String>,
    pub verdict: &'static str,
    pub cached: bool,
}

/// A request on the wire and what came of it, for whoever looks at the record.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the columns are explained where they are made: migrations/sqlite")]
pub struct Sent {
    pub step: Option<String>,
    pub sent_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub transport_state: String,
    pub http_status: Option<i64>,
    pub verdict: Option<String>,
    pub replay: bool,
}

/// A row of the history.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the columns are explained where they are made: migrations/sqlite")]
pub struct Transition {
    pub operation_id: OperationId,
    pub order_id: OrderId,
    pub from: Option<State>,
    pub to: State,
    pub evidence: String,
    pub source: String,
    pub version: i64,
    pub order_sequence: i64,
    pub order_state: OrderState,
    pub at: Timestamp,
}

/// What a provider told us, as received.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the columns are explained where they are made: migrations/sqlite")]
pub struct StoredEvent {
    pub id: i64,
    pub provider: String,
    pub event_id: String,
    pub event_type: String,
    pub body: String,
    pub tries: u32,
}

/// What became of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventState {
    /// Its news went through `decide`.
    Applied,
    /// Stored, but not applied yet: it is tried again apart.
    Parked,
    /// It is about nothing of ours that is known so far.
    Unmatched,
}

domain::words!(EventState { Applied => "applied", Parked => "parked", Unmatched => "unmatched" });

/// A mail as stored: one fact about one operation.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the columns are explained where they are made: migrations/sqlite")]
pub struct Mail {
    pub id: Uuid,
    pub order_id: OrderId,
    pub operation_id: OperationId,
    pub fact: Fact,
    pub state: MailState,
    pub tries: u32,
    pub in_flight: bool,
    pub next_action_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// What became of a mail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MailState {
    /// It is to be handed over, for the first time or again.
    Waiting,
    /// The mail server took it.
    Sent,
    /// The mail server said no for good.
    Refused,
    /// It was tried often enough.
    GivenUp,
    /// What it had to say was no longer so.
    Overtaken,
}

domain::words!(MailState {
    Waiting => "waiting",
    Sent => "sent",
    Refused => "refused",
    GivenUp => "given_up",
    Overtaken => "overtaken",
});

/// A shopper's request for a refund as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the columns are explained where they are made: migrations/sqlite")]
pub struct RefundAsk {
    pub order_id: OrderId,
    pub number: u32,
    pub state: RequestState,
    pub asked_why: Option<AskedWhy>,
    pub declined_why: Option<DeclinedWhy>,
    pub created_at: Timestamp,
    pub closed_at: Option<Timestamp>,
}

/// By what an event or a person names an operation.
#[derive(Clone, Copy, Debug)]
pub enum Named<'a> {
    /// Our reference at the provider.
    Reference(&'a str),
    /// The provider's id.
    ProviderId(&'a str),
    /// The provider's id of the effect.
    EffectId(&'a str),
    /// A step's key.
    Key(&'a str),
}

/// Where the engine keeps everything.
#[async_trait]
pub trait Store: Send + Sync {
    /// A transaction that may write. One at a time.
    async fn write(&self) -> Result<Box<dyn Work>, StoreError>;
    /// A transaction that reads one consistent state.
    async fn read(&self) -> Result<Box<dyn Work>, StoreError>;
    /// Closes all connections.
    async fn close(&self);
}

/// One transaction.
#[async_trait]
pub trait Work: Send {
    /// Makes it all true at once.
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;
    /// Marks a place to return to.
    async fn savepoint(&mut self) -> Result<(), StoreError>;
    /// Undoes what came after the mark.
    async fn undo_to_savepoint(&mut self) -> Result<(), StoreError>;

    /// The customer behind a session token's hash.
    async fn customer_of(&mut self, hash: &str) -> Result<Option<CustomerId>, StoreError>;
    /// A new session.
    async fn insert_session(
        &mut self,
        hash: &str,
        customer: CustomerId,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// A customer's open cart.
    async fn open_cart(&mut self, customer: CustomerId) -> Result<Option<Cart>, StoreError>;
    /// Any cart.
    async fn cart(&mut self, id: CartId) -> Result<Option<Cart>, StoreError>;
    /// Writes a cart and its lines, its version one up.
    async fn save_cart(&mut self, cart: &Cart, now: Timestamp) -> Result<(), StoreError>;
    /// The cart became an order.
    async fn close_cart(&mut self, id: CartId, now: Timestamp) -> Result<(), StoreError>;

    /// What may still be sold.
    async fn stock(&mut self) -> Result<Vec<(String, u32)>, StoreError>;
    /// Keeps goods aside; what is short, then nothing is kept.
    async fn reserve(&mut self, lines: &[OrderLine]) -> Result<Vec<Shortage>, StoreError>;
    /// Lets kept goods go.
    async fn release(&mut self, lines: &[OrderLine]) -> Result<(), StoreError>;
    /// Turns kept goods into sold ones.
    async fn sell(&mut self, lines: &[OrderLine]) -> Result<(), StoreError>;

    /// The order of a checkout.
    async fn order_of_checkout(&mut self, id: CheckoutId) -> Result<Option<Order>, StoreError>;
    /// The order made of a cart.
    async fn order_of_cart(&mut self, id: CartId) -> Result<Option<Order>, StoreError>;
    /// An order.
    async fn order(&mut self, id: OrderId) -> Result<Option<Order>, StoreError>;
    /// The order with this number for people.
    async fn order_of_reference(&mut self, reference: &str) -> Result<Option<Order>, StoreError>;
    /// A customer's orders, newest first.
    async fn orders_of(&mut self, customer: CustomerId) -> Result<Vec<Order>, StoreError>;
    /// A new order with its lines.
    async fn insert_order(&mut self, order: &Order) -> Result<(), StoreError>;
    /// State, goods and sequence of an order.
    async fn update_order(&mut self, order: &Order, now: Timestamp) -> Result<(), StoreError>;
    /// Unpaid orders that nobody touched since.
    async fn unpaid_orders(&mut self, before: Timestamp) -> Result<Vec<OrderId>, StoreError>;

    /// An operation.
    async fn operation(&mut self, id: OperationId) -> Result<Option<Operation>, StoreError>;
    /// The refund that this wish opened.
    async fn operation_of_refund_request(
        &mut self,
        id: &str,
    ) -> Result<Option<Operation>, StoreError>;
    /// All operations of an order, oldest first.
    async fn operations_of(&mut self, order: OrderId) -> Result<Vec<Operation>, StoreError>;
    /// The operation of this provider that bears this name.
    async fn find_operation(
        &mut self,
        provider: &str,
        name: Named<'_>,
    ) -> Result<Option<OperationId>, StoreError>;
    /// A new operation with its steps.
    async fn insert_operation(
        &mut self,
        operation: &Operation,
        steps: &[Step],
    ) -> Result<(), StoreError>;
    /// Writes an operation if its stored version is still `expected`.
    async fn update_operation(
        &mut self,
        operation: &Operation,
        expected: i64,
    ) -> Result<Stored, StoreError>;
    /// Operations of these providers whose time has come, soonest first. Times beyond `horizon` are
    /// a clock's fault.
    async fn due(
        &mut self,
        providers: &[&str],
        now: Timestamp,
        horizon: Timestamp,
        limit: u32,
    ) -> Result<Vec<OperationId>, StoreError>;
    /// When the next operation of these providers is due.
    async fn next_due(&mut self, providers: &[&str]) -> Result<Option<Timestamp>, StoreError>;
    /// How many operations of each provider that was ever asked for something are not settled.
    async fn count_unsettled(&mut self) -> Result<Vec<(String, i64)>, StoreError>;
    /// Since when the longest unknown outcome of each provider has been unknown.
    async fn oldest_unknown(&mut self) -> Result<Vec<(String, Timestamp)>, StoreError>;
    /// Ends every lease: whoever held one is gone.
    async fn end_leases(&mut self, now: Timestamp) -> Result<u64, StoreError>;
    /// How many operations stand in each state, by kind.
    async fn count_states(&mut self) -> Result<Vec<(String, String, i64)>, StoreError>;

    /// An operation's steps in order.
    async fn steps(&mut self, operation: OperationId) -> Result<Vec<Step>, StoreError>;
    /// A step that only now got its bytes.
    async fn insert_step(&mut self, step: &Step) -> Result<(), StoreError>;
    /// What became of a step's sends; its key and bytes never change.
    async fn update_step(&mut self, step: &Step) -> Result<(), StoreError>;
    /// Erases bodies and instruments of settled operations whose windows are over.
    async fn erase_bodies(&mut self, now: Timestamp) -> Result<u64, StoreError>;

    /// A request that will be on the wire once this is committed.
    async fn insert_attempt(&mut self, attempt: &Attempt) -> Result<(), StoreError>;
    /// How it ended. The first end stays.
    async fn end_attempt(&mut self, id: AttemptId, end: &AttemptEnd) -> Result<(), StoreError>;
    /// An operation's requests, oldest first.
    async fn attempts(&mut self, operation: OperationId) -> Result<Vec<Attempt>, StoreError>;
    /// An operation's requests and their ends, oldest first.
    async fn sent(&mut self, operation: OperationId) -> Result<Vec<Sent>, StoreError>;
    /// The newest time anything was committed at.
    async fn newest_time(&mut self) -> Result<Timestamp, StoreError>;

    /// One more line of the history.
    async fn insert_transition(&mut self, transition: &Transition) -> Result<(), StoreError>;
    /// An order's history after a sequence number.
    async fn transitions(
        &mut self,
        order: OrderId,
        after: i64,
    ) -> Result<Vec<(u32, Transition)>, StoreError>;

    /// Stores an event; `None` if it was there already.
    async fn insert_event(
        &mut self,
        event: &StoredEvent,
        now: Timestamp,
    ) -> Result<Option<i64>, StoreError>;
    /// What became of it.
    async fn update_event(
        &mut self,
        id: i64,
        state: EventState,
        operation: Option<OperationId>,
        next_try_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), StoreError>;
    /// Events that wait to be tried again.
    async fn waiting_events(
        &mut self,
        providers: &[&str],
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError>;
    /// Makes events that were about nothing known due again, where they name one of these.
    async fn wake_unmatched(
        &mut self,
        provider: &str,
        names: &[String],
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// When a provider's list was compared last, and up to when it was read.
    async fn last_sweep(
        &mut self,
        provider: &str,
    ) -> Result<Option<(Timestamp, Timestamp)>, StoreError>;
    /// It was compared now, and read up to now.
    async fn note_sweep(&mut self, provider: &str, now: Timestamp) -> Result<(), StoreError>;
    /// When the oldest of those was opened that have succeeded with this provider since then.
    async fn oldest_success(
        &mut self,
        provider: &str,
        since: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError>;
    /// What succeeded with this provider and was opened between these times.
    async fn succeeded_since(
        &mut self,
        provider: &str,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<Operation>, StoreError>;

    /// What contradicts the record.
    async fn insert_anomaly(
        &mut self,
        operation: Option<OperationId>,
        kind: Anomaly,
        source: &str,
        evidence: &str,
        detail: &str,
        now: Timestamp,
    ) -> Result<(), StoreError>;
    /// Tells a person, once per incident; false if that incident is open already.
    async fn raise_alert(
        &mut self,
        incident: &str,
        kind: &str,
        detail: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError>;
    /// The incident is over.
    async fn close_alert(&mut self, incident: &str, now: Timestamp) -> Result<(), StoreError>;
    /// Whether an incident is open.
    async fn alert_is_open(&mut self, incident: &str) -> Result<bool, StoreError>;
    /// How many incidents are open.
    async fn open_alerts(&mut self) -> Result<i64, StoreError>;
    /// Tells the rest of the shop, once per fact.
    async fn insert_outbox(
        &mut self,
        topic: &str,
        subject: &str,
        body: &str,
        now: Timestamp,
    ) -> Result<(), StoreError>;
    /// A mail to be sent; false if this fact has one already that was not overtaken.
    async fn insert_mail(&mut self, mail: &Mail) -> Result<bool, StoreError>;
    /// A mail.
    async fn mail(&mut self, id: Uuid) -> Result<Option<Mail>, StoreError>;
    /// Mails whose time has come, but none before an earlier one of its order.
    async fn due_mails(
        &mut self,
        now: Timestamp,
        horizon: Timestamp,
        limit: u32,
    ) -> Result<Vec<Uuid>, StoreError>;
    /// What became of a mail.
    async fn update_mail(&mut self, mail: &Mail) -> Result<(), StoreError>;
    /// Makes mails due at once that a process was handing over which is gone.
    async fn end_mail_tries(&mut self, now: Timestamp) -> Result<u64, StoreError>;
    /// Payments unknown since before then, of orders that are written to, not told of yet.
    async fn unknown_since(
        &mut self,
        before: Timestamp,
    ) -> Result<Vec<(OrderId, OperationId)>, StoreError>;
    /// Whether an operation was ever in one of these states.
    async fn was_in(&mut self, operation: OperationId, any: &[State]) -> Result<bool, StoreError>;

    /// The newest request for a refund of an order.
    async fn newest_ask(&mut self, order: OrderId) -> Result<Option<RefundAsk>, StoreError>;
    /// A new request, or what became of one.
    async fn save_ask(&mut self, ask: &RefundAsk) -> Result<(), StoreError>;

    /// What a person did.
    async fn insert_audit(
        &mut self,
        who: &str,
        act: &str,
        subject: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), StoreError>;
}
