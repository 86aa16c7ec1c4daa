//! One HTTP request: no retries, no redirects, no proxy, and every way it can end told apart.

use std::time::{Duration, Instant};

use domain::schedule::Timestamp;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::{Client, RequestBuilder, StatusCode, header::HeaderMap};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::{Answer, Transport};
use crate::crash;
use domain::evidence::Verdict;

/// How far an event's time stamp may be from now, either way.
const TOLERANCE_SECONDS: u64 = 300;

/// The most an answer may weigh; a longer one is no answer of a provider we know.
const BODY_MAX: usize = 1024 * 1024;

/// Why no client could be made.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client could not be made")]
pub struct ClientError(#[from] reqwest::Error);

/// A client that sends what it is told, once.
///
/// Nothing is retried below the worker, or one attempt row would not be one request on the wire.
/// Idle connections are not kept: a request on one that the other side just closed may or may not
/// have been read.
pub fn client(connect_timeout: Duration) -> Result<Client, ClientError> {
    Ok(Client::builder()
        .retry(reqwest::retry::never())
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .pool_max_idle_per_host(0)
        .connect_timeout(connect_timeout)
        .user_agent(concat!("payonce/", env!("CARGO_PKG_VERSION")))
        .build()?)
}

/// The stored bytes as a request's body; a test may have the shop die half way through them.
pub fn body(bytes: &str) -> reqwest::Body {
    if !crash::armed("mid_body") {
        return reqwest::Body::from(bytes.to_owned());
    }
    let half = bytes.as_bytes().get(..bytes.len() / 2).unwrap_or_default().to_vec();
    let dying = futures::stream::unfold(Some(half), |half| async move {
        let Some(half) = half else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            crash::kill();
            return None;
        };
        Some((Ok::<_, std::io::Error>(half), None))
    });
    reqwest::Body::wrap_stream(dying)
}

/// A whole answer, still in the provider's words.
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// How long the provider asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.header("retry-after")?.trim().parse().ok().map(Duration::from_secs)
    }

    /// A header for the record, in a bounded length.
    pub fn noted(&self, name: &str) -> Option<String> {
        self.header(name).map(|text| text.chars().take(80).collect())
    }
}

/// Sends a request once and reads its answer within the time.
///
/// # Errors
/// How the request ended without a whole answer.
pub async fn exchange(request: RequestBuilder, time: Duration) -> Result<Reply, Transport> {
    let started = Instant::now();
    let response = match tokio::time::timeout(time, request.send()).await {
        Err(_) => return Err(Transport::TimedOut),
        // Building and connecting come before the first byte; everything later may have been read.
        Ok(Err(reason)) if reason.is_builder() || reason.is_connect() => {
            return Err(Transport::NotSent);
        }
        Ok(Err(reason)) if reason.is_timeout() => return Err(Transport::TimedOut),
        Ok(Err(_)) => return Err(Transport::ConnectionLost),
        Ok(Ok(response)) => response,
    };
    let (status, headers) = (response.status(), response.headers().clone());
    let left = time.saturating_sub(started.elapsed());
    match tokio::time::timeout(left, read(response)).await {
        Err(_) => Err(Transport::TimedOut),
        Ok(None) => Err(Transport::ConnectionLost),
        Ok(Some(body)) => Ok(Reply { status, headers, body }),
    }
}

async fn read(mut response: reqwest::Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        if body.len() + chunk.len() > BODY_MAX {
            return None;
        }
        body.extend_from_slice(&chunk);
    }
    Some(body)
}

/// Whether a header of the form `t=<seconds>,v1=<hex HMAC-SHA256 of "t.body">` fits some secret and
/// its time is within five minutes of now, either way. Other versions than `v1` are ignored.
pub fn signed(header: &str, secrets: &[SecretString], body: &[u8], now: Timestamp) -> bool {
    let mut time = None;
    let mut candidates = Vec::new();
    for part in header.split(',') {
        match part.trim().split_once('=') {
            Some(("t", value)) => time = value.parse::<i64>().ok(),
            Some(("v1", value)) => candidates.extend(hex::decode(value).ok()),
            Some(_) | None => {}
        }
    }
    let Some(time) = time else { return false };
    if time.abs_diff(now.0.div_euclid(1000)) > TOLERANCE_SECONDS {
        return false;
    }
    secrets.iter().any(|secret| {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) else {
            return false;
        };
        mac.update(time.to_string().as_bytes());
        mac.update(b".");
        mac.update(body);
        let expected = mac.finalize().into_bytes();
        candidates.iter().any(|given| bool::from(given.as_slice().ct_eq(expected.as_slice())))
    })
}

/// The first header of this name, which is given in lower case.
pub fn named<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(given, _)| given.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

/// A question that was not asked, because there is nothing to name in it.
pub fn silent(why: &'static str) -> Answer {
    Answer { provider_error: Some(why.to_owned()), ..unanswered(Transport::NotSent, true) }
}

/// What an end without a whole answer says: nothing, unless no byte left.
pub fn unanswered(transport: Transport, asking: bool) -> Answer {
    let verdict = match transport {
        _ if asking => Verdict::NoNews,
        Transport::NotSent => Verdict::NotSent,
        Transport::Answered | Transport::TimedOut | Transport::ConnectionLost => {
            Verdict::Indeterminate
        }
    };
    Answer {
        verdict,
        cached: false,
        transport,
        http_status: None,
        request_id: None,
        provider_error: None,
        unlisted: None,
    }
}

/// An answer as a test writes it.
#[cfg(test)]
pub fn reply(status: u16, headers: &[(&'static str, &str)], body: &str) -> Reply {
    use reqwest::header::{HeaderName, HeaderValue};
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()))
        .collect();
    Reply { status: StatusCode::from_u16(status).unwrap(), headers, body: body.as_bytes().to_vec() }
}
