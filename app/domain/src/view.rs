//! What a page is told about a checkout. Only committed facts stand here.

use serde::{Deserialize, Serialize};

use crate::{
    catalogue::Sku,
    id::{CartId, CheckoutId},
    money::Money,
    operation::{CanceledWhy, ReviewReason, State},
    order::OrderState,
    refund_request::{DeclinedWhy, RequestState},
    schedule::Timestamp,
};

/// What a shopper is shown for a payment; one face may stand for several states.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Face {
    /// Recorded or being sent for the first time.
    Sending,
    /// The provider waits for the shopper.
    ConfirmAtBank,
    /// The outcome is not known.
    Checking,
    /// The outcome is not known and a person looks at it.
    InReview,
    /// The money was taken.
    Paid,
    /// The provider said no.
    Declined,
    /// Proven not to have happened.
    NotCompleted,
    /// Taken, and undone by the provider later.
    Reversed,
}

/// A line of a cart or an order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LineView {
    /// Which product.
    pub sku: Sku,
    /// How many.
    pub quantity: u32,
    /// The price of one.
    pub unit: Money,
    /// The price of all of them.
    pub total: Money,
}

/// A cart as its owner sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CartView {
    /// Which cart.
    pub id: CartId,
    /// Counts the changes; a payment form names the version its shopper saw.
    pub version: i64,
    /// What is in it, in the order it was put there.
    pub lines: Vec<LineView>,
    /// The sum of all lines.
    pub total: Money,
    /// How many things in all.
    pub count: u32,
}

/// The newest payment operation of an order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PaymentView {
    /// 1 for the first payment, 2 after a real decline.
    pub attempt: u32,
    /// The stored state.
    pub state: State,
    /// What the shopper is shown for it.
    pub face: Face,
    /// When this state was entered.
    pub since: Timestamp,
    /// Since when the outcome has been unknown, while it is.
    pub unknown_since: Option<Timestamp>,
    /// It has been unknown for longer than somebody waits at a page.
    pub unknown_long: bool,
    /// When the provider was last asked.
    pub last_check_at: Option<Timestamp>,
    /// When it will be asked next, while something is open.
    pub next_check_at: Option<Timestamp>,
    /// When automatic checking hands over to a person.
    pub deadline_at: Timestamp,
    /// Where the shopper confirms; only in `requires_action` and before it expires.
    pub action_url: Option<String>,
    /// Why it was declined, the provider's code.
    pub decline_code: Option<String>,
    /// Whether the provider's contract says that a decline takes no money.
    pub no_money_taken: bool,
    /// Why it was canceled.
    pub canceled_why: Option<CanceledWhy>,
    /// Why a person looks at it.
    pub review_reason: Option<ReviewReason>,
    /// What was found at the provider, where that is on record.
    pub effect: Option<Money>,
    /// Who the provider is, for a person.
    pub provider: String,
}

/// A refund of an order, newest last.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RefundView {
    /// The stored state.
    pub state: State,
    /// How much goes back.
    pub amount: Money,
    /// It was made at the provider's side, not by us.
    pub outside: bool,
    /// When this state was entered.
    pub since: Timestamp,
}

/// The newest request for a refund that the shopper made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RefundRequestView {
    /// Where it stands.
    pub state: RequestState,
    /// When it was made.
    pub asked_at: Timestamp,
    /// Why a person said no.
    pub declined_why: Option<DeclinedWhy>,
}

/// What only the owner's session is shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OwnerView {
    /// What was ordered.
    pub lines: Vec<LineView>,
    /// What it costs.
    pub total: Money,
    /// The cart it came from; the form for another attempt names it.
    pub cart_id: CartId,
    /// That cart's version.
    pub cart_version: i64,
    /// When the order was placed.
    pub created_at: Timestamp,
    /// Money that goes back.
    pub refunds: Vec<RefundView>,
    /// Where the parcel stands, once there is one to hand over.
    pub parcel: Option<State>,
    /// Where the invoice stands, and its number, once there is one to write.
    pub invoice: Option<(State, String)>,
    /// Which attempt a payment form must carry; `None` while no payment control may be shown.
    pub pay_attempt: Option<u32>,
    /// The outcome of this payment will be written to the shopper.
    pub mail_promised: bool,
    /// Where mails about this order go, masked.
    pub mail_to: Option<String>,
    /// What the shopper asked for last.
    pub refund_request: Option<RefundRequestView>,
    /// Which request a form for a refund must carry; `None` while none may be made.
    pub ask_refund: Option<u32>,
}

/// A checkout as its status page shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckoutView {
    /// The shopper's intent.
    pub checkout_id: CheckoutId,
    /// The order's number for people, such as `P-7K3M-2QXA`.
    pub reference: String,
    /// Where the order stands.
    pub order_state: OrderState,
    /// Counts the order's committed changes; a stream resumes after it.
    pub sequence: i64,
    /// The newest payment.
    pub payment: PaymentView,
    /// Nothing can change any more without a new act of somebody.
    pub settled: bool,
    /// The server's time when this was read.
    pub now: Timestamp,
    /// Lines, amounts and controls; `None` for anyone but the owner.
    pub owner: Option<OwnerView>,
}

/// One row of "my orders".
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OrderSummary {
    /// The link to its page.
    pub checkout_id: CheckoutId,
    /// The order's number for people.
    pub reference: String,
    /// Where the order stands.
    pub order_state: OrderState,
    /// What the shopper is shown for its newest payment.
    pub face: Face,
    /// The provider of that payment.
    pub provider: String,
    /// What it costs.
    pub total: Money,
    /// How many things in all.
    pub count: u32,
    /// When it was placed.
    pub created_at: Timestamp,
}
