//! News from providers: raw bytes in, 2xx only after the commit.

use axum::{
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
};
use payments::{Error, crash_point};

use super::Shop;

/// `POST /webhooks/{provider}`.
pub async fn take(
    State(shop): State<Shop>,
    Path(provider): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let headers: Vec<(String, String)> = headers
        .iter()
        .filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        })
        .collect();
    match shop.payments.ingest(&provider, &headers, &body).await {
        Ok(_) => {
            crash_point("webhook_before_answer");
            StatusCode::OK
        }
        Err(Error::Signature | Error::MalformedEvent) => StatusCode::BAD_REQUEST,
        Err(Error::UnknownProvider | Error::WebhooksOff) => StatusCode::NOT_FOUND,
        Err(reason) => {
            // Not stored: the provider keeps it and sends it again.
            tracing::warn!(
                reason = &reason as &dyn std::error::Error,
                provider,
                "an event was not stored"
            );
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}
