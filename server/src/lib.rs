//! The shop's HTTP server: routes, sessions, webhooks, streams, limits, telemetry.

pub mod config;
pub mod http;
pub mod mail;
pub mod telemetry;
