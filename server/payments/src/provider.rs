//! What the engine asks of a provider, and how to add one.
//!
//! An adapter is one file below this one with the same four functions in the same order:
//! `encode` (our intent to the provider's bytes), `decode` (the provider's answer to one
//! [`Verdict`]), `verify_webhook` (both pure), and `send` (thin). It declares a [`Capability`] per
//! kind; what may be done after an unknown result follows from that and is decided elsewhere.

pub mod examplepay;
mod wire;

pub use wire::ClientError;

use std::time::Duration;

use async_trait::async_trait;
use domain::{
    capability::Capability, evidence::Verdict, money::Money, operation::Kind, schedule::Timestamp,
};

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
    /// The provider's id of this object, for steps on an existing one; for refunds that of the
    /// payment.
    pub provider_id: Option<&'a str>,
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
    /// What it says.
    pub verdict: Verdict,
    /// Whether it comes from the provider's live mode.
    pub live: bool,
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
    fn verify_webhook(
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
    /// The tokens a demo shop offers, in the order they are shown.
    fn test_tokens(&self) -> &'static [&'static str];
}

/// What a request that was never begun says.
pub fn unsent(asking: bool) -> Answer {
    wire::unanswered(Transport::NotSent, asking)
}
