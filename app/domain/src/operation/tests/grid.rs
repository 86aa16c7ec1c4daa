//! The whole grid, state x evidence, as the README shows it.

use super::fixtures::*;
use crate::{
    evidence::{Act, Evidence, Outcome, Verdict},
    operation::{Snapshot, State, decide},
    schedule::Timestamp,
};

struct Row {
    label: &'static str,
    evidence: Evidence,
    now: Timestamp,
    given: fn(&mut Snapshot),
}

fn row(label: &'static str, evidence: Evidence) -> Row {
    Row { label, evidence, now: NOW, given: |_| {} }
}

fn replay(label: &'static str, verdict: Verdict) -> Row {
    Row { given: sent_before, ..row(label, answer(verdict)) }
}

/// An earlier send of the step has no known end.
fn sent_before(s: &mut Snapshot) {
    s.steps[0].tainted = true;
    s.steps[0].sends += 1;
}

/// The last send ended a minute and more before the lookup, and the provider promised a bound.
fn bounded(s: &mut Snapshot) {
    s.capability = class_a_bounded();
}

/// An effect is on record, and was looked up since.
fn with_effect(s: &mut Snapshot) {
    s.effect = Some(AMOUNT);
    s.looked_up_at = Some(NOW);
}

fn nothing_visible(s: &mut Snapshot) {
    s.looked_up_at = Some(NOW);
}

fn rows() -> Vec<Row> {
    let wrong = Verdict::Definitive(Outcome::Succeeded, wrong_amount());
    let accepted = || Verdict::Accepted(ours());
    vec![
        row("a worker asks to send", claim(0)),
        row("answer: succeeded", answer(succeeded())),
        row("answer: succeeded, other amount", answer(wrong.clone())),
        row("answer: rejected", answer(rejected())),
        row("answer: canceled", answer(canceled())),
        row("answer: action required", answer(action())),
        row("answer: processing", answer(processing())),
        row("answer: accepted, no step left", answer(accepted())),
        row("answer: not sent", answer(Verdict::NotSent)),
        row("answer: 401", answer(unauthorized())),
        row("answer: 400", answer(bad_request())),
        row("answer: 429", answer(too_many())),
        row("answer: unknown", answer(Verdict::Indeterminate)),
        row("stored answer: succeeded", cached(succeeded())),
        row("stored answer: rejected", cached(rejected())),
        row("stored answer: 5xx", cached(Verdict::NoNews)),
        replay("replay: succeeded", succeeded()),
        replay("replay: rejected", rejected()),
        replay("replay: not sent", Verdict::NotSent),
        replay("replay: 400", bad_request()),
        replay("replay: 429", too_many()),
        replay("replay: unknown", Verdict::Indeterminate),
        row("late answer: succeeded", late(succeeded())),
        row("late answer: rejected", late(rejected())),
        row("late answer: not sent", late(Verdict::NotSent)),
        row("late answer: unknown", late(Verdict::Indeterminate)),
        row("lookup: succeeded", lookup(succeeded())),
        row("lookup: succeeded, other amount", lookup(wrong.clone())),
        row("lookup: rejected", lookup(rejected())),
        row("lookup: canceled", lookup(canceled())),
        row("lookup: action required", lookup(action())),
        row("lookup: processing", lookup(processing())),
        row("lookup: reversed", lookup(reversed())),
        row("lookup: not found", lookup(Verdict::Absent)),
        Row { given: bounded, ..row("lookup: not found, proven", lookup(Verdict::Absent)) },
        row("lookup: says nothing", lookup(Verdict::NoNews)),
        row("lookup sent before: succeeded", old_lookup(succeeded())),
        row("lookup sent before: rejected", old_lookup(rejected())),
        row("webhook: succeeded", webhook(succeeded())),
        row("webhook: succeeded, other amount", webhook(wrong)),
        row("webhook: rejected", webhook(rejected())),
        row("webhook: processing", webhook(processing())),
        row("webhook: reversed", webhook(reversed())),
        row("webhook: unreadable", webhook(Verdict::Indeterminate)),
        row("return URL, opened page", Evidence::Hint),
        row("lease over, no answer", Evidence::LeaseEnded),
        row("time passes", Evidence::Tick),
        Row { now: at(1000), ..row("the shopper's time is over", Evidence::Tick) },
        Row { now: DEADLINE, ..row("the deadline", Evidence::Tick) },
        Row {
            given: with_effect,
            ..row("a person: accept", Evidence::Operator(Act::AcceptEffect))
        },
        Row {
            given: with_effect,
            ..row("a person: refund", Evidence::Operator(Act::RefundEffect))
        },
        Row { given: nothing_visible, ..row("a person: cancel", Evidence::Operator(Act::Cancel)) },
    ]
}

/// The text of the table.
fn printed() -> String {
    let states: Vec<&str> = State::ALL.iter().copied().map(short).collect();
    let mut table = format!("| | {} |\n|---|{}\n", states.join(" | "), "---|".repeat(states.len()));
    for row in rows() {
        let cells: Vec<String> = State::ALL
            .iter()
            .map(|state| {
                let mut s = example(*state);
                (row.given)(&mut s);
                cell(&decide(&s, &row.evidence, row.now))
            })
            .collect();
        table.push_str(&format!("| {} | {} |\n", row.label, cells.join(" | ")));
    }
    table
}

#[test]
fn the_grid_of_states_and_evidence_is_the_one_the_readme_shows() {
    compare("operation/grid.md", &printed());
}

#[test]
fn the_readme_shows_this_very_grid() {
    let readme = include_str!("../../../../../README.md");
    assert!(
        readme.contains(printed().trim()),
        "put operation/grid.md between the marks of README.md"
    );
}
