//! The grid, the rules as sentences, and random walks against a model of a provider.

pub(crate) mod fixtures;
mod grid;
mod properties;
mod provider;
mod sentences;
mod shop;
mod totality;
mod traces;
