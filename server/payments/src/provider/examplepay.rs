//! ExamplePay: a key, a lookup by id and by reference, signed webhooks, a cancel.
//!
//! The wire is described in docs/examplepay.md; it is the provider `make run` starts.

use std::time::Duration;

use async_trait::async_trait;
use domain::{
    capability::{Capability, Idempotency, Lookup, MinorUnits, StepSpec},
    evidence::{Found, NotExecuted, Outcome, Verdict},
    money::{Currency, Money},
    operation::{Kind, ReviewReason},
    schedule::Timestamp,
};
use reqwest::{Client, RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::crash;

use super::{
    Answer, Call, EncodeError, Encoded, Event, Intent, Listed, ListedKind, Listing, Provider,
    Question, Transport, WebhookError,
    wire::{self, ClientError, Reply},
};

/// Test tokens that ExamplePay knows, in the order the demo shop shows them.
/// The most rows that a list of ExamplePay's has.
const LIST_LIMIT: usize = 500;
const TEST_TOKENS: [&str; 13] = [
    "tok_visa",
    "tok_lost_response",
    "tok_declined",
    "tok_insufficient_funds",
    "tok_3ds",
    "tok_hosted_card",
    "tok_processing",
    "tok_500_executed",
    "tok_never_arrives",
    "tok_cut_body",
    "tok_429",
    "tok_wrong_amount",
    "tok_unknown_status",
];

/// How to reach ExamplePay.
#[derive(Clone, Debug)]
pub struct ExamplePaySettings {
    /// Its address, without a slash at the end.
    pub base_url: String,
    /// Our API key.
    pub api_key: SecretString,
    /// The secrets of our webhook endpoint; several while one is being changed.
    pub webhook_secrets: Vec<SecretString>,
    /// Our account there.
    pub account: String,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long an answer may take.
    pub response_timeout: Duration,
    /// How long it remembers a key.
    pub key_window: Duration,
    /// After how long an unknown payment is handed to a person.
    pub payment_deadline: Duration,
    /// After how long an unknown refund is handed to a person.
    pub refund_deadline: Duration,
}

/// The adapter.
pub struct ExamplePay {
    settings: ExamplePaySettings,
    client: Client,
}

impl ExamplePay {
    /// An adapter with its own HTTP client.
    ///
    /// # Errors
    /// The client could not be made.
    pub fn new(settings: ExamplePaySettings) -> Result<Self, ClientError> {
        Ok(Self { client: wire::client(settings.connect_timeout)?, settings })
    }

    fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        request.bearer_auth(self.settings.api_key.expose_secret())
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.settings.base_url)
    }

    fn time(&self, left: Duration) -> Duration {
        (self.settings.connect_timeout + self.settings.response_timeout).min(left)
    }
}

/// A payment or a refund, as ExamplePay writes it.
#[derive(Deserialize)]
struct Object {
    id: String,
    object: String,
    account: String,
    livemode: bool,
    reference: String,
    /// The payment of a refund.
    payment: Option<String>,
    amount_minor: i64,
    currency: String,
    status: String,
    decline_code: Option<String>,
    failure_code: Option<String>,
    action_url: Option<String>,
    action_expires_at: Option<i64>,
}

#[derive(Deserialize)]
struct List {
    data: Vec<Object>,
}

#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorDetail,
}

#[derive(Deserialize)]
struct ErrorDetail {
    #[serde(rename = "type")]
    kind: String,
    code: Option<String>,
    payment: Option<Object>,
}

#[derive(Deserialize)]
struct EventBody {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    created_at: Option<i64>,
    livemode: bool,
    request: Option<EventRequest>,
    data: EventData,
}

#[derive(Deserialize)]
struct EventRequest {
    idempotency_key: Option<String>,
}

#[derive(Deserialize)]
struct EventData {
    object: Object,
}

/// An event about something that none of the shapes above is: a new kind of object, perhaps.
#[derive(Deserialize)]
struct OddEvent {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    livemode: bool,
    #[serde(default)]
    data: serde_json::Value,
}

/// An object as the daily comparison needs it.
fn listed(object: &Object, kind: ListedKind) -> Option<Listed> {
    let (Verdict::Definitive(outcome, found), _) = judge(object) else { return None };
    Some(Listed {
        kind,
        provider_id: object.id.clone(),
        is_effect: false,
        reference: Some(object.reference.clone()),
        parent: object.payment.clone(),
        outcome,
        amount: found.amount?,
    })
}

/// What an object says, and what of it no list of ours knows.
fn judge(object: &Object) -> (Verdict, Option<String>) {
    let mut found = Found {
        provider_id: Some(object.id.clone()),
        effect_id: None,
        reference: Some(object.reference.clone()),
        account: Some(object.account.clone()),
        amount: None,
    };
    let Ok(currency) = Currency::from_code(&object.currency) else {
        return (Verdict::Contradicts(ReviewReason::CurrencyMismatch, found), None);
    };
    found.amount = Some(Money::new(object.amount_minor, currency));
    if object.livemode {
        return (Verdict::Contradicts(ReviewReason::AccountMismatch, found), None);
    }
    let outcome = match (object.object.as_str(), object.status.as_str()) {
        ("payment" | "refund", "succeeded") => Outcome::Succeeded,
        ("payment", "declined") => Outcome::Rejected {
            code: object.decline_code.clone().unwrap_or_else(|| "declined".into()),
        },
        ("refund", "failed") => Outcome::Rejected {
            code: object.failure_code.clone().unwrap_or_else(|| "failed".into()),
        },
        ("payment", "processing") | ("refund", "pending") => Outcome::Processing,
        ("payment", "requires_action") => match &object.action_url {
            Some(url) => Outcome::ActionRequired {
                url: url.clone(),
                expires_at: object.action_expires_at.map(Timestamp),
            },
            None => {
                return (Verdict::Indeterminate, Some("requires_action without action_url".into()));
            }
        },
        ("payment" | "refund", "canceled") => Outcome::Canceled,
        ("payment", "reversed") => Outcome::Reversed,
        (object, status) => {
            let word: String = format!("{object}.{status}").chars().take(64).collect();
            return (Verdict::Indeterminate, Some(format!("status word {word:?}")));
        }
    };
    (Verdict::Definitive(outcome, found), None)
}

/// Judges the answer to a mutating request.
fn decode(reply: &Reply) -> (Verdict, Option<String>) {
    let body = &reply.body;
    if reply.status.is_success() {
        return match serde_json::from_slice::<Object>(body) {
            Ok(object) => judge(&object),
            Err(_) => (Verdict::Indeterminate, Some("an answer that is no object".into())),
        };
    }
    let detail = serde_json::from_slice::<ErrorBody>(body).ok().map(|body| body.error);
    let kind = detail.as_ref().map_or("", |detail| detail.kind.as_str());
    match (reply.status.as_u16(), kind) {
        (402, "card_declined") | (409, "not_cancelable") => {
            match detail.as_ref().and_then(|detail| detail.payment.as_ref()) {
                Some(object) => judge(object),
                None => (Verdict::Indeterminate, Some(format!("{kind} without its payment"))),
            }
        }
        (422, "refund_exceeds_payment" | "payment_not_refundable") => {
            let outcome = Outcome::Rejected { code: kind.to_owned() };
            (Verdict::Definitive(outcome, Found::default()), None)
        }
        (400, "invalid_request") | (404, "not_found") => {
            (Verdict::NotExecuted(NotExecuted::OurFault), None)
        }
        (401 | 403, "unauthorized" | "forbidden") => {
            (Verdict::NotExecuted(NotExecuted::Configuration), None)
        }
        (429, _) => (Verdict::RetryLater { after: reply.retry_after() }, None),
        (409, "idempotency_key_in_use") => (Verdict::Indeterminate, None),
        // Our own key with other bytes: nothing about the payment, and nothing that may happen.
        (422, "idempotency_mismatch") => {
            (Verdict::Indeterminate, Some("our key, other bytes".into()))
        }
        (500..=599 | 424, _) => (Verdict::Indeterminate, None),
        (status, _) => (Verdict::Indeterminate, Some(format!("status {status}"))),
    }
}

/// Judges the answer to a question.
fn decode_lookup(reply: &Reply) -> (Verdict, Option<String>) {
    if reply.status == StatusCode::NOT_FOUND {
        return (Verdict::Absent, None);
    }
    if !reply.status.is_success() {
        let refused = matches!(reply.status.as_u16(), 401 | 403);
        let alert = refused.then(|| format!("a lookup was refused with {}", reply.status.as_u16()));
        return (Verdict::NoNews, alert);
    }
    if let Ok(object) = serde_json::from_slice::<Object>(&reply.body) {
        return quiet(judge(&object));
    }
    let Ok(list) = serde_json::from_slice::<List>(&reply.body) else {
        return (Verdict::NoNews, Some("a lookup's answer that is no object".into()));
    };
    let effects: Vec<&Object> =
        list.data.iter().filter(|object| object.status == "succeeded").collect();
    match (effects.as_slice(), list.data.first()) {
        ([], None) => (Verdict::Absent, None),
        ([], Some(newest)) => quiet(judge(newest)),
        ([only], _) => quiet(judge(only)),
        ([first, ..], _) => match judge(first) {
            (Verdict::Definitive(_, found), _) => {
                (Verdict::Contradicts(ReviewReason::TwoEffects, found), None)
            }
            other => other,
        },
    }
}

/// A lookup that cannot be read says nothing.
fn quiet((verdict, unlisted): (Verdict, Option<String>)) -> (Verdict, Option<String>) {
    let verdict = if verdict == Verdict::Indeterminate { Verdict::NoNews } else { verdict };
    (verdict, unlisted)
}

fn answered(reply: &Reply, (verdict, unlisted): (Verdict, Option<String>)) -> Answer {
    let detail = serde_json::from_slice::<ErrorBody>(&reply.body).ok().map(|body| body.error);
    Answer {
        verdict,
        cached: reply.header("idempotent-replayed").is_some_and(|value| value == "true"),
        transport: Transport::Answered,
        http_status: Some(reply.status.as_u16()),
        request_id: reply.header("request-id").map(|id| id.chars().take(80).collect()),
        provider_error: detail.map(|detail| match detail.code {
            Some(code) => format!("{}/{code}", detail.kind).chars().take(120).collect(),
            None => detail.kind.chars().take(120).collect(),
        }),
        unlisted,
    }
}

/// Reads a verified event. What nobody here can read is kept all the same, and wakes a lookup if it
/// names something of ours.
fn parse_event(body: &[u8]) -> Result<Event, WebhookError> {
    let Ok(event) = serde_json::from_slice::<EventBody>(body) else { return odd_event(body) };
    if event.id.is_empty() || event.id.len() > 200 {
        return Err(WebhookError::Malformed);
    }
    let object = event.data.object;
    let expected = format!("{}.{}", object.object, object.status);
    let verdict = if event.kind == expected { judge(&object).0 } else { Verdict::Indeterminate };
    let gives_back = object.object == "refund";
    let made_elsewhere = gives_back.then(|| listed(&object, ListedKind::GivenBack)).flatten();
    Ok(Event {
        id: event.id,
        kind: event.kind.chars().take(80).collect(),
        occurred_at: event.created_at.map(Timestamp),
        reference: Some(object.reference),
        key: event.request.and_then(|request| request.idempotency_key),
        provider_id: Some(object.id),
        effect_id: None,
        made_elsewhere,
        gives_back,
        verdict,
        live: event.livemode,
    })
}

fn odd_event(body: &[u8]) -> Result<Event, WebhookError> {
    let event: OddEvent = serde_json::from_slice(body).map_err(|_| WebhookError::Malformed)?;
    if event.id.is_empty() || event.id.len() > 200 {
        return Err(WebhookError::Malformed);
    }
    let text = |name: &str| event.data["object"][name].as_str().map(str::to_owned);
    Ok(Event {
        kind: event.kind.chars().take(80).collect(),
        occurred_at: None,
        reference: text("reference"),
        key: None,
        provider_id: text("id"),
        effect_id: None,
        made_elsewhere: None,
        gives_back: event.data["object"]["object"] == "refund",
        verdict: Verdict::Indeterminate,
        live: event.livemode,
        id: event.id,
    })
}

#[async_trait]
impl Provider for ExamplePay {
    fn name(&self) -> &'static str {
        "examplepay"
    }

    fn account(&self) -> Option<&str> {
        Some(&self.settings.account)
    }

    fn live(&self) -> bool {
        false
    }

    fn is_deaf(&self) -> bool {
        self.settings.webhook_secrets.is_empty()
    }

    fn capability(&self, kind: &Kind) -> Option<Capability> {
        let key = Some(Idempotency { window: self.settings.key_window, declines_stored: true });
        let step = |name| StepSpec { name, idempotency: key };
        let base = Capability {
            provider: "examplepay",
            steps: vec![step("create")],
            cancel: Some(step("cancel")),
            cancel_by_key: false,
            unique_reference: false,
            // It promises no bound after which "not found" is proof.
            lookup: Some(Lookup { by_reference: true, consistency_bound: None }),
            webhooks: true,
            decline_takes_no_money: true,
            names_amount: true,
            minor_units: MinorUnits::ISO,
            late_failure_reverses: false,
            needs_our_last_step: false,
            declined_stays_payable: false,
            connect_timeout: self.settings.connect_timeout,
            response_timeout: self.settings.response_timeout,
            deadline: self.settings.payment_deadline,
        };
        match kind.as_str() {
            "payment" => Some(base),
            "refund" => Some(Capability {
                steps: vec![step("refund")],
                cancel: None,
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
        let id = || intent.provider_id.ok_or(EncodeError::Missing("the provider's id"));
        let paid = || intent.parent.ok_or(EncodeError::Missing("the payment's id"));
        let (path, body) = match step {
            "create" => (
                "/v1/payments".to_owned(),
                serde_json::json!({
                    "reference": intent.reference,
                    "amount_minor": intent.amount.minor,
                    "currency": intent.amount.currency.code(),
                    "payment_token": intent.instrument.ok_or(EncodeError::Missing("a card token"))?,
                    "return_url": intent.return_url,
                }),
            ),
            "cancel" => (format!("/v1/payments/{}/cancel", id()?), serde_json::json!({})),
            "refund" => (
                "/v1/refunds".to_owned(),
                serde_json::json!({
                    "payment": paid()?.provider_id,
                    "reference": intent.reference,
                    "amount_minor": intent.amount.minor,
                    "currency": intent.amount.currency.code(),
                }),
            ),
            other => return Err(EncodeError::UnknownStep(other.to_owned())),
        };
        Ok(Encoded { path, body: body.to_string() })
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
        let header = wire::named(headers, "examplepay-signature").ok_or(WebhookError::Signature)?;
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
            .authorized(self.client.post(self.url(&call.path)))
            .header("Idempotency-Key", &call.key)
            .header("Content-Type", "application/json")
            .body(wire::body(&call.body));
        crash::point("before_first_byte");
        match wire::exchange(request, self.time(call.time_left)).await {
            Ok(reply) => answered(&reply, decode(&reply)),
            Err(transport) => wire::unanswered(transport, false),
        }
    }

    async fn look_up(&self, question: &Question) -> Answer {
        let objects = if question.kind == Kind::REFUND { "refunds" } else { "payments" };
        let request = match &question.provider_id {
            Some(id) => self.client.get(self.url(&format!("/v1/{objects}/{id}"))),
            None => self
                .client
                .get(self.url(&format!("/v1/{objects}")))
                .query(&[("reference", &question.reference)]),
        };
        match wire::exchange(self.authorized(request), self.time(question.time_left)).await {
            Ok(reply) => answered(&reply, decode_lookup(&reply)),
            Err(transport) => wire::unanswered(transport, true),
        }
    }

    async fn list(&self, since: Timestamp) -> Listing {
        let mut all = Vec::new();
        for (objects, kind) in [("payments", ListedKind::Taken), ("refunds", ListedKind::GivenBack)]
        {
            let request = self
                .client
                .get(self.url(&format!("/v1/{objects}")))
                .query(&[("created_after", since.0.to_string())]);
            let time = self.settings.response_timeout;
            let reply = wire::exchange(self.authorized(request), time).await;
            let list = reply
                .ok()
                .filter(|reply| reply.status.is_success())
                .and_then(|reply| serde_json::from_slice::<List>(&reply.body).ok());
            // A full page may not be the last one.
            let Some(list) = list.filter(|list| list.data.len() < LIST_LIMIT) else {
                return Listing::Unanswered;
            };
            all.extend(list.data.iter().filter_map(|object| listed(object, kind)));
        }
        Listing::All { rows: all, complete_until: None }
    }

    fn test_tokens(&self) -> &'static [&'static str] {
        &TEST_TOKENS
    }
}

#[cfg(test)]
mod tests;
