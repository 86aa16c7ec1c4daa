//! Every word a person reads, apart from the markup around it.

pub mod art;
pub mod cards;
pub mod money;
pub mod problem;
pub mod products;
pub mod status;
pub mod time;

use domain::money::Currency;

/// The shop.
pub const BRAND: &str = "Yuge";
/// What it is, for search engines and the front page.
pub const DESCRIPTION: &str = "Tea and the few good tools it needs, from a small workshop.";
/// The front page's first line.
pub const CLAIM: &str = "A quarter of an hour, and the few good things it needs.";
/// The front page's second line.
pub const CLAIM_MORE: &str = "Yuge is the steam above a cup. We sell two teas and six tools, made in small runs, and we ship on weekdays.";
/// For keyboards and screen readers.
pub const SKIP: &str = "Skip to the content";
/// The foot of every page.
pub const FOOTER: &str = "Yuge, Teichstraße 9, Leipzig. Questions about an order? Write to hello@yuge.example with its reference.";
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
