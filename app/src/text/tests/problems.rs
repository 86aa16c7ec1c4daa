//! Pages that explain a problem: what they may ask for is decided by what is known of the post.

use crate::{
    pages::problem::ProblemPage,
    panel::tests::NEVER,
    text::{LANGS, Lang, problem::Problem},
};
use domain::catalogue::{Product, Shortage};
use leptos::prelude::*;

use super::search::{drawn, read};

/// What is known about a post when its page is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    /// It was refused before anything was accepted: what to do anew may be said.
    NothingTaken,
    /// It was refused, and the order that exists may be in any state.
    BesideAnOrder,
    /// It was not looked at, but another like it may be on its way.
    MayBeOnItsWay,
    /// It may have been taken.
    Unknown,
    /// Nothing is stored, though something may be on its way: it has a test of its own.
    NothingYet,
    /// There was none: a page was asked for.
    NoPost,
}

/// Every problem once, and what is known there. A new one has to find its place here.
fn all() -> Vec<(Problem, Known)> {
    let mut all = Vec::new();
    let mut next = Some(Problem::Conflict);
    while let Some(problem) = next {
        let (known, after) = match &problem {
            Problem::Conflict => (Known::BesideAnOrder, Some(Problem::CartChanged)),
            Problem::CartChanged => (Known::NothingTaken, Some(Problem::EmptyCart)),
            Problem::EmptyCart => {
                let short =
                    |sku: &str, left| Shortage { sku: Product::find(sku).unwrap().sku(), left };
                let short = vec![short("kettle", 2), short("sencha", 0)];
                (Known::MayBeOnItsWay, Some(Problem::OutOfStock(short)))
            }
            Problem::OutOfStock(short) => {
                (Known::NothingTaken, Some(Problem::OutOfStockForOrder(short.clone())))
            }
            Problem::OutOfStockForOrder(_) => (Known::BesideAnOrder, Some(Problem::TooManyOfOne)),
            Problem::TooManyOfOne => {
                let why = "attempt must be a whole number from 1".to_owned();
                (Known::NothingTaken, Some(Problem::Invalid(why)))
            }
            Problem::Invalid(_) => (Known::NothingTaken, Some(Problem::Mail)),
            Problem::Mail => (Known::NothingTaken, Some(Problem::NotYours)),
            Problem::NotYours => (Known::NothingTaken, Some(Problem::CrossSite)),
            Problem::CrossSite => (Known::NothingTaken, Some(Problem::TooManyRequests)),
            Problem::TooManyRequests => (Known::MayBeOnItsWay, Some(Problem::BodyTooLarge)),
            Problem::BodyTooLarge => (Known::NothingTaken, Some(Problem::NotAForm)),
            Problem::NotAForm => (Known::NothingTaken, Some(Problem::NotFound)),
            Problem::NotFound => (Known::NoPost, Some(Problem::NoSuchOrder)),
            Problem::NoSuchOrder => (Known::NothingYet, Some(Problem::Busy)),
            Problem::Busy => (Known::Unknown, Some(Problem::Internal)),
            Problem::Internal => (Known::Unknown, None),
        };
        all.push((problem, known));
        next = after;
    }
    all
}

fn page(lang: Lang, problem: &Problem, order: Option<&str>) -> String {
    let (problem, order) = (problem.clone(), order.map(str::to_owned));
    read(&drawn(lang, move || view! { <ProblemPage problem=problem order=order /> }))
}

/// Words that ask a person to send, order or pay something anew.
const ANEW: [(Lang, &[&str]); 2] = [
    (
        Lang::en,
        &[
            "send the form",
            "check out again",
            "check out afresh",
            "pay again",
            "order again",
            "start with a new",
        ],
    ),
    (Lang::ru, &["отправьте", "оформите", "оплатите", "заплатите", "начните с новой"]),
];

#[test]
fn no_problem_is_called_a_failure_and_none_asks_to_try_again() {
    for (problem, _) in all() {
        for order in [None, Some("/checkout/6f9619ff-8b86-4011-b42d-00cf4fc964ff")] {
            for (lang, _) in LANGS {
                let text = page(lang, &problem, order);
                for word in NEVER {
                    assert!(!text.contains(word), "{problem:?}: {word:?} in {text}");
                }
            }
        }
    }
}

#[test]
fn only_a_page_that_took_nothing_says_what_to_do_anew() {
    let nothing = [(Lang::en, "nothing"), (Lang::ru, "ничего")];
    for (problem, known) in all() {
        for (lang, words) in ANEW {
            let text = page(lang, &problem, None);
            let asked: Vec<_> = words.iter().filter(|word| text.contains(**word)).collect();
            match known {
                Known::NothingTaken | Known::BesideAnOrder => {
                    let (_, said) = nothing.iter().find(|it| it.0 == lang).unwrap();
                    assert!(text.contains(said), "{problem:?}: {said:?} is not in {text}");
                }
                Known::NothingYet => {}
                Known::MayBeOnItsWay | Known::Unknown | Known::NoPost => {
                    assert!(asked.is_empty(), "{problem:?}: {asked:?} in {text}");
                }
            }
        }
    }
}

#[test]
fn where_a_post_may_have_been_taken_the_page_claims_nothing_and_leads_to_what_is_stored() {
    let claims = ["nothing was", "no money", "ничего не", "не списан", "заказа нет"];
    let safe = [(Lang::en, "cannot pay twice"), (Lang::ru, "не может заплатить дважды")];
    for (problem, _) in all().into_iter().filter(|it| it.1 == Known::Unknown) {
        for (lang, promise) in safe {
            let text = page(lang, &problem, None);
            for claim in claims {
                assert!(!text.contains(claim), "{problem:?}: {claim:?} in {text}");
            }
            assert!(text.contains(promise), "{problem:?}: {promise:?} is not in {text}");
            let (path, _) = crate::text::problem::way(lang, &problem);
            // The list of orders, or the page that was asked for: neither sends anything.
            assert!(["/orders", ""].contains(&path), "{problem:?}: {path}");
        }
    }
}

#[test]
fn a_conflict_leads_to_the_order_that_exists_before_it_speaks_of_another() {
    let rows = [
        (Lang::en, "look first at the order that exists", "your cart"),
        (Lang::ru, "посмотрите на существующий заказ", "наполните корзину"),
    ];
    for (lang, first, then) in rows {
        let text = page(lang, &Problem::Conflict, None);
        let text = text.split("/cart").next().unwrap_or(&text);
        let [first, then] = [first, then].map(|words| text.find(words).unwrap_or(usize::MAX));
        assert!(first < then && then < usize::MAX, "{text}");
    }
}

#[test]
fn a_link_without_an_order_asks_for_a_second_look_before_anything_else() {
    let rows = [
        (
            Lang::en,
            "load this page again before you do anything else",
            "look under my orders",
            "cannot be paid twice",
        ),
        (
            Lang::ru,
            "прежде чем что-то делать, обновите страницу",
            "загляните в «мои заказы»",
            "заплатить дважды нельзя",
        ),
    ];
    for (lang, first, then, safe) in rows {
        let text = page(lang, &Problem::NoSuchOrder, None);
        let [first, then, safe] = [first, then, safe]
            .map(|words| text.find(words).unwrap_or_else(|| panic!("{words:?} is not in {text}")));
        assert!(first < then && then < safe, "{text}");
    }
}

#[test]
fn a_problem_of_an_order_that_exists_leads_to_it_first() {
    for (lang, _) in LANGS {
        for (problem, _) in all() {
            let order = "/checkout/6f9619ff-8b86-4011-b42d-00cf4fc964ff".to_owned();
            let (shown, given) = (problem.clone(), Some(order.clone()));
            let html = drawn(lang, move || view! { <ProblemPage problem=shown order=given /> });
            let links =
                html.split("<a ").skip(1).map(|it| it.split('>').next().unwrap_or_default());
            let first = links.into_iter().next().unwrap_or_default();
            assert!(first.contains(&order), "{problem:?}: {first}");
        }
    }
}
