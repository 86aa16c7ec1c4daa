//! Settings from flags and environment. All that is wrong is told at once, and what to do about it.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Parser;
use payments::{ExamplePayAccess, Settings};
use secrecy::SecretString;

/// A shop that charges once.
#[derive(Parser, Clone, Debug)]
#[command(name = "payonce", version)]
pub struct Flags {
    /// Where the shop listens.
    #[arg(long, env = "PAYONCE_ADDR", default_value = "127.0.0.1:3000")]
    pub addr: String,
    /// The shop's address as browsers see it; by default the one it listens on.
    #[arg(long, env = "PAYONCE_PUBLIC_URL")]
    pub public_url: Option<String>,
    /// The SQLite file.
    #[arg(long, env = "PAYONCE_DATABASE", default_value = "data/payonce.db")]
    pub database: PathBuf,
    /// ExamplePay's address.
    #[arg(long, env = "PAYONCE_EXAMPLEPAY_URL", default_value = "http://127.0.0.1:4010")]
    pub examplepay_url: String,
    /// Our API key at ExamplePay.
    #[arg(long, env = "PAYONCE_EXAMPLEPAY_API_KEY", default_value = "", hide_env_values = true)]
    pub examplepay_api_key: String,
    /// A file that holds the API key instead.
    #[arg(long, env = "PAYONCE_EXAMPLEPAY_API_KEY_FILE")]
    pub examplepay_api_key_file: Option<PathBuf>,
    /// Secrets of our webhook endpoint at ExamplePay, comma-separated; none turns it off.
    #[arg(
        long,
        env = "PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET",
        default_value = "",
        hide_env_values = true
    )]
    pub examplepay_webhook_secret: String,
    /// A file that holds the webhook secrets instead.
    #[arg(long, env = "PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET_FILE")]
    pub examplepay_webhook_secret_file: Option<PathBuf>,
    /// Our account at ExamplePay.
    #[arg(long, env = "PAYONCE_EXAMPLEPAY_ACCOUNT", default_value = "acct_payonce")]
    pub examplepay_account: String,
    /// How long a connection to ExamplePay may take, in milliseconds.
    #[arg(long, env = "PAYONCE_EXAMPLEPAY_CONNECT_TIMEOUT_MS", default_value = "2000")]
    pub examplepay_connect_timeout_ms: String,
    /// How long ExamplePay's answer may take, in milliseconds. It ends a call, never a payment.
    #[arg(long, env = "PAYONCE_EXAMPLEPAY_RESPONSE_TIMEOUT_MS", default_value = "6000")]
    pub examplepay_response_timeout_ms: String,
    /// Multiplies every wait of the engine: 0.05 is twenty times faster. For tests and demos.
    #[arg(long, env = "PAYONCE_TIME_SCALE", default_value = "1")]
    pub time_scale: String,
    /// Payments one session may post in a minute.
    #[arg(long, env = "PAYONCE_PAY_RATE_PER_MINUTE", default_value = "60")]
    pub pay_rate_per_minute: String,
    /// What is logged: error, warn, info, debug, or a filter such as info,payments=debug.
    #[arg(long, env = "PAYONCE_LOG", default_value = "info")]
    pub log: String,
    /// How it is logged: text or json.
    #[arg(long, env = "PAYONCE_LOG_FORMAT", default_value = "text")]
    pub log_format: String,
    /// Where the built pages' assets are.
    #[arg(long, env = "PAYONCE_SITE_ROOT", default_value = "target/site")]
    pub site_root: PathBuf,
    /// Checks the settings and ends.
    #[arg(long)]
    pub check_config: bool,
}

/// Settings that were checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the shop listens.
    pub addr: SocketAddr,
    /// The shop's address as browsers see it, without a slash at the end; `None` is the one it
    /// listens on.
    pub public_url: Option<String>,
    /// The engine's settings, the public address apart.
    pub engine: Settings,
    /// Payments one session may post in a minute.
    pub pay_rate_per_minute: u32,
    /// Where the assets are.
    pub site_root: String,
}

impl Config {
    /// Whether browsers reach the shop by https, so that cookies are for https only.
    pub fn is_https(&self) -> bool {
        self.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
    }
}

/// Collects what is wrong, so that all of it is told at once.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn take<T>(&mut self, value: Result<T, String>) -> Option<T> {
        value.map_err(|line| self.0.push(line)).ok()
    }
}

/// Checks the flags.
///
/// # Errors
/// One line for every setting that is wrong.
pub fn check(flags: &Flags) -> Result<Config, Vec<String>> {
    let mut wrong = Wrong::default();
    let addr = wrong.take(flags.addr.parse::<SocketAddr>().map_err(|_| {
        format!(
            "PAYONCE_ADDR is {:?}: give an address and a port, such as 127.0.0.1:3000",
            flags.addr
        )
    }));
    let public_url =
        wrong.take(flags.public_url.as_deref().map(|it| url("PAYONCE_PUBLIC_URL", it)).transpose());
    let provider_url = wrong.take(url("PAYONCE_EXAMPLEPAY_URL", &flags.examplepay_url));
    let api_key = wrong.take(secret(
        "PAYONCE_EXAMPLEPAY_API_KEY",
        &flags.examplepay_api_key,
        flags.examplepay_api_key_file.as_ref(),
    ));
    if api_key.as_deref() == Some("") {
        wrong.0.push("PAYONCE_EXAMPLEPAY_API_KEY is not set: give the key that ExamplePay was started with (make run does)".to_owned());
    }
    let secrets = wrong.take(secret(
        "PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET",
        &flags.examplepay_webhook_secret,
        flags.examplepay_webhook_secret_file.as_ref(),
    ));
    let connect = wrong
        .take(time("PAYONCE_EXAMPLEPAY_CONNECT_TIMEOUT_MS", &flags.examplepay_connect_timeout_ms));
    let response = wrong.take(time(
        "PAYONCE_EXAMPLEPAY_RESPONSE_TIMEOUT_MS",
        &flags.examplepay_response_timeout_ms,
    ));
    let time_scale = wrong.take(scale(&flags.time_scale));
    let rate = wrong.take(
        flags.pay_rate_per_minute.parse::<u32>().ok().filter(|it| *it > 0).ok_or_else(|| {
            format!(
                "PAYONCE_PAY_RATE_PER_MINUTE is {:?}: give a whole number above 0",
                flags.pay_rate_per_minute
            )
        }),
    );
    if !["text", "json"].contains(&flags.log_format.as_str()) {
        wrong.0.push(format!("PAYONCE_LOG_FORMAT is {:?}: give text or json", flags.log_format));
    }
    if flags.log.parse::<tracing_subscriber::EnvFilter>().is_err() {
        wrong.0.push(format!("PAYONCE_LOG is {:?}: give a level such as info, or a filter such as info,payments=debug", flags.log));
    }
    if flags.database.is_dir() {
        wrong.0.push(format!(
            "PAYONCE_DATABASE is {:?}, a folder: give the path of a file",
            flags.database
        ));
    }
    match (addr, public_url, provider_url, api_key, secrets, connect, response, time_scale, rate) {
        (
            Some(addr),
            Some(public_url),
            Some(base_url),
            Some(api_key),
            Some(secrets),
            Some(connect_timeout),
            Some(response_timeout),
            Some(time_scale),
            Some(pay_rate_per_minute),
        ) if wrong.0.is_empty() => Ok(Config {
            addr,
            public_url: public_url.clone(),
            engine: Settings {
                database: flags.database.clone(),
                public_url: public_url.unwrap_or_default(),
                time_scale,
                examplepay: Some(ExamplePayAccess {
                    base_url,
                    api_key: SecretString::from(api_key),
                    webhook_secrets: secrets
                        .split(',')
                        .map(str::trim)
                        .filter(|it| !it.is_empty())
                        .map(SecretString::from)
                        .collect(),
                    account: flags.examplepay_account.clone(),
                    connect_timeout,
                    response_timeout,
                }),
            },
            pay_rate_per_minute,
            site_root: flags.site_root.display().to_string(),
        }),
        _ => Err(wrong.0),
    }
}

fn url(name: &str, value: &str) -> Result<String, String> {
    let trimmed = value.trim_end_matches('/');
    let host = trimmed.strip_prefix("http://").or_else(|| trimmed.strip_prefix("https://"));
    match host {
        Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']) => {
            Ok(trimmed.to_owned())
        }
        Some(_) | None => {
            Err(format!("{name} is {value:?}: give http:// or https:// and a host, without a path"))
        }
    }
}

fn secret(name: &str, value: &str, file: Option<&PathBuf>) -> Result<String, String> {
    match file {
        None => Ok(value.trim().to_owned()),
        Some(_) if !value.is_empty() => {
            Err(format!("{name} and {name}_FILE are both set: give one of them"))
        }
        Some(path) => {
            std::fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(|reason| {
                format!("{name}_FILE names {path:?}, which cannot be read: {reason}")
            })
        }
    }
}

fn time(name: &str, value: &str) -> Result<Duration, String> {
    let ms = value.parse::<u64>().ok().filter(|ms| (1..=14_000).contains(ms));
    ms.map(Duration::from_millis)
        .ok_or_else(|| format!("{name} is {value:?}: give milliseconds from 1 to 14000"))
}

fn scale(value: &str) -> Result<f64, String> {
    let number = value.parse::<f64>().ok().filter(|it| (0.001..=10.0).contains(it));
    number.ok_or_else(|| {
        format!("PAYONCE_TIME_SCALE is {value:?}: give a number from 0.001 to 10; 1 is real time")
    })
}

#[cfg(test)]
mod tests;
