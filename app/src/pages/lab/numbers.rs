//! What a visitor has played, counted twice: the wire, and the payments.

use std::time::Duration;

use leptos::prelude::*;

use super::scenario::Told;
use crate::text::{self, lab, say};

/// Counts of all that one visitor has paid in the lab.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Numbers {
    /// Requests about payments that were sent, questions among them.
    pub requests: usize,
    /// Those that no answer came to.
    pub unanswered: usize,
    /// Payments.
    pub payments: usize,
    /// Those of them that lost the answer to a request that takes money.
    pub lost: usize,
    /// Those of these that were paid.
    pub lost_paid: usize,
    /// Paid.
    pub paid: usize,
    /// Declined.
    pub declined: usize,
    /// Proven not taken, or taken and undone.
    pub ended: usize,
    /// Not settled at this moment: not known, or waiting for the shopper.
    pub open: usize,
    /// How long each of them was not known, shortest first; without those that always were.
    pub unknown_times: Vec<Duration>,
}

/// A part of a whole in per mille, rounded; `None` of nothing.
pub fn permille(part: usize, whole: usize) -> Option<usize> {
    (part * 1000 + whole / 2).checked_div(whole)
}

impl Numbers {
    /// The middle one of the times; `None` where there is none.
    pub fn usual(&self) -> Option<Duration> {
        self.unknown_times.get(self.unknown_times.len() / 2).copied()
    }

    /// The longest of the times.
    pub fn longest(&self) -> Option<Duration> {
        self.unknown_times.last().copied()
    }
}

/// The counts, in two tables.
#[component]
pub fn NumbersPage(numbers: Numbers) -> impl IntoView {
    let lang = text::lang();
    let words = lab::told(lang, Told::Numbers);
    let share = |part: usize, whole: usize| match permille(part, whole) {
        Some(permille) => {
            let (count, percent) = (lab::number(lang, part), lab::percent(lang, permille));
            say!(lang, lab.sums.share, count = count, percent = percent)
        }
        None => lab::number(lang, part),
    };
    let time = |time: Option<Duration>| {
        say!(lang, lab.sums.seconds, seconds = lab::seconds(lang, time.unwrap_or_default()))
    };
    let all = numbers.payments;
    let wire = vec![
        ("requests", say!(lang, lab.sums.requests), lab::number(lang, numbers.requests)),
        (
            "unanswered",
            say!(lang, lab.sums.unanswered),
            share(numbers.unanswered, numbers.requests),
        ),
    ];
    let mut business = vec![
        ("payments", say!(lang, lab.sums.payments), lab::number(lang, all)),
        ("lost", say!(lang, lab.sums.lost), share(numbers.lost, all)),
        ("lost-paid", say!(lang, lab.sums.lost_paid), share(numbers.lost_paid, numbers.lost)),
        ("paid", say!(lang, lab.sums.paid), share(numbers.paid, all)),
        ("declined", say!(lang, lab.sums.declined), share(numbers.declined, all)),
        ("ended", say!(lang, lab.sums.ended), share(numbers.ended, all)),
        ("open", say!(lang, lab.sums.open), share(numbers.open, all)),
        ("known", say!(lang, lab.sums.known_share), share(all - numbers.open, all)),
    ];
    if !numbers.unknown_times.is_empty() {
        business.push(("usual", say!(lang, lab.sums.usual), time(numbers.usual())));
        business.push(("longest", say!(lang, lab.sums.longest), time(numbers.longest())));
    }
    let content = if all == 0 {
        view! { <p class="notice">{say!(lang, lab.sums.numbers_none)}</p> }.into_any()
    } else {
        let percent = lab::percent(lang, permille(numbers.lost, all).unwrap_or_default());
        view! {
            {table(say!(lang, lab.sums.wire), wire)}
            {table(say!(lang, lab.sums.business), business)}
            <p>{say!(lang, lab.sums.numbers_note, percent = percent)}</p>
        }
        .into_any()
    };
    view! {
        <div class="lab-head">
            <h1>{words.title}</h1>
            <p class="lead">{words.story}</p>
        </div>
        <div class="lab-run">{content}</div>
        <nav class="lab-onward" aria-label=lab::title(lang)>
            <a href="/lab">{say!(lang, lab.back)}</a>
        </nav>
        {super::proof(Told::Numbers.proof())}
    }
    .into_any()
}

fn table(
    name: &'static str,
    rows: Vec<(&'static str, &'static str, String)>,
) -> impl IntoView + use<> {
    let rows = rows.into_iter().map(|(id, name, value)| {
        view! {
            <tr data-row=id>
                <th scope="row">{name}</th>
                <td>{value}</td>
            </tr>
        }
    });
    view! {
        <table class="lab-table lab-numbers">
            <caption>{name}</caption>
            <tbody>{rows.collect_view()}</tbody>
        </table>
    }
}
