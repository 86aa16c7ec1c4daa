//! Stripe (API v1): a PaymentIntent in two steps, create then confirm, and refunds.
//!
//! Sources: docs.stripe.com/api/payment_intents, /api/idempotent_requests, /error-low-level,
//! /webhooks, /currencies. What nobody could check against the real service is listed in
//! docs/unverified.md.
//!
//! The id of the PaymentIntent is stored between the two steps, and nothing is charged before the
//! second: a create whose answer was lost is sent again with its key until the id is known. From
//! then on a lookup by id decides. Search is never asked: it may be an hour behind.

mod judge;
mod units;

use std::time::Duration;

use async_trait::async_trait;
use domain::{
    capability::{Capability, Idempotency, Lookup, StepSpec},
    evidence::Verdict,
    money::Money,
    operation::Kind,
    schedule::Timestamp,
};
use reqwest::{Client, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};

use self::judge::{answered, decode, decode_lookup, parse_event};
use super::{
    Answer, Call, EncodeError, Encoded, Event, InBrowser, Intent, Listed, Listing, Provider,
    Question, WebhookError,
    wire::{self, ClientError},
};
use crate::crash;

/// The version every request names; what the fixtures of the tests look like.
const VERSION: &str = "2024-06-20";

/// "Kept at least 24 hours" (docs.stripe.com/api/idempotent_requests).
const KEY_WINDOW: Duration = Duration::from_secs(24 * 3600);

/// Payment methods of Stripe's test mode, in the order the demo shop shows them.
const TEST_TOKENS: [&str; 8] = [
    "pm_card_visa",
    "pm_sim_lost_response",
    "pm_card_visa_chargeDeclined",
    "pm_card_chargeDeclinedInsufficientFunds",
    "pm_card_threeDSecure2Required",
    "pm_sim_processing",
    "pm_sim_500_executed",
    "pm_sim_cut_body",
];

/// How to reach Stripe.
#[derive(Clone, Debug)]
pub struct StripeSettings {
    /// Its address, without a slash at the end.
    pub base_url: String,
    /// The secret key; `sk_live_` or `rk_live_` means real money.
    pub api_key: SecretString,
    /// The secrets of our webhook endpoint; several while one is being changed.
    pub webhook_secrets: Vec<SecretString>,
    /// The key that browsers see; with it Stripe's Payment Element is offered.
    pub publishable_key: Option<String>,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long an answer may take. Stripe's own libraries wait up to 80 s.
    pub response_timeout: Duration,
    /// After how long an unknown payment is handed to a person.
    pub payment_deadline: Duration,
    /// After how long an unknown refund is.
    pub refund_deadline: Duration,
}

/// The Stripe adapter.
pub struct Stripe {
    client: Client,
    settings: StripeSettings,
}

impl Stripe {
    /// An adapter for these settings.
    ///
    /// # Errors
    /// The HTTP client could not be made.
    pub fn new(settings: StripeSettings) -> Result<Self, ClientError> {
        Ok(Self { client: wire::client(settings.connect_timeout)?, settings })
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.settings.base_url)
    }

    fn request(&self, request: RequestBuilder) -> RequestBuilder {
        request.header("Stripe-Version", VERSION).bearer_auth(self.settings.api_key.expose_secret())
    }

    fn time(&self, left: Duration) -> Duration {
        (self.settings.connect_timeout + self.settings.response_timeout).min(left)
    }
}

/// A form body, nested names and all, in the order given.
fn form(fields: &[(&str, &str)]) -> String {
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(fields);
    body.finish()
}

/// An id as a part of a path: Stripe's are letters, digits and underscores.
fn segment(id: &str) -> Result<&str, EncodeError> {
    let plain = !id.is_empty() && id.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    if plain { Ok(id) } else { Err(EncodeError::Missing("an id that Stripe gave")) }
}

#[async_trait]
impl Provider for Stripe {
    fn name(&self) -> &'static str {
        "stripe"
    }

    fn account(&self) -> Option<&str> {
        // A PaymentIntent does not name its account; the key does.
        None
    }

    fn live(&self) -> bool {
        self.settings.api_key.expose_secret().contains("_live_")
    }

    fn is_deaf(&self) -> bool {
        self.settings.webhook_secrets.is_empty()
    }

    fn capability(&self, kind: &Kind) -> Option<Capability> {
        let step = |name, declines_stored| StepSpec {
            name,
            idempotency: Some(Idempotency { window: KEY_WINDOW, declines_stored }),
        };
        let base = Capability {
            provider: "stripe",
            steps: vec![step("create", true), step("confirm", true)],
            cancel: Some(step("cancel", true)),
            cancel_by_key: false,
            unique_reference: false,
            lookup: Some(Lookup { by_reference: false, consistency_bound: None }),
            webhooks: true,
            decline_takes_no_money: true,
            names_amount: true,
            minor_units: units::UNITS,
            late_failure_reverses: false,
            needs_our_last_step: false,
            declined_stays_payable: true,
            connect_timeout: self.settings.connect_timeout,
            response_timeout: self.settings.response_timeout,
            deadline: self.settings.payment_deadline,
        };
        match kind.as_str() {
            "payment" => Some(base),
            // "Already refunded" may speak of this very refund: a replayed no is asked about.
            "refund" => Some(Capability {
                steps: vec![step("refund", false)],
                cancel: None,
                lookup: Some(Lookup { by_reference: true, consistency_bound: None }),
                decline_takes_no_money: false,
                late_failure_reverses: true,
                deadline: self.settings.refund_deadline,
                ..base
            }),
            "external" => Some(super::told_only(base)),
            _ => None,
        }
    }

    fn encode(&self, step: &str, intent: &Intent<'_>) -> Result<Encoded, EncodeError> {
        let id = || segment(intent.provider_id.ok_or(EncodeError::Missing("Stripe's id"))?);
        let amount = || units::to_stripe(intent.amount).map(|amount| amount.to_string());
        let (path, body) = match step {
            "create" => {
                let currency = intent.amount.currency.code().to_lowercase();
                let description = format!("Order {}", intent.order);
                let fields = [
                    ("amount", amount()?),
                    ("currency", currency),
                    ("capture_method", "automatic".to_owned()),
                    ("payment_method_types[0]", "card".to_owned()),
                    ("description", description),
                    ("metadata[reference]", intent.reference.to_owned()),
                    ("metadata[checkout_id]", intent.checkout.to_owned()),
                    ("metadata[order]", intent.order.to_owned()),
                ];
                let fields: Vec<(&str, &str)> =
                    fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
                ("/v1/payment_intents".to_owned(), form(&fields))
            }
            "confirm" => {
                let card = intent.instrument.ok_or(EncodeError::Missing("a payment method"))?;
                // What the Payment Element yields; a card of the test mode is a payment method.
                let kind = if card.starts_with("ctoken_") {
                    "confirmation_token"
                } else {
                    "payment_method"
                };
                let fields = [(kind, card), ("return_url", intent.return_url)];
                (format!("/v1/payment_intents/{}/confirm", id()?), form(&fields))
            }
            "cancel" => {
                let fields = [("cancellation_reason", "abandoned")];
                (format!("/v1/payment_intents/{}/cancel", id()?), form(&fields))
            }
            "refund" => {
                let paid = intent.parent.ok_or(EncodeError::Missing("the payment's id"))?;
                let amount = amount()?;
                let fields = [
                    ("payment_intent", segment(paid.provider_id)?),
                    ("amount", amount.as_str()),
                    ("metadata[reference]", intent.reference),
                    ("metadata[order]", intent.order),
                ];
                ("/v1/refunds".to_owned(), form(&fields))
            }
            other => return Err(EncodeError::UnknownStep(other.to_owned())),
        };
        Ok(Encoded { path, body })
    }

    async fn verify_webhook(
        &self,
        headers: &[(String, String)],
        body: &[u8],
        now: Timestamp,
    ) -> Result<Event, WebhookError> {
        if self.settings.webhook_secrets.is_empty() {
            return Err(WebhookError::Off);
        }
        let header = wire::named(headers, "stripe-signature").ok_or(WebhookError::Signature)?;
        if !wire::signed(header, &self.settings.webhook_secrets, body, now) {
            return Err(WebhookError::Signature);
        }
        parse_event(body)
    }

    fn read_event(&self, body: &str) -> Result<Event, WebhookError> {
        parse_event(body.as_bytes())
    }

    async fn send(&self, call: &Call) -> Answer {
        let request = self
            .request(self.client.post(self.url(&call.path)))
            .header("Idempotency-Key", &call.key)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(wire::body(&call.body));
        crash::point("before_first_byte");
        match wire::exchange(request, self.time(call.time_left)).await {
            Ok(reply) => answered(&reply, decode(&reply, self.live())),
            Err(transport) => wire::unanswered(transport, false),
        }
    }

    async fn look_up(&self, question: &Question) -> Answer {
        let objects = if question.kind == Kind::REFUND { "refunds" } else { "payment_intents" };
        let request = match (&question.provider_id, &question.parent_id) {
            (Some(id), _) => self.client.get(self.url(&format!("/v1/{objects}/{id}"))),
            (None, Some(paid)) => self
                .client
                .get(self.url(&format!("/v1/{objects}")))
                .query(&[("payment_intent", paid.as_str()), ("limit", "100")]),
            (None, None) => return wire::silent("nothing to ask about is known"),
        };
        match wire::exchange(self.request(request), self.time(question.time_left)).await {
            Ok(reply) => answered(&reply, decode_lookup(&reply, &question.reference, self.live())),
            Err(transport) => wire::unanswered(transport, true),
        }
    }

    async fn list(&self, since: Timestamp) -> Listing {
        let since = since.0.div_euclid(1000).to_string();
        let mut all: Vec<Listed> = Vec::new();
        for objects in ["payment_intents", "refunds", "disputes"] {
            let mut after: Option<String> = None;
            loop {
                let mut query = vec![("created[gte]", since.clone()), ("limit", "100".to_owned())];
                query.extend(after.iter().map(|id| ("starting_after", id.clone())));
                let request = self.client.get(self.url(&format!("/v1/{objects}"))).query(&query);
                let reply =
                    wire::exchange(self.request(request), self.settings.response_timeout).await;
                let Some((rows, more)) = reply.ok().and_then(|reply| judge::page(&reply)) else {
                    return Listing::Unanswered;
                };
                all.extend(rows);
                after = more;
                if after.is_none() {
                    break;
                }
            }
        }
        Listing::All { rows: all, complete_until: None }
    }

    fn in_browser(&self, amount: Money) -> Option<InBrowser> {
        Some(InBrowser {
            script: "https://js.stripe.com/v3/",
            hosts: &["https://js.stripe.com", "https://hooks.stripe.com", "https://api.stripe.com"],
            public_key: self.settings.publishable_key.clone()?,
            amount: units::to_stripe(amount).ok()?,
            currency: amount.currency.code().to_lowercase(),
        })
    }

    fn test_tokens(&self) -> &'static [&'static str] {
        if self.live() { &[] } else { &TEST_TOKENS }
    }
}

/// What a judged answer is: its verdict, and a word no list of ours knows.
type Judged = (Verdict, Option<String>);

#[cfg(test)]
mod tests;
