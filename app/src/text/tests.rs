//! What people read, searched as a whole.

mod problems;
mod search;
