//! A payment provider in its own process: keys, ledger, signed webhooks, and faults on demand.
//!
//! It knows nothing of any shop. `docs/examplepay.md` describes its wire and its fault scripts;
//! the ledger of effects is what tests compare a shop with.

mod answer;
mod api;
mod clock;
mod control;
mod desk;
mod faults;
mod ledger;
mod money;
mod page;
mod partners;
mod paypal;
mod serve;
mod stripe;
mod tokens;
mod webhooks;
mod wire;

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions},
};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use crate::{clock::iso, webhooks::sign};
use crate::{
    faults::Faults,
    serve::{Doors, Entrance, EventSwitch},
    wire::Wire,
};

/// What the provider needs to start.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where its API listens; port 0 takes a free one.
    pub addr: SocketAddr,
    /// Where its control API listens; `None` turns it off.
    pub control_addr: Option<SocketAddr>,
    /// Where the shop's two partners listen; `None` turns them off.
    pub partners_addr: Option<SocketAddr>,
    /// The one key they take.
    pub partners_api_key: String,
    /// How long after it was made an invoice is found.
    pub invoice_lag: Duration,
    /// Its address as shoppers' browsers see it; `None` is the one it listens on.
    pub public_url: Option<String>,
    /// Its database file.
    pub database: PathBuf,
    /// The one key it takes.
    pub api_key: String,
    /// Where its events go; `None` sends none.
    pub webhook_url: Option<String>,
    /// What its events are signed with.
    pub webhook_secret: String,
    /// The account everything belongs to.
    pub account: String,
    /// How long a key is remembered.
    pub key_window: Duration,
    /// How long a payment that has to be processed is.
    pub processing: Duration,
    /// How long a shopper may take to confirm.
    pub action: Duration,
    /// How long after the fact the first delivery of an event is made.
    pub webhook_delay: Duration,
    /// Where Stripe's wire is spoken; `None` is two ports above `addr`, or a free one.
    pub stripe_addr: Option<SocketAddr>,
    /// That address as shoppers' browsers see it; `None` is the one it listens on.
    pub stripe_public_url: Option<String>,
    /// The one key it takes there.
    pub stripe_api_key: String,
    /// Where events of that wire go; `None` sends none.
    pub stripe_webhook_url: Option<String>,
    /// What they are signed with.
    pub stripe_webhook_secret: String,
    /// Which of them the merchant's endpoint is told, a `*` at the end for the rest of a name.
    pub stripe_events: Vec<String>,
    /// How long after its last change an intent is found by a search there.
    pub stripe_search_lag: Duration,
    /// Where PayPal's wire is spoken; `None` is three ports above `addr`, or a free one.
    pub paypal_addr: Option<SocketAddr>,
    /// That address as payers' browsers see it; `None` is the one it listens on.
    pub paypal_public_url: Option<String>,
    /// Who asks for access tokens there.
    pub paypal_client_id: String,
    /// And with what.
    pub paypal_client_secret: String,
    /// How long an access token is good.
    pub paypal_token: Duration,
    /// How long a request id of an order, or of its capture, is remembered.
    pub paypal_order_window: Duration,
    /// How long a request id of a refund is remembered.
    pub paypal_payment_window: Duration,
    /// How late that wire's report is.
    pub paypal_report_lag: Duration,
    /// Where events of that wire go; `None` sends none.
    pub paypal_webhook_url: Option<String>,
    /// The id of that address, which is part of what is signed.
    pub paypal_webhook_id: String,
}

impl Settings {
    /// Where a door is that nobody has placed: so many ports above the own wire's.
    fn beside(&self, placed: Option<SocketAddr>, above: u16) -> SocketAddr {
        let port = match self.addr.port() {
            0 => 0,
            port => port.checked_add(above).unwrap_or(0),
        };
        placed.unwrap_or_else(|| SocketAddr::new(self.addr.ip(), port))
    }
}

/// What a shop usually wants to be told over Stripe's wire.
pub const STRIPE_EVENTS: &str = "payment_intent.*,refund.*,charge.refunded,charge.dispute.*";

impl Default for Settings {
    fn default() -> Self {
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Self {
            addr: local(4010),
            control_addr: Some(local(4011)),
            partners_addr: None,
            partners_api_key: "key_partners".to_owned(),
            invoice_lag: Duration::from_secs(2),
            public_url: None,
            database: PathBuf::from("data/examplepay.db"),
            api_key: "sk_test_payonce".to_owned(),
            webhook_url: None,
            webhook_secret: "whsec_payonce".to_owned(),
            account: "acct_payonce".to_owned(),
            key_window: Duration::from_secs(24 * 3600),
            processing: Duration::from_secs(8),
            action: Duration::from_secs(900),
            webhook_delay: Duration::from_secs(1),
            stripe_addr: None,
            stripe_public_url: None,
            stripe_api_key: "sk_test_payonce_stripe".to_owned(),
            stripe_webhook_url: None,
            stripe_webhook_secret: "whsec_payonce_stripe".to_owned(),
            stripe_events: STRIPE_EVENTS.split(',').map(str::to_owned).collect(),
            stripe_search_lag: Duration::from_secs(60),
            paypal_addr: None,
            paypal_public_url: None,
            paypal_client_id: "payonce".to_owned(),
            paypal_client_secret: "payonce_secret".to_owned(),
            paypal_token: Duration::from_secs(8 * 3600),
            paypal_order_window: Duration::from_secs(6 * 3600),
            paypal_payment_window: Duration::from_secs(45 * 24 * 3600),
            paypal_report_lag: Duration::ZERO,
            paypal_webhook_url: None,
            paypal_webhook_id: "WH-PAYONCE".to_owned(),
        }
    }
}

/// Why it did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The port is taken, or the address is not ours.
    #[error(
        "{addr} cannot be listened on ({reason}): stop the program that uses it, or set {setting} to another address"
    )]
    Listen {
        /// Which address.
        addr: SocketAddr,
        /// What the system said.
        reason: String,
        /// The setting that changes it.
        setting: &'static str,
    },
    /// The database cannot be opened.
    #[error(
        "the database {path} cannot be opened for writing ({reason}): check the folder and its rights, or set EXAMPLEPAY_DB to another file"
    )]
    Database {
        /// The configured path.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// No HTTP client for webhooks.
    #[error("the HTTP client could not be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// What all parts share.
pub(crate) struct Provider {
    settings: Settings,
    public_url: String,
    stripe_url: String,
    paypal_url: String,
    paypal_tokens: paypal::token::Tokens,
    db: SqlitePool,
    faults: Faults,
    doors: Doors,
    event_switch: EventSwitch,
    client: reqwest::Client,
    wake: tokio::sync::Notify,
}

impl Provider {
    /// Where events of this wire go.
    pub(crate) fn webhook_url(&self, wire: Wire) -> Option<&str> {
        match wire {
            Wire::ExamplePay => self.settings.webhook_url.as_deref(),
            Wire::Stripe => self.settings.stripe_webhook_url.as_deref(),
            Wire::PayPal => self.settings.paypal_webhook_url.as_deref(),
        }
    }

    /// The hosted page of a payment, as its shopper's browser sees it.
    pub(crate) fn page(&self, wire: Wire, id: &str) -> String {
        match wire {
            Wire::ExamplePay => format!("{}/confirm/{id}", self.public_url),
            Wire::Stripe => format!("{}/confirm/{id}", self.stripe_url),
            Wire::PayPal => format!("{}/checkoutnow?token={id}", self.paypal_url),
        }
    }
}

/// A provider that is listening.
pub struct Running {
    /// Where its API is.
    pub addr: SocketAddr,
    /// Where its control API is.
    pub control_addr: Option<SocketAddr>,
    /// Where Stripe's wire is spoken.
    pub stripe_addr: SocketAddr,
    /// Where PayPal's wire is spoken.
    pub paypal_addr: SocketAddr,
    /// Where the partners are.
    pub partners_addr: Option<SocketAddr>,
    stop: CancellationToken,
    tasks: TaskTracker,
    provider: Arc<Provider>,
}

impl Running {
    /// Stops listening, ends what is in flight, and closes the database.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.provider.db.close().await;
    }
}

/// Starts the provider.
///
/// # Errors
/// An address or the database cannot be used.
pub async fn start(settings: Settings) -> Result<Running, StartError> {
    let _already = rustls::crypto::ring::default_provider().install_default();
    let db = open(&settings).await?;
    let own = listen(&settings, Wire::ExamplePay).await?;
    let stripe = listen(&settings, Wire::Stripe).await?;
    let paypal = listen(&settings, Wire::PayPal).await?;
    let (addr, stripe_addr, paypal_addr) = (own.1, stripe.1, paypal.1);
    let control = match settings.control_addr {
        Some(at) => Some(serve::listen(at, "EXAMPLEPAY_CONTROL_ADDR").await?),
        None => None,
    };
    let control_addr = control
        .as_ref()
        .zip(settings.control_addr)
        .map(|(listener, at)| serve::local(listener, at));
    let partners = partners::listen(&settings).await?;
    let partners_addr = partners.as_ref().map(|(_, addr)| *addr);
    let seen = |url: &Option<String>, at| url.clone().unwrap_or_else(|| format!("http://{at}"));
    let provider = Arc::new(Provider {
        public_url: seen(&settings.public_url, addr),
        stripe_url: seen(&settings.stripe_public_url, stripe_addr),
        paypal_url: seen(&settings.paypal_public_url, paypal_addr),
        paypal_tokens: paypal::token::Tokens::default(),
        settings,
        db,
        faults: Faults::default(),
        doors: Doors::default(),
        event_switch: EventSwitch::default(),
        client: client()?,
        wake: tokio::sync::Notify::new(),
    });
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    for (wire, (listener, at), router) in [
        (Wire::ExamplePay, own, api::router(Arc::clone(&provider))),
        (Wire::Stripe, stripe, stripe::router(Arc::clone(&provider))),
        (Wire::PayPal, paypal, paypal::router(Arc::clone(&provider))),
    ] {
        let entrance = Entrance { provider: Arc::clone(&provider), wire };
        tasks.spawn(serve::api(listener, at, router, entrance, stop.clone()));
    }
    if let Some(listener) = control {
        let router = control::router(Arc::clone(&provider));
        let router = router.merge(partners::control(Arc::clone(&provider)));
        tasks.spawn(serve::control(listener, router, stop.clone()));
    }
    if let Some(listening) = partners {
        tasks.spawn(partners::open(listening, Arc::clone(&provider), stop.clone()));
    }
    tasks.spawn(webhooks::deliver(Arc::clone(&provider), stop.clone()));
    tasks.spawn(ledger::settle(Arc::clone(&provider), stop.clone()));
    Ok(Running {
        addr,
        control_addr,
        stripe_addr,
        paypal_addr,
        partners_addr,
        stop,
        tasks,
        provider,
    })
}

/// Listens where a wire is to be spoken.
async fn listen(settings: &Settings, wire: Wire) -> Result<(TcpListener, SocketAddr), StartError> {
    let (wanted, setting) = match wire {
        Wire::ExamplePay => (settings.addr, "EXAMPLEPAY_ADDR"),
        Wire::Stripe => (settings.beside(settings.stripe_addr, 2), "EXAMPLEPAY_STRIPE_ADDR"),
        Wire::PayPal => (settings.beside(settings.paypal_addr, 3), "EXAMPLEPAY_PAYPAL_ADDR"),
    };
    let listener = serve::listen(wanted, setting).await?;
    let at = serve::local(&listener, wanted);
    Ok((listener, at))
}

/// The client that delivers events.
fn client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .timeout(Duration::from_secs(10))
        .build()
}

async fn open(settings: &Settings) -> Result<SqlitePool, StartError> {
    let path = &settings.database;
    let trouble =
        |reason: String| StartError::Database { path: path.display().to_string(), reason };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|reason| trouble(reason.to_string()))?;
    }
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(Duration::from_secs(10));
    // One connection: every change is one transaction after another, as a small provider may.
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await;
    let pool = pool.map_err(|reason| trouble(reason.to_string()))?;
    ledger::prepare(&pool).await.map_err(|reason| trouble(reason.to_string()))?;
    partners::prepare(&pool).await.map_err(|reason| trouble(reason.to_string()))?;
    Ok(pool)
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A duration in whole milliseconds.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A fresh id with a prefix.
pub(crate) fn fresh(prefix: &str) -> String {
    format!("{prefix}_{}", uuid::Uuid::new_v4().simple())
}
