//! PayPal's Transaction Search (developer.paypal.com/docs/api/transaction-search/v1) as the list
//! that the daily comparison reads. Pure.
//!
//! It lists captures, not orders: what was taken bears the id of its effect. It is late, by three
//! hours at most as PayPal says, and every answer tells until when it is complete.

use domain::{evidence::Outcome, schedule::Timestamp};
use serde::Deserialize;

use super::{
    super::{Listed, ListedKind, wire::Reply},
    judge::{Amount, time},
    money::from_paypal,
};

/// The event codes by which a buyer's money comes to a shop and goes back. Fees, payouts, holds,
/// currency conversions and whatever else an account sees are not among them, and not compared.
const CODES: [(&str, ListedKind); 15] = [
    // Received: general, subscription, agreement, direct, checkout, website, mobile, terminal,
    // donation, in person, by another instrument.
    ("T0000", ListedKind::Taken),
    ("T0002", ListedKind::Taken),
    ("T0003", ListedKind::Taken),
    ("T0005", ListedKind::Taken),
    ("T0006", ListedKind::Taken),
    ("T0007", ListedKind::Taken),
    ("T0011", ListedKind::Taken),
    ("T0012", ListedKind::Taken),
    ("T0013", ListedKind::Taken),
    ("T0018", ListedKind::Taken),
    ("T0019", ListedKind::Taken),
    // Given back: reversed by PayPal, refunded by the shop, reversed by another instrument, and a
    // chargeback.
    ("T1106", ListedKind::GivenBack),
    ("T1107", ListedKind::GivenBack),
    ("T1118", ListedKind::GivenBack),
    ("T1201", ListedKind::GivenBack),
];

/// One page of the report.
#[derive(PartialEq, Eq, Debug)]
pub struct Page {
    /// What of it is a shop's.
    pub rows: Vec<Listed>,
    /// How many pages there are.
    pub pages: u32,
    /// What happened after this may be missing.
    pub refreshed_at: Timestamp,
}

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    transaction_details: Vec<Detail>,
    #[serde(default)]
    total_pages: u32,
    last_refreshed_datetime: String,
}

#[derive(Deserialize)]
struct Detail {
    transaction_info: Info,
}

#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    transaction_id: String,
    paypal_reference_id: Option<String>,
    paypal_reference_id_type: Option<String>,
    #[serde(default)]
    transaction_event_code: String,
    transaction_amount: Option<Amount>,
    #[serde(default)]
    transaction_status: String,
    custom_field: Option<String>,
    invoice_id: Option<String>,
}

/// Reads a page; `None` where the answer is none.
pub fn page(reply: &Reply) -> Option<Page> {
    if !reply.status.is_success() {
        return None;
    }
    let report: Report = serde_json::from_slice(&reply.body).ok()?;
    Some(Page {
        rows: report
            .transaction_details
            .into_iter()
            .filter_map(|it| row(it.transaction_info))
            .collect(),
        pages: report.total_pages,
        refreshed_at: moment(&report.last_refreshed_datetime)?,
    })
}

/// A row that is a shop's: of a listed code, and in that code's direction.
fn row(info: Info) -> Option<Listed> {
    let code = info.transaction_event_code.as_str();
    let (_, kind) = CODES.iter().find(|(known, _)| *known == code)?;
    let Amount { currency_code, value } = info.transaction_amount?;
    let (sign, digits) = match value.strip_prefix('-') {
        Some(digits) => (ListedKind::GivenBack, digits),
        None => (ListedKind::Taken, value.as_str()),
    };
    // With the other sign it is money that this account paid, or got back.
    if sign != *kind {
        return None;
    }
    let Some(amount) = from_paypal(digits, &currency_code) else {
        tracing::warn!(provider = "paypal", provider.id = %info.transaction_id, "a listed amount cannot be read");
        return None;
    };
    let outcome = match (kind, info.transaction_status.as_str()) {
        (_, "S") => Outcome::Succeeded,
        (_, "P") => Outcome::Processing,
        (_, "D") => Outcome::Rejected { code: "denied".to_owned() },
        // Taken and undone later: by what, its own row tells.
        (ListedKind::Taken, "V") => Outcome::Succeeded,
        (ListedKind::GivenBack, "V") => Outcome::Canceled,
        // It is there, and says nothing.
        (_, _) => Outcome::Processing,
    };
    let parent = info
        .paypal_reference_id
        .filter(|_| info.paypal_reference_id_type.as_deref() == Some("TXN"));
    Some(Listed {
        kind: *kind,
        provider_id: info.transaction_id,
        is_effect: *kind == ListedKind::Taken,
        reference: info.custom_field.or(info.invoice_id),
        parent: parent.filter(|_| *kind == ListedKind::GivenBack),
        outcome,
        amount,
    })
}

/// A time as the report writes it: with an offset that may have no colon, such as
/// `2026-12-01T10:20:30+0000`.
pub fn moment(text: &str) -> Option<Timestamp> {
    if text.ends_with('Z') {
        return time(text);
    }
    // The date has hyphens too, before its `T`.
    let place = text.rfind(['+', '-']).filter(|place| *place > 10)?;
    let (local, offset) = text.split_at_checked(place)?;
    let (sign, digits) = offset.split_at_checked(1)?;
    let digits = digits.replace(':', "");
    if digits.len() != 4 || !digits.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let number: i64 = digits.parse().ok()?;
    let minutes = number / 100 * 60 + number % 100;
    let ahead = if sign == "-" { -minutes } else { minutes };
    let local = time(&format!("{local}Z"))?;
    Some(Timestamp(local.0.checked_sub(ahead * 60_000)?))
}
