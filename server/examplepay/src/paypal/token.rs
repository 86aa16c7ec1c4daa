//! Access tokens: given out for the client's secret, good for a while. In memory only.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::http::HeaderMap;
use base64::Engine;
use serde_json::json;

use super::show::problem;
use crate::{Settings, fresh, ledger::Made};

/// The tokens that are good now.
#[derive(Default)]
pub struct Tokens {
    until: Mutex<HashMap<String, Instant>>,
}

impl Tokens {
    fn issue(&self, time: Duration) -> String {
        let token = fresh("A21AA");
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        until.retain(|_, until| *until > Instant::now());
        until.insert(token.clone(), Instant::now() + time);
        token
    }

    /// Whether a request carries a good one.
    pub fn authorized(&self, headers: &HeaderMap) -> bool {
        let given = headers.get("authorization").and_then(|it| it.to_str().ok());
        let until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        given
            .and_then(|it| it.strip_prefix("Bearer "))
            .and_then(|token| until.get(token))
            .is_some_and(|until| *until > Instant::now())
    }
}

/// A token for the right secret.
pub fn answer(tokens: &Tokens, settings: &Settings, headers: &HeaderMap, body: &[u8]) -> Made {
    let (id, secret) = (&settings.paypal_client_id, &settings.paypal_client_secret);
    let wanted = base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}"));
    let wanted = format!("Basic {wanted}");
    let given = headers.get("authorization").map_or(&[][..], |it| it.as_bytes());
    if !bool::from(subtle::ConstantTimeEq::ct_eq(given, wanted.as_bytes())) {
        let told =
            json!({"error": "invalid_client", "error_description": "Client Authentication failed"});
        return Made::json(401, &told);
    }
    let grant = form_urlencoded::parse(body).find(|(name, _)| name == "grant_type");
    if grant.is_none_or(|(_, value)| value != "client_credentials") {
        let told = json!({"error": "unsupported_grant_type", "error_description": "Ask with client_credentials."});
        return Made::json(400, &told);
    }
    if settings.paypal_token.is_zero() {
        return problem(503, "SERVICE_UNAVAILABLE", "No tokens are given out.", &[]);
    }
    Made::json(
        200,
        &json!({
            "scope": "https://uri.paypal.com/services/payments/payment", "token_type": "Bearer",
            "access_token": tokens.issue(settings.paypal_token), "app_id": "APP-PAYONCE",
            "expires_in": settings.paypal_token.as_secs(), "nonce": fresh("nonce"),
        }),
    )
}
