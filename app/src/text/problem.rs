//! What a person is told when a post cannot be taken: what happened, what did not, what to do.

/// Why a post was not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// The same checkout id with other content.
    Conflict,
    /// The cart was changed elsewhere.
    CartChanged,
    /// There is nothing to order.
    EmptyCart,
    /// Names of what is short.
    OutOfStock(Vec<&'static str>),
    /// A value that cannot be, in words.
    Invalid(String),
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

/// Heading, explanation, and what to do.
pub fn words(problem: &Problem) -> (&'static str, String, &'static str) {
    match problem {
        Problem::Conflict => (
            "This checkout belongs to another order",
            "What you just sent differs from the order that was placed under this checkout: other items, another amount or another currency. Nothing new was ordered and nothing was charged for it.".to_owned(),
            "Look at the order that exists, or go to your cart and check out afresh.",
        ),
        Problem::CartChanged => (
            "Your cart has changed",
            "It was changed after this form was shown, perhaps in another tab. Nothing was ordered and nothing was charged: we do not charge an amount that you have not seen.".to_owned(),
            "Look at your cart as it is now, and check out again.",
        ),
        Problem::EmptyCart => (
            "Your cart is empty",
            "There is nothing to pay for. Nothing was charged.".to_owned(),
            "If you have just paid, you find the order under My orders.",
        ),
        Problem::OutOfStock(names) => (
            "Not enough in stock",
            format!("Somebody was faster: {}. Nothing was ordered and nothing was charged.", names.join(", ")),
            "Take fewer of them, or take them out of your cart.",
        ),
        Problem::Invalid(what) => (
            "We could not read that",
            format!("{}. Nothing was changed and nothing was charged.", capital(what)),
            "Go back and send the form again from its page.",
        ),
        Problem::CrossSite => (
            "This came from another site",
            "Forms of this shop are taken from this shop only. Nothing was changed and nothing was charged.".to_owned(),
            "Open the shop itself and start from there.",
        ),
        Problem::TooManyRequests => (
            "A little slower, please",
            "There were many payments from your session in a short time, so we did not look at this one. Nothing was lost: payments that were sent before go on as they are.".to_owned(),
            "Wait a minute. Your orders show where everything stands.",
        ),
        Problem::BodyTooLarge => (
            "That was too much at once",
            "The form you sent is larger than any form of this shop. Nothing was changed and nothing was charged.".to_owned(),
            "Go back and send the form again from its page.",
        ),
        Problem::NotAForm => (
            "We could not read that",
            "This address takes plain forms only. Nothing was changed and nothing was charged.".to_owned(),
            "Open the shop and send the form from its page.",
        ),
        Problem::NotFound => (
            "There is no such page",
            "The address may be mistyped, or the thing it named is gone.".to_owned(),
            "Go to the shop, or to your orders.",
        ),
        Problem::NoSuchOrder => (
            "We have no order under this link",
            "Nothing was ordered under it so far, and so nothing was charged under it. If you have pressed Pay only a moment ago, the request may still be on its way: load this page again before you do anything else.".to_owned(),
            "Your cart is kept. Paying it twice is not possible: a cart becomes one order.",
        ),
        Problem::Busy => (
            "Not at this moment",
            "The shop is starting or stopping. What was sent before is kept.".to_owned(),
            "Load this page again in a few seconds; sending the same form again cannot pay twice.",
        ),
        Problem::Internal => (
            "Something broke on our side",
            "We do not know whether your request was taken. Your orders show what is stored; sending the same form again cannot pay twice.".to_owned(),
            "Look at your orders first.",
        ),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
