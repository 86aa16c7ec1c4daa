//! Whether the process lives, whether it can serve, and its numbers.

use std::{fmt::Write, net::SocketAddr};

use axum::{
    extract::{ConnectInfo, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};

use super::Shop;

/// The process lives.
pub async fn alive() -> &'static str {
    "ok"
}

/// The database answers, and the shop is not stopping.
pub async fn ready(State(shop): State<Shop>) -> Response {
    if shop.stop.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping").into_response();
    }
    match shop.payments.ready().await {
        Ok(()) => "ready".into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer").into_response(),
    }
}

/// Counters and gauges on the shop's own port: for the machine it runs on, and for no proxy there.
pub async fn own_metrics(
    shop: State<Shop>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Response {
    let passed_on = ["forwarded", "via", "x-forwarded-for", "x-real-ip"]
        .iter()
        .any(|it| headers.contains_key(*it));
    if passed_on || !peer.ip().is_loopback() {
        return StatusCode::NOT_FOUND.into_response();
    }
    metrics(shop).await
}

/// Counters and gauges.
pub async fn metrics(State(shop): State<Shop>) -> Response {
    let mut text = shop
        .metrics
        .as_ref()
        .map_or_else(String::new, metrics_exporter_prometheus::PrometheusHandle::render);
    for (name, value) in shop.payments.counters().await.unwrap_or_default() {
        let _written = writeln!(text, "{name} {value}");
    }
    text.into_response()
}
