//! The naive shop: WHAT NOT TO DO, kept for comparison and reachable from the fault lab only.
//!
//! It takes the absence of an answer for a no, and makes a new idempotency key for every try. It is
//! really run, against the same simulator and the same fault, so that what it leads to is observed
//! and not claimed. Nothing of the shop uses it.

use app::pages::lab::naive::{Heard, Manner, Try};
use domain::money::Money;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

/// How its provider is reached.
#[derive(Clone, Debug)]
pub struct Access {
    /// The address.
    pub url: String,
    /// The key of its account.
    pub api_key: SecretString,
}

/// One click on the naive shop's Pay button.
pub struct Click<'a> {
    /// What its keys begin with.
    pub key_prefix: &'a str,
    /// Its reference.
    pub reference: &'a str,
    /// How much.
    pub amount: Money,
    /// With what.
    pub token: &'a str,
    /// How many tries were made before this click.
    pub tried: usize,
    /// How often it tries, and how patiently.
    pub manner: Manner,
}

/// Pays as it should not be done: the payment, if it tells its shopper “paid”, and what its tries
/// heard.
pub async fn pay(access: &Access, click: &Click<'_>) -> (Option<String>, Vec<Try>) {
    let body = json!({
        "reference": click.reference, "amount_minor": click.amount.minor,
        "currency": click.amount.currency.code(), "payment_token": click.token,
        "return_url": "http://127.0.0.1/naive",
    });
    insist(access, click, Ask::Take, |_| body.clone()).await
}

/// Gives money back in the same manner: what its tries heard.
pub async fn give_back(access: &Access, click: &Click<'_>, payment: &str) -> Vec<Try> {
    let body = json!({
        "payment": payment, "reference": click.reference, "amount_minor": click.amount.minor,
        "currency": click.amount.currency.code(),
    });
    insist(access, click, Ask::GiveBack, |_| body.clone()).await.1
}

/// Has an invoice written at a partner that knows no keys, under another number at each try.
pub async fn invoice(partner: &Access, click: &Click<'_>) -> Vec<Try> {
    let (minor, currency) = (click.amount.minor, click.amount.currency.code());
    let body = |number: u32| {
        json!({
            "invoiceNumber": invoice_number(click.reference, number),
            "amountMinor": minor, "currency": currency, "buyerReference": click.reference,
            "lines": [{"description": "All of it", "quantity": 1, "amountMinor": minor}],
        })
    };
    insist(partner, click, Ask::Invoice, body).await.1
}

/// The number that it takes for an invoice at its nth try.
pub fn invoice_number(reference: &str, number: u32) -> String {
    format!("{reference}-N{number}")
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    Take,
    GiveBack,
    Invoice,
}

impl Ask {
    const fn path(self) -> &'static str {
        match self {
            Self::Take => "/v1/payments",
            Self::GiveBack => "/v1/refunds",
            Self::Invoice => "/invoicing/invoices",
        }
    }
}

async fn insist(
    access: &Access,
    click: &Click<'_>,
    what: Ask,
    body: impl Fn(u32) -> Value,
) -> (Option<String>, Vec<Try>) {
    let mut tries = Vec::new();
    let Ok(client) = super::client(click.manner.patience) else { return (None, tries) };
    for number in 1..=click.manner.tries {
        // The first mistake: a new key, so that the provider cannot know that it is a repeat.
        let key = format!("{}{}", click.key_prefix, click.tried + tries.len() + 1);
        let (heard, id) = send(&client, access, what, &body(number), &key).await;
        let answer = match &heard {
            Heard::Answer(status, word) if *status < 300 || *status == 402 => Some(word.clone()),
            // The second one: no answer, or a 500, is taken for "it has not happened".
            Heard::Answer(..) | Heard::TimedOut | Heard::Lost => None,
        };
        tries.push(Try { key, takes: what == Ask::Take, heard });
        match answer {
            // The third one: whatever is not paid by now has failed.
            Some(word) => return (id.filter(|_| word.as_deref() == Some("succeeded")), tries),
            None if number < click.manner.tries => tokio::time::sleep(click.manner.pause).await,
            None => {}
        }
    }
    (None, tries)
}

async fn send(
    client: &reqwest::Client,
    access: &Access,
    what: Ask,
    body: &Value,
    key: &str,
) -> (Heard, Option<String>) {
    let request = client
        .post(format!("{}{}", access.url, what.path()))
        .bearer_auth(access.api_key.expose_secret())
        .header("Idempotency-Key", key)
        .header("Content-Type", "application/json")
        .body(body.to_string());
    let lost = |reason: &reqwest::Error| {
        if reason.is_timeout() { Heard::TimedOut } else { Heard::Lost }
    };
    let answer = match request.send().await {
        Ok(answer) => answer,
        Err(reason) => return (lost(&reason), None),
    };
    let status = answer.status().as_u16();
    match answer.bytes().await {
        Ok(bytes) => {
            let object: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let word = |name: &str| object[name].as_str().map(str::to_owned);
            (Heard::Answer(status, word("status")), word("id"))
        }
        Err(reason) => (lost(&reason), None),
    }
}
