//! The provider over real connections: what a client sees, and what the ledger says happened.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod docs;
mod effects;
mod faults;
mod harness;
mod keys;
mod outage;
mod page;
mod partners;
mod paypal;
mod stripe;
mod webhooks;
