//! Every word a person reads, in English.
//!
//! Another language is another set of these tables: no page, component or island has words of its own.

pub mod art;
pub mod cards;
pub mod labels;
pub mod money;
pub mod problem;
pub mod products;
pub mod status;
pub mod time;

use domain::money::Currency;

/// The shop.
pub const BRAND: &str = "Yuge";
/// What it is, for search engines.
pub const DESCRIPTION: &str = "Tea and the few good tools it needs, from a small workshop.";
/// The front page's first line.
pub const CLAIM: &str = "A quarter of an hour, and the few good things it needs.";
/// The front page's second line.
pub const CLAIM_MORE: &str = "Yuge is the steam above a cup. We sell two teas and six tools, made in small runs, and we use every one of them ourselves.";
/// For keyboards and screen readers.
pub const SKIP: &str = "Skip to the content";
/// Where the shop is.
pub const ADDRESS: &str = "Yuge, Teichstraße 9, Leipzig";
/// Where questions go.
pub const MAIL: &str = "hello@yuge.example";
/// What a question should name.
pub const MAIL_HINT: &str = "Questions about an order? Write to us with its reference:";
/// What this really is.
pub const DEMO_NOTE: &str =
    "This is a demonstration shop: nothing is shipped and no real money moves.";

/// A currency's name.
pub fn currency_name(currency: Currency) -> &'static str {
    match currency {
        Currency::EUR => "euros",
        Currency::JPY => "yen",
        _ => "another currency",
    }
}
