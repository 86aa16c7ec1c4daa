//! Who signed an event: a certificate of PayPal's, checked here, or PayPal itself when asked.
//!
//! The address of the certificate comes from the caller. It is fetched only from an allowed host,
//! by https, without redirects, and its chain has to end at a root we trust; otherwise anybody
//! could have us fetch anything and believe it (developer.paypal.com/api/rest/webhooks/rest).

use std::{collections::HashMap, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use domain::schedule::Timestamp;
use reqwest::{Client, Url};
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime, pem::PemObject};
use serde_json::value::RawValue;
use tokio::sync::{Mutex, Semaphore};
use webpki::{EndEntityCert, KeyUsage};

use super::super::wire;

/// How far an event's transmission may lie back: PayPal sends again for three days.
const OLDEST: Duration = Duration::from_secs(4 * 24 * 3600);
/// How far it may lie ahead.
const AHEAD: Duration = Duration::from_secs(300);
/// How long fetching a certificate may take.
const FETCH: Duration = Duration::from_secs(5);
/// The most certificates that are kept.
const KEPT: usize = 16;

/// How an event is verified.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Here, by certificate.
    Certificate(Roots),
    /// By asking PayPal about each event.
    Call,
}

/// Which certificates are believed.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    /// A simulator's address and its root certificate in PEM, in place of PayPal's hosts and the
    /// web's roots. Refused with live credentials.
    pub simulator: Option<Simulator>,
}

/// A simulator's certificates.
#[derive(Clone, Debug)]
pub struct Simulator {
    /// Where its certificates are, without a slash at the end.
    pub base_url: String,
    /// Its root, in PEM.
    pub root_pem: String,
    /// The name its certificate bears.
    pub name: String,
}

impl Roots {
    /// Whether a certificate may be fetched from there.
    fn allows(&self, url: &Url) -> bool {
        if let Some(simulator) = &self.simulator {
            let here = format!("{}/", simulator.base_url);
            return url.as_str().starts_with(&here) && url.username().is_empty();
        }
        let host = url.host_str().unwrap_or_default();
        url.scheme() == "https"
            && url.port().is_none()
            && url.username().is_empty()
            && url.password().is_none()
            && (host == "paypal.com" || host.ends_with(".paypal.com"))
            && url.path().starts_with("/v1/notifications/certs/")
            && url.query().is_none()
            && url.fragment().is_none()
    }

    /// Whether a certificate with this name is PayPal's.
    fn names(&self, name: &str) -> bool {
        match &self.simulator {
            Some(simulator) => name == simulator.name,
            None => name.ends_with(".paypal.com"),
        }
    }

    /// Whether this end of a chain leads to a root we trust, now.
    fn trusts(&self, end: &EndEntityCert<'_>, chain: &[CertificateDer<'_>], now: UnixTime) -> bool {
        let checks = |anchors: &[TrustAnchor<'_>]| {
            let found = end.verify_for_usage(
                webpki::ALL_VERIFICATION_ALGS,
                anchors,
                chain,
                now,
                KeyUsage::server_auth(),
                None,
                None,
            );
            found.is_ok()
        };
        match &self.simulator {
            Some(simulator) => {
                let Ok(root) = CertificateDer::from_pem_slice(simulator.root_pem.as_bytes()) else {
                    return false;
                };
                webpki::anchor_from_trusted_cert(&root).is_ok_and(|anchor| checks(&[anchor]))
            }
            None => checks(webpki_roots::TLS_SERVER_ROOTS),
        }
    }
}

/// What an event's headers say.
pub struct Signed<'a> {
    id: &'a str,
    time: &'a str,
    signature: &'a str,
    certificate: &'a str,
    algorithm: &'a str,
}

impl<'a> Signed<'a> {
    /// Reads the headers; `None` if one is missing.
    pub fn read(headers: &'a [(String, String)]) -> Option<Self> {
        Some(Self {
            id: wire::named(headers, "paypal-transmission-id")?,
            time: wire::named(headers, "paypal-transmission-time")?,
            signature: wire::named(headers, "paypal-transmission-sig")?,
            certificate: wire::named(headers, "paypal-cert-url")?,
            algorithm: wire::named(headers, "paypal-auth-algo")?,
        })
    }

    /// Whether it may be genuine at all: asked before anything is fetched for it.
    pub fn is_plausible(&self, now: Timestamp) -> bool {
        self.algorithm == "SHA256withRSA"
            && BASE64_STANDARD.decode(self.signature).is_ok()
            && is_recent(self.time, now)
    }

    /// Whether its certificate is one of PayPal's, or of the simulator's that is at this address.
    pub fn is_of(&self, base_url: &str) -> bool {
        let Ok(url) = Url::parse(self.certificate) else { return false };
        let theirs = format!("{base_url}/");
        Roots::default().allows(&url) || self.certificate.starts_with(&theirs)
    }

    /// The bytes that were signed.
    fn message(&self, webhook_id: &str, body: &[u8]) -> String {
        format!("{}|{}|{webhook_id}|{}", self.id, self.time, crc32fast::hash(body))
    }

    /// The same as a question to PayPal, the event byte for byte.
    pub fn question(&self, webhook_id: &str, event: &str) -> String {
        let Ok(event) = serde_json::from_str::<&RawValue>(event) else { return String::new() };
        let text = |value: &str| serde_json::Value::from(value).to_string();
        format!(
            r#"{{"auth_algo":{},"cert_url":{},"transmission_id":{},"transmission_sig":{},"transmission_time":{},"webhook_id":{},"webhook_event":{event}}}"#,
            text(self.algorithm),
            text(self.certificate),
            text(self.id),
            text(self.signature),
            text(self.time),
            text(webhook_id),
        )
    }
}

/// A chain of certificates, the signer's first.
pub type Chain = Vec<CertificateDer<'static>>;

/// Chains that were fetched, by address.
pub struct Certificates {
    kept: Mutex<HashMap<String, Chain>>,
    fetching: Semaphore,
}

impl Default for Certificates {
    fn default() -> Self {
        Self { kept: Mutex::default(), fetching: Semaphore::new(4) }
    }
}

impl Certificates {
    /// The chain at the address the headers name; `None` if it may not be fetched, or is none.
    pub async fn get(&self, client: &Client, roots: &Roots, signed: &Signed<'_>) -> Option<Chain> {
        let url = Url::parse(signed.certificate).ok().filter(|url| roots.allows(url));
        let Some(url) = url else {
            tracing::warn!("an event names a certificate at an address that is not allowed");
            return None;
        };
        if let Some(chain) = self.kept.lock().await.get(url.as_str()) {
            return Some(chain.clone());
        }
        // Nobody waits for somebody else's fetch, and few go on at a time.
        let _place = self.fetching.try_acquire().ok()?;
        let reply = wire::exchange(client.get(url.clone()), FETCH).await.ok()?;
        if !reply.status.is_success() {
            return None;
        }
        let chain: Result<Chain, _> = CertificateDer::pem_slice_iter(&reply.body).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty())?;
        let mut kept = self.kept.lock().await;
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(url.into(), chain.clone());
        Some(chain)
    }
}

/// Whether the signature is that of the chain's first certificate, and that one is PayPal's.
pub fn fits(
    chain: &[CertificateDer<'_>],
    roots: &Roots,
    signed: &Signed<'_>,
    webhook_id: &str,
    body: &[u8],
    now: Timestamp,
) -> bool {
    let Some((first, rest)) = chain.split_first() else { return false };
    let Ok(end) = EndEntityCert::try_from(first) else { return false };
    let Ok(signature) = BASE64_STANDARD.decode(signed.signature) else { return false };
    let seconds = u64::try_from(now.0.div_euclid(1000)).unwrap_or(0);
    let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    signed.is_plausible(now)
        && end.valid_dns_names().any(|name| roots.names(name))
        && roots.trusts(&end, rest, time)
        && end
            .verify_signature(
                webpki::ring::RSA_PKCS1_2048_8192_SHA256,
                signed.message(webhook_id, body).as_bytes(),
                &signature,
            )
            .is_ok()
}

/// Whether a transmission's time is one that PayPal may still send. No window is documented: this
/// only keeps an event of long ago from being played again.
fn is_recent(time: &str, now: Timestamp) -> bool {
    let at = super::judge::time(time);
    at.is_some_and(|at| at >= now.before(OLDEST) && at <= now.after(AHEAD))
}
