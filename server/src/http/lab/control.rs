//! A client of ExamplePay's control API: scripts in, and what really happened out.

use std::time::Duration;

use app::pages::lab::watch::{Effect, Ledger};
use domain::money::{Currency, Money};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// How long an answer may take. It is a neighbour, and a page waits for it.
const PATIENCE: Duration = Duration::from_secs(3);

/// The control API.
#[derive(Clone, Debug)]
pub struct Control {
    url: String,
    client: reqwest::Client,
}

/// What its ledger shows under a reference.
#[derive(Deserialize)]
struct Effects {
    effects: Vec<EffectRow>,
}

#[derive(Deserialize)]
struct EffectRow {
    kind: String,
    amount_minor: i64,
    currency: String,
}

/// What the partners' ledger shows.
#[derive(Deserialize)]
struct Written {
    effects: Vec<WrittenRow>,
}

#[derive(Deserialize)]
struct WrittenRow {
    kind: String,
}

#[derive(Deserialize)]
struct Payments {
    payments: Vec<PaymentRow>,
}

/// A payment of its.
#[derive(Deserialize)]
pub struct PaymentRow {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub status: String,
}

#[derive(Deserialize)]
struct Requests {
    requests: Vec<RequestRow>,
}

/// A line of its log.
#[derive(Deserialize)]
pub struct RequestRow {
    /// When it came.
    pub at_ms: i64,
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// What was searched for.
    pub query: Option<String>,
    /// Its key.
    pub key: Option<String>,
    /// Whether it made something happen.
    pub executed: bool,
    /// How it was answered.
    pub answered: String,
}

#[derive(Deserialize)]
struct Events {
    events: Vec<EventRow>,
}

/// An event and one of its deliveries, if it has any.
#[derive(Deserialize)]
pub struct EventRow {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was made.
    pub at: i64,
    /// When the delivery is tried next, or was tried last.
    pub due_at: Option<i64>,
    /// How often it was tried; `None` where there is no delivery.
    pub tries: Option<i64>,
    /// The newest try's answer.
    pub last_status: Option<i64>,
    /// When it ended.
    pub done_at: Option<i64>,
}

impl Control {
    /// The control API at this address.
    pub fn new(url: String) -> Result<Self, reqwest::Error> {
        Ok(Self { url, client: super::client(PATIENCE)? })
    }

    async fn ask<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        let asked = self.client.get(format!("{}/control/{path}", self.url)).send().await;
        read(asked).await
    }

    async fn tell(&self, path: &str, body: &Value) -> Option<Value> {
        let request = self.client.post(format!("{}/control/{path}", self.url));
        let request = request.header("Content-Type", "application/json").body(body.to_string());
        read(request.send().await).await
    }

    /// Installs scripts; their numbers. `None` if one of them was not taken, then none is left.
    pub async fn install(&self, scripts: &[Value]) -> Option<Vec<u64>> {
        let mut ids = Vec::new();
        for script in scripts {
            let told = self.tell("faults", script).await;
            let Some(id) = told.and_then(|told| told["id"].as_u64()) else {
                self.forget(&ids).await;
                return None;
            };
            ids.push(id);
        }
        Some(ids)
    }

    /// Takes scripts away again; false if nobody knows whether they are gone.
    pub async fn forget(&self, ids: &[u64]) -> bool {
        ids.is_empty() || self.tell("faults/clear", &json!({"ids": ids})).await.is_some()
    }

    /// Shuts the provider's door, for so long at most; false if nobody knows whether it is shut.
    pub async fn shut(&self, time: Duration) -> bool {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.door(&json!({"mode": "refuse", "for_ms": ms, "door": "examplepay"})).await
    }

    /// Opens it.
    pub async fn open(&self) -> bool {
        self.door(&json!({"mode": "off", "door": "examplepay"})).await
    }

    async fn door(&self, body: &Value) -> bool {
        self.tell("outage", body).await.is_some()
    }

    /// What really happened to payments and refunds whose reference begins so.
    pub async fn ledger(&self, reference: &str, payments: &[PaymentRow]) -> Option<Ledger> {
        let told: Effects = self.ask(&format!("ledger?reference_prefix={reference}")).await?;
        let effects = told.effects.into_iter().filter_map(|it| {
            let currency = Currency::from_code(&it.currency).ok()?;
            Some(Effect { kind: it.kind, amount: Money::new(it.amount_minor, currency) })
        });
        let status = payments.first().map(|it| it.status.clone());
        Some(Ledger { effects: effects.collect(), status, invoices: None })
    }

    /// How many invoices were written whose number begins so.
    pub async fn invoices(&self, number: &str) -> Option<usize> {
        let told: Written = self.ask(&format!("partners/ledger?reference_prefix={number}")).await?;
        Some(told.effects.iter().filter(|it| it.kind == "invoice").count())
    }

    /// The payments with this reference, newest first.
    pub async fn payments(&self, reference: &str) -> Option<Vec<PaymentRow>> {
        let told: Payments = self.ask(&format!("payments?reference={reference}")).await?;
        Some(told.payments)
    }

    /// The requests whose reference begins so, in order.
    pub async fn requests(&self, reference: &str) -> Option<Vec<RequestRow>> {
        let told: Requests = self.ask(&format!("requests?reference_prefix={reference}")).await?;
        Some(told.requests)
    }

    /// The events about an object, in order.
    pub async fn events(&self, object: &str) -> Option<Vec<EventRow>> {
        let told: Events = self.ask(&format!("events?object={object}")).await?;
        Some(told.events)
    }
}

async fn read<T: DeserializeOwned>(asked: Result<reqwest::Response, reqwest::Error>) -> Option<T> {
    let told = match asked {
        Ok(answer) => match answer.error_for_status() {
            Ok(answer) => answer.bytes().await,
            Err(reason) => Err(reason),
        },
        Err(reason) => Err(reason),
    };
    let trouble = |reason: &dyn std::fmt::Display| {
        tracing::warn!(%reason, "the control API did not do what the lab asked");
    };
    let bytes = told.inspect_err(|reason| trouble(reason)).ok()?;
    serde_json::from_slice(&bytes).inspect_err(|reason| trouble(reason)).ok()
}
