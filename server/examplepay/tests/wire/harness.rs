//! A provider of its own for each test, with a receiver for its events.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{Router, extract::State, http::HeaderMap, routing::post};
use examplepay::{Running, Settings};
use serde_json::{Value, json};

/// The key of all tests.
pub const API_KEY: &str = "sk_test_payonce";
/// What events are signed with.
pub const SECRET: &str = "whsec_payonce";

/// What a client was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub status: u16,
    pub body: String,
    pub replayed: bool,
    pub request_id: String,
    pub retry_after: Option<String>,
}

impl Told {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// What the receiver got: signature and body.
pub type Received = (String, String);

#[derive(Clone, Default)]
struct Inbox {
    received: Arc<Mutex<Vec<Received>>>,
    headers: Arc<Mutex<Vec<HeaderMap>>>,
    answers: Arc<Mutex<VecDeque<u16>>>,
}

/// A running provider.
pub struct World {
    pub running: Option<Running>,
    pub client: reqwest::Client,
    pub settings: Settings,
    inbox: Inbox,
    stripe_inbox: Inbox,
    paypal_inbox: Inbox,
    _folder: tempfile::TempDir,
}

impl World {
    pub async fn start() -> Self {
        Self::with(|_| ()).await
    }

    /// A provider with other settings.
    pub async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (inbox, stripe_inbox, paypal_inbox) =
            (Inbox::default(), Inbox::default(), Inbox::default());
        let mut settings = Settings {
            addr: "127.0.0.1:0".parse().unwrap(),
            control_addr: Some("127.0.0.1:0".parse().unwrap()),
            database: folder.path().join("deeper/examplepay.db"),
            webhook_url: Some(receiver(inbox.clone()).await),
            stripe_webhook_url: Some(receiver(stripe_inbox.clone()).await),
            paypal_webhook_url: Some(receiver(paypal_inbox.clone()).await),
            webhook_delay: Duration::from_millis(10),
            processing: Duration::from_millis(200),
            ..Settings::default()
        };
        change(&mut settings);
        let running = Some(examplepay::start(settings.clone()).await.unwrap());
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .pool_max_idle_per_host(0)
            .timeout(Duration::from_secs(5))
            .build()
            .unwrap();
        Self { running, client, settings, inbox, stripe_inbox, paypal_inbox, _folder: folder }
    }

    /// Stops it and starts it again on the same database.
    pub async fn restart(&mut self) {
        self.running.take().unwrap().stop().await;
        self.running = Some(examplepay::start(self.settings.clone()).await.unwrap());
    }

    /// An address of the merchant's API.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.running.as_ref().unwrap().addr)
    }

    pub async fn post(&self, path: &str, key: &str, body: &Value) -> reqwest::Result<Told> {
        let request = self.client.post(self.url(path)).bearer_auth(API_KEY);
        told(request.header("Idempotency-Key", key).json(body).send().await?).await
    }

    pub async fn pay(&self, key: &str, token: &str) -> reqwest::Result<Told> {
        self.post("/v1/payments", key, &payment(key, token)).await
    }

    pub async fn get(&self, path: &str) -> Told {
        let request = self.client.get(self.url(path)).bearer_auth(API_KEY);
        told(request.send().await.unwrap()).await.unwrap()
    }

    /// A payment that has succeeded; its id.
    pub async fn paid(&self, key: &str, token: &str) -> String {
        let made = self.pay(key, token).await.unwrap().json();
        assert_eq!(made["status"], "succeeded");
        made["id"].as_str().unwrap().to_owned()
    }

    pub async fn refund(&self, key: &str, payment: &str, amount: i64) -> Told {
        let body = json!({"payment": payment, "reference": key, "amount_minor": amount, "currency": "EUR"});
        self.post("/v1/refunds", key, &body).await.unwrap()
    }

    fn control_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.running.as_ref().unwrap().control_addr.unwrap())
    }

    /// A control call, which has to be accepted.
    pub async fn control(&self, path: &str, body: &Value) -> Value {
        let told = self.try_control(path, body).await;
        assert_eq!(told.status, 200, "{}", told.body);
        told.json()
    }

    pub async fn try_control(&self, path: &str, body: &Value) -> Told {
        told(self.client.post(self.control_url(path)).json(body).send().await.unwrap())
            .await
            .unwrap()
    }

    pub async fn ask(&self, path: &str) -> Value {
        let answer = self.client.get(self.control_url(path)).send().await.unwrap();
        told(answer).await.unwrap().json()
    }

    /// One step for the next payments with this reference.
    pub async fn script(&self, reference: &str, step: Value) {
        let script = json!({"match": {"operation": "create_payment", "reference": reference}, "steps": [step]});
        self.control("/control/faults", &script).await;
    }

    /// The effects of a reference: kind and signed amount.
    pub async fn effects(&self, reference: &str) -> Vec<(String, i64)> {
        let told = self.ask(&format!("/control/ledger?reference={reference}")).await;
        let effects = told["effects"].as_array().unwrap();
        effects
            .iter()
            .map(|it| {
                (it["kind"].as_str().unwrap().to_owned(), it["amount_minor"].as_i64().unwrap())
            })
            .collect()
    }

    /// How the requests with a key were answered, and whether they were executed.
    pub async fn answers(&self, key: &str) -> Vec<(String, bool)> {
        let told = self.ask(&format!("/control/requests?key={key}")).await;
        let requests = told["requests"].as_array().unwrap();
        requests
            .iter()
            .map(|it| {
                (it["answered"].as_str().unwrap().to_owned(), it["executed"].as_bool().unwrap())
            })
            .collect()
    }

    /// What the receiver of events answers next; afterwards 200.
    pub fn receiver_answers(&self, statuses: &[u16]) {
        self.inbox.answers.lock().unwrap().extend(statuses);
    }

    pub fn received(&self) -> Vec<Received> {
        self.inbox.received.lock().unwrap().clone()
    }

    /// The types of all events received.
    pub fn kinds(&self) -> Vec<String> {
        let event = |(_, body): &Received| serde_json::from_str::<Value>(body).unwrap();
        self.received().iter().map(|it| event(it)["type"].as_str().unwrap().to_owned()).collect()
    }

    /// What the receiver of Stripe's events got.
    pub fn stripe_received(&self) -> Vec<Received> {
        self.stripe_inbox.received.lock().unwrap().clone()
    }

    /// What the receiver of PayPal's events got: headers and body.
    pub fn paypal_received(&self) -> Vec<(HeaderMap, String)> {
        let headers = self.paypal_inbox.headers.lock().unwrap().clone();
        let bodies = self.paypal_inbox.received.lock().unwrap().clone();
        headers.into_iter().zip(bodies).map(|(headers, (_, body))| (headers, body)).collect()
    }

    /// Waits until so many events came.
    pub async fn until_received(&self, count: usize) -> Vec<Received> {
        until("events", async || self.received().len() >= count).await;
        self.received()
    }
}

/// Waits for a condition, within a bound.
pub async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let end = Instant::now() + Duration::from_secs(8);
    while !condition().await {
        assert!(Instant::now() < end, "waited too long for {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A payment of 19.99 EUR whose reference is its key.
pub fn payment(reference: &str, token: &str) -> Value {
    json!({
        "reference": reference, "amount_minor": 1999, "currency": "EUR", "payment_token": token,
        "return_url": "https://shop.test/return",
    })
}

pub async fn told(answer: reqwest::Response) -> reqwest::Result<Told> {
    let header =
        |name: &str| answer.headers().get(name).and_then(|it| it.to_str().ok()).map(str::to_owned);
    Ok(Told {
        status: answer.status().as_u16(),
        replayed: header("idempotent-replayed").is_some(),
        request_id: header("request-id").or(header("paypal-debug-id")).unwrap_or_default(),
        retry_after: header("retry-after"),
        body: answer.text().await?,
    })
}

async fn receiver(inbox: Inbox) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/events", listener.local_addr().unwrap());
    let router = Router::new().route("/events", post(receive)).with_state(inbox);
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

async fn receive(
    State(inbox): State<Inbox>,
    headers: HeaderMap,
    body: String,
) -> axum::http::StatusCode {
    let signature = headers.get("examplepay-signature").or(headers.get("stripe-signature"));
    let signature = signature.and_then(|it| it.to_str().ok());
    inbox.headers.lock().unwrap().push(headers.clone());
    inbox.received.lock().unwrap().push((signature.unwrap_or_default().to_owned(), body));
    let status = inbox.answers.lock().unwrap().pop_front().unwrap_or(200);
    axum::http::StatusCode::from_u16(status).unwrap()
}
