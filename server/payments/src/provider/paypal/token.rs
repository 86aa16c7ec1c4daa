//! Access tokens: fetched with the client's credentials, kept until shortly before they end.

use std::time::{Duration, Instant};

use reqwest::Client;
use secrecy::ExposeSecret;
use serde::Deserialize;
use tokio::sync::Mutex;

use super::{PayPalSettings, wire};

/// A token is not used in its last minute.
const MARGIN: Duration = Duration::from_secs(60);
/// No token is kept for longer than a day, whatever it says.
const LONGEST: u64 = 24 * 3600;

/// A token for one request.
#[derive(Clone)]
pub struct Token {
    /// What goes into the header.
    pub text: String,
    /// It was fetched for this very request.
    pub fresh: bool,
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: u64,
}

/// Why there is no token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoToken {
    /// PayPal does not take our client id and secret.
    Refused,
    /// It did not answer, or with anything else.
    Unanswered,
}

/// The token that is kept.
#[derive(Default)]
pub struct Tokens {
    kept: Mutex<Option<(String, Instant)>>,
}

impl Tokens {
    /// The kept token, or a new one.
    ///
    /// # Errors
    /// None could be had.
    pub async fn get(
        &self,
        client: &Client,
        settings: &PayPalSettings,
        time: Duration,
    ) -> Result<Token, NoToken> {
        // Whoever waits here gets what the first one fetched.
        let mut kept = self.kept.lock().await;
        if let Some((text, until)) = &*kept
            && Instant::now() < *until
        {
            return Ok(Token { text: text.clone(), fresh: false });
        }
        let request = client
            .post(format!("{}/v1/oauth2/token", settings.base_url))
            .basic_auth(&settings.client_id, Some(settings.client_secret.expose_secret()))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body("grant_type=client_credentials");
        let reply = wire::exchange(request, time).await.map_err(|_| NoToken::Unanswered)?;
        if !reply.status.is_success() {
            tracing::warn!(http_status = reply.status.as_u16(), "PayPal gave no access token");
            let refused = matches!(reply.status.as_u16(), 400 | 401 | 403);
            return Err(if refused { NoToken::Refused } else { NoToken::Unanswered });
        }
        let granted: Granted =
            serde_json::from_slice(&reply.body).map_err(|_| NoToken::Unanswered)?;
        let life = Duration::from_secs(granted.expires_in.min(LONGEST)).saturating_sub(MARGIN);
        *kept = Some((granted.access_token.clone(), Instant::now() + life));
        Ok(Token { text: granted.access_token, fresh: true })
    }

    /// This one was refused.
    pub async fn forget(&self, token: &Token) {
        let mut kept = self.kept.lock().await;
        if kept.as_ref().is_some_and(|(text, _)| *text == token.text) {
            *kept = None;
        }
    }
}
