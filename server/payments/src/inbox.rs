//! Webhooks: verify raw bytes, then store and apply in one transaction, then say so.
//!
//! If applying does not work, the event stays, parked, and is tried again apart: the provider is
//! told that we have it, and no other event waits behind it.

use std::time::Duration;

use domain::{evidence::Evidence, id::OperationId, operation::Kind, schedule::Timestamp};

use crate::{
    Error, clock, crash,
    engine::{Engine, Lease, Outcome},
    provider::{Event, Provider, WebhookError},
    refunds,
    store::{EventState, Named, StoredEvent, Work},
};

/// What became of an event that was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ingested {
    /// Stored, and its news judged.
    Applied,
    /// It was here before.
    Repeated,
    /// Stored; judging it comes later.
    Parked,
    /// Stored; it is about nothing of ours that is known so far.
    Unmatched,
}

/// Takes one event: everything up to the commit that makes a 2xx true.
pub async fn ingest(
    engine: &Engine,
    provider: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> Result<Ingested, Error> {
    let adapter = engine.provider(provider).ok_or(Error::UnknownProvider)?;
    let now = clock::now();
    let verified = adapter.verify_webhook(headers, body, clock::wall()).await;
    let counted = |result: &'static str| {
        metrics::counter!("payonce_webhooks_total", "provider" => provider.to_owned(), "result" => result)
            .increment(1);
    };
    let event = verified.inspect_err(|reason| {
        counted(match reason {
            WebhookError::Off => "off",
            WebhookError::Signature => "bad_signature",
            WebhookError::Malformed => "malformed",
        });
    })?;
    let text = std::str::from_utf8(body).map_err(|_| Error::MalformedEvent)?;
    let mut work = engine.store.write().await?;
    let stored = StoredEvent {
        id: 0,
        provider: provider.to_owned(),
        event_id: event.id.clone(),
        event_type: event.kind.clone(),
        body: text.to_owned(),
        tries: 0,
    };
    let Some(id) = work.insert_event(&stored, now).await? else {
        counted("repeated");
        return Ok(Ingested::Repeated);
    };
    crash::point("webhook_inserted");
    work.savepoint().await?;
    let (ingested, outcome) =
        match judge(engine, work.as_mut(), adapter.as_ref(), &event, id, now).await {
            Ok(done) => done,
            Err(reason) => {
                tracing::warn!(
                    reason = &reason as &dyn std::error::Error,
                    event_id = event.id,
                    "an event is parked"
                );
                work.undo_to_savepoint().await?;
                park(engine, work.as_mut(), &stored, id, now).await?;
                (Ingested::Parked, Outcome::default())
            }
        };
    crash::point("webhook_applied");
    work.commit().await?;
    crash::point("webhook_committed");
    engine.announce(&outcome);
    counted(match ingested {
        Ingested::Applied => "applied",
        Ingested::Repeated => "repeated",
        Ingested::Parked => "parked",
        Ingested::Unmatched => "unmatched",
    });
    Ok(ingested)
}

/// Finds whom an event is about, lets `decide` judge it, and notes what became of it.
async fn judge(
    engine: &Engine,
    work: &mut dyn Work,
    adapter: &dyn Provider,
    event: &Event,
    id: i64,
    now: Timestamp,
) -> Result<(Ingested, Outcome), Error> {
    if event.live != adapter.live() {
        let detail = format!("event {} comes from the other mode", event.id);
        engine.alert(work, &live_mode(adapter.name(), now), "live_mode", &detail, now).await?;
        work.update_event(id, EventState::Unmatched, None, None, now).await?;
        return Ok((Ingested::Unmatched, Outcome::default()));
    }
    // Two providers may give their events the same id.
    let unmatched = format!("unmatched:{}:{}", adapter.name(), event.id);
    if let Some((operation, outcome)) =
        refunds::of_event(engine, work, adapter.name(), event, now).await?
    {
        work.close_alert(&unmatched, now).await?;
        work.update_event(id, EventState::Applied, Some(operation), None, now).await?;
        return Ok((Ingested::Applied, outcome));
    }
    let Some(operation) = find(work, adapter.name(), event).await? else {
        let detail = format!("event {} of type {} is about nothing of ours", event.id, event.kind);
        engine.alert(work, &unmatched, "unmatched_event", &detail, now).await?;
        work.update_event(id, EventState::Unmatched, None, None, now).await?;
        return Ok((Ingested::Unmatched, Outcome::default()));
    };
    let loaded = engine.load(work, operation).await?;
    let evidence =
        Evidence::Webhook { occurred_at: event.occurred_at, verdict: event.verdict.clone() };
    let outcome = engine.apply(work, loaded, &evidence, Lease::Keep, now).await?;
    work.close_alert(&unmatched, now).await?;
    work.update_event(id, EventState::Applied, Some(operation), None, now).await?;
    Ok((Ingested::Applied, outcome))
}

/// By our reference, our key, or the provider's id.
async fn find(
    work: &mut dyn Work,
    provider: &str,
    event: &Event,
) -> Result<Option<OperationId>, Error> {
    let names = [
        event.provider_id.as_deref().map(Named::ProviderId),
        event.reference.as_deref().map(Named::Reference),
        event.key.as_deref().map(Named::Key),
        // What went back names the payment's effect, and is not about the payment.
        event.effect_id.as_deref().filter(|_| !event.gives_back).map(Named::EffectId),
    ];
    for name in names.into_iter().flatten() {
        if let Some(id) = work.find_operation(provider, name).await? {
            // What went back may bear its payment's reference, and is not about the payment.
            let payment = event.gives_back
                && work
                    .operation(id)
                    .await?
                    .is_some_and(|operation| operation.kind == Kind::PAYMENT);
            if !payment {
                return Ok(Some(id));
            }
        }
    }
    Ok(None)
}

/// Keeps an event for later, and tells a person after some tries.
async fn park(
    engine: &Engine,
    work: &mut dyn Work,
    event: &StoredEvent,
    id: i64,
    now: Timestamp,
) -> Result<(), Error> {
    let detail = format!("event {} could not be judged", event.event_id);
    engine.alert(work, &parked(event), "parked_event", &detail, now).await?;
    let wait = Duration::from_secs(1 << event.tries.min(8));
    Ok(work.update_event(id, EventState::Parked, None, Some(now.after(wait)), now).await?)
}

/// The name of the incident that events come from the other mode: one a day, as nothing tells its
/// end.
fn live_mode(provider: &str, now: Timestamp) -> String {
    format!("live-mode:{provider}:{}", now.0.div_euclid(24 * 3600 * 1000))
}

/// The name of the incident that an event could not be judged.
fn parked(event: &StoredEvent) -> String {
    format!("parked:{}:{}", event.provider, event.event_id)
}

/// Judges events that wait: parked ones, and unmatched ones after a provider's id was stored.
pub async fn retry_parked(engine: &Engine) -> Result<(), Error> {
    let mut work = engine.store.read().await?;
    let set_up: Vec<&str> = engine.providers.iter().map(|it| it.name()).collect();
    let waiting = work.waiting_events(&set_up, clock::now(), 20).await?;
    drop(work);
    for stored in waiting {
        let Some(adapter) = engine.provider(&stored.provider) else { continue };
        let now = clock::now();
        let mut work = engine.store.write().await?;
        work.savepoint().await?;
        let judged = match adapter.read_event(&stored.body) {
            Ok(event) => {
                judge(engine, work.as_mut(), adapter.as_ref(), &event, stored.id, now).await
            }
            Err(reason) => Err(reason.into()),
        };
        match judged {
            Ok((_, outcome)) => {
                work.close_alert(&parked(&stored), now).await?;
                work.commit().await?;
                engine.announce(&outcome);
            }
            Err(_) => {
                work.undo_to_savepoint().await?;
                park(engine, work.as_mut(), &stored, stored.id, now).await?;
                work.commit().await?;
            }
        }
    }
    Ok(())
}
