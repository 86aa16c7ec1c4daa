//! Signatures of events: made with a certificate's key, checked by whoever fetches the certificate.

use std::sync::OnceLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::{
    rand::SystemRandom,
    signature::{
        KeyPair, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey,
    },
};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::{Provider, clock};

/// The certificates as the door shows them: the leaf, then the one that issued it.
pub const CERTIFICATES: &str =
    concat!(include_str!("../../certs/leaf.pem"), include_str!("../../certs/ca.pem"));

/// The name of the certificate in its address.
pub const CERTIFICATE: &str = "CERT-payonce";

const ALGORITHM: &str = "SHA256withRSA";

/// The key that lies next to the certificates; it protects nothing.
fn key() -> Option<&'static RsaKeyPair> {
    static KEY: OnceLock<Option<RsaKeyPair>> = OnceLock::new();
    let read = || {
        let pem = include_str!("../../certs/leaf.key.pem");
        let base64: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        RsaKeyPair::from_pkcs8(&STANDARD.decode(base64).ok()?).ok()
    };
    KEY.get_or_init(read).as_ref()
}

fn signature(message: &str) -> String {
    let Some(key) = key() else { return String::new() };
    let mut made = vec![0; key.public().modulus_len()];
    match key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message.as_bytes(), &mut made) {
        Ok(()) => STANDARD.encode(made),
        Err(_) => String::new(),
    }
}

/// What is signed of an event.
fn message(id: &str, time: &str, webhook_id: &str, body: &str) -> String {
    format!("{id}|{time}|{webhook_id}|{}", crc32fast::hash(body.as_bytes()))
}

/// Where the certificate is.
pub fn certificate_url(provider: &Provider) -> String {
    format!("{}/v1/notifications/certs/{CERTIFICATE}", provider.paypal_url)
}

/// What an event is sent with: as this kind of signature would have it.
pub fn headers(
    provider: &Provider,
    kind: &str,
    time_s: i64,
    body: &str,
) -> Vec<(&'static str, String)> {
    let id = uuid::Uuid::new_v4().to_string();
    let time = clock::iso((if kind == "old" { time_s - 3600 } else { time_s }) * 1000);
    let genuine = signature(&message(&id, &time, &provider.settings.paypal_webhook_id, body));
    let made = match kind {
        "none" => return Vec::new(),
        "bad" => signature(&message(&id, &time, "WH-SOMEBODY-ELSE", body)),
        "v0_only" | "empty_v1" => String::new(),
        _ => genuine,
    };
    let url = match kind {
        "other_host" => {
            format!("https://paypal.com.evil.test/v1/notifications/certs/{CERTIFICATE}")
        }
        _ => certificate_url(provider),
    };
    vec![
        ("PAYPAL-TRANSMISSION-ID", id),
        ("PAYPAL-TRANSMISSION-TIME", time),
        ("PAYPAL-TRANSMISSION-SIG", made),
        ("PAYPAL-CERT-URL", url),
        ("PAYPAL-AUTH-ALGO", ALGORITHM.to_owned()),
    ]
}

/// Whether a signature that a merchant asks about is one of ours, over the very bytes of the event.
pub fn verified(provider: &Provider, body: &str) -> bool {
    let told: Value = serde_json::from_str(body).unwrap_or_default();
    let word = |name: &str| told[name].as_str().unwrap_or_default();
    let webhook_id = &provider.settings.paypal_webhook_id;
    let Some((event, key)) = raw_event(body).zip(key()) else { return false };
    let message = message(word("transmission_id"), word("transmission_time"), webhook_id, event);
    let given = STANDARD.decode(word("transmission_sig")).unwrap_or_default();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key());
    word("auth_algo") == ALGORITHM
        && word("webhook_id") == webhook_id
        && word("cert_url") == certificate_url(provider)
        && public.verify(message.as_bytes(), &given).is_ok()
}

/// The event within such a question, byte for byte.
fn raw_event(body: &str) -> Option<&str> {
    let (_, after) = body.split_once("\"webhook_event\"")?;
    let after = after.trim_start().strip_prefix(':')?.trim_start();
    let mut values = serde_json::Deserializer::from_str(after).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    after.get(..values.byte_offset())
}
