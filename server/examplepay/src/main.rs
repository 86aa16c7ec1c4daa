//! The binary: settings from flags and environment, one line when it is ready, a clean stop.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Parser;
use examplepay::Settings;

/// A payment provider for demos and tests: keys, ledger, webhooks, and faults on demand.
#[derive(Parser)]
#[command(version)]
struct Flags {
    /// Where the API listens.
    #[arg(long, env = "EXAMPLEPAY_ADDR", default_value = "127.0.0.1:4010")]
    addr: SocketAddr,
    /// Where the control API listens.
    #[arg(long, env = "EXAMPLEPAY_CONTROL_ADDR", default_value = "127.0.0.1:4011")]
    control_addr: SocketAddr,
    /// Where the shop's two partners listen; unless told, 127.0.0.1:4014, or a free port where the
    /// API's one is free.
    #[arg(long, env = "EXAMPLEPAY_PARTNERS_ADDR")]
    partners_addr: Option<SocketAddr>,
    /// The one key the partners take.
    #[arg(
        long,
        env = "EXAMPLEPAY_PARTNERS_API_KEY",
        default_value = "key_partners",
        hide_env_values = true
    )]
    partners_api_key: String,
    /// How long after it was made an invoice is found.
    #[arg(long, env = "EXAMPLEPAY_INVOICE_LAG_MS", default_value_t = 2000)]
    invoice_lag_ms: u64,
    /// Whether there is a control API.
    #[arg(long, env = "EXAMPLEPAY_CONTROL", default_value_t = true, action = clap::ArgAction::Set)]
    control: bool,
    /// The API's address as shoppers' browsers see it.
    #[arg(long, env = "EXAMPLEPAY_PUBLIC_URL")]
    public_url: Option<String>,
    /// The database file.
    #[arg(long, env = "EXAMPLEPAY_DB", default_value = "data/examplepay.db")]
    db: PathBuf,
    /// The one API key it takes.
    #[arg(
        long,
        env = "EXAMPLEPAY_API_KEY",
        default_value = "sk_test_payonce",
        hide_env_values = true
    )]
    api_key: String,
    /// Where events go; without it none are sent.
    #[arg(long, env = "EXAMPLEPAY_WEBHOOK_URL")]
    webhook_url: Option<String>,
    /// What events are signed with.
    #[arg(
        long,
        env = "EXAMPLEPAY_WEBHOOK_SECRET",
        default_value = "whsec_payonce",
        hide_env_values = true
    )]
    webhook_secret: String,
    /// How long after the fact an event is first delivered.
    #[arg(long, env = "EXAMPLEPAY_WEBHOOK_DELAY_MS", default_value_t = 1000)]
    webhook_delay_ms: u64,
    /// The account everything belongs to.
    #[arg(long, env = "EXAMPLEPAY_ACCOUNT", default_value = "acct_payonce")]
    account: String,
    /// How long a key is remembered.
    #[arg(long, env = "EXAMPLEPAY_KEY_WINDOW_MS", default_value_t = 86_400_000)]
    key_window_ms: u64,
    /// Where Stripe's wire is spoken [default: 127.0.0.1:4012, two ports above the API].
    #[arg(long, env = "EXAMPLEPAY_STRIPE_ADDR")]
    stripe_addr: Option<SocketAddr>,
    /// That address as shoppers' browsers see it.
    #[arg(long, env = "EXAMPLEPAY_STRIPE_PUBLIC_URL")]
    stripe_public_url: Option<String>,
    /// The one API key it takes there.
    #[arg(
        long,
        env = "EXAMPLEPAY_STRIPE_API_KEY",
        default_value = "sk_test_payonce_stripe",
        hide_env_values = true
    )]
    stripe_api_key: String,
    /// Where events of Stripe's wire go; without it none are sent.
    #[arg(long, env = "EXAMPLEPAY_STRIPE_WEBHOOK_URL")]
    stripe_webhook_url: Option<String>,
    /// What they are signed with.
    #[arg(
        long,
        env = "EXAMPLEPAY_STRIPE_WEBHOOK_SECRET",
        default_value = "whsec_payonce_stripe",
        hide_env_values = true
    )]
    stripe_webhook_secret: String,
    /// Which of them the merchant's endpoint is told, comma-separated; `*` ends a name.
    #[arg(long, env = "EXAMPLEPAY_STRIPE_EVENTS", default_value = examplepay::STRIPE_EVENTS, value_delimiter = ',')]
    stripe_events: Vec<String>,
    /// How long after its last change an intent is found by a search there.
    #[arg(long, env = "EXAMPLEPAY_STRIPE_SEARCH_LAG_MS", default_value_t = 60_000)]
    stripe_search_lag_ms: u64,
    /// Where PayPal's wire is spoken [default: 127.0.0.1:4013, three ports above the API].
    #[arg(long, env = "EXAMPLEPAY_PAYPAL_ADDR")]
    paypal_addr: Option<SocketAddr>,
    /// That address as payers' browsers see it.
    #[arg(long, env = "EXAMPLEPAY_PAYPAL_PUBLIC_URL")]
    paypal_public_url: Option<String>,
    /// Who asks for access tokens there.
    #[arg(long, env = "EXAMPLEPAY_PAYPAL_CLIENT_ID", default_value = "payonce")]
    paypal_client_id: String,
    /// And with what.
    #[arg(
        long,
        env = "EXAMPLEPAY_PAYPAL_CLIENT_SECRET",
        default_value = "payonce_secret",
        hide_env_values = true
    )]
    paypal_client_secret: String,
    /// How long an access token is good.
    #[arg(long, env = "EXAMPLEPAY_PAYPAL_TOKEN_MS", default_value_t = 28_800_000)]
    paypal_token_ms: u64,
    /// How long a request id of an order, or of its capture, is remembered.
    #[arg(long, env = "EXAMPLEPAY_PAYPAL_ORDER_WINDOW_MS", default_value_t = 21_600_000)]
    paypal_order_window_ms: u64,
    /// How long a request id of a refund is remembered.
    #[arg(long, env = "EXAMPLEPAY_PAYPAL_PAYMENT_WINDOW_MS", default_value_t = 3_888_000_000)]
    paypal_payment_window_ms: u64,
    /// How late PayPal's report is.
    #[arg(long, env = "EXAMPLEPAY_PAYPAL_REPORT_LAG_MS", default_value_t = 0)]
    paypal_report_lag_ms: u64,
    /// Where events of PayPal's wire go; without it none are sent.
    #[arg(long, env = "EXAMPLEPAY_PAYPAL_WEBHOOK_URL")]
    paypal_webhook_url: Option<String>,
    /// The id of that address, which is part of what is signed.
    #[arg(long, env = "EXAMPLEPAY_PAYPAL_WEBHOOK_ID", default_value = "WH-PAYONCE")]
    paypal_webhook_id: String,
    /// How long tok_processing stays processing.
    #[arg(long, env = "EXAMPLEPAY_PROCESSING_MS", default_value_t = 8000)]
    processing_ms: u64,
    /// How long a shopper may take to confirm.
    #[arg(long, env = "EXAMPLEPAY_ACTION_MS", default_value_t = 900_000)]
    action_ms: u64,
}

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let flags = Flags::parse();
    let running = match examplepay::start(settings(flags)).await {
        Ok(running) => running,
        Err(reason) => {
            tell(&mut std::io::stderr(), &format!("ExamplePay did not start: {reason}"));
            return std::process::ExitCode::FAILURE;
        }
    };
    if let Some(partners) = running.partners_addr {
        let line = format!("ExamplePay's partners are open at http://{partners}");
        tell(&mut std::io::stdout(), &line);
    }
    let stripe = running.stripe_addr;
    tell(&mut std::io::stdout(), &format!("ExamplePay's Stripe door is open at http://{stripe}"));
    let paypal = running.paypal_addr;
    tell(&mut std::io::stdout(), &format!("ExamplePay's PayPal door is open at http://{paypal}"));
    if let Some(control) = running.control_addr {
        tell(&mut std::io::stdout(), &format!("ExamplePay control is ready at http://{control}"));
    }
    tell(&mut std::io::stdout(), &format!("ExamplePay is ready at http://{}", running.addr));
    stopped().await;
    running.stop().await;
    std::process::ExitCode::SUCCESS
}

fn settings(flags: Flags) -> Settings {
    let port = if flags.addr.port() == 0 { 0 } else { 4014 };
    let partners = SocketAddr::from(([127, 0, 0, 1], port));
    Settings {
        addr: flags.addr,
        partners_addr: Some(flags.partners_addr.unwrap_or(partners)),
        partners_api_key: flags.partners_api_key,
        invoice_lag: Duration::from_millis(flags.invoice_lag_ms),
        control_addr: flags.control.then_some(flags.control_addr),
        public_url: flags.public_url.map(|url| url.trim_end_matches('/').to_owned()),
        database: flags.db,
        api_key: flags.api_key,
        webhook_url: flags.webhook_url,
        webhook_secret: flags.webhook_secret,
        account: flags.account,
        key_window: Duration::from_millis(flags.key_window_ms),
        processing: Duration::from_millis(flags.processing_ms),
        action: Duration::from_millis(flags.action_ms),
        webhook_delay: Duration::from_millis(flags.webhook_delay_ms),
        stripe_addr: flags.stripe_addr,
        stripe_public_url: flags.stripe_public_url.map(|url| url.trim_end_matches('/').to_owned()),
        stripe_api_key: flags.stripe_api_key,
        stripe_webhook_url: flags.stripe_webhook_url,
        stripe_webhook_secret: flags.stripe_webhook_secret,
        stripe_events: flags.stripe_events,
        stripe_search_lag: Duration::from_millis(flags.stripe_search_lag_ms),
        paypal_addr: flags.paypal_addr,
        paypal_public_url: flags.paypal_public_url.map(|url| url.trim_end_matches('/').to_owned()),
        paypal_client_id: flags.paypal_client_id,
        paypal_client_secret: flags.paypal_client_secret,
        paypal_token: Duration::from_millis(flags.paypal_token_ms),
        paypal_order_window: Duration::from_millis(flags.paypal_order_window_ms),
        paypal_payment_window: Duration::from_millis(flags.paypal_payment_window_ms),
        paypal_report_lag: Duration::from_millis(flags.paypal_report_lag_ms),
        paypal_webhook_url: flags.paypal_webhook_url,
        paypal_webhook_id: flags.paypal_webhook_id,
    }
}

/// A line for a person; if nobody can read it, that is no reason to stop.
fn tell(out: &mut impl std::io::Write, line: &str) {
    let _unread = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// SIGINT or SIGTERM.
async fn stopped() {
    let interrupt = async {
        let _signal = tokio::signal::ctrl_c().await;
    };
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}
