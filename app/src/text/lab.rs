//! The words of the fault lab: its scenarios, and what is said of requests, news and decisions.

use std::time::Duration;

use domain::operation::{ReviewReason, State};

use super::{Lang, money, say};
use crate::pages::lab::scenario::{Scenario, Told};

/// A scenario in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Story {
    /// What goes wrong, in a line.
    pub title: &'static str,
    /// What goes wrong, and what the shop does: two sentences.
    pub story: &'static str,
}

macro_rules! story {
    ($lang:expr, $name:ident) => {
        Story {
            title: say!($lang, lab.scenario.$name.title),
            story: say!($lang, lab.scenario.$name.story),
        }
    };
}

/// The lab's name: its title, and the link to it.
pub fn title(lang: Lang) -> &'static str {
    say!(lang, lab.title)
}

/// What a scenario is.
pub fn story(lang: Lang, scenario: Scenario) -> Story {
    match scenario {
        Scenario::NeverArrived => story!(lang, never_arrived),
        Scenario::LostResponse => story!(lang, lost_response),
        Scenario::Processing => story!(lang, processing),
        Scenario::WebhookFirst => story!(lang, webhook_first),
        Scenario::SameMoment => story!(lang, same_moment),
        Scenario::OtherPayload => story!(lang, other_payload),
        Scenario::WorkerDies => story!(lang, worker_dies),
        Scenario::HourOfTimeouts => story!(lang, hour_of_timeouts),
        Scenario::PaymentStory => story!(lang, payment_story),
        Scenario::NewsAfterLoss => story!(lang, news_after_loss),
        Scenario::TooSlow => story!(lang, too_slow),
        Scenario::Overtaken => story!(lang, overtaken),
        Scenario::TwoOrders => story!(lang, two_orders),
        Scenario::RefundTwice => story!(lang, refund_twice),
        Scenario::RefundBehind500 => story!(lang, refund_behind_500),
        Scenario::HalfARequest => story!(lang, half_a_request),
        Scenario::NewsAndQuestion => story!(lang, news_and_question),
        Scenario::HiddenRetries => story!(lang, hidden_retries),
        Scenario::PatienceTooLong => story!(lang, patience_too_long),
        Scenario::InvoiceWithoutKeys => story!(lang, invoice_without_keys),
        Scenario::Behind500 => story!(lang, behind_500),
        Scenario::CutBody => story!(lang, cut_body),
        Scenario::Busy => story!(lang, busy),
        Scenario::Copies => story!(lang, copies),
        Scenario::WebhookNever => story!(lang, webhook_never),
        Scenario::WebhookDecides => story!(lang, webhook_decides),
        Scenario::Forged => story!(lang, forged),
        Scenario::WrongAmount => story!(lang, wrong_amount),
        Scenario::NotFoundYet => story!(lang, not_found_yet),
        Scenario::Outage => story!(lang, outage),
        Scenario::DoneLate => story!(lang, done_late),
        Scenario::Refused => story!(lang, refused),
        Scenario::ProcessingDeclined => story!(lang, processing_declined),
        Scenario::NewsReversed => story!(lang, news_reversed),
        Scenario::ForeignNews => story!(lang, foreign_news),
        Scenario::RefundPending => story!(lang, refund_pending),
        Scenario::RefundRefused => story!(lang, refund_refused),
        Scenario::RefundRefusedLater => story!(lang, refund_refused_later),
        Scenario::RefundComesBack => story!(lang, refund_comes_back),
        Scenario::Own => Story { title: say!(lang, lab.own), story: say!(lang, lab.own_lead) },
    }
}

macro_rules! told {
    ($lang:expr, $name:ident) => {
        Story { title: say!($lang, lab.told.$name.title), story: say!($lang, lab.told.$name.story) }
    };
}

/// What a story is that is told by a page or a test of its own.
pub fn told(lang: Lang, told: Told) -> Story {
    match told {
        Told::ManyAtOnce => told!(lang, many_at_once),
        Told::Numbers => told!(lang, numbers),
    }
}

/// A count with its thousands apart.
pub fn number(lang: Lang, count: usize) -> String {
    let (digits, mut text) = (count.to_string(), String::new());
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(if lang == Lang::ru { '\u{a0}' } else { ',' });
        }
        text.push(digit);
    }
    text
}

/// Tenths as a number with one decimal: per mille as per cent.
pub fn percent(lang: Lang, tenths: usize) -> String {
    let mark = if lang == Lang::ru { ',' } else { '.' };
    format!("{}{mark}{}", tenths / 10, tenths % 10)
}

/// Seconds, with one decimal where they are not whole.
pub fn seconds(lang: Lang, time: Duration) -> String {
    let tenths = usize::try_from(time.as_millis() / 100).unwrap_or(usize::MAX);
    if tenths.is_multiple_of(10) { number(lang, tenths / 10) } else { percent(lang, tenths) }
}

/// Where the invoicing partner writes.
const INVOICES: &str = "/invoicing/invoices";

/// What a request asks of the provider.
pub fn asked(lang: Lang, method: &str, path: &str, searches: bool) -> String {
    let words = match (method, path) {
        ("POST", "/v1/payments") => say!(lang, lab.wire.take),
        ("POST", path) if path.ends_with("/cancel") => say!(lang, lab.wire.cancel),
        ("POST", "/v1/refunds") => say!(lang, lab.wire.refund),
        ("POST", INVOICES) => say!(lang, lab.wire.write_invoice),
        ("GET", path) if path.starts_with(INVOICES) => say!(lang, lab.wire.find_invoice),
        ("GET", _) if searches => say!(lang, lab.wire.find),
        ("GET", _) => say!(lang, lab.wire.look),
        (_, path) => return say!(lang, lab.wire.other, path = path.to_owned()),
    };
    words.to_owned()
}

/// A step of an operation by what it asks for.
pub fn step(lang: Lang, kind: &str, step: &str) -> String {
    match step {
        "create" if kind == "invoice" => say!(lang, lab.wire.write_invoice).to_owned(),
        "create" => say!(lang, lab.wire.take).to_owned(),
        "cancel" => say!(lang, lab.wire.cancel).to_owned(),
        "refund" => say!(lang, lab.wire.refund).to_owned(),
        other => say!(lang, lab.wire.other, path = other.to_owned()),
    }
}

/// How the provider's log says that a request was answered.
pub fn answered(lang: Lang, answered: &str) -> String {
    match answered {
        "dropped" => say!(lang, lab.wire.dropped).to_owned(),
        "cut" => say!(lang, lab.wire.cut).to_owned(),
        "never" => say!(lang, lab.wire.never).to_owned(),
        "half_read" => say!(lang, lab.wire.half_read).to_owned(),
        "pending" => say!(lang, lab.wire.pending).to_owned(),
        status => say!(lang, lab.wire.status, status = status.to_owned()),
    }
}

/// How a request ended for the shop.
pub fn transport(lang: Lang, word: &str) -> &'static str {
    match word {
        "not_sent" => say!(lang, lab.transport.not_sent),
        "timed_out" => say!(lang, lab.transport.timed_out),
        "connection_lost" => say!(lang, lab.transport.connection_lost),
        "in_flight" => say!(lang, lab.transport.in_flight),
        _ => say!(lang, lab.transport.answered),
    }
}

/// What was made of an answer to an operation of this kind.
pub fn verdict_of(lang: Lang, kind: &str, word: &str) -> String {
    if kind == "invoice" && word == "accepted" {
        say!(lang, lab.verdict.number_exists).to_owned()
    } else {
        verdict(lang, word)
    }
}

/// What was made of an answer, an event or a lookup.
fn verdict(lang: Lang, word: &str) -> String {
    let words = match word {
        "definitive_succeeded" => say!(lang, lab.verdict.succeeded),
        "definitive_rejected" => say!(lang, lab.verdict.rejected),
        "definitive_canceled" => say!(lang, lab.verdict.canceled),
        "definitive_reversed" => say!(lang, lab.verdict.reversed),
        "definitive_action_required" => say!(lang, lab.verdict.action),
        "definitive_processing" => say!(lang, lab.verdict.processing),
        "accepted" => say!(lang, lab.verdict.accepted),
        "not_sent" => say!(lang, lab.verdict.not_sent),
        "not_executed_configuration" | "not_executed_our_fault" => {
            say!(lang, lab.verdict.not_executed)
        }
        "retry_later" => say!(lang, lab.verdict.later),
        "indeterminate" => say!(lang, lab.verdict.unknown),
        "absent" => say!(lang, lab.verdict.absent),
        "no_news" => say!(lang, lab.verdict.no_news),
        "contradicts" => say!(lang, lab.verdict.contradicts),
        other => return say!(lang, lab.verdict.other, word = other.to_owned()),
    };
    words.to_owned()
}

/// The cause of a change: who told, and what.
pub fn cause(lang: Lang, kind: &str, source: &str, evidence: &str) -> String {
    let who = match source {
        "shopper" => say!(lang, lab.source.shopper).to_owned(),
        "worker" => say!(lang, lab.source.worker).to_owned(),
        // There may have been none, or one that tells nothing.
        "response" if evidence == "indeterminate" => say!(lang, lab.source.unclear).to_owned(),
        "response" => say!(lang, lab.source.response).to_owned(),
        "late_response" => say!(lang, lab.source.late_response).to_owned(),
        "lookup" => say!(lang, lab.source.lookup).to_owned(),
        "webhook" => say!(lang, lab.source.webhook).to_owned(),
        "lease_end" => say!(lang, lab.source.lease_end).to_owned(),
        "clock" => say!(lang, lab.source.clock).to_owned(),
        "operator" => say!(lang, lab.source.operator).to_owned(),
        "engine" => say!(lang, lab.source.engine).to_owned(),
        other => say!(lang, lab.source.other, word = other.to_owned()),
    };
    let what = match evidence {
        "pay_pressed" => say!(lang, lab.evidence.pay_pressed).to_owned(),
        "claimed" => say!(lang, lab.evidence.claimed).to_owned(),
        "cancel_asked" => say!(lang, lab.evidence.cancel_asked).to_owned(),
        "expired" => say!(lang, lab.evidence.expired).to_owned(),
        "no_answer_recorded" => say!(lang, lab.evidence.no_answer).to_owned(),
        "time_passed" => say!(lang, lab.evidence.time_passed).to_owned(),
        "order_paid" => say!(lang, lab.evidence.order_paid).to_owned(),
        "refund_asked" => say!(lang, lab.evidence.refund_asked).to_owned(),
        other => verdict_of(lang, kind, other).trim_end_matches('.').to_owned(),
    };
    say!(lang, lab.act.by, source = who, evidence = what)
}

/// An operation of the order, by its kind and number.
pub fn operation(lang: Lang, kind: &str, number: u32) -> String {
    match kind {
        "refund" => say!(lang, lab.act.refund, number = number.to_string()),
        "external" => say!(lang, lab.act.external).to_owned(),
        "invoice" => say!(lang, lab.act.invoice).to_owned(),
        _ => say!(lang, lab.act.payment, number = number.to_string()),
    }
}

/// A state in a few words, for people who look behind the curtain.
pub fn state(lang: Lang, state: State) -> &'static str {
    match state {
        State::Created => say!(lang, lab.state.created),
        State::Requested => say!(lang, lab.state.requested),
        State::RequiresAction => say!(lang, lab.state.requires_action),
        State::RetryScheduled => say!(lang, lab.state.retry_scheduled),
        State::PendingConfirmation => say!(lang, lab.state.pending_confirmation),
        State::RequiresReview => say!(lang, lab.state.requires_review),
        State::Succeeded => say!(lang, lab.state.succeeded),
        State::Rejected => say!(lang, lab.state.rejected),
        State::Canceled => say!(lang, lab.state.canceled),
        State::Reversed => say!(lang, lab.state.reversed),
    }
}

/// A state of an operation of any kind: only a payment is paid.
pub fn state_of(lang: Lang, kind: &str, it: State) -> &'static str {
    if it == State::Succeeded && kind != "payment" {
        say!(lang, lab.state.done)
    } else {
        state(lang, it)
    }
}

/// Why a person looks at it.
pub fn reason(lang: Lang, why: ReviewReason) -> &'static str {
    match why {
        ReviewReason::Deadline => say!(lang, lab.reason.deadline),
        ReviewReason::NoLookup => say!(lang, lab.reason.no_lookup),
        ReviewReason::AmountMismatch => say!(lang, lab.reason.amount),
        ReviewReason::CurrencyMismatch => say!(lang, lab.reason.currency),
        ReviewReason::ReferenceMismatch | ReviewReason::AccountMismatch => {
            say!(lang, lab.reason.mismatch)
        }
        ReviewReason::TwoEffects => say!(lang, lab.reason.two_effects),
        ReviewReason::NotCancelable | ReviewReason::EventTimeUndecided => {
            say!(lang, lab.reason.other)
        }
    }
}

/// The provider's word for where its payment stands.
pub fn status(lang: Lang, word: &str) -> String {
    match word {
        "succeeded" => say!(lang, lab.status.succeeded).to_owned(),
        "declined" => say!(lang, lab.status.declined).to_owned(),
        "processing" => say!(lang, lab.status.processing).to_owned(),
        "requires_action" => say!(lang, lab.status.requires_action).to_owned(),
        "canceled" => say!(lang, lab.status.canceled).to_owned(),
        "reversed" => say!(lang, lab.status.reversed).to_owned(),
        other => say!(lang, lab.status.other, word = other.to_owned()),
    }
}

/// How long before or after Pay was pressed, in hundredths of a second.
pub fn since(lang: Lang, ms: i64) -> String {
    let hundredths = ms.unsigned_abs() / 10;
    let seconds = money::grouped(lang, &format!("{}.{:02}", hundredths / 100, hundredths % 100));
    let seconds = seconds.unwrap_or_default();
    if ms < 0 {
        say!(lang, lab.before, seconds = seconds)
    } else {
        say!(lang, lab.after, seconds = seconds)
    }
}

/// The choices of one field of a fault, each with its word in the form.
pub fn choices(lang: Lang, field: &str) -> Vec<(&'static str, &'static str)> {
    macro_rules! of {
        ($group:ident: $($name:ident),+) => {
            vec![$((stringify!($name), say!(lang, lab.form.$group.$name))),+]
        };
    }
    match field {
        "execute" => of!(execute_choice: now, no, later),
        "answer" => of!(answer_choice: normal, slow, late, drop, cut, never, refused, error,
            error_saved, busy, in_use, malformed, unlisted, html),
        "webhook" => of!(webhook_choice: normal, before, never, delayed, copies, reversed, forged,
            amount, currency, reference, account, live),
        "lookup" => of!(lookup_choice: truthful, hidden, down, denied, dropped, silent),
        "card" => of!(card_choice: visa, declined, poor, processing, processing_declined, bank,
            hosted, amount, currency, unknown, refund_pending, refund_refused, refund_back),
        "refund" => of!(refund_choice: normal, drop, error, never, no, undone),
        "times" => of!(times_choice: once, always),
        _ => Vec::new(),
    }
}
