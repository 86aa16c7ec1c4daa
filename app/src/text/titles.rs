//! The titles of pages that say no more than where one is.

use super::{Lang, say};

/// The front page.
pub fn shop(lang: Lang) -> &'static str {
    say!(lang, shop.title)
}

/// The cart.
pub fn cart(lang: Lang) -> &'static str {
    say!(lang, shop.cart.title)
}

/// The checkout.
pub fn checkout(lang: Lang) -> &'static str {
    say!(lang, checkout.title)
}

/// The checkout, when something in its form has to be looked at.
pub fn checkout_again(lang: Lang) -> String {
    format!("{}: {}", say!(lang, checkout.summary), say!(lang, checkout.title))
}

/// The list of orders.
pub fn orders(lang: Lang) -> &'static str {
    say!(lang, shop.orders.title)
}
