//! What the engine asks of a provider, and how to add one.
//!
//! An adapter is one file below this one with the same four functions in the same order:
//! `encode` (our intent to the provider's bytes), `decode` (the provider's answer to one
//! [`Verdict`]), `verify_webhook` (both pure), and `send` (thin). It declares a [`Capability`] per
//! kind; what may be done after an unknown result follows from that and is decided elsewhere.

pub mod examplepay;
pub mod invoicing;
pub mod paypal;
pub mod shipping;
pub mod stripe;
mod wire;

pub use wire::ClientError;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{
    capability::Capability,
    evidence::{Outcome, Verdict},
    money::Money,
    operation::Kind,
    schedule::Timestamp,
};

/// Makes [`Access`], which is everyone the shop can be set up with, and [`make`] out of one line
/// per provider.
macro_rules! registry {
    ($($(#[$doc:meta])* $name:ident => $module:ident::$settings:ident,)+) => {
        /// Everyone the shop can be set up with.
        #[derive(Clone, Debug)]
        pub enum Access {
            $($(#[$doc])* $name($module::$settings),)+
        }

        /// The adapter for a provider.
        ///
        /// # Errors
        /// Its HTTP client could not be made.
        pub fn make(access: Access) -> Result<Arc<dyn Provider>, ClientError> {
            Ok(match access {
                $(Access::$name(settings) => Arc::new($module::$name::new(settings)?),)+
            })
        }
    };
}

registry! {
    /// ExamplePay.
    ExamplePay => examplepay::ExamplePaySettings,
    /// Stripe.
    Stripe => stripe::StripeSettings,
    /// PayPal.
    PayPal => paypal::PayPalSettings,
    /// Whoever writes the invoices.
    Invoicing => invoicing::InvoicingSettings,
    /// Whoever carries the parcels.
    Shipping => shipping::ShippingSettings,
}

/// What an operation asks of its provider; encoded once, before anything is sent.
#[derive(Clone, Debug)]
pub struct Intent<'a> {
    /// What kind of operation.
    pub kind: &'a Kind,
    /// How much.
    pub amount: Money,
    /// Our reference, by which the provider's record can be found.
    pub reference: &'a str,
    /// The token the shopper chose.
    pub instrument: Option<&'a str>,
    /// Where the provider's page sends the shopper back to.
    pub return_url: &'a str,
    /// The provider's id of this object, for steps on an existing one.
    pub provider_id: Option<&'a str>,
    /// What is given back, for refunds.
    pub parent: Option<Parent<'a>>,
    /// The shopper's intent, for support.
    pub checkout: &'a str,
    /// The order's number for people.
    pub order: &'a str,
    /// What was ordered.
    pub lines: &'a [Line<'a>],
}

/// The payment behind a refund, by the provider's ids.
#[derive(Clone, Copy, Debug)]
pub struct Parent<'a> {
    /// Of the object.
    pub provider_id: &'a str,
    /// Of the effect, where it differs.
    pub effect_id: Option<&'a str>,
}

/// A line of the order.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The product's short name.
    pub sku: &'a str,
    /// How many.
    pub quantity: u32,
    /// The price of one, in minor units of the operation's currency.
    pub unit_minor: i64,
}

/// The bytes of a step: written once, sent again unchanged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Encoded {
    /// The path below the provider's address.
    pub path: String,
    /// The body.
    pub body: String,
}

/// Why an intent has no bytes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeError {
    /// The provider has no such endpoint.
    #[error("the provider has no step named {0}")]
    UnknownStep(String),
    /// Something the step needs is not known.
    #[error("the step needs {0}")]
    Missing(&'static str),
    /// The provider cannot take this amount: it is refused before anything is opened.
    #[error("{0}")]
    Amount(String),
}

/// One mutating request.
#[derive(Clone, Debug)]
pub struct Call {
    /// The stored path.
    pub path: String,
    /// The stored key.
    pub key: String,
    /// The stored bytes.
    pub body: String,
    /// What kind of operation.
    pub kind: Kind,
    /// What is left of the lease; the call ends before it.
    pub time_left: Duration,
}

/// One question about an outcome.
#[derive(Clone, Debug)]
pub struct Question {
    /// What kind of operation.
    pub kind: Kind,
    /// The provider's id, once known.
    pub provider_id: Option<String>,
    /// Our reference.
    pub reference: String,
    /// How much it is about: names the wire's scale of the answer.
    pub amount: Money,
    /// The provider's id of the payment behind a refund.
    pub parent_id: Option<String>,
    /// The provider's id of that payment's effect.
    pub parent_effect_id: Option<String>,
    /// What is left of the lease; the call ends before it.
    pub time_left: Duration,
}

/// How a request ended on the wire. Never a business result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// A whole answer arrived.
    Answered,
    /// No byte of the request left.
    NotSent,
    /// No answer within the response timeout.
    TimedOut,
    /// The connection ended before or within the answer.
    ConnectionLost,
}

domain::words!(Transport {
    Answered => "answered",
    NotSent => "not_sent",
    TimedOut => "timed_out",
    ConnectionLost => "connection_lost",
});

/// A judged answer and what is kept of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// What it says.
    pub verdict: Verdict,
    /// The provider marked it as one it gave before.
    pub cached: bool,
    /// How the request ended on the wire.
    pub transport: Transport,
    /// The status, for support; nothing decides on it.
    pub http_status: Option<u16>,
    /// The provider's id of the request, for support.
    pub request_id: Option<String>,
    /// The provider's error code, for support.
    pub provider_error: Option<String>,
    /// Something no list of ours knows: a person should look.
    pub unlisted: Option<String>,
}

/// A verified event, judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The provider's id of the event.
    pub id: String,
    /// Its type.
    pub kind: String,
    /// When the fact happened, by the provider's clock.
    pub occurred_at: Option<Timestamp>,
    /// Our reference, if it names one.
    pub reference: Option<String>,
    /// Our key, if it names one.
    pub key: Option<String>,
    /// The provider's id of the object.
    pub provider_id: Option<String>,
    /// The provider's id of the effect, if it names one.
    pub effect_id: Option<String>,
    /// A refund or a dispute, as an operation of its own would record it if none of ours made it.
    pub made_elsewhere: Option<Listed>,
    /// It is about money that went back, even where that cannot be read: never about the payment.
    pub gives_back: bool,
    /// What it says.
    pub verdict: Verdict,
    /// Whether it comes from the provider's live mode.
    pub live: bool,
}

/// What a record in a provider's list is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListedKind {
    /// Money that was taken, or may be.
    Taken,
    /// Money that went back, by a refund or a dispute.
    GivenBack,
}

/// A record in a provider's list, to be compared with ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// What it is.
    pub kind: ListedKind,
    /// The provider's id.
    pub provider_id: String,
    /// That id is the effect's, which is another one than the object's: a capture of an order.
    pub is_effect: bool,
    /// Our reference, if it has one.
    pub reference: Option<String>,
    /// The payment that money went back from, by the provider's id.
    pub parent: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
    /// How much.
    pub amount: Money,
}

/// What a provider's list says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listing {
    /// Everything since then.
    All {
        /// The records.
        rows: Vec<Listed>,
        /// What happened after this may be missing; `None` if nothing is.
        complete_until: Option<Timestamp>,
    },
    /// No whole list came: nothing can be said.
    Unanswered,
    /// The provider keeps no list.
    None,
}

/// What a provider's own form in the browser needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InBrowser {
    /// The provider's script.
    pub script: &'static str,
    /// Where else its form goes: hosts of frames and of requests.
    pub hosts: &'static [&'static str],
    /// The key that anybody may see.
    pub public_key: String,
    /// The amount, in the provider's units.
    pub amount: i64,
    /// Its currency, as the provider writes it.
    pub currency: String,
}

/// Why an event is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WebhookError {
    /// No secret is configured: the endpoint is off.
    #[error("webhooks of this provider are off: no secret is configured")]
    Off,
    /// The signature does not fit, or is too old or too new.
    #[error("the signature is not valid")]
    Signature,
    /// It is signed, but no event.
    #[error("the body is not an event")]
    Malformed,
}

/// A payment provider, as the engine sees it.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The name in rows, routes and logs.
    fn name(&self) -> &'static str;
    /// The account our objects belong to.
    fn account(&self) -> Option<&str>;
    /// Whether our credentials are for real money.
    fn live(&self) -> bool;
    /// Whether it tells news and nothing is set to verify them with.
    fn is_deaf(&self) -> bool {
        false
    }
    /// What it promises for a kind; `None` if it does not do it.
    fn capability(&self, kind: &Kind) -> Option<Capability>;
    /// The bytes of a step.
    ///
    /// # Errors
    /// The provider has no such step, or it needs something that is not known.
    fn encode(&self, step: &str, intent: &Intent<'_>) -> Result<Encoded, EncodeError>;
    /// Sends one mutating request, once.
    async fn send(&self, call: &Call) -> Answer;
    /// Asks once.
    async fn look_up(&self, question: &Question) -> Answer;
    /// Verifies raw bytes and judges the event in them.
    ///
    /// # Errors
    /// See [`WebhookError`].
    async fn verify_webhook(
        &self,
        headers: &[(String, String)],
        body: &[u8],
        now: Timestamp,
    ) -> Result<Event, WebhookError>;
    /// Judges an event that was verified and stored before.
    ///
    /// # Errors
    /// The body is no event.
    fn read_event(&self, body: &str) -> Result<Event, WebhookError>;
    /// Everything made since then, for the daily comparison with ours.
    async fn list(&self, _since: Timestamp) -> Listing {
        Listing::None
    }
    /// How late a record may come into that list, by the provider's own word.
    fn list_lateness(&self) -> Duration {
        Duration::ZERO
    }
    /// The provider's own form in the browser for this amount, where one is set up. What it yields
    /// is a token like any other; no secret of a payment ever leaves the server.
    fn in_browser(&self, _amount: Money) -> Option<InBrowser> {
        None
    }
    /// The tokens a shop offers, in the order they are shown; none where none are shown.
    fn test_tokens(&self) -> &'static [&'static str];
}

/// What is only told of: nothing is sent for it, and nobody is asked.
fn told_only(base: Capability) -> Capability {
    Capability {
        steps: Vec::new(),
        cancel: None,
        lookup: None,
        needs_our_last_step: false,
        late_failure_reverses: true,
        // A dispute may take months.
        deadline: Duration::from_secs(180 * 24 * 3600),
        ..base
    }
}

/// What a request that was never begun says.
pub fn unsent(asking: bool) -> Answer {
    wire::unanswered(Transport::NotSent, asking)
}

#[cfg(test)]
mod tests;
