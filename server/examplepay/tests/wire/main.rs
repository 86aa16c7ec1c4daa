//! The provider over real connections: what a client sees, and what the ledger says happened.

mod effects;
mod faults;
mod harness;
mod keys;
mod outage;
mod page;
mod webhooks;
