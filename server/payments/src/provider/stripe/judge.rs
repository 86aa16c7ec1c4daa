//! From Stripe's answers and events to verdicts. Pure.

use domain::{
    evidence::{Found, NotExecuted, Outcome, Verdict},
    money::Currency,
    operation::ReviewReason,
    schedule::Timestamp,
};
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::{
    super::{Answer, Event, Listed, ListedKind, Transport, WebhookError, wire::Reply},
    Judged, units,
};

#[derive(Deserialize)]
struct Intent {
    id: String,
    status: String,
    amount: i64,
    #[serde(default)]
    amount_received: i64,
    currency: String,
    livemode: bool,
    #[serde(default)]
    metadata: Metadata,
    last_payment_error: Option<Trouble>,
    next_action: Option<NextAction>,
    /// An id, or the whole charge where a request asked for it.
    latest_charge: Option<Value>,
}

#[derive(Deserialize, Default)]
struct Metadata {
    reference: Option<String>,
}

#[derive(Deserialize)]
struct NextAction {
    redirect_to_url: Option<Redirect>,
}

#[derive(Deserialize)]
struct Redirect {
    url: Option<String>,
}

#[derive(Deserialize)]
struct Refund {
    id: String,
    amount: i64,
    currency: String,
    status: String,
    failure_reason: Option<String>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Trouble {
    #[serde(rename = "type", default)]
    kind: String,
    code: Option<String>,
    decline_code: Option<String>,
    payment_intent: Option<Value>,
}

#[derive(Deserialize)]
struct ErrorBody {
    error: Trouble,
}

#[derive(Deserialize)]
struct List {
    data: Vec<Value>,
    #[serde(default)]
    has_more: bool,
}

#[derive(Deserialize)]
struct EventBody {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    created: i64,
    livemode: bool,
    /// Named only where it happened at another account, which is connected to ours.
    account: Option<String>,
    request: Option<Value>,
    data: EventData,
}

#[derive(Deserialize)]
struct EventData {
    object: Value,
}

fn unlisted(what: impl Into<String>) -> Judged {
    (Verdict::Indeterminate, Some(what.into()))
}

fn word(status: &str) -> String {
    let status: String = status.chars().take(60).collect();
    format!("status word {status:?}")
}

/// What a PaymentIntent says. "requires_payment_method" is both new and declined: its
/// `last_payment_error` tells them apart.
fn judge_intent(intent: &Intent, live: bool) -> Judged {
    let mut found = Found {
        provider_id: Some(intent.id.clone()),
        effect_id: intent.latest_charge.as_ref().and_then(charge_id),
        reference: intent.metadata.reference.clone(),
        account: None,
        amount: None,
    };
    if Currency::from_code(&intent.currency.to_uppercase()).is_err() {
        return (Verdict::Contradicts(ReviewReason::CurrencyMismatch, found), None);
    }
    let amount = if intent.status == "succeeded" { intent.amount_received } else { intent.amount };
    let Some(amount) = units::from_stripe(amount, &intent.currency) else {
        return (Verdict::Contradicts(ReviewReason::AmountMismatch, found), None);
    };
    found.amount = Some(amount);
    if intent.livemode != live {
        return (Verdict::Contradicts(ReviewReason::AccountMismatch, found), None);
    }
    let outcome = match intent.status.as_str() {
        "succeeded" => Outcome::Succeeded,
        "processing" => Outcome::Processing,
        "canceled" => Outcome::Canceled,
        "requires_payment_method" => match &intent.last_payment_error {
            // Somebody's use of a key is no word about the money, and the intent waits as before.
            Some(trouble) if trouble.kind == "idempotency_error" => {
                return unlisted("an intent whose last trouble is an idempotency_error");
            }
            Some(trouble) => Outcome::Rejected { code: trouble.decline() },
            None => return (Verdict::Accepted(found), None),
        },
        "requires_confirmation" => return (Verdict::Accepted(found), None),
        "requires_action" => {
            let next = intent.next_action.as_ref().and_then(|it| it.redirect_to_url.as_ref());
            match next.and_then(|it| it.url.clone()) {
                Some(url) => Outcome::ActionRequired { url, expires_at: None },
                None => return unlisted("requires_action without a redirect"),
            }
        }
        other => return unlisted(word(other)),
    };
    (Verdict::Definitive(outcome, found), None)
}

fn charge_id(charge: &Value) -> Option<String> {
    charge.as_str().or_else(|| charge["id"].as_str()).map(str::to_owned)
}

impl Trouble {
    fn decline(&self) -> String {
        self.decline_code.clone().or_else(|| self.code.clone()).unwrap_or_else(|| "declined".into())
    }
}

fn judge_refund(refund: &Refund) -> Judged {
    let found = Found {
        provider_id: Some(refund.id.clone()),
        effect_id: None,
        reference: refund.metadata.as_ref().and_then(|it| it.reference.clone()),
        account: None,
        amount: units::from_stripe(refund.amount, &refund.currency),
    };
    let outcome = match refund.status.as_str() {
        "succeeded" => Outcome::Succeeded,
        // `requires_action`: the customer has to say where it goes. It may still come.
        "pending" | "requires_action" => Outcome::Processing,
        "failed" => Outcome::Rejected {
            code: refund.failure_reason.clone().unwrap_or_else(|| "failed".into()),
        },
        "canceled" => Outcome::Canceled,
        other => return unlisted(word(other)),
    };
    (Verdict::Definitive(outcome, found), None)
}

fn judge_object(object: &Value, live: bool) -> Judged {
    let read = match object["object"].as_str() {
        Some("payment_intent") => {
            Intent::deserialize(object).map(|intent| judge_intent(&intent, live))
        }
        Some("refund") => Refund::deserialize(object).map(|refund| judge_refund(&refund)),
        Some(other) => return unlisted(format!("an object {:?}", short(other))),
        None => return unlisted("an answer that is no object"),
    };
    read.unwrap_or_else(|_| unlisted("an object that cannot be read"))
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Judges the answer to a mutating request.
pub fn decode(reply: &Reply, live: bool) -> Judged {
    if reply.status.is_success() {
        return match serde_json::from_slice::<Value>(&reply.body) {
            Ok(object) => judge_object(&object, live),
            Err(_) => unlisted("an answer that is no object"),
        };
    }
    let trouble = serde_json::from_slice::<ErrorBody>(&reply.body).ok().map(|body| body.error);
    let kind = trouble.as_ref().map_or("", |trouble| trouble.kind.as_str());
    let code = trouble.as_ref().and_then(|trouble| trouble.code.as_deref()).unwrap_or_default();
    match (reply.status.as_u16(), kind, code) {
        (402, "card_error", _) => declined(trouble.as_ref()),
        // Somebody used this key for another request: nothing about ours, and never a decline.
        (400, "idempotency_error", _) => unlisted("our key, other parameters"),
        // The object moved on without us; by its id it can be asked where it is.
        (400, _, "payment_intent_unexpected_state") => (Verdict::Indeterminate, None),
        (400, "invalid_request_error", "charge_already_refunded") => {
            let outcome = Outcome::Rejected { code: code.to_owned() };
            (Verdict::Definitive(outcome, Found::default()), None)
        }
        (400 | 404, "invalid_request_error", _) => {
            (Verdict::NotExecuted(NotExecuted::OurFault), None)
        }
        (401 | 403, "invalid_request_error" | "authentication_error" | "permission_error", _) => {
            (Verdict::NotExecuted(NotExecuted::Configuration), None)
        }
        (429, _, _) => (Verdict::RetryLater { after: reply.retry_after() }, None),
        (409, _, "idempotency_key_in_use" | "lock_timeout") => (Verdict::Indeterminate, None),
        (424 | 500..=599, _, _) => (Verdict::Indeterminate, None),
        (status, kind, _) => unlisted(format!("status {status} {:?}", short(kind))),
    }
}

/// A decline names its PaymentIntent, whose reference is then compared like any other.
fn declined(trouble: Option<&Trouble>) -> Judged {
    let code = trouble.map_or_else(|| "declined".to_owned(), Trouble::decline);
    let object = trouble.and_then(|trouble| trouble.payment_intent.as_ref());
    let Some(intent) = object.and_then(|it| Intent::deserialize(it).ok()) else {
        return unlisted("a card error without its PaymentIntent");
    };
    let found = Found {
        provider_id: Some(intent.id),
        effect_id: None,
        reference: intent.metadata.reference,
        account: None,
        amount: units::from_stripe(intent.amount, &intent.currency),
    };
    (Verdict::Definitive(Outcome::Rejected { code }, found), None)
}

/// Judges the answer to a question: an object, or a payment's refunds among which ours may be.
pub fn decode_lookup(reply: &Reply, reference: &str, live: bool) -> Judged {
    if reply.status == StatusCode::NOT_FOUND {
        return (Verdict::Absent, None);
    }
    if !reply.status.is_success() {
        let refused = matches!(reply.status.as_u16(), 401 | 403);
        let alert = refused.then(|| format!("a lookup was refused with {}", reply.status.as_u16()));
        return (Verdict::NoNews, alert);
    }
    let Ok(object) = serde_json::from_slice::<Value>(&reply.body) else {
        return (Verdict::NoNews, Some("a lookup's answer that is no object".into()));
    };
    if object["object"] != "list" {
        return quiet(judge_object(&object, live));
    }
    let Ok(list) = List::deserialize(&object) else {
        return (Verdict::NoNews, Some("a list that cannot be read".into()));
    };
    let ours: Vec<&Value> =
        list.data.iter().filter(|it| it["metadata"]["reference"] == reference).collect();
    match ours.as_slice() {
        [] if list.has_more => (Verdict::NoNews, None),
        [] => (Verdict::Absent, None),
        [only] => quiet(judge_object(only, live)),
        [first, ..] => match judge_object(first, live) {
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
    let trouble = serde_json::from_slice::<ErrorBody>(&reply.body).ok().map(|body| body.error);
    let advice = reply.header("stripe-should-retry");
    let words = trouble.map(|it| {
        let words = [Some(it.kind), it.code, it.decline_code];
        words.into_iter().flatten().collect::<Vec<_>>().join("/")
    });
    // Stripe's own advice is kept whatever the body is.
    let advice = advice.map(|advice| format!("(should-retry: {advice})"));
    let noted: Vec<String> = [words, advice].into_iter().flatten().collect();
    let noted = (!noted.is_empty()).then(|| noted.join(" ").chars().take(120).collect());
    Answer {
        verdict,
        cached: reply.header("idempotent-replayed").is_some_and(|value| value == "true"),
        transport: Transport::Answered,
        http_status: Some(reply.status.as_u16()),
        request_id: reply.noted("request-id"),
        provider_error: noted,
        unlisted,
    }
}

/// Whether an event's type and the status of its object tell the same.
fn agrees(kind: &str, object: &Value) -> bool {
    let status = object["status"].as_str().unwrap_or_default();
    match kind {
        "payment_intent.created" => {
            matches!(status, "requires_payment_method" | "requires_confirmation")
        }
        "payment_intent.succeeded" => status == "succeeded",
        "payment_intent.processing" => status == "processing",
        "payment_intent.requires_action" => status == "requires_action",
        "payment_intent.canceled" => status == "canceled",
        "payment_intent.payment_failed" => status == "requires_payment_method",
        "refund.failed" => status == "failed",
        "refund.created" | "refund.updated" | "charge.refund.updated" => true,
        _ => false,
    }
}

/// Reads a verified event. Whatever is not listed here is news that wakes a lookup.
pub fn parse_event(body: &[u8]) -> Result<Event, WebhookError> {
    let event: EventBody = serde_json::from_slice(body).map_err(|_| WebhookError::Malformed)?;
    if event.id.is_empty() || event.id.len() > 200 {
        return Err(WebhookError::Malformed);
    }
    let object = &event.data.object;
    let is_payment = object["object"] == "payment_intent";
    let is_refund = object["object"] == "refund";
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let own = text(&object["id"]);
    let of = text(&object["payment_intent"]);
    let elsewhere = elsewhere(object, own.clone(), of.clone());
    let verdict = if event.account.is_some() {
        Verdict::Contradicts(ReviewReason::AccountMismatch, Found::default())
    } else if agrees(&event.kind, object) {
        judge_object(object, event.livemode).0
    } else {
        Verdict::Indeterminate
    };
    Ok(Event {
        id: event.id,
        kind: event.kind.chars().take(80).collect(),
        occurred_at: Some(Timestamp(event.created.saturating_mul(1000))),
        reference: text(&object["metadata"]["reference"]),
        key: event.request.as_ref().and_then(|it| text(&it["idempotency_key"])),
        // A charge or a dispute is news about its PaymentIntent.
        provider_id: if is_payment || is_refund { own } else { of },
        effect_id: None,
        gives_back: is_refund || elsewhere.is_some(),
        made_elsewhere: elsewhere.filter(|_| event.account.is_none()),
        verdict,
        live: event.livemode,
    })
}

/// A refund or a dispute that no operation of ours made, as far as an object can tell. A dispute
/// takes the money at once and gives it back when it is won; an inquiry (`warning_...`) takes
/// nothing.
fn elsewhere(object: &Value, own: Option<String>, of: Option<String>) -> Option<Listed> {
    let status = object["status"].as_str().unwrap_or_default();
    let currency = object["currency"].as_str()?;
    let amount = units::from_stripe(object["amount"].as_i64()?, currency)?;
    let outcome = match (object["object"].as_str()?, status) {
        ("refund", "succeeded") => Outcome::Succeeded,
        ("refund", "pending" | "requires_action") => Outcome::Processing,
        ("refund", "failed") => Outcome::Rejected { code: "failed".into() },
        ("refund", "canceled") => Outcome::Canceled,
        ("dispute", "lost") => Outcome::Succeeded,
        // `charge_refunded`: what went back is told by its refund.
        ("dispute", "won" | "warning_closed" | "prevented" | "charge_refunded") => {
            Outcome::Canceled
        }
        ("dispute", "warning_needs_response" | "warning_under_review") => return None,
        ("dispute", _) => Outcome::Processing,
        _ => return None,
    };
    Some(Listed {
        kind: ListedKind::GivenBack,
        provider_id: own?,
        is_effect: false,
        reference: object["metadata"]["reference"].as_str().map(str::to_owned),
        parent: of,
        outcome,
        amount,
    })
}

/// One page of a list, for the sweep; and after which id there is more.
pub fn page(reply: &Reply) -> Option<(Vec<Listed>, Option<String>)> {
    if !reply.status.is_success() {
        return None;
    }
    let list: List = serde_json::from_slice(&reply.body).ok()?;
    let mut rows = Vec::new();
    for object in &list.data {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        // A row that cannot be read makes the list no whole one.
        if object["object"] == "refund" || object["object"] == "dispute" {
            let (own, of) = (text(&object["id"])?, text(&object["payment_intent"]));
            units::from_stripe(object["amount"].as_i64()?, object["currency"].as_str()?)?;
            rows.extend(elsewhere(object, Some(own), of));
            continue;
        }
        let intent = Intent::deserialize(object).ok()?;
        let (Verdict::Definitive(outcome, _), _) = judge_intent(&intent, intent.livemode) else {
            continue;
        };
        rows.push(Listed {
            kind: ListedKind::Taken,
            provider_id: intent.id,
            is_effect: false,
            reference: intent.metadata.reference,
            parent: None,
            amount: units::from_stripe(intent.amount_received, &intent.currency)?,
            outcome,
        });
    }
    let last = list.data.last().and_then(|it| it["id"].as_str()).map(str::to_owned);
    Some((rows, last.filter(|_| list.has_more)))
}
