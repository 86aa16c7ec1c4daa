//! The route table, what all routes share, and the start and stop of it all.

mod answer;
mod api;
mod assets;
mod body;
mod cart;
mod checkout;
mod events;
mod form;
mod headers;
mod health;
mod lab;
mod limits;
mod pages;
mod patience;
mod serve;
mod session;
mod trace;
mod webhook;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use app::components::pay_form::Element;
use axum::{
    Router,
    middleware::{from_fn, from_fn_with_state},
    routing::{get, post},
};
use domain::{catalogue::CURRENCIES, money::Money};
use leptos::config::LeptosOptions;
use metrics_exporter_prometheus::PrometheusHandle;
use payments::Payments;
use secrecy::SecretString;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower_http::csrf::CsrfLayer;

use self::limits::{PayRate, Streams};
use crate::{
    config::Config,
    mail::{MailError, Postman},
    telemetry,
};

/// What every handler may use.
#[derive(Clone)]
pub struct Shop {
    payments: Payments,
    options: LeptosOptions,
    /// Names of the test cards.
    tokens: Arc<Vec<String>>,
    https: bool,
    pay_rate: Arc<PayRate>,
    streams: Arc<Streams>,
    stop: CancellationToken,
    metrics: Option<PrometheusHandle>,
    operator_token: Option<SecretString>,
    /// Only where it is set up.
    real_money: bool,
    lab: Option<Arc<lab::Lab>>,
}

/// A shop that is listening.
pub struct Running {
    /// Where it listens.
    pub addr: SocketAddr,
    /// Its address as browsers see it.
    pub public_url: String,
    stop: CancellationToken,
    tasks: TaskTracker,
    payments: Payments,
}

impl Running {
    /// Not ready any more; ends streams, drains, gives leases back, closes the database.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.payments.stop().await;
    }
}

/// Why the shop did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] std::io::Error),
    /// The engine did not start.
    #[error(transparent)]
    Engine(#[from] payments::StartError),
    /// The lab has no client.
    #[error("the lab's HTTP client could not be made")]
    Lab(#[from] reqwest::Error),
    /// Mails cannot leave.
    #[error(transparent)]
    Mail(#[from] MailError),
    /// Its own address is none that a browser sends.
    #[error("PAYONCE_PUBLIC_URL is not the address of a site")]
    Origin(#[from] tower_http::csrf::ConfigError),
}

/// Starts engine and server.
///
/// # Errors
/// A port that is taken, a database that cannot be written, timeouts that do not fit.
pub async fn start(config: Config) -> Result<Running, StartError> {
    let _already = rustls::crypto::ring::default_provider().install_default();
    // Pages are drawn by tasks of this runtime.
    let _already = any_spawner::Executor::init_tokio();
    let https = config.is_https();
    let postman = Postman::new(config.mail.clone())?;
    let listener = serve::listen("PAYONCE_ADDR", config.addr).await?;
    let metrics_listener = match config.metrics_addr {
        Some(addr) => Some(serve::listen("PAYONCE_METRICS_ADDR", addr).await?),
        None => None,
    };
    let addr = listener.local_addr()?;
    let public_url = config.public_url.clone().unwrap_or_else(|| format!("http://{addr}"));
    let metrics = telemetry::metrics();
    let mut engine = config.engine;
    engine.public_url.clone_from(&public_url);
    let payments = Payments::start(engine).await?;
    for name in payments.deaf_providers() {
        tracing::warn!(
            "no webhook secret of {name} is set: its endpoint is off, and its payments are followed by lookups alone"
        );
    }
    let stop = CancellationToken::new();
    let options = LeptosOptions::builder()
        .output_name("payonce")
        .site_root(config.site_root.as_str())
        .site_pkg_dir("pkg")
        .site_addr(addr)
        .hash_files(assets::are_hashed())
        .build();
    assets::warn_if_missing(&options);
    let shop = Shop {
        tokens: Arc::new(tokens(&payments)),
        payments: payments.clone(),
        options,
        https,
        pay_rate: Arc::new(PayRate::new(config.pay_rate_per_minute)),
        streams: Arc::default(),
        stop: stop.clone(),
        metrics,
        operator_token: config.operator_token,
        real_money: config.real_money,
        lab: config.lab.map(lab::Lab::new).transpose()?,
    };
    let tasks = TaskTracker::new();
    tasks.spawn(keep_up(shop.metrics.clone(), stop.clone()));
    tasks.spawn(postman.run(payments.clone(), stop.clone()));
    let own_metrics = metrics_listener.is_none();
    if let Some(listener) = metrics_listener {
        tracing::info!("the numbers are at http://{}/metrics", listener.local_addr()?);
        let numbers = Router::new().route("/metrics", get(health::metrics));
        tasks.spawn(serve::run(listener, numbers.with_state(shop.clone()), stop.clone()));
    }
    tasks.spawn(serve::run(listener, router(shop, &public_url, own_metrics)?, stop.clone()));
    Ok(Running { addr, public_url, stop, tasks, payments })
}

/// Measured times are summed up now and then, whether or not anybody reads them.
async fn keep_up(numbers: Option<PrometheusHandle>, stop: CancellationToken) {
    let Some(numbers) = numbers else { return };
    let mut often = tokio::time::interval(Duration::from_secs(5));
    while stop.run_until_cancelled(often.tick()).await.is_some() {
        numbers.run_upkeep();
    }
}

fn router(shop: Shop, public_url: &str, own_metrics: bool) -> Result<Router, StartError> {
    // Only forms of this shop are taken: the browser tells where a request comes from.
    let csrf = CsrfLayer::new().add_trusted_origin(public_url)?;
    let is_lab = shop.lab.is_some();
    let lab = |routes: fn() -> Router<Shop>| if is_lab { routes() } else { Router::new() };
    let forms = Router::new()
        // Whoever loads the page of an answer again asks for the address of its form.
        .route("/cart/lines", post(cart::set_line).get(cart::page_instead))
        .route("/currency", post(cart::set_currency).get(cart::page_instead))
        .route("/language", post(cart::set_language).get(cart::page_instead))
        .route("/checkout/{id}/pay", post(checkout::pay).get(checkout::pay_again))
        .route("/checkout/{id}/cancel", post(checkout::cancel).get(checkout::come_back))
        .route("/checkout/{id}/refund-request", post(checkout::ask_refund).get(checkout::come_back))
        .merge(lab(lab::forms))
        .layer(from_fn_with_state(shop.clone(), body::form));
    let views = Router::new()
        .route("/", get(pages::catalogue))
        .route("/products/{sku}", get(pages::product))
        .route("/cart", get(pages::cart))
        .route("/cart/count", get(cart::count))
        .route("/checkout", get(pages::checkout))
        .route("/orders", get(pages::orders))
        .route("/checkout/{id}", get(checkout::page))
        .route("/checkout/{id}/status", get(checkout::status))
        .route("/checkout/{id}/events", get(events::stream))
        .route("/checkout/{id}/return", get(checkout::come_back))
        .route("/checkout/{id}/check", get(checkout::come_back))
        .merge(lab(lab::views));
    let people = views
        .merge(forms)
        .layer(from_fn_with_state(shop.clone(), session::resolve))
        .layer(csrf)
        .layer(from_fn_with_state(shop.clone(), answer::explain_cross_site))
        .layer(from_fn_with_state(shop.clone(), answer::explain_address));
    let mut machines = Router::new()
        .route("/webhooks/{provider}", post(webhook::take))
        .layer(from_fn(body::webhook))
        .route("/api/orders/{reference}", get(api::order))
        .route("/api/orders/{reference}/refunds", post(api::refund))
        .route("/api/orders/{reference}/refund-request/decline", post(api::decline))
        .route("/api/orders/{reference}/decisions", post(api::decide))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready));
    if own_metrics {
        machines = machines.route("/metrics", get(health::own_metrics));
    }
    Ok(people
        .merge(machines)
        .fallback(assets::file_or_not_found)
        .method_not_allowed_fallback(assets::no_such_method)
        .layer(from_fn_with_state(shop.clone(), headers::time))
        .layer(from_fn_with_state(shop.clone(), headers::set))
        .layer(from_fn(trace::requests))
        .with_state(shop))
}

/// The ways to pay as the form's values: the first provider's tokens bare, others' with its name.
fn tokens(payments: &Payments) -> Vec<String> {
    let any = Money::new(100, CURRENCIES[0]);
    let ways = payments.ways_to_pay(any).into_iter().enumerate();
    ways.flat_map(|(place, way)| {
        let named = move |token: String| match place {
            0 => token,
            _ => format!("{}:{token}", way.provider),
        };
        let own_form = way.in_browser.map(|_| "element".to_owned());
        way.tokens.into_iter().chain(own_form).map(named)
    })
    .collect()
}

/// Stripe's own form for an amount, and the policy of a page that may load it.
fn own_form(shop: &Shop, amount: Money) -> Option<(Element, Vec<&'static str>)> {
    let ways = shop.payments.ways_to_pay(amount);
    let it = ways.into_iter().find_map(|way| way.in_browser)?;
    let element = Element {
        script: it.script,
        public_key: it.public_key,
        amount: it.amount,
        currency: it.currency,
    };
    Some((element, it.hosts.to_vec()))
}
