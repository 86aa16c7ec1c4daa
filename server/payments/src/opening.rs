//! New operations and their steps: keys and bytes are made here, once, and never again.

use domain::{
    capability::Capability,
    fingerprint::body_hash,
    id::OperationId,
    money::Money,
    operation::{Kind, State},
    schedule::{Timestamp, millis},
};

use crate::{
    Error,
    provider::{Intent, Provider},
    store::{Operation, Order, Step},
};

/// What makes a new operation.
pub struct Opening<'a> {
    /// Its id.
    pub id: OperationId,
    /// What kind.
    pub kind: Kind,
    /// For which order.
    pub order: &'a Order,
    /// Its number among the order's operations of this kind.
    pub attempt: u32,
    /// With whom.
    pub provider: &'a dyn Provider,
    /// Our reference at the provider.
    pub reference: String,
    /// How much.
    pub amount: Money,
    /// The token the shopper chose.
    pub instrument: Option<String>,
    /// The fingerprint of what was asked for.
    pub request_hash: String,
    /// When an unknown outcome is handed to a person.
    pub deadline_at: Timestamp,
    /// Now.
    pub now: Timestamp,
}

/// A recorded, never sent operation, due at once.
pub fn operation(opening: Opening<'_>) -> Operation {
    Operation {
        id: opening.id,
        kind: opening.kind,
        order_id: opening.order.id,
        attempt: opening.attempt,
        provider: opening.provider.name().to_owned(),
        provider_operation_id: None,
        reference: opening.reference,
        account: opening.provider.account().map(str::to_owned),
        state: State::Created,
        version: 1,
        request_hash: opening.request_hash,
        amount: opening.amount,
        instrument: opening.instrument,
        acknowledged: false,
        entered_at: opening.now,
        unknown_since: None,
        next_action_at: Some(opening.now),
        deadline_at: opening.deadline_at,
        lease_owner: None,
        lease_until: None,
        fence: 0,
        lookup_wanted: false,
        lookups: 0,
        replays: 0,
        clean_sends: 0,
        looked_up_at: None,
        action_url: None,
        action_expires_at: None,
        decline_code: None,
        canceled_why: None,
        review_reason: None,
        effect: None,
        compensates: None,
        refunds: None,
        created_at: opening.now,
        confirmed_at: None,
        confirmed_by: None,
    }
}

/// The steps whose bytes are known from the start. `prefix` is the readable part of their keys.
pub fn steps(
    provider: &dyn Provider,
    operation: &Operation,
    capability: &Capability,
    prefix: &str,
    return_url: &str,
    provider_id: Option<&str>,
) -> Result<Vec<Step>, Error> {
    let specs = capability.steps.iter();
    specs
        .enumerate()
        .map(|(position, spec)| {
            let made = step(provider, operation, spec.name, prefix, return_url, provider_id)?;
            Ok(Step {
                position: i64::try_from(position).unwrap_or(i64::MAX),
                window_ms: spec.idempotency.map(|key| millis(key.window)),
                ..made
            })
        })
        .collect()
}

/// The cancelling step, made when it is needed because its bytes name the provider's object.
pub fn cancel_step(
    provider: &dyn Provider,
    operation: &Operation,
    capability: &Capability,
    prefix: &str,
    position: usize,
) -> Result<Step, Error> {
    let spec = capability.cancel.ok_or(Error::Internal("no cancel is declared"))?;
    let made = step(
        provider,
        operation,
        spec.name,
        prefix,
        "",
        operation.provider_operation_id.as_deref(),
    )?;
    Ok(Step {
        position: i64::try_from(position).unwrap_or(i64::MAX),
        cancels: true,
        window_ms: spec.idempotency.map(|key| millis(key.window)),
        ..made
    })
}

fn step(
    provider: &dyn Provider,
    operation: &Operation,
    name: &str,
    prefix: &str,
    return_url: &str,
    provider_id: Option<&str>,
) -> Result<Step, Error> {
    let intent = Intent {
        kind: &operation.kind,
        amount: operation.amount,
        reference: &operation.reference,
        instrument: operation.instrument.as_deref(),
        return_url,
        provider_id,
    };
    let encoded = provider.encode(name, &intent)?;
    Ok(Step {
        operation_id: operation.id,
        name: name.to_owned(),
        position: 0,
        cancels: false,
        idempotency_key: format!("{prefix}:{name}"),
        request_hash: body_hash(format!("{}\n{}", encoded.path, encoded.body).as_bytes()),
        request_path: encoded.path,
        request_body: Some(encoded.body),
        window_ms: None,
        first_sent_at: None,
        tainted: false,
        in_flight: false,
        accepted: false,
        sends: 0,
    })
}
