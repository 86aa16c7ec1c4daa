//! Shipping: nothing but a POST, and each one is another parcel.
//!
//! No key, no number that is taken once, nobody to ask: what was sent and not answered for certain
//! is never sent again, it goes to a person. The wire is described in docs/examplepay.md under
//! "Partners".

use std::time::Duration;

use async_trait::async_trait;
use domain::{
    capability::{Capability, MinorUnits, StepSpec},
    evidence::{Found, NotExecuted, Outcome, Verdict},
    operation::Kind,
    schedule::Timestamp,
};
use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::crash;

use super::{
    Answer, Call, EncodeError, Encoded, Event, Intent, Provider, Question, Transport, WebhookError,
    wire::{self, ClientError, Reply},
};

/// How to reach the shipping partner.
#[derive(Clone, Debug)]
pub struct ShippingSettings {
    /// Its address, without a slash at the end.
    pub base_url: String,
    /// Our API key.
    pub api_key: SecretString,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long an answer may take.
    pub response_timeout: Duration,
    /// After how long a shipment that could not be sent is handed to a person.
    pub deadline: Duration,
}

/// The adapter.
pub struct Shipping {
    settings: ShippingSettings,
    client: Client,
}

impl Shipping {
    /// An adapter with its own HTTP client.
    ///
    /// # Errors
    /// The client could not be made.
    pub fn new(settings: ShippingSettings) -> Result<Self, ClientError> {
        Ok(Self { client: wire::client(settings.connect_timeout)?, settings })
    }
}

/// A shipment, as the partner writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shipment {
    shipment_id: String,
    status: String,
}

/// How the partner says no.
#[derive(Deserialize)]
struct Refusal {
    error: String,
}

/// What a shipment says, and what of it no list of ours knows.
///
/// It names neither our reference nor an amount: it is ours because it is the answer to our send.
fn judge(shipment: &Shipment) -> (Verdict, Option<String>) {
    if shipment.status != "accepted" {
        let word: String = shipment.status.chars().take(64).collect();
        return (Verdict::Indeterminate, Some(format!("status word {word:?}")));
    }
    let found = Found { provider_id: Some(shipment.shipment_id.clone()), ..Found::default() };
    (Verdict::Definitive(Outcome::Succeeded, found), None)
}

/// Judges the answer to a create. What is not the partner's own word is unknown: for want of a
/// lookup nothing could put a mistake right.
fn decode(reply: &Reply) -> (Verdict, Option<String>) {
    if reply.status.is_success() {
        return match serde_json::from_slice::<Shipment>(&reply.body) {
            Ok(shipment) => judge(&shipment),
            Err(_) => (Verdict::Indeterminate, Some("an answer that is no shipment".into())),
        };
    }
    let refusal = refusal(reply);
    let word = refusal.as_ref().map_or("", |refusal| refusal.error.as_str());
    match (reply.status.as_u16(), word) {
        (400, "invalid_request") | (404, "not_found") => {
            (Verdict::NotExecuted(NotExecuted::OurFault), None)
        }
        (401 | 403, "unauthorized" | "forbidden") => {
            (Verdict::NotExecuted(NotExecuted::Configuration), None)
        }
        (429, _) => (Verdict::RetryLater { after: reply.retry_after() }, None),
        (500..=599 | 424, _) => (Verdict::Indeterminate, None),
        (status, _) => (Verdict::Indeterminate, Some(format!("status {status}"))),
    }
}

fn refusal(reply: &Reply) -> Option<Refusal> {
    serde_json::from_slice(&reply.body).ok()
}

fn answered(reply: &Reply, (verdict, unlisted): (Verdict, Option<String>)) -> Answer {
    Answer {
        verdict,
        cached: false,
        transport: Transport::Answered,
        http_status: Some(reply.status.as_u16()),
        request_id: reply.noted("request-id"),
        provider_error: refusal(reply).map(|refusal| refusal.error.chars().take(120).collect()),
        unlisted,
    }
}

#[async_trait]
impl Provider for Shipping {
    fn name(&self) -> &'static str {
        "shipping"
    }

    fn account(&self) -> Option<&str> {
        None
    }

    fn live(&self) -> bool {
        false
    }

    fn capability(&self, kind: &Kind) -> Option<Capability> {
        (*kind == Kind::SHIPMENT).then(|| Capability {
            provider: "shipping",
            steps: vec![StepSpec { name: "create", idempotency: None }],
            cancel: None,
            cancel_by_key: false,
            unique_reference: false,
            lookup: None,
            webhooks: false,
            decline_takes_no_money: false,
            names_amount: false,
            minor_units: MinorUnits::ISO,
            late_failure_reverses: false,
            needs_our_last_step: false,
            declined_stays_payable: false,
            connect_timeout: self.settings.connect_timeout,
            response_timeout: self.settings.response_timeout,
            deadline: self.settings.deadline,
        })
    }

    fn encode(&self, step: &str, intent: &Intent<'_>) -> Result<Encoded, EncodeError> {
        if step != "create" {
            return Err(EncodeError::UnknownStep(step.to_owned()));
        }
        let item = |line: &super::Line<'_>| serde_json::json!({"sku": line.sku, "quantity": line.quantity});
        let body = serde_json::json!({
            "reference": intent.reference,
            "recipientReference": intent.order,
            "items": intent.lines.iter().map(item).collect::<Vec<_>>(),
        });
        Ok(Encoded { path: "/shipping/shipments".to_owned(), body: body.to_string() })
    }

    async fn verify_webhook(
        &self,
        _headers: &[(String, String)],
        _body: &[u8],
        _now: Timestamp,
    ) -> Result<Event, WebhookError> {
        Err(WebhookError::Off)
    }

    fn read_event(&self, _body: &str) -> Result<Event, WebhookError> {
        Err(WebhookError::Off)
    }

    async fn send(&self, call: &Call) -> Answer {
        let request = self
            .client
            .post(format!("{}{}", self.settings.base_url, call.path))
            .bearer_auth(self.settings.api_key.expose_secret())
            .header("Content-Type", "application/json")
            .body(wire::body(&call.body));
        crash::point("before_first_byte");
        let time = self.settings.connect_timeout + self.settings.response_timeout;
        match wire::exchange(request, time.min(call.time_left)).await {
            Ok(reply) => answered(&reply, decode(&reply)),
            Err(transport) => wire::unanswered(transport, false),
        }
    }

    /// There is nobody to ask, and so no news.
    async fn look_up(&self, _question: &Question) -> Answer {
        super::unsent(true)
    }

    fn test_tokens(&self) -> &'static [&'static str] {
        &[]
    }
}

#[cfg(test)]
mod tests;
