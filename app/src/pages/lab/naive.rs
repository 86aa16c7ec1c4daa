//! This shop beside a naive one that met the same fault: what each took, and what each said.

use std::time::Duration;

use domain::id::CheckoutId;
use leptos::prelude::*;

use super::{
    scenario::Scenario,
    timeline::{What, shortened},
    watch::{Ledger, Watched},
};
use crate::text::{Lang, lab, money::money, say, status::words};

/// How often the naive shop tries, and how long it waits each time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manner {
    /// How often.
    pub tries: u32,
    /// How long for an answer.
    pub patience: Duration,
    /// How long between two tries.
    pub pause: Duration,
}

/// Three layers that each repeat, none of which knows of the others.
const LAYERS: u32 = 3 * 3 * 5;
/// A single patient try.
const ONCE: u32 = 1;

impl Manner {
    /// Three tries and two seconds of patience, shorter than the provider sometimes needs; in two
    /// scenarios otherwise. A minute of patience is one at the pace of this shop.
    pub fn of(scenario: Option<Scenario>, time_scale: f64) -> Self {
        let usual =
            Self { tries: 3, patience: Duration::from_secs(2), pause: Duration::from_millis(200) };
        match scenario {
            Some(Scenario::HiddenRetries) => {
                Self { tries: LAYERS, pause: Duration::from_millis(20), ..usual }
            }
            Some(Scenario::PatienceTooLong) => {
                let patience = Duration::from_secs(60).mul_f64(time_scale);
                Self { tries: ONCE, patience, ..usual }
            }
            _ => usual,
        }
    }
}

/// What it is, in a sentence or two.
pub fn lead(lang: Lang, manner: Manner) -> String {
    match manner.tries {
        ONCE => {
            let seconds = lab::seconds(lang, manner.patience);
            say!(lang, lab.naive.lead_patient, seconds = seconds)
        }
        LAYERS => say!(lang, lab.naive.lead_layers).to_owned(),
        _ => say!(lang, lab.naive.lead).to_owned(),
    }
}

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

/// More tries than these are folded away.
const TRIES_SHOWN: usize = 10;

/// One try of the naive shop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Try {
    /// The key it made for it.
    pub key: String,
    /// It was to take money.
    pub takes: bool,
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

fn heard(lang: Lang, heard: &Heard, patience: Duration) -> String {
    match heard {
        Heard::Answer(status, Some(word)) => {
            say!(lang, lab.naive.heard_paid, status = status.to_string(), word = word.clone())
        }
        Heard::Answer(status, None) => {
            say!(lang, lab.naive.heard_status, status = status.to_string())
        }
        Heard::TimedOut => {
            say!(lang, lab.naive.heard_timeout, seconds = lab::seconds(lang, patience))
        }
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
                    heard = heard(lang, &it.heard, watched.manner.patience)
                );
                view! { <li>{text}</li> }
            });
            let tries = view! { <ol class="lab-tries">{tries.collect_view()}</ol> };
            let tries = if tried.tries.len() > TRIES_SHOWN {
                let count = tried.tries.len().to_string();
                view! {
                    <details class="lab-more">
                        <summary>{say!(lang, lab.naive.all_tries, count = count)}</summary>
                        {tries}
                    </details>
                }
                .into_any()
            } else {
                tries.into_any()
            };
            view! {
                {tried.ledger.as_ref().map(|ledger| conclusion(lang, ledger, tried))}
                {tried.ledger.as_ref().and_then(|ledger| gave_back(lang, ledger))}
                {table(lang, watched, tried)}
                <h3>{say!(lang, lab.naive.tries)}</h3>
                {tries}
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

/// Where money is taken, at the provider.
const TAKE: &str = "/v1/payments";

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
    let takes = |line: &What| matches!(line, What::Request { method, path, .. } if method == "POST" && path == TAKE);
    let sends = watched.lines.iter().filter(|it| takes(&it.what)).count();
    let taking = tried.tries.iter().filter(|it| it.takes).count();
    let mut rows = vec![
        (say!(lang, lab.naive.sends), sends.to_string(), taking.to_string()),
        (say!(lang, lab.naive.charges), count(ours), count(theirs)),
        (say!(lang, lab.naive.taken), taken(ours), taken(theirs)),
    ];
    if any_back {
        rows.push((say!(lang, lab.naive.refunds), refunds(ours), refunds(theirs)));
        rows.push((say!(lang, lab.naive.given_back), back(ours), back(theirs)));
    }
    let invoices = |ledger: Option<&Ledger>| {
        ledger.and_then(|it| it.invoices).map_or("?".to_owned(), |it| it.to_string())
    };
    if watched.about_invoice {
        rows.push((say!(lang, lab.invoices), invoices(ours), invoices(theirs)));
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
            data-naive-sends=taking
            data-naive-invoices=invoices(theirs)
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
