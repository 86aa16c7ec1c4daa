//! Logs and metrics. No secret, no card, no e-mail address and no body is ever written to either.

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// Starts logging to stderr; a panic becomes one line without its payload.
pub fn start(filter: &str, format: &str) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let registry = tracing_subscriber::registry().with(filter);
    let _already = if format == "json" {
        registry.with(fmt::layer().json().with_writer(std::io::stderr)).try_init()
    } else {
        registry.with(fmt::layer().with_writer(std::io::stderr)).try_init()
    };
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, ToString::to_string);
        tracing::error!(place, "a task panicked at {place}");
    }));
}

/// The numbers that `/metrics` shows; `None` if a recorder was installed before.
pub fn metrics() -> Option<PrometheusHandle> {
    PrometheusBuilder::new().install_recorder().ok()
}
