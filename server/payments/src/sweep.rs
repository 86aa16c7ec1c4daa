//! The daily comparison: what the provider lists against what we hold, both ways.
//!
//! It moves no operation. An effect at the provider without an operation, or an operation of ours
//! without an effect, is told to a person; a record that is ours and further on wakes a lookup;
//! money that went back without us is recorded.

use std::{collections::HashSet, time::Duration};

use domain::{
    evidence::{Evidence, Outcome, Verdict},
    id::OperationId,
    operation::{Kind, State},
    schedule::Timestamp,
};

use crate::{
    Error, clock,
    engine::{Engine, Lease},
    provider::{Listed, ListedKind, Listing, Provider},
    refunds,
    store::{Operation, Work},
};

/// How much of the past each sweep reads again: what was settling at the last one.
const OVERLAP: Duration = Duration::from_secs(24 * 3600);
/// How far back a list is read for what took long to succeed: providers list by the time of making.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
/// Our clock and a provider's may differ by so much where that is read.
const SKEW: Duration = Duration::from_secs(60);
/// What is younger than this may not be in a list yet, or not in our records.
const YOUNG: Duration = Duration::from_secs(15 * 60);

/// Compares with every provider whose time has come. A provider that has never given a list is
/// told once this process has waited for one for long.
pub async fn run(engine: &Engine, running_for: Duration) -> Result<(), Error> {
    for provider in &engine.providers {
        let now = clock::now();
        let mut work = engine.store.read().await?;
        let last = work.last_sweep(provider.name()).await?;
        if last.is_some_and(|(at, _)| now.since(at) < engine.timing.sweep) {
            continue;
        }
        // What comes late into a list is read the next time; a shop that was never swept has
        // nothing older than its own records.
        let overlap = OVERLAP.min(engine.timing.sweep.saturating_mul(2));
        let again = overlap.saturating_add(provider.list_lateness());
        let since = last.map_or(now, |(_, until)| until).before(again);
        let oldest = work.oldest_success(provider.name(), since).await?;
        drop(work);
        let long_ago = oldest.map(|it| it.before(SKEW).max(now.before(LONGEST)));
        let since = long_ago.map_or(since, |it| it.min(since));
        match provider.list(since).await {
            Listing::None => {}
            Listing::All { rows, complete_until }
                if complete_until.is_none_or(|until| until >= now.before(again)) =>
            {
                let span = Span { since, until: complete_until.unwrap_or(now).min(now) };
                compare(engine, provider.as_ref(), &rows, span, now).await?;
                let mut work = engine.store.write().await?;
                work.note_sweep(provider.name(), now).await?;
                work.commit().await?;
            }
            // A list that ends before the next one begins would leave a gap between them.
            Listing::All { .. } | Listing::Unanswered => {
                let name = provider.name();
                tracing::warn!(provider = name, "no whole list came; the comparison waits");
                let late = engine.timing.sweep.saturating_mul(2);
                let waited = last.map_or(running_for, |(at, _)| now.since(at));
                if waited > late {
                    let detail = format!("{name} has given no list for long");
                    alert(engine, "no_comparison", name, &detail, now).await?;
                }
            }
        }
    }
    Ok(())
}

/// What a list covers.
#[derive(Clone, Copy)]
struct Span {
    since: Timestamp,
    /// What happened after this may be missing.
    until: Timestamp,
}

async fn compare(
    engine: &Engine,
    provider: &dyn Provider,
    listed: &[Listed],
    span: Span,
    now: Timestamp,
) -> Result<(), Error> {
    let scale = engine.timing.sweep.min(Duration::from_secs(24 * 3600));
    let young = YOUNG.min(scale / 4);
    let mut known: HashSet<OperationId> = HashSet::new();
    for row in listed {
        known.extend(theirs(engine, provider, row, now).await?);
    }
    let until = span.until.before(young);
    let mut work = engine.store.read().await?;
    let ours = work.succeeded_since(provider.name(), span.since, until).await?;
    drop(work);
    for operation in ours {
        let listable =
            [Kind::PAYMENT, Kind::REFUND].contains(&operation.kind) && operation.entered_at < until;
        if listable && !known.contains(&operation.id) {
            let detail = format!(
                "{} {} is not in the list of {}",
                operation.kind.as_str(),
                operation.reference,
                provider.name()
            );
            alert(engine, "operation_without_effect", &operation.id.to_string(), &detail, now)
                .await?;
        }
    }
    tracing::info!(provider = provider.name(), listed = listed.len(), "compared with the provider");
    Ok(())
}

/// One record of theirs: ours and agreed, ours and further on, made elsewhere, or nobody's. Gives
/// the operation it is of.
async fn theirs(
    engine: &Engine,
    provider: &dyn Provider,
    row: &Listed,
    now: Timestamp,
) -> Result<Option<OperationId>, Error> {
    let mut work = engine.store.write().await?;
    let ours = refunds::made_by_us(work.as_mut(), provider.name(), row).await?;
    let operation = match ours {
        Some(id) => work.operation(id).await?,
        None => None,
    };
    match operation {
        Some(operation) if agrees(&operation, row) => {}
        Some(operation) if operation.kind == Kind::EXTERNAL => {
            let name = provider.name();
            let told =
                refunds::record_external(engine, work.as_mut(), name, row, Some(now), now).await?;
            if let Some((_, outcome)) = told {
                work.commit().await?;
                engine.announce(&outcome);
            }
        }
        Some(operation) => {
            // Moved by nothing but the lookup that this wakes.
            let loaded = engine.load(work.as_mut(), operation.id).await?;
            let evidence = Evidence::Webhook { occurred_at: None, verdict: Verdict::Indeterminate };
            let outcome = engine.apply(work.as_mut(), loaded, &evidence, Lease::Keep, now).await?;
            work.commit().await?;
            engine.announce(&outcome);
            // Only our reference says that it is of this operation, which had no effect.
            if row.is_effect && operation.effect_id.is_none() && operation.state.is_void() {
                nobodys(engine, provider, row, now).await?;
            }
        }
        // It moved nothing, or moved it back: nobody has to know who asked for it.
        None if matches!(row.outcome, Outcome::Rejected { .. } | Outcome::Canceled) => {}
        None if row.kind == ListedKind::GivenBack => {
            let name = provider.name();
            let told =
                refunds::record_external(engine, work.as_mut(), name, row, None, now).await?;
            if let Some((_, outcome)) = told {
                work.commit().await?;
                engine.announce(&outcome);
            } else {
                drop(work);
                nobodys(engine, provider, row, now).await?;
            }
        }
        None => {
            drop(work);
            nobodys(engine, provider, row, now).await?;
        }
    }
    Ok(ours)
}

fn agrees(operation: &Operation, row: &Listed) -> bool {
    match (&row.outcome, operation.state) {
        (Outcome::Succeeded, State::Succeeded) => operation.effect == Some(row.amount),
        (Outcome::Succeeded, State::Reversed) | (Outcome::Reversed, State::Reversed) => true,
        (Outcome::Succeeded, _) => false,
        (Outcome::Reversed, state) => state != State::Succeeded,
        // Something undid it after it had succeeded.
        (Outcome::Rejected { .. } | Outcome::Canceled, State::Succeeded) => false,
        // Nothing but this list asks about what others made: a dispute that was won, perhaps.
        (Outcome::Rejected { .. } | Outcome::Canceled, state)
            if operation.kind == Kind::EXTERNAL =>
        {
            state.is_void() || state == State::Reversed
        }
        // No effect, or none yet: the operation's own lookups follow it.
        (
            Outcome::Rejected { .. }
            | Outcome::Canceled
            | Outcome::ActionRequired { .. }
            | Outcome::Processing,
            _,
        ) => true,
    }
}

/// Money moved at the provider, and nobody here asked for it.
async fn nobodys(
    engine: &Engine,
    provider: &dyn Provider,
    row: &Listed,
    now: Timestamp,
) -> Result<(), Error> {
    if row.outcome != Outcome::Succeeded {
        return Ok(());
    }
    let detail = format!(
        "{} shows {} for {} without an operation of ours",
        provider.name(),
        row.amount,
        row.provider_id
    );
    let about = format!("{}:{}", provider.name(), row.provider_id);
    alert(engine, "effect_without_operation", &about, &detail, now).await
}

async fn alert(
    engine: &Engine,
    kind: &str,
    about: &str,
    detail: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let mut work: Box<dyn Work> = engine.store.write().await?;
    engine.alert(work.as_mut(), &format!("{kind}:{about}"), kind, detail, now).await?;
    Ok(work.commit().await?)
}
