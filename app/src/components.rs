//! Small pieces of pages: they draw what they are given and load nothing.

pub mod lines;
pub mod pay_form;
pub mod picture;
