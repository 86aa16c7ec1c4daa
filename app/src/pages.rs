//! One file per page. A page draws what it is given; the server's handlers load it.

pub mod cart;
pub mod catalogue;
pub mod checkout;
pub mod lab;
pub mod orders;
pub mod problem;
pub mod product;
pub mod status;
