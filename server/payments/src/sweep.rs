//! The daily comparison: what the provider lists against what we hold, both ways.
//!
//! It moves no operation. An effect at the provider without an operation, or an operation of ours
//! without an effect, is told to a person; a record that is ours and further on wakes a lookup;
//! money that went back without us is recorded.

use std::{collections::HashSet, time::Duration};

use domain::{
    evidence::{Evidence, Outcome, Verdict},
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
/// What is younger than this may not be in a list yet, or not in our records.
const YOUNG: Duration = Duration::from_secs(15 * 60);

/// Compares with every provider whose time has come.
pub async fn run(engine: &Engine) -> Result<(), Error> {
    for provider in &engine.providers {
        let now = clock::now();
        let mut work = engine.store.read().await?;
        let last = work.last_sweep(provider.name()).await?;
        drop(work);
        if last.is_some_and(|(at, _)| now.since(at) < engine.timing.sweep) {
            continue;
        }
        // A shop that was never swept has nothing older than its own records.
        let overlap = OVERLAP.min(engine.timing.sweep.saturating_mul(2));
        let since = last.map_or(now.before(overlap), |(_, until)| until.before(overlap));
        match provider.list(since).await {
            Listing::None => {}
            Listing::Unanswered => {
                let name = provider.name();
                tracing::warn!(provider = name, "no whole list came; the comparison waits");
                let late = engine.timing.sweep.saturating_mul(2);
                if last.is_some_and(|(at, _)| now.since(at) > late) {
                    let detail = format!("{name} has given no list for long");
                    alert(engine, "no_comparison", name, &detail, now).await?;
                }
            }
            Listing::All(listed) => {
                compare(engine, provider.as_ref(), &listed, since, now).await?;
                let mut work = engine.store.write().await?;
                work.note_sweep(provider.name(), now).await?;
                work.commit().await?;
            }
        }
    }
    Ok(())
}

async fn compare(
    engine: &Engine,
    provider: &dyn Provider,
    listed: &[Listed],
    since: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    let scale = engine.timing.sweep.min(Duration::from_secs(24 * 3600));
    let young = YOUNG.min(scale / 4);
    for row in listed {
        theirs(engine, provider, row, now).await?;
    }
    let known: HashSet<&str> = listed.iter().map(|row| row.provider_id.as_str()).collect();
    let mut work = engine.store.read().await?;
    let ours = work.succeeded_since(provider.name(), since, now.before(young)).await?;
    drop(work);
    for operation in ours {
        let id = operation.provider_operation_id.as_deref().unwrap_or_default();
        if !known.contains(id) && [Kind::PAYMENT, Kind::REFUND].contains(&operation.kind) {
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

/// One record of theirs: ours and agreed, ours and further on, made elsewhere, or nobody's.
async fn theirs(
    engine: &Engine,
    provider: &dyn Provider,
    row: &Listed,
    now: Timestamp,
) -> Result<(), Error> {
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
        }
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
    Ok(())
}

fn agrees(operation: &Operation, row: &Listed) -> bool {
    match (&row.outcome, operation.state) {
        (Outcome::Succeeded, State::Succeeded) => operation.effect == Some(row.amount),
        (Outcome::Succeeded, State::Reversed) | (Outcome::Reversed, State::Reversed) => true,
        (Outcome::Succeeded, _) => false,
        (Outcome::Reversed, state) => state != State::Succeeded,
        // Something undid it after it had succeeded.
        (Outcome::Rejected { .. } | Outcome::Canceled, State::Succeeded) => false,
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
    alert(engine, "effect_without_operation", &row.provider_id, &detail, now).await
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
