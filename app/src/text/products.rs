//! The eight things on sale, in words.

use super::{Lang, say};

/// What is said about a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProductWords {
    /// Its name.
    pub name: &'static str,
    /// One line: what it is made of, how large, how much.
    pub line: &'static str,
    /// Why somebody would want it.
    pub story: &'static str,
    /// Facts: a name and a value each.
    pub facts: [(&'static str, &'static str); 3],
}

macro_rules! product {
    ($lang:expr, $sku:ident) => {
        ProductWords {
            name: say!($lang, products.$sku.name),
            line: say!($lang, products.$sku.line),
            story: say!($lang, products.$sku.story),
            facts: [
                (say!($lang, products.$sku.fact_a), say!($lang, products.$sku.value_a)),
                (say!($lang, products.$sku.fact_b), say!($lang, products.$sku.value_b)),
                (say!($lang, products.$sku.fact_c), say!($lang, products.$sku.value_c)),
            ],
        }
    };
}

/// A product's words.
pub fn words(lang: Lang, sku: &str) -> ProductWords {
    match sku {
        "kettle" => product!(lang, kettle),
        "teapot" => product!(lang, teapot),
        "cups" => product!(lang, cups),
        "sencha" => product!(lang, sencha),
        "hojicha" => product!(lang, hojicha),
        "whisk" => product!(lang, whisk),
        "tray" => product!(lang, tray),
        "caddy" => product!(lang, caddy),
        _ => ProductWords {
            name: say!(lang, products.unknown.name),
            line: "",
            story: "",
            facts: [("", ""); 3],
        },
    }
}

/// A product's name.
pub fn name(lang: Lang, sku: &str) -> &'static str {
    words(lang, sku).name
}
