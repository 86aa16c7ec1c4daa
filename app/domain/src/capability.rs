//! What a provider declares about one kind of operation, and the strategy that follows from it.

use std::time::Duration;

pub use self::units::MinorUnits;

mod units;

/// The provider's memory of a step's key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Idempotency {
    /// How long the provider remembers a key from its first use.
    pub window: Duration,
    /// Whether a decline is stored under the key too, so that a replayed one speaks for the first.
    pub declines_stored: bool,
}

/// How an operation's outcome can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lookup {
    /// Whether our own reference finds the object, not only the provider's id.
    pub by_reference: bool,
    /// After how long a "not found" is proof; `None` where the provider promises nothing.
    pub consistency_bound: Option<Duration>,
}

/// One mutating endpoint of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepSpec {
    /// Its name, the last part of the idempotency key.
    pub name: &'static str,
    /// The provider's memory of its key; `None` where it has none.
    pub idempotency: Option<Idempotency>,
}

/// What a provider promises for one kind of operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capability {
    /// The provider's name.
    pub provider: &'static str,
    /// The steps that make the effect, in order.
    pub steps: Vec<StepSpec>,
    /// The step that cancels an object nobody has paid.
    pub cancel: Option<StepSpec>,
    /// Whether a cancel by our key works where the object's id is unknown.
    pub cancel_by_key: bool,
    /// Whether the provider refuses a second object with the same reference of ours.
    pub unique_reference: bool,
    /// How to ask; `None` where nobody can.
    pub lookup: Option<Lookup>,
    /// Whether the provider tells news by itself.
    pub webhooks: bool,
    /// Whether its contract says that a decline takes no money.
    pub decline_takes_no_money: bool,
    /// Whether its record names an amount, which then has to be ours.
    pub names_amount: bool,
    /// How it counts money.
    pub minor_units: MinorUnits,
    /// Whether a failure told after a success undoes it (refunds).
    pub late_failure_reverses: bool,
    /// Whether nothing takes effect without our last step: an object that waits for it and was
    /// never sent it is harmless, and may be left behind where it cannot be cancelled.
    pub needs_our_last_step: bool,
    /// Whether a shopper who was sent to the provider's page holds enough to pay a declined object
    /// without us: then a decline is the end only once the object is cancelled.
    pub declined_stays_payable: bool,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long an answer may take. It ends a call, never an operation.
    pub response_timeout: Duration,
    /// After how long an unknown outcome is handed to a person.
    pub deadline: Duration,
}

/// Kinds of providers, by what they leave us after an unknown result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// A key and a lookup.
    A,
    /// A unique external reference and a lookup by it.
    B,
    /// A key, no lookup.
    C,
    /// Nothing.
    D,
    /// A cancel by key.
    E,
}

/// What may be done after an unknown result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strategy {
    /// The provider's kind.
    pub class: Class,
    /// Ask for the outcome.
    pub look_up: bool,
    /// Send the same bytes with the same key again.
    pub replay: bool,
    /// Turn an unknown into a known nothing by cancelling it.
    pub cancel_unknown: bool,
    /// Hand it to a person at once.
    pub review_at_once: bool,
}

/// Derives the strategy from what is declared. The only place that does.
pub fn strategy(capability: &Capability) -> Strategy {
    let keyed = capability.steps.iter().all(|step| step.idempotency.is_some());
    let asks = capability.lookup.is_some();
    let class = if capability.cancel_by_key {
        Class::E
    } else if keyed && asks {
        Class::A
    } else if asks && capability.unique_reference {
        Class::B
    } else if keyed {
        Class::C
    } else {
        Class::D
    };
    Strategy {
        class,
        look_up: asks,
        replay: keyed || (asks && capability.unique_reference),
        cancel_unknown: capability.cancel_by_key,
        review_at_once: !asks && !keyed && !capability.cancel_by_key,
    }
}

#[cfg(test)]
mod tests;
