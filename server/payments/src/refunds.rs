//! Money that goes back: by request, and behind our back.
//!
//! Every intent is an operation of its own with its own key; what is unknown keeps its amount
//! reserved, so that all of them together never exceed what was taken.

use domain::{
    evidence::{Evidence, Outcome as Told, Verdict},
    fingerprint::fingerprint,
    id::OperationId,
    money::{Currency, Money},
    operation::{Kind, State},
    schedule::Timestamp,
};
use uuid::Uuid;

use crate::{
    Error, asks, clock,
    engine::{Engine, Lease, Outcome, order_transition},
    opening,
    provider::{Event, Listed, ListedKind},
    store::{Named, Operation, Order, Work},
};

/// A wish to give money back. The same id is the same wish, however often it is sent.
#[derive(Clone, Debug)]
pub struct RefundRequest {
    /// Made once by whoever asks.
    pub refund_request_id: Uuid,
    /// The order's number for people.
    pub order: String,
    /// How much, in the smallest unit of the currency.
    pub amount_minor: i64,
    /// Of what.
    pub currency: Currency,
    /// Who asks, and why: for the audit.
    pub who: String,
    /// Why.
    pub reason: String,
}

/// What a wish came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefundOutcome {
    /// The refund's operation.
    pub operation: OperationId,
    /// Where it stands.
    pub state: State,
    /// How much it gives back.
    pub amount: Money,
    /// It was there already.
    pub repeated: bool,
}

/// What was taken by a payment and what of it is still to give: succeeded, unknown and external
/// refunds all count.
pub fn left(payment: &Operation, operations: &[Operation]) -> Option<Money> {
    let paid = payment.kind == Kind::PAYMENT && payment.state == State::Succeeded;
    let taken = payment.effect.filter(|_| paid)?;
    let rest = taken.minor.saturating_sub(gone(payment, operations));
    Some(Money::new(rest.max(0), taken.currency))
}

/// How much of a payment has gone back, or may have.
pub fn gone(payment: &Operation, operations: &[Operation]) -> i64 {
    back(payment, operations, |state| !state.is_void() && state != State::Reversed)
}

/// How much of it has gone back for certain.
pub fn returned(payment: &Operation, operations: &[Operation]) -> i64 {
    back(payment, operations, |state| state == State::Succeeded)
}

/// What a provider tells may be of any size, and in another currency: that cannot be compared, so
/// all of it counts as gone.
fn back(payment: &Operation, operations: &[Operation], counts: impl Fn(State) -> bool) -> i64 {
    let taken = payment.effect.unwrap_or(payment.amount);
    operations
        .iter()
        .filter(|it| it.refunds == Some(payment.id) && counts(it.state))
        .map(|it| if it.amount.currency == taken.currency { it.amount } else { taken })
        .fold(0, |sum, amount| sum.saturating_add(amount.minor))
}

/// Opens a refund, or tells of the one that this wish opened before.
pub async fn request(engine: &Engine, wish: &RefundRequest) -> Result<RefundOutcome, Error> {
    let now = clock::now();
    let mut work = engine.store.write().await?;
    let order = work.order_of_reference(&wish.order).await?.ok_or(Error::NotFound)?;
    let operations = work.operations_of(order.id).await?;
    let amount = Money::new(wish.amount_minor, wish.currency);
    let id = wish.refund_request_id.to_string();
    let hash = fingerprint("refund", &order.id.to_string(), amount, &[]);
    if let Some(known) = work.operation_of_refund_request(&id).await? {
        if known.request_hash != hash {
            return Err(Error::Conflict);
        }
        return Ok(RefundOutcome {
            operation: known.id,
            state: known.state,
            amount: known.amount,
            repeated: true,
        });
    }
    if amount.minor <= 0 {
        return Err(Error::Invalid("a refund is above zero".into()));
    }
    let payments = operations.iter().filter(|it| it.kind == Kind::PAYMENT);
    let mut paid = payments.filter_map(|it| Some((it, left(it, &operations)?)));
    let (payment, rest) = paid
        .find(|(_, left)| left.currency == amount.currency && left.minor > 0)
        .ok_or_else(|| Error::Invalid("nothing of this order can be given back".into()))?;
    if amount.minor > rest.minor {
        return Err(Error::Invalid(format!("at most {rest} of this order can be given back")));
    }
    let kind = Kind::REFUND;
    let operation = opened(engine, &order, payment, &operations, kind, amount, hash, now)?;
    let operation = Operation { refund_request_id: Some(id.clone()), ..operation };
    let prefix = format!("refund:{id}:r{}", operation.attempt);
    engine.open(work.as_mut(), &operation, &order, Some(payment), &prefix).await?;
    let order = noted(work.as_mut(), &operation, order, "refund_asked", "operator", now).await?;
    asks::answer(work.as_mut(), order.id, now).await?;
    let subject = operation.id.to_string();
    work.insert_audit(&wish.who, "refund", &subject, &wish.reason, now).await?;
    work.commit().await?;
    engine.hub.tell(order.checkout_id);
    engine.wake.notify_one();
    Ok(RefundOutcome { operation: operation.id, state: operation.state, amount, repeated: false })
}

#[expect(clippy::too_many_arguments, reason = "what an operation is made of")]
fn opened(
    engine: &Engine,
    order: &Order,
    payment: &Operation,
    operations: &[Operation],
    kind: Kind,
    amount: Money,
    request_hash: String,
    now: Timestamp,
) -> Result<Operation, Error> {
    let provider = engine.provider(&payment.provider).ok_or_else(|| {
        Error::Invalid(format!("{} is not set up any more: nothing goes back", payment.provider))
    })?;
    let capability = provider.capability(&kind).ok_or_else(|| {
        Error::Invalid(format!("{} gives nothing back by itself", payment.provider))
    })?;
    let attempt = operations.iter().filter(|it| it.kind == kind).count() + 1;
    let letter = if kind == Kind::REFUND { 'R' } else { 'X' };
    Ok(Operation {
        refunds: Some(payment.id),
        ..opening::operation(opening::Opening {
            id: OperationId(clock::fresh_id()),
            kind,
            order,
            attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
            provider: provider.as_ref(),
            reference: format!("{}-{letter}{attempt}", payment.reference),
            amount,
            instrument: None,
            request_hash,
            deadline_at: now.after(capability.deadline),
            now,
        })
    })
}

/// The history row of an operation that was opened.
async fn noted(
    work: &mut dyn Work,
    operation: &Operation,
    mut order: Order,
    evidence: &str,
    source: &str,
    now: Timestamp,
) -> Result<Order, Error> {
    order.sequence += 1;
    let mut row = order_transition(operation, &order, evidence, source, now);
    row.from = None;
    row.version = operation.version;
    work.insert_transition(&row).await?;
    work.update_order(&order, now).await?;
    Ok(order)
}

/// Whether an operation of ours made what a provider tells of: by its id, or by our reference as
/// long as that operation has no other object, or no other effect. A refund may bear the reference
/// of its payment, and is not made by that.
pub async fn made_by_us(
    work: &mut dyn Work,
    provider: &str,
    listed: &Listed,
) -> Result<Option<OperationId>, Error> {
    let id = listed.provider_id.as_str();
    let name = if listed.is_effect { Named::EffectId(id) } else { Named::ProviderId(id) };
    let by_id = work.find_operation(provider, name).await?;
    if by_id.is_some() {
        return Ok(by_id);
    }
    let Some(reference) = &listed.reference else { return Ok(None) };
    let Some(id) = work.find_operation(provider, Named::Reference(reference)).await? else {
        return Ok(None);
    };
    let Some(operation) = work.operation(id).await? else { return Ok(None) };
    let same_way = (operation.kind == Kind::PAYMENT) == (listed.kind == ListedKind::Taken);
    let other =
        if listed.is_effect { &operation.effect_id } else { &operation.provider_operation_id };
    Ok((same_way && other.is_none()).then_some(id))
}

/// A refund of ours whose object is not known yet and may be the one that is told of.
fn may_be_ours(payment: &Operation, operations: &[Operation], listed: &Listed) -> bool {
    operations.iter().any(|it| {
        it.kind == Kind::REFUND
            && it.refunds == Some(payment.id)
            && it.provider_operation_id.is_none()
            && !it.state.is_void()
            && it.amount == listed.amount
    })
}

/// Records a refund or a dispute that was made at the provider's side: from now on it reduces what
/// can be given back. `None` if it is about no payment of ours, or about a refund of ours.
pub async fn record_external(
    engine: &Engine,
    work: &mut dyn Work,
    provider: &str,
    listed: &Listed,
    occurred_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<Option<(OperationId, Outcome)>, Error> {
    if listed.amount.minor <= 0 {
        // Nothing went back by that, whatever it is: a person is told that it is about nothing.
        return Ok(None);
    }
    let known = made_by_us(work, provider, listed).await?;
    let id = match known {
        Some(id) => {
            let external = work.operation(id).await?.is_some_and(|it| it.kind == Kind::EXTERNAL);
            if !external {
                return Ok(None);
            }
            id
        }
        // It moved nothing, or moved it back, before we heard of it: there is nothing to record.
        None if matches!(listed.outcome, Told::Rejected { .. } | Told::Canceled) => {
            let Some(payment) = parent_of(work, provider, listed).await? else { return Ok(None) };
            let operations = work.operations_of(payment.order_id).await?;
            // One of ours that is not known yet waits until it is.
            let others = !may_be_ours(&payment, &operations, listed);
            return Ok(others.then(|| (payment.id, Outcome::default())));
        }
        None => {
            let Some(id) = open_external(engine, work, provider, listed, now).await? else {
                return Ok(None);
            };
            id
        }
    };
    let loaded = engine.load(work, id).await?;
    if listed.outcome == Told::Succeeded {
        asks::answer(work, loaded.order.id, now).await?;
    }
    let found = domain::evidence::Found {
        provider_id: Some(listed.provider_id.clone()),
        amount: Some(listed.amount),
        ..domain::evidence::Found::default()
    };
    let verdict = Verdict::Definitive(listed.outcome.clone(), found);
    let evidence = Evidence::Webhook { occurred_at, verdict };
    let outcome = engine.apply(work, loaded, &evidence, Lease::Keep, now).await?;
    Ok(Some((id, outcome)))
}

/// The payment that a record of theirs names.
async fn parent_of(
    work: &mut dyn Work,
    provider: &str,
    listed: &Listed,
) -> Result<Option<Operation>, Error> {
    let Some(parent) = &listed.parent else { return Ok(None) };
    let id = match work.find_operation(provider, Named::ProviderId(parent)).await? {
        Some(id) => Some(id),
        None => work.find_operation(provider, Named::EffectId(parent)).await?,
    };
    match id {
        Some(id) => Ok(work.operation(id).await?),
        None => Ok(None),
    }
}

async fn open_external(
    engine: &Engine,
    work: &mut dyn Work,
    provider: &str,
    listed: &Listed,
    now: Timestamp,
) -> Result<Option<OperationId>, Error> {
    let Some(payment) = parent_of(work, provider, listed).await? else { return Ok(None) };
    let Some(order) = work.order(payment.order_id).await? else { return Ok(None) };
    let operations = work.operations_of(order.id).await?;
    if may_be_ours(&payment, &operations, listed) {
        // Its own answer, or the next question, gives it its id; then this is judged again.
        return Ok(None);
    }
    let hash = fingerprint("external", &listed.provider_id, listed.amount, &[]);
    let kind = Kind::EXTERNAL;
    let amount = listed.amount;
    let operation = opened(engine, &order, &payment, &operations, kind, amount, hash, now)?;
    let operation = Operation {
        provider_operation_id: Some(listed.provider_id.clone()),
        acknowledged: true,
        next_action_at: None,
        ..operation
    };
    work.insert_operation(&operation, &[]).await?;
    // Its id is not among what an insertion writes.
    let version = operation.version;
    let moved = Operation { version: version + 1, ..operation };
    work.update_operation(&moved, version).await?;
    noted(work, &moved, order.clone(), "made_elsewhere", "provider", now).await?;
    let detail = format!(
        "{} of order {} is told to go back at {provider} without us",
        amount, order.reference
    );
    let incident = format!("external:{provider}:{}", listed.provider_id);
    engine.alert(work, &incident, "external_effect", &detail, now).await?;
    Ok(Some(moved.id))
}

/// What an event tells of money that went back without us.
pub async fn of_event(
    engine: &Engine,
    work: &mut dyn Work,
    provider: &str,
    event: &Event,
    now: Timestamp,
) -> Result<Option<(OperationId, Outcome)>, Error> {
    match &event.made_elsewhere {
        Some(listed) => {
            record_external(engine, work, provider, listed, event.occurred_at, now).await
        }
        None => Ok(None),
    }
}
