//! What the shop sells: a handful of goods with a price list per currency.
//!
//! Words and pictures belong to the pages; how many are left belongs to the database.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::money::{Currency, Money};

/// A product of which not enough is left for an order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// Which product.
    pub sku: Sku,
    /// How many are left of it.
    pub left: u32,
}

/// A product's short name in addresses, forms and stock rows.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sku(String);

impl Sku {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Sku {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One thing on sale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product {
    /// The short name, as in `/products/{sku}`.
    pub sku: &'static str,
    /// Price in euro cents.
    eur_minor: i64,
    /// Price in yen.
    jpy_minor: i64,
}

/// The currencies the price lists are kept in; the first is the usual one.
pub const CURRENCIES: [Currency; 2] = [Currency::EUR, Currency::JPY];

/// The most of one product a cart may hold.
pub const QUANTITY_MAX: u32 = 20;

/// Everything on sale, in the order it is shown.
pub const PRODUCTS: [Product; 8] = [
    Product { sku: "kettle", eur_minor: 6400, jpy_minor: 10_400 },
    Product { sku: "teapot", eur_minor: 4850, jpy_minor: 7900 },
    Product { sku: "cups", eur_minor: 2990, jpy_minor: 4800 },
    Product { sku: "sencha", eur_minor: 1450, jpy_minor: 2300 },
    Product { sku: "hojicha", eur_minor: 1290, jpy_minor: 2000 },
    Product { sku: "whisk", eur_minor: 2199, jpy_minor: 3500 },
    Product { sku: "tray", eur_minor: 3875, jpy_minor: 6200 },
    Product { sku: "caddy", eur_minor: 1999, jpy_minor: 3200 },
];

impl Product {
    /// The product of this short name.
    pub fn find(sku: &str) -> Option<&'static Self> {
        PRODUCTS.iter().find(|product| product.sku == sku)
    }

    /// The short name as a value.
    pub fn sku(&self) -> Sku {
        Sku(self.sku.to_owned())
    }

    /// The price of one in this currency; `None` where no price list has it.
    pub fn price(&self, currency: Currency) -> Option<Money> {
        match currency {
            Currency::EUR => Some(Money::new(self.eur_minor, currency)),
            Currency::JPY => Some(Money::new(self.jpy_minor, currency)),
            _ => None,
        }
    }
}
