//! The shop's HTTP alone: a real server on a port of its own, a database of its own, no provider.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod events;
mod forms;
mod headers;
mod health;
mod lab;
mod languages;
mod mail;
mod origin;
mod pay;
mod process;
mod sessions;
mod shop;
mod slow;
