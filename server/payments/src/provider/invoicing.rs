//! Invoicing: no key, but a number that is written once, and a lookup by it.
//!
//! The invoice's number is our reference. The wire is described in docs/examplepay.md under
//! "Partners"; what matters here is that a repeated create is refused and never written twice, so
//! that an unknown outcome is settled by asking for the number.

use std::time::Duration;

use async_trait::async_trait;
use domain::{
    capability::{Capability, Lookup, MinorUnits, StepSpec},
    evidence::{Found, NotExecuted, Outcome, Verdict},
    money::{Currency, Money},
    operation::{Kind, ReviewReason},
    schedule::Timestamp,
};
use reqwest::{Client, RequestBuilder, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::crash;

use super::{
    Answer, Call, EncodeError, Encoded, Event, Intent, Provider, Question, Transport, WebhookError,
    wire::{self, ClientError, Reply},
};

/// Where invoices are written.
const INVOICES: &str = "/invoicing/invoices";

/// How to reach the invoicing partner.
#[derive(Clone, Debug)]
pub struct InvoicingSettings {
    /// Its address, without a slash at the end.
    pub base_url: String,
    /// Our API key.
    pub api_key: SecretString,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long an answer may take.
    pub response_timeout: Duration,
    /// After how long an unknown invoice is handed to a person.
    pub deadline: Duration,
    /// After how long an invoice that was written is found for certain. It has to cover the
    /// longest life of a request at the partner as well: what is still being written is not found.
    pub consistency_bound: Duration,
}

/// The adapter.
pub struct Invoicing {
    settings: InvoicingSettings,
    client: Client,
}

impl Invoicing {
    /// An adapter with its own HTTP client.
    ///
    /// # Errors
    /// The client could not be made.
    pub fn new(settings: InvoicingSettings) -> Result<Self, ClientError> {
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

/// An invoice, as the partner writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Invoice {
    id: String,
    invoice_number: String,
    status: String,
    amount_minor: i64,
    currency: String,
}

/// How the partner says no.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Refusal {
    error: String,
    invoice_number: Option<String>,
}

/// What an invoice says, and what of it no list of ours knows.
fn judge(invoice: &Invoice) -> (Verdict, Option<String>) {
    let mut found = Found {
        provider_id: Some(invoice.id.clone()),
        reference: Some(invoice.invoice_number.clone()),
        ..Found::default()
    };
    let Ok(currency) = Currency::from_code(&invoice.currency) else {
        return (Verdict::Contradicts(ReviewReason::CurrencyMismatch, found), None);
    };
    found.amount = Some(Money::new(invoice.amount_minor, currency));
    if invoice.status != "issued" {
        let word: String = invoice.status.chars().take(64).collect();
        return (Verdict::Indeterminate, Some(format!("status word {word:?}")));
    }
    (Verdict::Definitive(Outcome::Succeeded, found), None)
}

/// Judges the answer to a create.
fn decode(reply: &Reply) -> (Verdict, Option<String>) {
    if reply.status.is_success() {
        return match serde_json::from_slice::<Invoice>(&reply.body) {
            Ok(invoice) => judge(&invoice),
            Err(_) => (Verdict::Indeterminate, Some("an answer that is no invoice".into())),
        };
    }
    let refusal = refusal(reply);
    let word = refusal.as_ref().map_or("", |refusal| refusal.error.as_str());
    match (reply.status.as_u16(), word) {
        // The number exists: most likely our own earlier send, the answer of which was lost. That
        // is no decline, for the invoice is there; and no success, for it may have another amount,
        // or be somebody else's. Only the invoice itself can tell, so it is asked for.
        // From here on "not found" proves nothing any more.
        (409, "duplicate_invoice_number") => (Verdict::Accepted(Found::default()), None),
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

/// Judges the answer to a question about a number.
///
/// "Not found" can become proof here, so it has to be the partner's own word about this number: a
/// proxy's 404, or one of another address, says nothing.
fn decode_lookup(reply: &Reply, number: &str) -> (Verdict, Option<String>) {
    let status = reply.status.as_u16();
    if reply.status.is_success() {
        return match serde_json::from_slice::<Invoice>(&reply.body) {
            Ok(invoice) => quiet(judge(&invoice)),
            Err(_) => (Verdict::NoNews, Some("a lookup's answer that is no invoice".into())),
        };
    }
    match (status, refusal(reply)) {
        (404, Some(refusal))
            if refusal.error == "invoice_not_found"
                && refusal.invoice_number.as_deref() == Some(number) =>
        {
            (Verdict::Absent, None)
        }
        (404, _) => (Verdict::NoNews, Some("a 404 that names no invoice".into())),
        (401 | 403, _) => (Verdict::NoNews, Some(format!("a lookup was refused with {status}"))),
        (_, _) => (Verdict::NoNews, None),
    }
}

/// A lookup that cannot be read says nothing.
fn quiet((verdict, unlisted): (Verdict, Option<String>)) -> (Verdict, Option<String>) {
    let verdict = if verdict == Verdict::Indeterminate { Verdict::NoNews } else { verdict };
    (verdict, unlisted)
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

/// The address of one invoice; a number is one part of the path, whatever is in it.
fn address(base_url: &str, number: &str) -> String {
    let all = format!("{base_url}{INVOICES}");
    let Ok(mut url) = Url::parse(&all) else { return all };
    if let Ok(mut parts) = url.path_segments_mut() {
        parts.push(number);
    }
    url.into()
}

/// The order's lines; one line for all where they do not add up to the amount.
fn lines(intent: &Intent<'_>) -> serde_json::Value {
    let whole = |line: &super::Line<'_>| line.unit_minor.checked_mul(i64::from(line.quantity));
    let amounts: Option<Vec<i64>> = intent.lines.iter().map(whole).collect();
    let sum = amounts
        .as_ref()
        .and_then(|amounts| amounts.iter().try_fold(0_i64, |sum, amount| sum.checked_add(*amount)));
    match amounts {
        Some(amounts) if sum == Some(intent.amount.minor) => {
            let line = |(line, amount): (&super::Line<'_>, i64)| {
                serde_json::json!({
                    "description": line.sku,
                    "quantity": line.quantity,
                    "amountMinor": amount,
                })
            };
            intent.lines.iter().zip(amounts).map(line).collect()
        }
        Some(_) | None => serde_json::json!([{
            "description": format!("Order {}", intent.order),
            "quantity": 1,
            "amountMinor": intent.amount.minor,
        }]),
    }
}

#[async_trait]
impl Provider for Invoicing {
    fn name(&self) -> &'static str {
        "invoicing"
    }

    fn account(&self) -> Option<&str> {
        None
    }

    fn live(&self) -> bool {
        false
    }

    fn capability(&self, kind: &Kind) -> Option<Capability> {
        (*kind == Kind::INVOICE).then(|| Capability {
            provider: "invoicing",
            steps: vec![StepSpec { name: "create", idempotency: None }],
            cancel: None,
            cancel_by_key: false,
            unique_reference: true,
            lookup: Some(Lookup {
                by_reference: true,
                consistency_bound: Some(self.settings.consistency_bound),
            }),
            webhooks: false,
            decline_takes_no_money: false,
            names_amount: true,
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
        let body = serde_json::json!({
            "invoiceNumber": intent.reference,
            "amountMinor": intent.amount.minor,
            "currency": intent.amount.currency.code(),
            "buyerReference": intent.order,
            "lines": lines(intent),
        });
        Ok(Encoded { path: INVOICES.to_owned(), body: body.to_string() })
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
            .authorized(self.client.post(self.url(&call.path)))
            .header("Content-Type", "application/json")
            .body(wire::body(&call.body));
        crash::point("before_first_byte");
        match wire::exchange(request, self.time(call.time_left)).await {
            Ok(reply) => answered(&reply, decode(&reply)),
            Err(transport) => wire::unanswered(transport, false),
        }
    }

    async fn look_up(&self, question: &Question) -> Answer {
        let number = &question.reference;
        let request = self.client.get(address(&self.settings.base_url, number));
        match wire::exchange(self.authorized(request), self.time(question.time_left)).await {
            Ok(reply) => answered(&reply, decode_lookup(&reply, number)),
            Err(transport) => wire::unanswered(transport, true),
        }
    }

    fn test_tokens(&self) -> &'static [&'static str] {
        &[]
    }
}

#[cfg(test)]
mod tests;
