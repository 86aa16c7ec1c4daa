//! Everything a browser may see: pages, components, islands, and every word a person reads.
//!
//! Pages are drawn on the server, from facts that are handed in; only `islands` becomes wasm.
//! A page works without it: forms are plain posts, and an island enhances the same form.

pub mod islands;

#[cfg(feature = "ssr")]
pub mod components;
#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod panel;
#[cfg(feature = "ssr")]
pub mod shell;
#[cfg(feature = "ssr")]
pub mod text;

#[cfg(feature = "ssr")]
pub use shell::{Frame, Visitor};
