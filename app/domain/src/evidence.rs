//! Evidence: what an answer, an event, a clock or a person can tell about an operation.
//!
//! An adapter translates the wire into exactly one [`Verdict`]; nothing above it sees a status
//! code. Every channel then hands an [`Evidence`] to [`decide`](crate::operation::decide).

use std::time::Duration;

use crate::{money::Money, operation::ReviewReason, schedule::Timestamp, words};

/// What the provider's object says about itself, as far as it can be compared with ours.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// The provider's id of the object.
    pub provider_id: Option<String>,
    /// The provider's id of the effect itself, where it differs: a capture, a charge.
    pub effect_id: Option<String>,
    /// Our reference, as stored there.
    pub reference: Option<String>,
    /// The account it belongs to.
    pub account: Option<String>,
    /// The amount.
    pub amount: Option<Money>,
}

/// What the provider says became of the operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The effect exists.
    Succeeded,
    /// The provider said no; no effect exists and none can come from this object.
    Rejected {
        /// The provider's code.
        code: String,
    },
    /// The object is cancelled at the provider.
    Canceled,
    /// The effect existed and was undone.
    Reversed,
    /// The provider waits for the shopper.
    ActionRequired {
        /// Where the shopper goes.
        url: String,
        /// When the provider stops waiting.
        expires_at: Option<Timestamp>,
    },
    /// The provider is still at it.
    Processing,
}

/// Why a request was provably not executed although the provider answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotExecuted {
    /// Our credentials or settings were refused.
    Configuration,
    /// The request itself was refused as malformed.
    OurFault,
}

/// One answer, judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The provider's own word on this operation.
    Definitive(Outcome, Found),
    /// The step was taken; the named next one is needed.
    Accepted(Found),
    /// No byte of the request left.
    NotSent,
    /// Answered, and provably not executed.
    NotExecuted(NotExecuted),
    /// Told to come back before anything was done.
    RetryLater {
        /// How long the provider asks to wait.
        after: Option<Duration>,
    },
    /// It may or may not have happened. Ask before sending again.
    Indeterminate,
    /// A lookup found nothing under our reference.
    Absent,
    /// A lookup that said nothing, or an answer that cannot be newer than what is known.
    NoNews,
    /// The provider's records contradict ours or themselves.
    Contradicts(ReviewReason, Found),
}

impl Verdict {
    /// The short name that attempts, transitions and log lines carry.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Definitive(Outcome::Succeeded, _) => "definitive_succeeded",
            Self::Definitive(Outcome::Rejected { .. }, _) => "definitive_rejected",
            Self::Definitive(Outcome::Canceled, _) => "definitive_canceled",
            Self::Definitive(Outcome::Reversed, _) => "definitive_reversed",
            Self::Definitive(Outcome::ActionRequired { .. }, _) => "definitive_action_required",
            Self::Definitive(Outcome::Processing, _) => "definitive_processing",
            Self::Accepted(_) => "accepted",
            Self::NotSent => "not_sent",
            Self::NotExecuted(NotExecuted::Configuration) => "not_executed_configuration",
            Self::NotExecuted(NotExecuted::OurFault) => "not_executed_our_fault",
            Self::RetryLater { .. } => "retry_later",
            Self::Indeterminate => "indeterminate",
            Self::Absent => "absent",
            Self::NoNews => "no_news",
            Self::Contradicts(..) => "contradicts",
        }
    }

    /// Whether a first send that ended so leaves its step clean.
    pub fn keeps_clean(&self) -> bool {
        match self {
            Self::NotSent | Self::NotExecuted(_) | Self::RetryLater { .. } => true,
            Self::Definitive(..)
            | Self::Accepted(_)
            | Self::Indeterminate
            | Self::Absent
            | Self::NoNews
            | Self::Contradicts(..) => false,
        }
    }
}

/// What a person may decide about an operation in review.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Act {
    /// Take the recorded effect as it is.
    AcceptEffect,
    /// Give the recorded effect back.
    RefundEffect,
    /// Close it as not happened; only where nothing is visible at the provider.
    Cancel,
}

words!(Act {
    AcceptEffect => "accept_effect",
    RefundEffect => "refund_effect",
    Cancel => "cancel",
});

/// Something that was learned about an operation, by any channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// A worker is about to send a step and asks for the right to.
    Claim {
        /// Which step, by its place in the snapshot.
        step: usize,
        /// Until when it will own the operation.
        lease_until: Timestamp,
    },
    /// The answer to a send.
    Answer {
        /// Which step was sent.
        step: usize,
        /// When.
        sent_at: Timestamp,
        /// Whether the sender still owned the operation when the answer was recorded.
        own_lease: bool,
        /// Whether the provider marked it as a stored answer it gave before.
        cached: bool,
        /// What it says.
        verdict: Verdict,
    },
    /// The answer to a question about the outcome.
    Lookup {
        /// When it was asked.
        sent_at: Timestamp,
        /// Whether the asker still owned the operation when the answer was recorded.
        own_lease: bool,
        /// What it says.
        verdict: Verdict,
    },
    /// A verified event from the provider.
    Webhook {
        /// The provider's own time of the fact.
        occurred_at: Option<Timestamp>,
        /// What it says.
        verdict: Verdict,
    },
    /// A shopper came back or opened a page: worth a question, decides nothing.
    Hint,
    /// A worker's time ran out without a recorded answer.
    LeaseEnded,
    /// Time passed, or the order changed: see whether this operation has to end.
    Tick,
    /// A person decided, after a fresh lookup where there is one.
    Operator(Act),
}

impl Evidence {
    /// The short name of the channel, for the history.
    pub fn source(&self) -> &'static str {
        match self {
            Self::Claim { .. } => "worker",
            Self::Answer { own_lease: true, .. } => "response",
            Self::Answer { own_lease: false, .. } => "late_response",
            Self::Lookup { .. } => "lookup",
            Self::Webhook { .. } => "webhook",
            Self::Hint => "hint",
            Self::LeaseEnded => "lease_end",
            Self::Tick => "clock",
            Self::Operator(_) => "operator",
        }
    }

    /// What was learned, in one word, for the history.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Claim { .. } => "claimed",
            Self::Answer { verdict, .. }
            | Self::Lookup { verdict, .. }
            | Self::Webhook { verdict, .. } => verdict.name(),
            Self::Hint => "hint",
            Self::LeaseEnded => "no_answer_recorded",
            Self::Tick => "time_passed",
            Self::Operator(Act::AcceptEffect) => "accept_effect",
            Self::Operator(Act::RefundEffect) => "refund_effect",
            Self::Operator(Act::Cancel) => "cancel",
        }
    }
}
