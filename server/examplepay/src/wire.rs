//! The wires this provider speaks: one ledger behind doors that name the same things differently.

use axum::http::HeaderMap;
use serde_json::json;

use crate::{fresh, ledger::Made, paypal, stripe};

/// One way of talking to the provider, with a door of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Its own one.
    ExamplePay,
    /// Stripe's.
    Stripe,
    /// PayPal's.
    PayPal,
}

/// Why a door does not do what it is asked, before or around an execution.
#[derive(Clone, Copy, Debug)]
pub enum Refusal {
    /// Nobody we know.
    Unauthorized,
    /// There is nothing under this address.
    NoSuchAddress,
    /// There is no such object.
    NotFound,
    /// The key is too long, or empty.
    BadKey,
    /// The key was used for something else.
    KeyMismatch,
    /// The key is being executed.
    KeyInUse,
    /// Too many requests.
    RateLimited,
    /// A script wants nothing done.
    NotDone,
    /// A script wants it done later.
    Later,
    /// Something broke here.
    Broken,
    /// Lookups fail for a while.
    Unavailable(u16),
}

impl Wire {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ExamplePay, Self::Stripe, Self::PayPal];

    /// Its name in the database and in the control API.
    pub fn name(self) -> &'static str {
        match self {
            Self::ExamplePay => "examplepay",
            Self::Stripe => "stripe",
            Self::PayPal => "paypal",
        }
    }

    /// The wire with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The header that carries a request's key.
    pub fn key_header(self) -> &'static str {
        match self {
            Self::ExamplePay | Self::Stripe => "idempotency-key",
            Self::PayPal => "paypal-request-id",
        }
    }

    /// The header that carries our id of a request.
    pub fn request_id_header(self) -> &'static str {
        match self {
            Self::ExamplePay | Self::Stripe => "request-id",
            Self::PayPal => "paypal-debug-id",
        }
    }

    /// Request headers that every answer gives back.
    pub fn echoes(self) -> &'static [&'static str] {
        match self {
            Self::ExamplePay | Self::PayPal => &[],
            Self::Stripe => &["stripe-version"],
        }
    }

    /// Whether an answer says that it is one from before.
    pub fn tells_replays(self) -> bool {
        match self {
            Self::ExamplePay | Self::Stripe => true,
            Self::PayPal => false,
        }
    }

    /// A fresh id for a request.
    pub fn fresh_request_id(self) -> String {
        match self {
            Self::ExamplePay | Self::Stripe => fresh("req"),
            Self::PayPal => paypal::fresh_id().to_lowercase().chars().take(13).collect(),
        }
    }

    /// A fresh id for a refund.
    pub fn fresh_refund_id(self) -> String {
        match self {
            Self::ExamplePay | Self::Stripe => fresh("re"),
            Self::PayPal => paypal::fresh_id(),
        }
    }

    /// A fresh id for a charge; the own wire has none.
    pub fn fresh_charge_id(self) -> Option<String> {
        match self {
            Self::ExamplePay => None,
            Self::Stripe => Some(fresh("ch")),
            Self::PayPal => Some(paypal::fresh_id()),
        }
    }

    /// How long a key may be.
    pub fn key_length_max(self) -> usize {
        match self {
            Self::ExamplePay | Self::Stripe => 255,
            Self::PayPal => 108,
        }
    }

    /// How this wire says no.
    pub fn refusal(self, why: Refusal) -> Made {
        match self {
            Self::ExamplePay => own_refusal(why),
            Self::Stripe => stripe::show::refusal(why),
            Self::PayPal => paypal::show::refusal(why),
        }
    }

    /// What a search finds while lookups find nothing.
    pub fn nothing_found(self, path: &str) -> Made {
        match self {
            Self::ExamplePay => Made::json(200, &json!({"data": []})),
            Self::Stripe => stripe::show::nothing_found(path),
            Self::PayPal if path.starts_with("/v1/reporting/") => paypal::report::nothing(),
            Self::PayPal => Made::json(200, &json!({"count": 0, "events": [], "links": []})),
        }
    }
}

/// What a new door's requests were sent with, for those who check adapters; never credentials.
pub fn kept_headers(headers: &HeaderMap) -> String {
    const KEPT: [&str; 5] =
        ["content-type", "stripe-version", "paypal-request-id", "idempotency-key", "prefer"];
    let given = KEPT.into_iter().filter_map(|name| {
        let value = headers.get(name)?.to_str().ok()?;
        Some((name.to_owned(), json!(value)))
    });
    serde_json::Value::Object(given.collect()).to_string()
}

fn own_refusal(why: Refusal) -> Made {
    let (status, kind, message) = match why {
        Refusal::Unauthorized => (401, "unauthorized", "The API key is not valid."),
        Refusal::NoSuchAddress => (404, "not_found", "There is nothing under this address."),
        Refusal::NotFound => (404, "not_found", "There is no such object."),
        Refusal::BadKey => {
            return Made::json(
                400,
                &json!({"error": {"type": "invalid_request", "param": "Idempotency-Key", "message": "A key has 1 to 255 characters."}}),
            );
        }
        Refusal::KeyMismatch => {
            (422, "idempotency_mismatch", "This key was used for another request.")
        }
        Refusal::KeyInUse => (409, "idempotency_key_in_use", "This key is being executed."),
        Refusal::RateLimited => (429, "rate_limited", "Too many requests."),
        Refusal::NotDone => (503, "unavailable", "Nothing was done."),
        Refusal::Later => (504, "timeout", "It takes longer."),
        Refusal::Broken => (500, "api_error", "Something broke here."),
        Refusal::Unavailable(status) => (status, "unavailable", "Not now."),
    };
    Made::error(status, kind, message)
}
