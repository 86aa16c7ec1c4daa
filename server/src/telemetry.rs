//! Logs and metrics. No secret, no card, no e-mail address and no body is ever written to either.

use std::{io::IsTerminal, sync::OnceLock};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::{
    EnvFilter, fmt, fmt::MakeWriter, layer::SubscriberExt, util::SubscriberInitExt,
};

/// Starts logging to stderr; a panic becomes one line without its payload.
pub fn start(filter: &str, format: &str) {
    log_to(std::io::stderr, filter, format);
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, ToString::to_string);
        tracing::error!(place, "a task panicked at {place}");
    }));
}

/// Starts logging to this writer, in a process that does not log yet.
pub fn log_to<W>(writer: W, filter: &str, format: &str)
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let mut filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    // It writes down addresses as they were sent, whatever somebody put into them.
    if let Ok(quiet) = "tower_http=off".parse() {
        filter = filter.add_directive(quiet);
    }
    let registry = tracing_subscriber::registry().with(filter);
    let _already = if format == "json" {
        registry.with(fmt::layer().json().with_writer(writer)).try_init()
    } else {
        let colours = std::io::stderr().is_terminal();
        registry.with(fmt::layer().with_ansi(colours).with_writer(writer)).try_init()
    };
}

/// Upper bounds of the time that answers take, in seconds.
const SECONDS: [f64; 8] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.0, 10.0];

/// The numbers that `/metrics` shows; a process has one set of them. `None` if something else
/// collects them.
pub fn metrics() -> Option<PrometheusHandle> {
    static NUMBERS: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    let install = || PrometheusBuilder::new().set_buckets(&SECONDS).ok()?.install_recorder().ok();
    NUMBERS.get_or_init(install).clone()
}
