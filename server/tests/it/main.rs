//! The shop and its provider as two real processes, over real HTTP and SQLite.
//!
//! Every test ends by comparing three records: the shop's database, the provider's ledger of
//! effects, and the provider's log of the requests it received.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod article;
mod attacks;
mod cases;
mod crash;
mod decisions;
mod faults;
mod guards;
mod handed;
mod harness;
mod lab;
mod mail_server;
mod mails;
mod partners;
mod refunds;
mod reported;
mod run;
mod stock;
mod sweep;
mod wires;
