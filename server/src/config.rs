//! Settings from flags and environment. All that is wrong is told at once, and what to do about it.

mod lab;
mod mail;
mod providers;
mod values;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Parser;
use payments::Settings;
use secrecy::{ExposeSecret, SecretString};

use self::mail::MailFlags;
use self::providers::ProviderFlags;
pub use self::{
    lab::LabSettings,
    mail::{MailSettings, MailWay},
};

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
    /// The providers' settings.
    #[command(flatten)]
    pub providers: ProviderFlags,
    /// Mail settings.
    #[command(flatten)]
    pub mail: MailFlags,
    /// ExamplePay's control API; with it the shop has a fault lab at /lab. For demos only.
    #[arg(long, env = "PAYONCE_LAB_CONTROL_URL")]
    pub lab_control_url: Option<String>,
    /// Multiplies every wait of the engine: 0.05 is twenty times faster. For tests and demos.
    #[arg(long, env = "PAYONCE_TIME_SCALE", default_value = "1")]
    pub time_scale: String,
    /// How often each provider's list is compared with ours, in seconds.
    #[arg(long, env = "PAYONCE_SWEEP_SECONDS", default_value = "86400")]
    pub sweep_seconds: String,
    /// Payments one session may post in a minute.
    #[arg(long, env = "PAYONCE_PAY_RATE_PER_MINUTE", default_value = "60")]
    pub pay_rate_per_minute: String,
    /// Where the numbers of /metrics are given out; by default on the shop's own port, to this machine.
    #[arg(long, env = "PAYONCE_METRICS_ADDR")]
    pub metrics_addr: Option<String>,
    /// The token of the shop's own people, for /api; without it there is no /api.
    #[arg(long, env = "PAYONCE_OPERATOR_TOKEN", default_value = "", hide_env_values = true)]
    pub operator_token: SecretString,
    /// A file that holds the token instead.
    #[arg(long, env = "PAYONCE_OPERATOR_TOKEN_FILE")]
    pub operator_token_file: Option<PathBuf>,
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
    /// Where the numbers of /metrics are given out, if not on the shop's own port.
    pub metrics_addr: Option<SocketAddr>,
    /// The token of the shop's own people.
    pub operator_token: Option<SecretString>,
    /// Whether those who are paid take real money: all of them do, or none.
    pub real_money: bool,
    /// Where mails go.
    pub mail: MailSettings,
    /// What the fault lab needs, where there is one.
    pub lab: Option<LabSettings>,
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
    let addr = wrong.take(values::address("PAYONCE_ADDR", &flags.addr));
    let public_url = wrong.take(public_url(flags, addr));
    let metrics = flags.metrics_addr.as_deref();
    let metrics_addr =
        wrong.take(metrics.map(|it| values::address("PAYONCE_METRICS_ADDR", it)).transpose());
    if let (Some(Some(metrics)), Some(addr)) = (metrics_addr, addr)
        && metrics == addr
        && addr.port() != 0
    {
        wrong.0.push(
            "PAYONCE_METRICS_ADDR is the same as PAYONCE_ADDR: give another port, or none"
                .to_owned(),
        );
    }
    wrong.take(values::database(&flags.database));
    let sweep = wrong.take(values::count("PAYONCE_SWEEP_SECONDS", &flags.sweep_seconds));
    let rate = values::count("PAYONCE_PAY_RATE_PER_MINUTE", &flags.pay_rate_per_minute);
    let pay_rate_per_minute = wrong.take(rate);
    let time_scale = wrong.take(values::scale(&flags.time_scale));
    let scale = time_scale.unwrap_or(1.0);
    let providers = providers::read(&flags.providers, scale, &mut wrong);
    let lab =
        lab::read(flags, public_url.as_ref().and_then(Option::as_deref), &providers, &mut wrong);
    let mail = mail::read(&flags.mail, &mut wrong);
    logging(flags, &mut wrong);
    let operator_token = wrong.take(operator_token(flags)).flatten();
    match (addr, public_url, metrics_addr, pay_rate_per_minute, time_scale, mail) {
        (
            Some(addr),
            Some(public_url),
            Some(metrics_addr),
            Some(pay_rate_per_minute),
            Some(time_scale),
            Some(mail),
        ) if wrong.0.is_empty() => Ok(Config {
            addr,
            engine: Settings {
                database: flags.database.clone(),
                public_url: public_url.clone().unwrap_or_default(),
                time_scale,
                sweep_every: Duration::from_secs(u64::from(sweep.unwrap_or(u32::MAX))),
                providers,
            },
            public_url,
            pay_rate_per_minute,
            metrics_addr,
            operator_token,
            real_money: providers::live(&flags.providers).is_some(),
            mail,
            lab,
            site_root: flags.site_root.display().to_string(),
        }),
        _ => Err(wrong.0),
    }
}

/// Browsers reach the shop by https, except on this very machine.
fn public_url(flags: &Flags, addr: Option<SocketAddr>) -> Result<Option<String>, String> {
    let Some(given) = &flags.public_url else {
        return match addr {
            Some(addr) if addr.ip().is_unspecified() => Err(format!(
                "PAYONCE_PUBLIC_URL is not set, and {addr} is no address for a browser: give the one that browsers use, such as https://shop.example"
            )),
            Some(_) | None => Ok(None),
        };
    };
    let url = values::url("PAYONCE_PUBLIC_URL", given)?;
    if url.starts_with("http://") && !values::is_this_machine(&url) {
        return Err(format!(
            "PAYONCE_PUBLIC_URL is {given:?}: give an https:// address; http:// is for localhost only"
        ));
    }
    Ok(Some(url))
}

/// A token that nobody guesses.
fn operator_token(flags: &Flags) -> Result<Option<SecretString>, String> {
    let name = "PAYONCE_OPERATOR_TOKEN";
    let token = values::secret(name, &flags.operator_token, flags.operator_token_file.as_ref())?;
    match token {
        Some(token) if token.expose_secret().len() < 16 => Err(format!(
            "{name} is shorter than 16 characters: give a longer one, such as `openssl rand -hex 24` prints"
        )),
        other => Ok(other),
    }
}

fn logging(flags: &Flags, wrong: &mut Wrong) {
    if !["text", "json"].contains(&flags.log_format.as_str()) {
        wrong.0.push(format!("PAYONCE_LOG_FORMAT is {:?}: give text or json", flags.log_format));
    }
    if flags.log.parse::<tracing_subscriber::EnvFilter>().is_err() {
        wrong.0.push(format!("PAYONCE_LOG is {:?}: give a level such as info, or a filter such as info,payments=debug", flags.log));
    }
}

#[cfg(test)]
mod tests;
