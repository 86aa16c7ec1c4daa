//! Very many payments that lose their answers at once: what a provider meets then.

use std::time::Duration;

use leptos::prelude::*;

use super::scenario::Told;
use crate::text::{self, lab, say};

/// What the provider meets from one shop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// Requests in the busiest second.
    pub busiest: usize,
    /// Requests that take money, after the first of each payment.
    pub repeats: usize,
    /// How often money was taken.
    pub charges: usize,
    /// After how long the last outcome is known; `None` where it never is.
    pub known_after: Option<Duration>,
}

/// The same storm for two shops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Storm {
    /// How many payments.
    pub payments: usize,
    /// The shortest time between two requests of this shop to one provider.
    pub spacing: Duration,
    /// What this shop does.
    pub ours: Load,
    /// What a shop does that sends again.
    pub naive: Load,
}

/// The storm, worked out.
#[component]
pub fn StormPage(storm: Storm) -> impl IntoView {
    let lang = text::lang();
    let words = lab::told(lang, Told::ManyAtOnce);
    let number = |count: usize| lab::number(lang, count);
    let known = |load: &Load| match load.known_after {
        Some(time) => {
            let (minutes, seconds) = (time.as_secs() / 60, time.as_secs() % 60);
            let (minutes, seconds) = (minutes.to_string(), seconds.to_string());
            say!(lang, lab.sums.minutes, minutes = minutes, seconds = seconds)
        }
        None => say!(lang, lab.sums.never).to_owned(),
    };
    let (ours, naive) = (storm.ours, storm.naive);
    let rows = [
        ("busiest", say!(lang, lab.sums.busiest), number(ours.busiest), number(naive.busiest)),
        ("repeats", say!(lang, lab.sums.repeats), number(ours.repeats), number(naive.repeats)),
        ("charges", say!(lang, lab.sums.charges), number(ours.charges), number(naive.charges)),
        ("known", say!(lang, lab.sums.known), known(&ours), known(&naive)),
    ];
    let rows = rows.map(|(id, name, ours, naive)| {
        view! {
            <tr data-row=id>
                <th scope="row">{name}</th>
                <td>{ours}</td>
                <td>{naive}</td>
            </tr>
        }
    });
    let spacing = storm.spacing.as_millis().to_string();
    view! {
        <div class="lab-head">
            <h1>{words.title}</h1>
            <p class="lead">{say!(lang, lab.sums.storm_lead, payments = number(storm.payments))}</p>
        </div>
        <div class="lab-run">
            <table class="lab-table" data-storm=storm.payments>
                <thead>
                    <tr>
                        <td></td>
                        <th scope="col">{say!(lang, lab.sums.ours)}</th>
                        <th scope="col">{say!(lang, lab.sums.naive)}</th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
            <dl class="facts lab-proof">
                <div>
                    <dt>{say!(lang, lab.sums.ours)}</dt>
                    <dd>{say!(lang, lab.sums.storm_ours, spacing = spacing)}</dd>
                </div>
                <div>
                    <dt>{say!(lang, lab.sums.naive)}</dt>
                    <dd>{say!(lang, lab.sums.storm_naive)}</dd>
                </div>
            </dl>
            <p class="hint">{say!(lang, lab.sums.storm_note)}</p>
        </div>
        <nav class="lab-onward" aria-label=lab::title(lang)>
            <a href="/lab">{say!(lang, lab.back)}</a>
        </nav>
        {super::proof(Told::ManyAtOnce.proof())}
    }
    .into_any()
}
