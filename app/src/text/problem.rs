//! What a person is told when a post cannot be taken: what happened, what did not, what to do.

use domain::catalogue::{QUANTITY_MAX, Shortage};

use super::{Lang, say};

/// Why a post was not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// The same checkout id with other content.
    Conflict,
    /// The cart was changed elsewhere.
    CartChanged,
    /// There is nothing to order.
    EmptyCart,
    /// The products that are short.
    OutOfStock(Vec<Shortage>),
    /// The same for another attempt to pay an order.
    OutOfStockForOrder(Vec<Shortage>),
    /// More of one product than fit into a cart.
    TooManyOfOne,
    /// A value that cannot be, in English words for whoever wrote the form.
    Invalid(String),
    /// An e-mail address that cannot be written to.
    Mail,
    /// A cart of a session that this browser does not have.
    NotYours,
    /// The post came from another site.
    CrossSite,
    /// Too many posts.
    TooManyRequests,
    /// The body is too large.
    BodyTooLarge,
    /// The body is no form.
    NotAForm,
    /// There is no such page or order.
    NotFound,
    /// A checkout link without an order.
    NoSuchOrder,
    /// Not now.
    Busy,
    /// Our mistake.
    Internal,
}

/// The first thing to do about a problem, as a link: where it leads, and its name.
pub fn way(lang: Lang, problem: &Problem) -> (&'static str, &'static str) {
    match problem {
        Problem::Conflict
        | Problem::CartChanged
        | Problem::OutOfStock(_)
        | Problem::TooManyOfOne => ("/cart", say!(lang, problem.to_cart)),
        Problem::EmptyCart
        | Problem::OutOfStockForOrder(_)
        | Problem::TooManyRequests
        | Problem::Internal => ("/orders", say!(lang, problem.to_orders)),
        Problem::Mail => ("/checkout", say!(lang, problem.to_payment)),
        // An empty address is the page that is shown.
        Problem::NoSuchOrder | Problem::Busy => ("", say!(lang, problem.again)),
        Problem::Invalid(_)
        | Problem::NotYours
        | Problem::CrossSite
        | Problem::BodyTooLarge
        | Problem::NotAForm
        | Problem::NotFound => ("/", say!(lang, shop.to_the_shop)),
    }
}

/// What a person reads about a problem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words {
    /// What happened, in one line.
    pub heading: &'static str,
    /// What happened and what did not.
    pub text: String,
    /// What to do.
    pub todo: &'static str,
    /// What is wrong with a form, for whoever looks into it.
    pub detail: Option<String>,
}

macro_rules! words {
    ($lang:expr, $problem:ident) => {
        Words {
            heading: say!($lang, problem.$problem.heading),
            text: say!($lang, problem.$problem.text).to_owned(),
            todo: say!($lang, problem.$problem.todo),
            detail: None,
        }
    };
}

/// Heading, explanation, and what to do.
pub fn words(lang: Lang, problem: &Problem) -> Words {
    match problem {
        Problem::Conflict => words!(lang, conflict),
        Problem::CartChanged => words!(lang, cart_changed),
        Problem::EmptyCart => words!(lang, empty_cart),
        Problem::OutOfStock(short) => Words {
            heading: say!(lang, problem.out_of_stock.heading),
            text: say!(lang, problem.out_of_stock.text, names = names(lang, short)),
            todo: say!(lang, problem.out_of_stock.todo),
            detail: None,
        },
        Problem::OutOfStockForOrder(short) => Words {
            heading: say!(lang, problem.out_of_stock_for_order.heading),
            text: say!(lang, problem.out_of_stock_for_order.text, names = names(lang, short)),
            todo: say!(lang, problem.out_of_stock_for_order.todo),
            detail: None,
        },
        Problem::TooManyOfOne => Words {
            heading: say!(lang, problem.too_many_of_one.heading),
            text: say!(lang, problem.too_many_of_one.text, most = QUANTITY_MAX),
            todo: say!(lang, problem.too_many_of_one.todo),
            detail: None,
        },
        Problem::Invalid(what) => {
            Words { detail: Some(format!("{}.", capital(what))), ..words!(lang, invalid) }
        }
        Problem::Mail => words!(lang, mail),
        Problem::NotYours => words!(lang, not_yours),
        Problem::CrossSite => words!(lang, cross_site),
        Problem::TooManyRequests => words!(lang, too_many),
        Problem::BodyTooLarge => words!(lang, too_large),
        Problem::NotAForm => words!(lang, not_a_form),
        Problem::NotFound => words!(lang, not_found),
        Problem::NoSuchOrder => words!(lang, no_order),
        Problem::Busy => words!(lang, busy),
        Problem::Internal => words!(lang, internal),
    }
}

/// What is short, and how much of it is left.
fn names(lang: Lang, short: &[Shortage]) -> String {
    let names = short.iter().map(|it| {
        let name = super::products::name(lang, it.sku.as_str());
        match it.left {
            0 => say!(lang, problem.none_left, name = name),
            left => say!(lang, problem.left, name = name, left = left.to_string()),
        }
    });
    names.collect::<Vec<_>>().join(", ")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
