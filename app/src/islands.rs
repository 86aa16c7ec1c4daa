//! The only code that becomes wasm: two small islands on pages that work without them.

pub mod live_status;
pub mod pay_guard;

#[cfg(feature = "hydrate")]
mod browser;
#[cfg(feature = "hydrate")]
mod follow;
#[cfg(feature = "hydrate")]
mod post;
