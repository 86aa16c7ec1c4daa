//! From PayPal's answers and events to verdicts. Pure.

use std::time::UNIX_EPOCH;

use domain::{
    evidence::{Found, NotExecuted, Outcome, Verdict},
    money::{Currency, Money},
    operation::ReviewReason,
    schedule::{Timestamp, millis},
};
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::{
    super::{Answer, Event, Listed, ListedKind, Transport, WebhookError, wire::Reply},
    issues::{Meaning, meaning},
    money::from_paypal,
};

/// What a judged answer is: its verdict, and a word no list of ours knows.
pub type Judged = (Verdict, Option<String>);

#[derive(Deserialize)]
struct Order {
    id: String,
    status: String,
    #[serde(default)]
    purchase_units: Vec<Unit>,
    #[serde(default)]
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct Unit {
    custom_id: Option<String>,
    amount: Option<Amount>,
    #[serde(default)]
    payments: Payments,
}

#[derive(Deserialize, Default)]
struct Payments {
    #[serde(default)]
    captures: Vec<Capture>,
    #[serde(default)]
    refunds: Vec<Refund>,
}

#[derive(Deserialize)]
struct Capture {
    id: String,
    status: String,
    amount: Option<Amount>,
    custom_id: Option<String>,
    status_details: Option<Details>,
    #[serde(default)]
    supplementary_data: Related,
}

#[derive(Deserialize, Default)]
struct Related {
    #[serde(default)]
    related_ids: Ids,
}

#[derive(Deserialize, Default)]
struct Ids {
    order_id: Option<String>,
}

#[derive(Deserialize)]
struct Details {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Refund {
    id: String,
    status: String,
    amount: Option<Amount>,
    custom_id: Option<String>,
    status_details: Option<Details>,
    #[serde(default)]
    links: Vec<Link>,
}

/// An amount in PayPal's words.
#[derive(Deserialize)]
pub struct Amount {
    /// Of what.
    pub currency_code: String,
    /// How much, as a decimal.
    pub value: String,
}

#[derive(Deserialize)]
struct Link {
    href: String,
    rel: String,
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(default)]
    name: String,
    #[serde(default)]
    details: Vec<Issue>,
    debug_id: Option<String>,
}

#[derive(Deserialize)]
struct Issue {
    #[serde(default)]
    issue: String,
}

#[derive(Deserialize)]
struct EventBody {
    id: String,
    event_type: String,
    create_time: String,
    resource: Value,
}

fn unlisted(what: impl Into<String>) -> Judged {
    (Verdict::Indeterminate, Some(what.into()))
}

fn word(status: &str) -> String {
    let status: String = status.chars().take(60).collect();
    format!("status word {status:?}")
}

impl Amount {
    fn money(&self) -> Option<Money> {
        from_paypal(&self.value, &self.currency_code)
    }
}

/// What is wrong with an amount that cannot be compared, if it is there at all.
fn unreadable(amount: Option<&Amount>) -> Option<ReviewReason> {
    let amount = amount?;
    match (Currency::from_code(&amount.currency_code), amount.money()) {
        (Err(_), _) => Some(ReviewReason::CurrencyMismatch),
        (Ok(_), None) => Some(ReviewReason::AmountMismatch),
        (Ok(_), Some(_)) => None,
    }
}

/// What a capture says. Refunds are folded into its status: the money was taken all the same.
fn judge_capture(capture: &Capture, mut found: Found) -> Judged {
    found.effect_id = Some(capture.id.clone());
    if let Some(reason) = unreadable(capture.amount.as_ref()) {
        return (Verdict::Contradicts(reason, found), None);
    }
    found.amount = capture.amount.as_ref().and_then(Amount::money);
    if capture.custom_id.is_some() {
        found.reference.clone_from(&capture.custom_id);
    }
    let outcome = match capture.status.as_str() {
        "COMPLETED" | "PARTIALLY_REFUNDED" | "REFUNDED" => Outcome::Succeeded,
        "PENDING" => Outcome::Processing,
        "DECLINED" | "FAILED" => {
            Outcome::Rejected { code: reason(capture.status_details.as_ref()) }
        }
        other => return unlisted(word(other)),
    };
    (Verdict::Definitive(outcome, found), None)
}

fn reason(details: Option<&Details>) -> String {
    details.and_then(|details| details.reason.clone()).unwrap_or_else(|| "declined".into())
}

/// What an order says: by its capture, if there is one, and else by whose turn it is.
fn judge_order(order: &Order) -> Judged {
    let unit = order.purchase_units.first();
    let asked = unit.and_then(|unit| unit.amount.as_ref());
    let mut found = Found {
        provider_id: Some(order.id.clone()),
        effect_id: None,
        reference: unit.and_then(|unit| unit.custom_id.clone()),
        account: None,
        amount: asked.and_then(Amount::money),
    };
    let captures = unit.map_or(&[][..], |unit| unit.payments.captures.as_slice());
    let taken = |it: &&Capture| {
        matches!(it.status.as_str(), "COMPLETED" | "PARTIALLY_REFUNDED" | "REFUNDED")
    };
    let mut effects = captures.iter().filter(taken);
    match (effects.next(), effects.next()) {
        (Some(first), Some(_)) => {
            found.amount = first.amount.as_ref().and_then(Amount::money);
            return (Verdict::Contradicts(ReviewReason::TwoEffects, found), None);
        }
        (Some(only), None) => return judge_capture(only, found),
        (None, _) => {}
    }
    // A no only where every capture is one: another may still be on its way.
    let no = |it: &&Capture| matches!(it.status.as_str(), "DECLINED" | "FAILED");
    if let Some(open) = captures.iter().find(|it| !no(it)).or_else(|| captures.last()) {
        return judge_capture(open, found);
    }
    if let Some(reason) = unreadable(asked) {
        return (Verdict::Contradicts(reason, found), None);
    }
    match order.status.as_str() {
        "APPROVED" => (Verdict::Accepted(found), None),
        "CREATED" | "SAVED" | "PAYER_ACTION_REQUIRED" => {
            let link = |rel: &str| order.links.iter().find(|link| link.rel == rel);
            match link("payer-action").or_else(|| link("approve")) {
                Some(link) => {
                    let outcome =
                        Outcome::ActionRequired { url: link.href.clone(), expires_at: None };
                    (Verdict::Definitive(outcome, found), None)
                }
                None => unlisted("an order without a link to approve it"),
            }
        }
        "VOIDED" => (Verdict::Definitive(Outcome::Canceled, found), None),
        // Completed, and nothing was captured? Only its captures are money.
        "COMPLETED" => unlisted("a completed order without a capture"),
        other => unlisted(word(other)),
    }
}

fn judge_refund(refund: &Refund) -> Judged {
    let found = Found {
        provider_id: Some(refund.id.clone()),
        effect_id: None,
        reference: refund.custom_id.clone(),
        account: None,
        amount: refund.amount.as_ref().and_then(Amount::money),
    };
    if let Some(reason) = unreadable(refund.amount.as_ref()) {
        return (Verdict::Contradicts(reason, found), None);
    }
    let outcome = match refund.status.as_str() {
        "COMPLETED" => Outcome::Succeeded,
        "PENDING" => Outcome::Processing,
        "FAILED" => Outcome::Rejected { code: reason(refund.status_details.as_ref()) },
        "CANCELLED" => Outcome::Canceled,
        other => return unlisted(word(other)),
    };
    (Verdict::Definitive(outcome, found), None)
}

/// An order has purchase units; what has none is a refund.
fn judge_object(object: &Value) -> Judged {
    let read = if object["purchase_units"].is_array() || object["intent"].is_string() {
        Order::deserialize(object).map(|order| judge_order(&order))
    } else if object["status"].is_string() {
        Refund::deserialize(object).map(|refund| judge_refund(&refund))
    } else {
        return unlisted("an answer that is no object");
    };
    read.unwrap_or_else(|_| unlisted("an object that cannot be read"))
}

/// Judges the answer to a mutating request: by its object, or by the `issue` of its error, never
/// by a text.
pub fn decode(reply: &Reply) -> Judged {
    if reply.status.is_success() {
        return match serde_json::from_slice::<Value>(&reply.body) {
            Ok(object) => judge_object(&object),
            Err(_) => unlisted("an answer that is no object"),
        };
    }
    let body = serde_json::from_slice::<ErrorBody>(&reply.body).ok();
    let issues = body.iter().flat_map(|body| &body.details).map(|it| it.issue.as_str());
    // Of several the most careful counts: beside "under way" nothing is a no.
    let issue = issues.min_by_key(|issue| trust(issue));
    let name = body.as_ref().map_or("", |body| body.name.as_str());
    match (reply.status.as_u16(), issue) {
        (400 | 403 | 404 | 409 | 422, Some(issue)) => of_issue(issue),
        (400, None) if name == "INVALID_REQUEST" => {
            (Verdict::NotExecuted(NotExecuted::OurFault), None)
        }
        (404, None) if name == "RESOURCE_NOT_FOUND" => {
            (Verdict::NotExecuted(NotExecuted::OurFault), None)
        }
        (401, _) if !name.is_empty() || body.is_some() => {
            (Verdict::NotExecuted(NotExecuted::Configuration), None)
        }
        (403, None) if name == "NOT_AUTHORIZED" => {
            (Verdict::NotExecuted(NotExecuted::Configuration), None)
        }
        (429, _) => (Verdict::RetryLater { after: reply.retry_after() }, None),
        (424 | 500..=599, _) => (Verdict::Indeterminate, None),
        (status, _) => {
            let name: String = name.chars().take(40).collect();
            unlisted(format!("status {status} {name:?}"))
        }
    }
}

/// How far an issue may be trusted to say that nothing was done: the less, the sooner it counts.
fn trust(issue: &str) -> u8 {
    match meaning(issue) {
        None => 0,
        Some(Meaning::Person) => 1,
        Some(Meaning::Ask) => 2,
        Some(Meaning::Shopper) => 3,
        Some(Meaning::No | Meaning::OurFault | Meaning::Settings) => 4,
    }
}

fn of_issue(issue: &str) -> Judged {
    match meaning(issue) {
        Some(Meaning::No) => {
            let outcome = Outcome::Rejected { code: issue.to_owned() };
            (Verdict::Definitive(outcome, Found::default()), None)
        }
        // The order is asked: it says where it stands, and where the shopper has to go.
        Some(Meaning::Ask | Meaning::Shopper) => (Verdict::Indeterminate, None),
        Some(Meaning::OurFault) => (Verdict::NotExecuted(NotExecuted::OurFault), None),
        Some(Meaning::Settings) => (Verdict::NotExecuted(NotExecuted::Configuration), None),
        Some(Meaning::Person) => unlisted(issue),
        None => unlisted(format!("issue {:?}", issue.chars().take(60).collect::<String>())),
    }
}

/// Judges the answer to a question: an object, or an order among whose refunds ours may be.
pub fn decode_lookup(reply: &Reply, refund_reference: Option<&str>) -> Judged {
    if reply.status == StatusCode::NOT_FOUND {
        return (Verdict::Absent, None);
    }
    if !reply.status.is_success() {
        // A token that expired is replaced by the next question.
        let refused = reply.status == StatusCode::FORBIDDEN;
        let alert = refused.then(|| format!("a lookup was refused with {}", reply.status.as_u16()));
        return (Verdict::NoNews, alert);
    }
    let Ok(object) = serde_json::from_slice::<Value>(&reply.body) else {
        return (Verdict::NoNews, Some("a lookup's answer that is no object".into()));
    };
    let Some(reference) = refund_reference else { return quiet(judge_object(&object)) };
    let Ok(order) = Order::deserialize(&object) else {
        return (Verdict::NoNews, Some("an order that cannot be read".into()));
    };
    let mut ours = order
        .purchase_units
        .iter()
        .flat_map(|unit| &unit.payments.refunds)
        .filter(|refund| refund.custom_id.as_deref() == Some(reference));
    match (ours.next(), ours.next()) {
        (None, _) => (Verdict::Absent, None),
        (Some(only), None) => quiet(judge_refund(only)),
        (Some(first), Some(_)) => match judge_refund(first) {
            (Verdict::Definitive(_, found), _) => {
                (Verdict::Contradicts(ReviewReason::TwoEffects, found), None)
            }
            other => quiet(other),
        },
    }
}

/// A lookup that cannot be read says nothing.
fn quiet((verdict, unlisted): Judged) -> Judged {
    let verdict = if verdict == Verdict::Indeterminate { Verdict::NoNews } else { verdict };
    (verdict, unlisted)
}

/// What is kept of an answer beside its verdict.
pub fn answered(reply: &Reply, (verdict, unlisted): Judged) -> Answer {
    let body = serde_json::from_slice::<ErrorBody>(&reply.body).ok();
    let body = body.filter(|_| !reply.status.is_success());
    let debug_id = body.as_ref().and_then(|body| body.debug_id.clone());
    let noted = body.map(|body| {
        let issue = body.details.first().map(|it| it.issue.as_str()).unwrap_or_default();
        format!("{}/{issue}", body.name).chars().take(120).collect()
    });
    Answer {
        verdict,
        // A repeat tells the latest status of the earlier request, which is no frozen copy.
        cached: false,
        transport: Transport::Answered,
        http_status: Some(reply.status.as_u16()),
        request_id: reply
            .noted("paypal-debug-id")
            .or_else(|| debug_id.map(|id| id.chars().take(80).collect())),
        provider_error: noted,
        unlisted,
    }
}

/// Reads a verified event. Whatever is not listed here is news that wakes a lookup.
pub fn parse_event(body: &[u8], live: bool) -> Result<Event, WebhookError> {
    let event: EventBody = serde_json::from_slice(body).map_err(|_| WebhookError::Malformed)?;
    if event.id.is_empty() || event.id.len() > 200 {
        return Err(WebhookError::Malformed);
    }
    let mut told = Event {
        id: event.id,
        kind: event.event_type.chars().take(80).collect(),
        occurred_at: time(&event.create_time),
        reference: event.resource["custom_id"].as_str().map(str::to_owned),
        key: None,
        provider_id: None,
        effect_id: None,
        made_elsewhere: None,
        gives_back: false,
        verdict: Verdict::Indeterminate,
        live,
    };
    match event.event_type.as_str() {
        "PAYMENT.CAPTURE.REFUNDED" | "PAYMENT.CAPTURE.REVERSED" => {
            let Ok(refund) = Refund::deserialize(&event.resource) else { return Ok(told) };
            let capture = parent(&refund.links);
            told.provider_id = Some(refund.id.clone());
            told.effect_id.clone_from(&capture);
            let (verdict, _) = judge_refund(&refund);
            if let (Verdict::Definitive(outcome, found), Some(amount)) =
                (&verdict, refund.amount.as_ref().and_then(Amount::money))
            {
                told.made_elsewhere = Some(Listed {
                    kind: ListedKind::GivenBack,
                    provider_id: refund.id.clone(),
                    is_effect: false,
                    reference: found.reference.clone(),
                    parent: capture,
                    outcome: outcome.clone(),
                    amount,
                });
            }
            told.gives_back = told.made_elsewhere.is_some();
            // A reversal is no refund of ours: it is asked about at the order.
            if event.event_type == "PAYMENT.CAPTURE.REFUNDED" {
                told.gives_back = true;
                told.verdict = verdict;
            }
        }
        kind if kind.starts_with("PAYMENT.CAPTURE.") => {
            let Ok(capture) = Capture::deserialize(&event.resource) else { return Ok(told) };
            let agrees = kind.rsplit('.').next().is_some_and(|word| {
                word == capture.status || (word == "DENIED" && capture.status == "DECLINED")
            });
            told.provider_id.clone_from(&capture.supplementary_data.related_ids.order_id);
            told.effect_id = Some(capture.id.clone());
            let found = Found { provider_id: told.provider_id.clone(), ..Found::default() };
            if agrees {
                told.verdict = judge_capture(&capture, found).0;
            }
        }
        "CHECKOUT.ORDER.APPROVED" => {
            let Ok(order) = Order::deserialize(&event.resource) else { return Ok(told) };
            told.provider_id = Some(order.id.clone());
            told.reference = order.purchase_units.first().and_then(|it| it.custom_id.clone());
            told.verdict = judge_order(&order).0;
        }
        // An approval that was not captured in time: its own id is no order's.
        "CHECKOUT.PAYMENT-APPROVAL.REVERSED" => {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            told.provider_id = text(&event.resource["order_id"]);
            told.reference = text(&event.resource["purchase_units"][0]["custom_id"]);
        }
        _ => {
            told.provider_id = event.resource["id"].as_str().map(str::to_owned);
        }
    }
    Ok(told)
}

/// The capture a refund belongs to, by its `up` link.
fn parent(links: &[Link]) -> Option<String> {
    let up = links.iter().find(|link| link.rel == "up")?;
    let id = up.href.split("/v2/payments/captures/").nth(1)?;
    Some(id.split(['/', '?']).next()?.to_owned())
}

/// A time as PayPal writes it: RFC 3339 in UTC, such as `2026-12-01T10:20:30Z`.
pub fn time(text: &str) -> Option<Timestamp> {
    let at = humantime::parse_rfc3339(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp(millis(at)))
}
