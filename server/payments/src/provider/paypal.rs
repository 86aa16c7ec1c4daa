//! PayPal (Orders v2, Payments v2): create, the shopper approves, capture; and refunds of captures.
//!
//! Sources: developer.paypal.com/api/rest (authentication, idempotency, webhooks) and the published
//! OpenAPI descriptions of Orders v2 and Payments v2. What nobody could check against the real
//! service is listed in docs/unverified.md.
//!
//! Nothing moves money before the capture, which only we send: an order that was never captured is
//! harmless and may be left behind. The capture's status decides, never the order's: a completed
//! order may hold a pending or a declined capture.
//! Its Transaction Search is the list of the daily comparison; it knows captures, and it is late.

mod issues;
mod judge;
mod money;
mod report;
mod signature;
mod token;

use std::time::{Duration, Instant, UNIX_EPOCH};

use async_trait::async_trait;
use domain::{
    capability::{Capability, Idempotency, Lookup, StepSpec},
    evidence::{NotExecuted, Verdict},
    operation::Kind,
    schedule::Timestamp,
};
use reqwest::{Client, RequestBuilder, StatusCode};
use secrecy::SecretString;
use serde_json::json;
use tokio::sync::{Mutex, Semaphore};

use self::{
    judge::{answered, decode, decode_lookup, parse_event},
    signature::Certificates,
    token::{NoToken, Tokens},
};
use super::{
    Answer, Call, EncodeError, Encoded, Event, Intent, Listed, Listing, Provider, Question,
    WebhookError,
    wire::{self, ClientError},
};
use crate::{clock, crash};

pub use self::signature::{Roots, Simulator, Trust};

/// "Stored for 6 hours" for Orders, "45 days" for Payments (api/rest/reference/idempotency).
const ORDER_WINDOW: Duration = Duration::from_secs(6 * 3600);
const REFUND_WINDOW: Duration = Duration::from_secs(45 * 24 * 3600);

/// "A maximum of three hours for executed transactions to appear" (Transaction Search).
const LIST_LATENESS: Duration = Duration::from_secs(3 * 3600);
/// How much of the report is asked for at once: at most 31 days and 10000 rows are given.
const LIST_SPAN: Duration = Duration::from_secs(24 * 3600);
/// How many rows come with one answer: at most 500, and we read at most a megabyte.
const LIST_ROWS: &str = "250";
/// How long a refused report is not asked for again: a permission takes hours to be given.
const LIST_REFUSED: Duration = Duration::from_secs(3600);

/// Where real money moves.
pub const LIVE_URL: &str = "https://api-m.paypal.com";

/// The one choice a shopper has: everything else is said on PayPal's page.
const TEST_TOKENS: [&str; 1] = ["wallet"];

/// How to reach PayPal.
#[derive(Clone, Debug)]
pub struct PayPalSettings {
    /// Its address, without a slash at the end.
    pub base_url: String,
    /// The app's client id.
    pub client_id: String,
    /// The app's secret.
    pub client_secret: SecretString,
    /// The id of our webhook, part of what is signed; none turns the endpoint off.
    pub webhook_id: Option<String>,
    /// How an event's signature is verified.
    pub trust: Trust,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long an answer may take.
    pub response_timeout: Duration,
    /// After how long an unknown payment is handed to a person.
    pub payment_deadline: Duration,
    /// After how long an unknown refund is.
    pub refund_deadline: Duration,
}

/// How many events PayPal itself is asked about at the same time.
const VERIFYING: usize = 4;

/// The PayPal adapter.
pub struct PayPal {
    client: Client,
    tokens: Tokens,
    certificates: Certificates,
    /// Places for events that PayPal itself is asked about.
    verifying: Semaphore,
    settings: PayPalSettings,
    /// The report and the check of events have a token of their own: a refusal there costs no
    /// payment its token.
    list_tokens: Tokens,
    /// When the report was refused for want of a permission.
    list_refused: Mutex<Option<Instant>>,
}

impl PayPal {
    /// An adapter for these settings.
    ///
    /// # Errors
    /// The HTTP client could not be made.
    pub fn new(settings: PayPalSettings) -> Result<Self, ClientError> {
        Ok(Self {
            client: wire::client(settings.connect_timeout)?,
            tokens: Tokens::default(),
            certificates: Certificates::default(),
            verifying: Semaphore::new(VERIFYING),
            settings,
            list_tokens: Tokens::default(),
            list_refused: Mutex::default(),
        })
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.settings.base_url)
    }

    fn time(&self, left: Duration) -> Duration {
        (self.settings.connect_timeout + self.settings.response_timeout).min(left)
    }

    /// One authorised request. Without a token nothing of it was sent.
    async fn exchange(
        &self,
        request: RequestBuilder,
        time: Duration,
        asking: bool,
        judge: impl FnOnce(&wire::Reply) -> judge::Judged,
    ) -> Answer {
        let started = Instant::now();
        let token = tokio::time::timeout(time, self.tokens.get(&self.client, &self.settings, time));
        let token = token.await.unwrap_or(Err(NoToken::Unanswered));
        // What the token took is gone; a request that could outlive its time is not begun.
        let left = time.saturating_sub(started.elapsed());
        let Some(token) = token.as_ref().ok().filter(|_| left >= time / 2) else {
            let refused = matches!(token, Err(NoToken::Refused));
            return Answer {
                provider_error: Some("no access token".to_owned()),
                unlisted: refused.then(|| "PayPal refuses our client id or secret".to_owned()),
                ..super::unsent(asking)
            };
        };
        if !asking {
            crash::point("before_first_byte");
        }
        match wire::exchange(request.bearer_auth(&token.text), left).await {
            Ok(reply) => {
                let mut judged = judge(&reply);
                if reply.status == StatusCode::UNAUTHORIZED {
                    self.tokens.forget(token).await;
                    // An old token may just have expired; a new one that is refused is a setting.
                    if !token.fresh && judged.0 == Verdict::NotExecuted(NotExecuted::Configuration)
                    {
                        judged.0 = Verdict::RetryLater { after: None };
                    }
                }
                answered(&reply, judged)
            }
            Err(transport) => wire::unanswered(transport, asking),
        }
    }
}

/// A time as PayPal's questions carry it.
fn rfc3339(at: Timestamp) -> String {
    let since = Duration::from_millis(u64::try_from(at.0).unwrap_or_default());
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

/// An id as a part of a path: PayPal's are letters, digits and hyphens.
fn segment(id: &str) -> Result<&str, EncodeError> {
    let plain = !id.is_empty() && id.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    if plain { Ok(id) } else { Err(EncodeError::Missing("an id that PayPal gave")) }
}

#[async_trait]
impl Provider for PayPal {
    fn name(&self) -> &'static str {
        "paypal"
    }

    fn account(&self) -> Option<&str> {
        None
    }

    fn live(&self) -> bool {
        self.settings.base_url == LIVE_URL
    }

    fn is_deaf(&self) -> bool {
        self.settings.webhook_id.is_none()
    }

    fn capability(&self, kind: &Kind) -> Option<Capability> {
        // A repeat tells the latest status, not the first answer: a no may be about now.
        let step = |name, window| StepSpec {
            name,
            idempotency: Some(Idempotency { window, declines_stored: false }),
        };
        let base = Capability {
            provider: "paypal",
            steps: vec![step("create", ORDER_WINDOW), step("capture", ORDER_WINDOW)],
            // Orders v2 has no cancel; an order without our capture is harmless.
            cancel: None,
            cancel_by_key: false,
            unique_reference: false,
            // No lookup of an order by our reference: a lost create is sent again with its key.
            lookup: Some(Lookup { by_reference: false, consistency_bound: None }),
            webhooks: true,
            decline_takes_no_money: true,
            names_amount: true,
            minor_units: money::UNITS,
            late_failure_reverses: false,
            needs_our_last_step: true,
            declined_stays_payable: false,
            connect_timeout: self.settings.connect_timeout,
            response_timeout: self.settings.response_timeout,
            deadline: self.settings.payment_deadline,
        };
        match kind.as_str() {
            "payment" => Some(base),
            "refund" => Some(Capability {
                steps: vec![step("refund", REFUND_WINDOW)],
                lookup: Some(Lookup { by_reference: true, consistency_bound: None }),
                decline_takes_no_money: false,
                late_failure_reverses: true,
                needs_our_last_step: false,
                deadline: self.settings.refund_deadline,
                ..base
            }),
            "external" => Some(super::told_only(base)),
            _ => None,
        }
    }

    fn encode(&self, step: &str, intent: &Intent<'_>) -> Result<Encoded, EncodeError> {
        let id = || segment(intent.provider_id.ok_or(EncodeError::Missing("PayPal's id"))?);
        let amount = || {
            let value = money::to_paypal(intent.amount)?;
            Ok(json!({"currency_code": intent.amount.currency.code(), "value": value}))
        };
        let (path, body) = match step {
            "create" => (
                "/v2/checkout/orders".to_owned(),
                json!({
                    "intent": "CAPTURE",
                    "purchase_units": [{
                        "custom_id": intent.reference,
                        "invoice_id": intent.reference,
                        "description": format!("Order {}", intent.order),
                        "amount": amount()?,
                    }],
                    "payment_source": {"paypal": {"experience_context": {
                        "return_url": intent.return_url,
                        "cancel_url": intent.return_url,
                        "shipping_preference": "NO_SHIPPING",
                        "user_action": "PAY_NOW",
                    }}},
                }),
            ),
            "capture" => (format!("/v2/checkout/orders/{}/capture", id()?), json!({})),
            "refund" => {
                let paid = intent.parent.and_then(|paid| paid.effect_id);
                let capture = segment(paid.ok_or(EncodeError::Missing("the capture's id"))?)?;
                let body = json!({
                    "amount": amount()?,
                    "custom_id": intent.reference,
                    "invoice_id": intent.reference,
                });
                (format!("/v2/payments/captures/{capture}/refund"), body)
            }
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
        let Some(webhook_id) = &self.settings.webhook_id else { return Err(WebhookError::Off) };
        let signed = signature::Signed::read(headers).ok_or(WebhookError::Signature)?;
        let genuine = match &self.settings.trust {
            // Nothing is asked or fetched for what cannot be genuine.
            _ if !signed.is_plausible(now) => false,
            // A certificate elsewhere than at PayPal, or no event at all, makes us ask nothing.
            Trust::Call if !signed.is_of(&self.settings.base_url) => false,
            Trust::Call if parse_event(body, self.live()).is_err() => false,
            Trust::Call => self.asks_paypal(&signed, webhook_id, body).await,
            Trust::Certificate(roots) => {
                let certificate = self.certificates.get(&self.client, roots, &signed).await;
                certificate.is_some_and(|chain| {
                    signature::fits(&chain, roots, &signed, webhook_id, body, now)
                })
            }
        };
        if genuine { parse_event(body, self.live()) } else { Err(WebhookError::Signature) }
    }

    fn read_event(&self, body: &str) -> Result<Event, WebhookError> {
        parse_event(body.as_bytes(), self.live())
    }

    async fn send(&self, call: &Call) -> Answer {
        let request = self
            .client
            .post(self.url(&call.path))
            .header("PayPal-Request-Id", &call.key)
            .header("Prefer", "return=representation")
            .header("Content-Type", "application/json")
            .body(wire::body(&call.body));
        self.exchange(request, self.time(call.time_left), false, decode).await
    }

    async fn look_up(&self, question: &Question) -> Answer {
        let refund = question.kind == Kind::REFUND;
        let path = match (&question.provider_id, &question.parent_id) {
            (Some(id), _) if refund => format!("/v2/payments/refunds/{id}"),
            // An order lists what was given back of it.
            (None, Some(order)) if refund => format!("/v2/checkout/orders/{order}"),
            (Some(id), _) => format!("/v2/checkout/orders/{id}"),
            (None, _) => return wire::silent("nothing to ask about is known"),
        };
        let request = self.client.get(self.url(&path));
        let reference = (refund && question.provider_id.is_none()).then_some(&question.reference);
        let judge = |reply: &wire::Reply| decode_lookup(reply, reference.map(String::as_str));
        self.exchange(request, self.time(question.time_left), true, judge).await
    }

    async fn list(&self, since: Timestamp) -> Listing {
        if self.list_refused.lock().await.is_some_and(|at| at.elapsed() < LIST_REFUSED) {
            return Listing::Unanswered;
        }
        // Whole seconds, as they are asked for.
        let until = Timestamp(clock::wall().0 / 1000 * 1000);
        let (mut rows, mut start, mut complete_until) = (Vec::new(), since, since);
        while start < until {
            let end = start.after(LIST_SPAN).min(until);
            let Some(refreshed_at) = self.list_between(start, end, &mut rows).await else {
                return Listing::Unanswered;
            };
            complete_until = refreshed_at.min(end);
            // Later than this PayPal has nothing yet, and refuses to be asked.
            if refreshed_at < end {
                break;
            }
            start = end;
        }
        Listing::All { rows, complete_until: Some(complete_until) }
    }

    fn list_lateness(&self) -> Duration {
        LIST_LATENESS
    }

    fn test_tokens(&self) -> &'static [&'static str] {
        &TEST_TOKENS
    }
}

impl PayPal {
    /// Adds every page of the report between two times; gives until when it is complete.
    async fn list_between(
        &self,
        start: Timestamp,
        end: Timestamp,
        rows: &mut Vec<Listed>,
    ) -> Option<Timestamp> {
        let mut page = 1;
        loop {
            let request = self.client.get(self.url("/v1/reporting/transactions")).query(&[
                ("start_date", rfc3339(start)),
                ("end_date", rfc3339(end)),
                ("fields", "transaction_info".to_owned()),
                ("page_size", LIST_ROWS.to_owned()),
                ("page", page.to_string()),
            ]);
            let reply = self.ask(&self.list_tokens, request, self.time(Duration::MAX)).await?;
            if reply.status == StatusCode::FORBIDDEN {
                *self.list_refused.lock().await = Some(Instant::now());
                tracing::warn!(
                    provider = "paypal",
                    "PayPal refuses its report: give the app the permission \"Transaction Search\", \
                     or nothing is compared daily"
                );
            }
            let told = report::page(&reply)?;
            rows.extend(told.rows);
            if page >= told.pages {
                return Some(told.refreshed_at);
            }
            page += 1;
        }
    }

    /// One authorised question whose answer is no verdict.
    async fn ask(
        &self,
        tokens: &Tokens,
        request: RequestBuilder,
        time: Duration,
    ) -> Option<wire::Reply> {
        let token = tokens.get(&self.client, &self.settings, time).await.ok()?;
        let reply = wire::exchange(request.bearer_auth(&token.text), time).await.ok()?;
        // It may have expired, or be older than a permission.
        if matches!(reply.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            tokens.forget(&token).await;
        }
        Some(reply)
    }

    /// Lets PayPal itself verify an event; anything but its plain yes is a no.
    async fn asks_paypal(
        &self,
        signed: &signature::Signed<'_>,
        webhook_id: &str,
        body: &[u8],
    ) -> bool {
        let time = self.settings.response_timeout;
        let Ok(event) = std::str::from_utf8(body) else { return false };
        // Posts that nobody signed must not use up our calls: PayPal sends again what was turned away.
        let Ok(_place) = self.verifying.try_acquire() else { return false };
        let request = self
            .client
            .post(self.url("/v1/notifications/verify-webhook-signature"))
            .header("Content-Type", "application/json")
            .body(signed.question(webhook_id, event));
        // A refusal here must not cost the payments their token.
        let Some(reply) = self.ask(&self.list_tokens, request, time).await else { return false };
        let said: serde_json::Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        reply.status.is_success() && said["verification_status"] == "SUCCESS"
    }
}

#[cfg(test)]
mod tests;
