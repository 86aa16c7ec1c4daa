//! One settings block per provider. None of it is needed to try the shop; half of it is refused.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use payments::provider::{
    Access,
    examplepay::ExamplePaySettings,
    invoicing::InvoicingSettings,
    paypal::{LIVE_URL, PayPalSettings, Roots, Simulator, Trust},
    shipping::ShippingSettings,
    stripe::StripeSettings,
};
use secrecy::{ExposeSecret, SecretString};

use super::{Wrong, values};

/// After how long an unknown payment by card or wallet is handed to a person.
const PAYMENT_MINUTES: u64 = 30;
/// PayPal's shopper may take longer: an approval is kept for three hours.
const WALLET_MINUTES: u64 = 60;
/// After how long an unknown refund is handed to a person.
const REFUND_HOURS: u64 = 24;

/// All providers' settings.
#[derive(Args, Clone, Debug)]
pub struct ProviderFlags {
    /// ExamplePay's settings.
    #[command(flatten)]
    pub examplepay: ExamplePayFlags,
    /// Stripe's settings.
    #[command(flatten)]
    pub stripe: StripeFlags,
    /// PayPal's settings.
    #[command(flatten)]
    pub paypal: PayPalFlags,
    /// The partners' settings.
    #[command(flatten)]
    pub partners: PartnerFlags,
}

/// ExamplePay, the simulated provider.
#[derive(Args, Clone, Debug)]
pub struct ExamplePayFlags {
    /// ExamplePay's address.
    #[arg(long, env = "PAYONCE_EXAMPLEPAY_URL", default_value = "http://127.0.0.1:4010")]
    pub examplepay_url: String,
    /// Our API key at ExamplePay.
    #[arg(long, env = "PAYONCE_EXAMPLEPAY_API_KEY", default_value = "", hide_env_values = true)]
    pub examplepay_api_key: SecretString,
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
    pub examplepay_webhook_secret: SecretString,
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
}

/// Stripe.
#[derive(Args, Clone, Debug)]
pub struct StripeFlags {
    /// Stripe's address; another one than the usual is for a simulator.
    #[arg(long, env = "PAYONCE_STRIPE_URL", default_value = STRIPE_URL)]
    pub stripe_url: String,
    /// Our secret key at Stripe; without it Stripe is not offered.
    #[arg(long, env = "PAYONCE_STRIPE_API_KEY", default_value = "", hide_env_values = true)]
    pub stripe_api_key: SecretString,
    /// A file that holds the secret key instead.
    #[arg(long, env = "PAYONCE_STRIPE_API_KEY_FILE")]
    pub stripe_api_key_file: Option<PathBuf>,
    /// Secrets of our webhook endpoint at Stripe, comma-separated.
    #[arg(long, env = "PAYONCE_STRIPE_WEBHOOK_SECRET", default_value = "", hide_env_values = true)]
    pub stripe_webhook_secret: SecretString,
    /// A file that holds the webhook secrets instead.
    #[arg(long, env = "PAYONCE_STRIPE_WEBHOOK_SECRET_FILE")]
    pub stripe_webhook_secret_file: Option<PathBuf>,
    /// The key that browsers see; with it Stripe's Payment Element is offered.
    #[arg(long, env = "PAYONCE_STRIPE_PUBLISHABLE_KEY", default_value = "")]
    pub stripe_publishable_key: String,
    /// How long a connection to Stripe may take, in milliseconds.
    #[arg(long, env = "PAYONCE_STRIPE_CONNECT_TIMEOUT_MS", default_value = "2000")]
    pub stripe_connect_timeout_ms: String,
    /// How long Stripe's answer may take, in milliseconds.
    #[arg(long, env = "PAYONCE_STRIPE_RESPONSE_TIMEOUT_MS", default_value = "10000")]
    pub stripe_response_timeout_ms: String,
}

const STRIPE_URL: &str = "https://api.stripe.com";
const PAYPAL_SANDBOX_URL: &str = "https://api-m.sandbox.paypal.com";

/// PayPal.
#[derive(Args, Clone, Debug)]
pub struct PayPalFlags {
    /// PayPal's address: the sandbox, https://api-m.paypal.com for real money, or a simulator.
    #[arg(long, env = "PAYONCE_PAYPAL_URL", default_value = PAYPAL_SANDBOX_URL)]
    pub paypal_url: String,
    /// Our app's client id; without it PayPal is not offered.
    #[arg(long, env = "PAYONCE_PAYPAL_CLIENT_ID", default_value = "")]
    pub paypal_client_id: String,
    /// Our app's secret.
    #[arg(long, env = "PAYONCE_PAYPAL_CLIENT_SECRET", default_value = "", hide_env_values = true)]
    pub paypal_client_secret: SecretString,
    /// A file that holds the app's secret instead.
    #[arg(long, env = "PAYONCE_PAYPAL_CLIENT_SECRET_FILE")]
    pub paypal_client_secret_file: Option<PathBuf>,
    /// The id of our webhook at PayPal.
    #[arg(long, env = "PAYONCE_PAYPAL_WEBHOOK_ID", default_value = "")]
    pub paypal_webhook_id: String,
    /// How events are verified: certificate (here) or call (by asking PayPal).
    #[arg(long, env = "PAYONCE_PAYPAL_WEBHOOK_CHECK", default_value = "certificate")]
    pub paypal_webhook_check: String,
    /// A simulator's root certificate in PEM, in place of PayPal's; refused with real money.
    #[arg(long, env = "PAYONCE_PAYPAL_SIMULATOR_ROOT")]
    pub paypal_simulator_root: Option<PathBuf>,
    /// How long a connection to PayPal may take, in milliseconds.
    #[arg(long, env = "PAYONCE_PAYPAL_CONNECT_TIMEOUT_MS", default_value = "2000")]
    pub paypal_connect_timeout_ms: String,
    /// How long PayPal's answer may take, in milliseconds.
    #[arg(long, env = "PAYONCE_PAYPAL_RESPONSE_TIMEOUT_MS", default_value = "10000")]
    pub paypal_response_timeout_ms: String,
}

/// The two partners a paid order needs.
#[derive(Args, Clone, Debug)]
pub struct PartnerFlags {
    /// The invoicing partner's address; without it no invoices are written.
    #[arg(long, env = "PAYONCE_INVOICING_URL", default_value = "")]
    pub invoicing_url: String,
    /// The shipping partner's address; without it no parcels are handed over.
    #[arg(long, env = "PAYONCE_SHIPPING_URL", default_value = "")]
    pub shipping_url: String,
    /// Our key at both.
    #[arg(long, env = "PAYONCE_PARTNERS_API_KEY", default_value = "", hide_env_values = true)]
    pub partners_api_key: SecretString,
    /// A file that holds the key instead.
    #[arg(long, env = "PAYONCE_PARTNERS_API_KEY_FILE")]
    pub partners_api_key_file: Option<PathBuf>,
}

/// How long a call to a partner may take.
const PARTNER_CONNECT: Duration = Duration::from_secs(2);
const PARTNER_RESPONSE: Duration = Duration::from_secs(6);
/// After how long an invoice or a shipment nobody confirmed is handed to a person.
const PARTNER_HOURS: u64 = 6;
/// By its contract an invoice is found so long after it was made, doubled here.
const INVOICE_BOUND_MINUTES: u64 = 10;

/// The name that the simulator's certificate bears.
const SIMULATOR_NAME: &str = "api.sandbox.paypal.example";

/// Everyone that is set up, the usual way to pay first. Nobody to pay is one line in `wrong`.
pub fn read(flags: &ProviderFlags, scale: f64, wrong: &mut Wrong) -> Vec<Access> {
    let ProviderFlags { examplepay, stripe, paypal, partners } = flags;
    let before = wrong.0.len();
    let waits = Waits { scale };
    let stripe = of_stripe(stripe, waits, wrong).map(Access::Stripe);
    let paypal = of_paypal(paypal, waits, wrong).map(Access::PayPal);
    let alone = stripe.is_none() && paypal.is_none() && wrong.0.len() == before;
    let examplepay = of_examplepay(examplepay, waits, alone, wrong).map(Access::ExamplePay);
    let payees: Vec<_> = [examplepay, stripe, paypal].into_iter().flatten().collect();
    if let Some(why) = live(flags) {
        wrong.0.extend(payees.iter().filter_map(|it| beside_real_money(it, why)));
    }
    payees.into_iter().chain(of_partners(partners, waits, wrong)).collect()
}

/// What is wrong with a provider that takes no money beside one that does: an order would be paid,
/// and shipped, for nothing.
fn beside_real_money(access: &Access, why: &str) -> Option<String> {
    let name = match access {
        Access::ExamplePay(_) => "PAYONCE_EXAMPLEPAY_API_KEY is set",
        Access::Stripe(it) if !it.api_key.expose_secret().contains("_live_") => {
            "PAYONCE_STRIPE_API_KEY is a test key"
        }
        Access::PayPal(it) if it.base_url != LIVE_URL => "PAYONCE_PAYPAL_URL is not the live one",
        Access::Stripe(_) | Access::PayPal(_) | Access::Invoicing(_) | Access::Shipping(_) => {
            return None;
        }
    };
    Some(format!("{name} although {why}: what is paid there is no money, so take one of them away"))
}

/// Whether these settings reach for real money, and which does.
pub fn live(flags: &ProviderFlags) -> Option<&'static str> {
    let (stripe, paypal) = (&flags.stripe, &flags.paypal);
    let file = stripe.stripe_api_key_file.as_ref();
    let key = values::secret("PAYONCE_STRIPE_API_KEY", &stripe.stripe_api_key, file).ok().flatten();
    if key.is_some_and(|it| it.expose_secret().contains("_live_")) {
        return Some("PAYONCE_STRIPE_API_KEY is a live key");
    }
    let url = values::url("PAYONCE_PAYPAL_URL", &paypal.paypal_url);
    let asked = !paypal.paypal_client_id.trim().is_empty();
    (asked && url.is_ok_and(|it| it == LIVE_URL)).then_some("PAYONCE_PAYPAL_URL is the live one")
}

/// Business deadlines, compressed like every wait.
#[derive(Clone, Copy)]
struct Waits {
    scale: f64,
}

impl Waits {
    fn minutes(self, minutes: u64) -> Duration {
        Duration::from_secs(minutes * 60).mul_f64(self.scale)
    }
}

fn of_examplepay(
    flags: &ExamplePayFlags,
    waits: Waits,
    needed: bool,
    wrong: &mut Wrong,
) -> Option<ExamplePaySettings> {
    let base_url = wrong.take(values::url("PAYONCE_EXAMPLEPAY_URL", &flags.examplepay_url));
    let key = wrong.take(values::secret(
        "PAYONCE_EXAMPLEPAY_API_KEY",
        &flags.examplepay_api_key,
        flags.examplepay_api_key_file.as_ref(),
    ));
    if let (Some(None), true) = (&key, needed) {
        wrong.0.push("PAYONCE_EXAMPLEPAY_API_KEY is not set: give the key that ExamplePay was started with (make run does), or set up Stripe or PayPal".to_owned());
    }
    let secrets = values::secret(
        "PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET",
        &flags.examplepay_webhook_secret,
        flags.examplepay_webhook_secret_file.as_ref(),
    );
    if let (Some(None), Ok(Some(_)), false) = (&key, &secrets, needed) {
        wrong.0.push("PAYONCE_EXAMPLEPAY_API_KEY is not set although PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET is: give the key too, or neither to leave ExamplePay out".to_owned());
    }
    let webhook_secrets = wrong.take(
        secrets.and_then(|it| values::list("PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET", it.as_ref())),
    );
    let account = values::word("PAYONCE_EXAMPLEPAY_ACCOUNT", &flags.examplepay_account);
    let account = wrong.take(account);
    let connect = &flags.examplepay_connect_timeout_ms;
    let connect = wrong.take(values::time("PAYONCE_EXAMPLEPAY_CONNECT_TIMEOUT_MS", connect));
    let response = &flags.examplepay_response_timeout_ms;
    let response = wrong.take(values::time("PAYONCE_EXAMPLEPAY_RESPONSE_TIMEOUT_MS", response));
    Some(ExamplePaySettings {
        base_url: base_url?,
        api_key: key??,
        webhook_secrets: webhook_secrets?,
        account: account?,
        connect_timeout: connect?,
        response_timeout: response?,
        key_window: Duration::from_secs(24 * 3600),
        payment_deadline: waits.minutes(PAYMENT_MINUTES),
        refund_deadline: waits.minutes(REFUND_HOURS * 60),
    })
}

fn of_stripe(flags: &StripeFlags, waits: Waits, wrong: &mut Wrong) -> Option<StripeSettings> {
    let key = wrong.take(values::secret(
        "PAYONCE_STRIPE_API_KEY",
        &flags.stripe_api_key,
        flags.stripe_api_key_file.as_ref(),
    ));
    let secrets = wrong.take(values::secret(
        "PAYONCE_STRIPE_WEBHOOK_SECRET",
        &flags.stripe_webhook_secret,
        flags.stripe_webhook_secret_file.as_ref(),
    ));
    let (key, secrets) = (key?, secrets?);
    if key.is_none() && secrets.is_none() && !flags.stripe_publishable_key.trim().is_empty() {
        wrong.0.push("PAYONCE_STRIPE_PUBLISHABLE_KEY is set although PAYONCE_STRIPE_API_KEY and PAYONCE_STRIPE_WEBHOOK_SECRET are not: give all three, or none to leave Stripe out".to_owned());
        return None;
    }
    if key.is_some() != secrets.is_some() {
        let (is, missing) =
            if key.is_some() { ("KEY", "WEBHOOK_SECRET") } else { ("SECRET", "API_KEY") };
        let is =
            if is == "KEY" { "PAYONCE_STRIPE_API_KEY" } else { "PAYONCE_STRIPE_WEBHOOK_SECRET" };
        wrong.0.push(format!("PAYONCE_STRIPE_{missing} is not set although {is} is: give both, or none to leave Stripe out"));
        return None;
    }
    let api_key = key?;
    let base_url = wrong.take(values::url("PAYONCE_STRIPE_URL", &flags.stripe_url));
    let exposed = api_key.expose_secret();
    if exposed.starts_with("pk_") {
        wrong.0.push("PAYONCE_STRIPE_API_KEY is a publishable key: give the secret one, which begins with sk_ or rk_".to_owned());
        return None;
    }
    let live = exposed.contains("_live_");
    let publishable = Some(flags.stripe_publishable_key.trim()).filter(|it| !it.is_empty());
    if publishable.is_some_and(|it| !it.starts_with("pk_") || it.contains("_live_") != live) {
        wrong.0.push("PAYONCE_STRIPE_PUBLISHABLE_KEY does not belong to PAYONCE_STRIPE_API_KEY: give the one that begins with pk_, of the same mode".to_owned());
        return None;
    }
    if live && publishable.is_none() {
        wrong.0.push("PAYONCE_STRIPE_PUBLISHABLE_KEY is not set although PAYONCE_STRIPE_API_KEY is a live one: without it shoppers have no form to pay with".to_owned());
        return None;
    }
    if live && flags.stripe_url.trim_end_matches('/') != STRIPE_URL {
        wrong.0.push(format!("PAYONCE_STRIPE_API_KEY is a live key, but PAYONCE_STRIPE_URL is {:?}: a live key goes to {STRIPE_URL} only", flags.stripe_url));
        return None;
    }
    let list = wrong.take(values::list("PAYONCE_STRIPE_WEBHOOK_SECRET", secrets.as_ref()));
    let connect = &flags.stripe_connect_timeout_ms;
    let connect = wrong.take(values::time("PAYONCE_STRIPE_CONNECT_TIMEOUT_MS", connect));
    let response = &flags.stripe_response_timeout_ms;
    let response = wrong.take(values::time("PAYONCE_STRIPE_RESPONSE_TIMEOUT_MS", response));
    Some(StripeSettings {
        base_url: base_url?,
        api_key,
        webhook_secrets: list?,
        publishable_key: publishable.map(str::to_owned),
        connect_timeout: connect?,
        response_timeout: response?,
        payment_deadline: waits.minutes(PAYMENT_MINUTES),
        refund_deadline: waits.minutes(REFUND_HOURS * 60),
    })
}

fn of_paypal(flags: &PayPalFlags, waits: Waits, wrong: &mut Wrong) -> Option<PayPalSettings> {
    let secret = wrong.take(values::secret(
        "PAYONCE_PAYPAL_CLIENT_SECRET",
        &flags.paypal_client_secret,
        flags.paypal_client_secret_file.as_ref(),
    ))?;
    let id = flags.paypal_client_id.trim();
    let webhook = flags.paypal_webhook_id.trim();
    let parts = [
        ("PAYONCE_PAYPAL_CLIENT_ID", !id.is_empty()),
        ("PAYONCE_PAYPAL_CLIENT_SECRET", secret.is_some()),
        ("PAYONCE_PAYPAL_WEBHOOK_ID", !webhook.is_empty()),
    ];
    if parts.iter().all(|(_, given)| !given) {
        return None;
    }
    for (name, _) in parts.iter().filter(|(_, given)| !given) {
        wrong.0.push(format!("{name} is not set although other settings of PayPal are: give all of PAYONCE_PAYPAL_CLIENT_ID, _CLIENT_SECRET and _WEBHOOK_ID, or none to leave PayPal out"));
    }
    let base_url = wrong.take(values::url("PAYONCE_PAYPAL_URL", &flags.paypal_url));
    if base_url.as_deref().is_some_and(is_elsewhere_at_paypal) {
        wrong.0.push(format!("PAYONCE_PAYPAL_URL is {:?}: at PayPal it is {LIVE_URL} or {PAYPAL_SANDBOX_URL}, and nothing else", flags.paypal_url));
        return None;
    }
    let trust = wrong.take(trust(flags));
    let connect = &flags.paypal_connect_timeout_ms;
    let connect = wrong.take(values::time("PAYONCE_PAYPAL_CONNECT_TIMEOUT_MS", connect));
    let response = &flags.paypal_response_timeout_ms;
    let response = wrong.take(values::time("PAYONCE_PAYPAL_RESPONSE_TIMEOUT_MS", response));
    Some(PayPalSettings {
        base_url: base_url?,
        client_id: id.to_owned(),
        client_secret: secret?,
        webhook_id: Some(webhook.to_owned()),
        trust: trust?,
        connect_timeout: connect?,
        response_timeout: response?,
        payment_deadline: waits.minutes(WALLET_MINUTES),
        refund_deadline: waits.minutes(REFUND_HOURS * 60),
    })
}

fn of_partners(flags: &PartnerFlags, waits: Waits, wrong: &mut Wrong) -> Vec<Access> {
    let key = wrong.take(values::secret(
        "PAYONCE_PARTNERS_API_KEY",
        &flags.partners_api_key,
        flags.partners_api_key_file.as_ref(),
    ));
    let mut url = |name: &str, value: &str| match value.trim() {
        "" => None,
        value => wrong.take(values::url(name, value)),
    };
    let invoicing = url("PAYONCE_INVOICING_URL", &flags.invoicing_url);
    let shipping = url("PAYONCE_SHIPPING_URL", &flags.shipping_url);
    let some = invoicing.is_some() || shipping.is_some();
    let api_key = match key {
        Some(Some(key)) if some => key,
        Some(Some(_)) => {
            wrong.0.push("PAYONCE_PARTNERS_API_KEY is set, but neither PAYONCE_INVOICING_URL nor PAYONCE_SHIPPING_URL: give one, or take the key away".to_owned());
            return Vec::new();
        }
        Some(None) if some => {
            wrong.0.push("PAYONCE_PARTNERS_API_KEY is not set although a partner's address is: give the key, or take the address away".to_owned());
            return Vec::new();
        }
        Some(None) | None => return Vec::new(),
    };
    let (connect_timeout, response_timeout) = (PARTNER_CONNECT, PARTNER_RESPONSE);
    let deadline = waits.minutes(PARTNER_HOURS * 60);
    let invoicing = invoicing.map(|base_url| {
        Access::Invoicing(InvoicingSettings {
            base_url,
            api_key: api_key.clone(),
            connect_timeout,
            response_timeout,
            deadline,
            consistency_bound: Duration::from_secs(INVOICE_BOUND_MINUTES * 60),
        })
    });
    let shipping = shipping.map(|base_url| {
        let api_key = api_key.clone();
        Access::Shipping(ShippingSettings {
            base_url,
            api_key,
            connect_timeout,
            response_timeout,
            deadline,
        })
    });
    invoicing.into_iter().chain(shipping).collect()
}

/// Whether a checked address is one of PayPal's hosts, but none that its API is to be used at:
/// another host's calls would count as test ones, and plain http would show our secret.
fn is_elsewhere_at_paypal(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default().trim_end_matches('.');
    let theirs = host == "paypal.com" || host.ends_with(".paypal.com");
    theirs && ![LIVE_URL, PAYPAL_SANDBOX_URL].contains(&url)
}

/// Whose certificates are believed.
fn trust(flags: &PayPalFlags) -> Result<Trust, String> {
    let simulator = match &flags.paypal_simulator_root {
        None => None,
        Some(_)
            if values::url("PAYONCE_PAYPAL_URL", &flags.paypal_url)
                .is_ok_and(|url| [LIVE_URL, PAYPAL_SANDBOX_URL].contains(&url.as_str())) =>
        {
            return Err(format!(
                "PAYONCE_PAYPAL_SIMULATOR_ROOT is set, but PAYONCE_PAYPAL_URL is PayPal's own ({}): take it away",
                flags.paypal_url
            ));
        }
        Some(path) => Some(Simulator {
            base_url: values::url("PAYONCE_PAYPAL_URL", &flags.paypal_url)?,
            root_pem: std::fs::read_to_string(path).map_err(|reason| {
                format!(
                    "PAYONCE_PAYPAL_SIMULATOR_ROOT names {path:?}, which cannot be read: {reason}"
                )
            })?,
            name: SIMULATOR_NAME.to_owned(),
        }),
    };
    match flags.paypal_webhook_check.as_str() {
        "certificate" => Ok(Trust::Certificate(Roots { simulator })),
        "call" => Ok(Trust::Call),
        other => {
            Err(format!("PAYONCE_PAYPAL_WEBHOOK_CHECK is {other:?}: give certificate or call"))
        }
    }
}
