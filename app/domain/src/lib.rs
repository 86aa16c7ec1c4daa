//! What a payment means: money, orders, operations, evidence and decisions.
//!
//! Everything here is pure. Time, randomness and ids come in as arguments, so that every rule
//! can be tried on a table and compiled for the browser too. Start reading in [`operation`].

mod words;
pub use words::UnknownWord;

pub mod capability;
pub mod catalogue;
pub mod evidence;
pub mod fingerprint;
pub mod id;
pub mod mail;
pub mod money;
pub mod operation;
pub mod order;
pub mod plan;
pub mod refund_request;
pub mod schedule;
pub mod view;
