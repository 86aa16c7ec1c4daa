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
    engine::step_specs,
    provider::{Intent, Line, Parent, Provider},
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
        effect_id: None,
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
        refund_request_id: None,
        created_at: opening.now,
        confirmed_at: None,
        confirmed_by: None,
    }
}

/// What the bytes of a step are made of.
pub struct Maker<'a> {
    /// With whom.
    pub provider: &'a dyn Provider,
    /// What it promises for the operation's kind.
    pub capability: &'a Capability,
    /// The operation.
    pub operation: &'a Operation,
    /// Its order.
    pub order: &'a Order,
    /// The payment behind a refund.
    pub parent: Option<&'a Operation>,
    /// The shop's address, where shoppers come back to.
    pub public_url: &'a str,
}

impl Maker<'_> {
    /// The step at this place with its key and bytes. `prefix` is the readable part of the key.
    ///
    /// # Errors
    /// The provider has no such step, or its bytes need something that is not known yet.
    pub fn step(&self, place: usize, prefix: &str) -> Result<Step, Error> {
        let specs = step_specs(self.capability);
        let (spec, cancels) = specs.into_iter().nth(place).ok_or(Error::Internal("no step"))?;
        let return_url = format!("{}/checkout/{}/return", self.public_url, self.order.checkout_id);
        let checkout = self.order.checkout_id.to_string();
        let lines: Vec<Line<'_>> = self
            .order
            .lines
            .iter()
            .map(|line| Line {
                sku: line.sku.as_str(),
                quantity: line.quantity,
                unit_minor: line.unit_minor,
            })
            .collect();
        let parent = self.parent.and_then(|parent| {
            Some(Parent {
                provider_id: parent.provider_operation_id.as_deref()?,
                effect_id: parent.effect_id.as_deref(),
            })
        });
        let intent = Intent {
            kind: &self.operation.kind,
            amount: self.operation.amount,
            reference: &self.operation.reference,
            instrument: self.operation.instrument.as_deref(),
            return_url: &return_url,
            provider_id: self.operation.provider_operation_id.as_deref(),
            parent,
            checkout: &checkout,
            order: &self.order.reference,
            lines: &lines,
        };
        let encoded = self.provider.encode(spec.name, &intent)?;
        Ok(Step {
            operation_id: self.operation.id,
            name: spec.name.to_owned(),
            position: i64::try_from(place).unwrap_or(i64::MAX),
            cancels,
            idempotency_key: format!("{prefix}:{}", spec.name),
            request_hash: body_hash(format!("{}\n{}", encoded.path, encoded.body).as_bytes()),
            request_path: encoded.path,
            request_body: Some(encoded.body),
            window_ms: spec.idempotency.map(|key| millis(key.window)),
            first_sent_at: None,
            tainted: false,
            in_flight: false,
            accepted: false,
            sends: 0,
        })
    }
}
