//! A person's decision about an operation in review: only on what a fresh question has shown, and
//! never a charge.

use domain::{
    evidence::{Act, Evidence},
    id::OperationId,
    money::Money,
    operation::{Effect, State},
};

use crate::{
    Error, clock,
    engine::{Engine, Lease},
};

/// What a person decides.
#[derive(Clone, Debug)]
pub struct ReviewDecision {
    /// The order's number for people.
    pub order: String,
    /// Which of its operations.
    pub operation: OperationId,
    /// What becomes of it.
    pub act: Act,
    /// The effect that the person has seen on record, in the smallest unit: that they repeat it is
    /// their confirmation.
    pub seen_minor: Option<i64>,
    /// Who decides, and why: for the audit.
    pub who: String,
    /// Why.
    pub reason: String,
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReviewOutcome {
    /// It is decided, and on record.
    Decided(State),
    /// What is known is older than the review: the provider is asked now, and nothing is decided.
    AskedFirst,
    /// The effect on record is another one than the person saw; nothing is decided.
    OtherEffect(Option<Money>),
    /// No person is asked about it; nothing is decided.
    NotInReview(State),
    /// What is on record does not allow it; nothing is decided.
    NotAllowed,
}

/// Lets `decide` judge what a person wants.
pub async fn decide(engine: &Engine, wish: &ReviewDecision) -> Result<ReviewOutcome, Error> {
    let now = clock::now();
    let mut work = engine.store.write().await?;
    let order = work.order_of_reference(&wish.order).await?.ok_or(Error::NotFound)?;
    let operation = work.operation(wish.operation).await?.filter(|it| it.order_id == order.id);
    let operation = operation.ok_or(Error::NotFound)?;
    if operation.state != State::RequiresReview {
        return Ok(ReviewOutcome::NotInReview(operation.state));
    }
    if operation.effect.map(|effect| effect.minor) != wish.seen_minor {
        return Ok(ReviewOutcome::OtherEffect(operation.effect));
    }
    if engine.capability(&operation).is_err() {
        return Err(Error::Invalid(format!(
            "{} is not set up, so it cannot be asked what is true now",
            operation.provider
        )));
    }
    let loaded = engine.load(work.as_mut(), operation.id).await?;
    let evidence = Evidence::Operator(wish.act);
    let outcome = engine.apply(work.as_mut(), loaded, &evidence, Lease::Keep, now).await?;
    let done = match outcome.decision.to {
        Some(state) => {
            let (act, subject) = (wish.act.as_str(), operation.id.to_string());
            work.insert_audit(&wish.who, act, &subject, &wish.reason, now).await?;
            ReviewOutcome::Decided(state)
        }
        None if outcome.decision.effects.contains(&Effect::Lookup) => ReviewOutcome::AskedFirst,
        None => ReviewOutcome::NotAllowed,
    };
    work.commit().await?;
    engine.announce(&outcome);
    Ok(done)
}
