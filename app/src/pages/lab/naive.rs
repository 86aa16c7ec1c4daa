//! This shop beside a naive one that met the same fault: what each took, and what each said.

use domain::id::CheckoutId;
use leptos::prelude::*;

use super::{
    timeline::shortened,
    watch::{Ledger, Watched},
};
use crate::text::{Lang, money::money, say, status::words};

/// Where the naive shop stands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Naive {
    /// Nobody has let it try.
    #[default]
    NotRun,
    /// It is trying.
    Running,
    /// The fault could not be set up for it.
    Trouble,
    /// It has tried.
    Done(Tried),
}

/// What the naive shop did, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tried {
    /// It told its shopper “paid”.
    pub told_paid: bool,
    /// Its tries, in order.
    pub tries: Vec<Try>,
    /// The provider's ledger of it; `None` if it could not be asked.
    pub ledger: Option<Ledger>,
}

/// One try of the naive shop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Try {
    /// The key it made for it.
    pub key: String,
    /// What it heard.
    pub heard: Heard,
}

/// What the naive shop heard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// An answer, with the provider's word for the payment if it could be read.
    Answer(u16, Option<String>),
    /// Nothing within its time.
    TimedOut,
    /// The connection ended before or within the answer.
    Lost,
}

fn heard(lang: Lang, heard: &Heard) -> String {
    match heard {
        Heard::Answer(status, Some(word)) => {
            say!(lang, lab.naive.heard_paid, status = status.to_string(), word = word.clone())
        }
        Heard::Answer(status, None) => {
            say!(lang, lab.naive.heard_status, status = status.to_string())
        }
        Heard::TimedOut => say!(lang, lab.naive.heard_timeout).to_owned(),
        Heard::Lost => say!(lang, lab.naive.heard_lost).to_owned(),
    }
}

/// The naive shop's part of the page.
pub fn comparison(lang: Lang, id: CheckoutId, watched: &Watched) -> impl IntoView + use<> {
    let button = |words: &'static str| {
        view! {
            <form method="post" action=format!("/lab/{id}/naive") data-lab-naive>
                <button class="button quiet" type="submit">
                    {words}
                </button>
            </form>
        }
    };
    match &watched.naive {
        Naive::NotRun => button(say!(lang, lab.naive.start)).into_any(),
        Naive::Running => view! { <p>{say!(lang, lab.naive.running)}</p> }.into_any(),
        Naive::Trouble => view! {
            <p class="notice">{say!(lang, lab.naive.trouble)}</p>
            {button(say!(lang, lab.naive.again))}
        }
        .into_any(),
        Naive::Done(tried) => {
            let tries = tried.tries.iter().enumerate().map(|(place, it)| {
                let text = say!(
                    lang,
                    lab.naive.try_line,
                    number = (place + 1).to_string(),
                    key = shortened(&it.key),
                    heard = heard(lang, &it.heard)
                );
                view! { <li>{text}</li> }
            });
            let tries = tries.collect_view();
            view! {
                {tried.ledger.as_ref().map(|ledger| conclusion(lang, ledger, tried))}
                {tried.ledger.as_ref().and_then(|ledger| gave_back(lang, ledger))}
                {table(lang, watched, tried)}
                <h3>{say!(lang, lab.naive.tries)}</h3>
                <ol class="lab-tries">{tries}</ol>
                {button(say!(lang, lab.naive.again))}
            }
            .into_any()
        }
    }
}

/// What the naive shop's tries told its shopper.
fn told(lang: Lang, tried: &Tried) -> &'static str {
    if tried.told_paid {
        say!(lang, lab.naive.told_paid)
    } else {
        say!(lang, lab.naive.told_failed)
    }
}

/// What came of it, in one sentence.
fn conclusion(lang: Lang, ledger: &Ledger, tried: &Tried) -> impl IntoView + use<> {
    let (told, count) = (told(lang, tried), ledger.charges().count());
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let words = match ledger.taken() {
        Some(taken) => {
            let amount = money(lang, taken);
            say!(lang, lab.naive.end, count = count, amount = amount, told = told)
        }
        None => say!(lang, lab.naive.nothing_and, told = told),
    };
    view! { <p class="lab-end" data-naive-end>{words}</p> }
}

/// What it gave back, if anything.
fn gave_back(lang: Lang, ledger: &Ledger) -> Option<impl IntoView + use<>> {
    let count = u32::try_from(ledger.refunds()).unwrap_or(u32::MAX);
    let amount = money(lang, ledger.given_back()?);
    let words = say!(lang, lab.naive.gave, count = count, amount = amount);
    Some(view! { <p class="lab-end">{words}</p> })
}

fn table(lang: Lang, watched: &Watched, tried: &Tried) -> impl IntoView + use<> {
    let count = |ledger: Option<&Ledger>| {
        ledger.map_or("?".to_owned(), |it| it.charges().count().to_string())
    };
    let taken = |ledger: Option<&Ledger>| match ledger {
        Some(ledger) => {
            ledger.taken().map_or(say!(lang, lab.no_effects).to_owned(), |it| money(lang, it))
        }
        None => "?".to_owned(),
    };
    let (ours, theirs) = (watched.provider.as_ref(), tried.ledger.as_ref());
    let said = watched.shop.as_ref().map(|view| words(lang, view).heading).unwrap_or_default();
    let told = told(lang, tried);
    let refunds =
        |ledger: Option<&Ledger>| ledger.map_or("?".to_owned(), |it| it.refunds().to_string());
    let back = |ledger: Option<&Ledger>| match ledger {
        Some(ledger) => ledger.given_back().map_or("-".to_owned(), |it| money(lang, it)),
        None => "?".to_owned(),
    };
    let any_back = [ours, theirs].into_iter().flatten().any(|it| it.refunds() > 0);
    let mut rows = vec![
        (say!(lang, lab.naive.charges), count(ours), count(theirs)),
        (say!(lang, lab.naive.taken), taken(ours), taken(theirs)),
    ];
    if any_back {
        rows.push((say!(lang, lab.naive.refunds), refunds(ours), refunds(theirs)));
        rows.push((say!(lang, lab.naive.given_back), back(ours), back(theirs)));
    }
    rows.push((say!(lang, lab.naive.told), said, told.to_owned()));
    let rows = rows.into_iter().map(|(name, ours, theirs)| {
        view! {
            <tr>
                <th scope="row">{name}</th>
                <td>{ours}</td>
                <td>{theirs}</td>
            </tr>
        }
    });
    view! {
        <table
            class="lab-table"
            data-naive-charges=count(theirs)
            data-naive-refunds=refunds(theirs)
            data-naive-told=if tried.told_paid { "paid" } else { "failed" }
        >
            <thead>
                <tr>
                    <td></td>
                    <th scope="col">{say!(lang, lab.naive.ours)}</th>
                    <th scope="col">{say!(lang, lab.naive.theirs)}</th>
                </tr>
            </thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
    }
}
