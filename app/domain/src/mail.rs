//! What a shopper is written to about: one mail per fact, and only while the fact still is one.

use std::fmt;

use crate::{
    operation::{Kind, State},
    words,
};

/// Where a shopper wants to be written to. Its `Debug` tells nothing; only the store and a mail's
/// envelope read it.
#[derive(Clone, PartialEq, Eq)]
pub struct Recipient(String);

impl Recipient {
    /// An address that was checked.
    pub const fn new(checked: String) -> Self {
        Self(checked)
    }

    /// The address itself: for the envelope and the store, never for a log.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Enough for its owner to know it by: `a…@example.org`.
    pub fn masked(&self) -> String {
        let (name, host) = self.0.rsplit_once('@').unwrap_or(("", &self.0));
        let first: String = name.chars().take(1).collect();
        format!("{first}…@{host}")
    }
}

impl fmt::Debug for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recipient(…)")
    }
}

/// What a mail tells. It is about one operation, and told once for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fact {
    /// The order is paid: the receipt.
    Paid,
    /// Money came that the order no longer needed: it goes back.
    PaymentUnwanted,
    /// The provider said no, after the shopper had been told that it was not known.
    Declined,
    /// Proven not to have happened, after the shopper had been told that it was not known.
    NotCompleted,
    /// Not known for longer than somebody waits at a page.
    StillUnknown,
    /// Not known, and handed to a person.
    WithAPerson,
    /// The provider undid the payment.
    PaymentReversed,
    /// Money went back: we sent it, or the bank or the provider took it.
    RefundSent,
    /// The provider refused to give money back.
    RefundRefused,
    /// Money that had gone back came to us again.
    RefundUndone,
}

words!(Fact {
    Paid => "paid",
    PaymentUnwanted => "payment_unwanted",
    Declined => "declined",
    NotCompleted => "not_completed",
    StillUnknown => "still_unknown",
    WithAPerson => "with_a_person",
    PaymentReversed => "payment_reversed",
    RefundSent => "refund_sent",
    RefundRefused => "refund_refused",
    RefundUndone => "refund_undone",
});

/// What a success does to its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// It pays the order.
    Pays,
    /// The order cannot take it: its refund is owed.
    Unwanted,
    /// Neither: it is history, or a person looks at it.
    Neither,
}

/// The one table: which change of an operation is worth a mail.
///
/// `promised` tells that the shopper was told to wait for the outcome, or may have left the page
/// meanwhile. A no at once is seen on the page and needs no mail. That an outcome stays unknown is
/// no change, and comes from the clock.
pub fn fact_of(kind: &Kind, to: State, taken: Taken, promised: bool) -> Option<Fact> {
    let payment = *kind == Kind::PAYMENT;
    let refund = *kind == Kind::REFUND;
    let elsewhere = *kind == Kind::EXTERNAL;
    match to {
        State::Succeeded if payment => match taken {
            Taken::Pays => Some(Fact::Paid),
            Taken::Unwanted => Some(Fact::PaymentUnwanted),
            Taken::Neither => None,
        },
        State::Rejected if payment => promised.then_some(Fact::Declined),
        State::Canceled if payment => promised.then_some(Fact::NotCompleted),
        State::RequiresReview if payment => Some(Fact::WithAPerson),
        State::Reversed if payment => Some(Fact::PaymentReversed),
        State::Succeeded if refund || elsewhere => Some(Fact::RefundSent),
        State::Rejected if refund => Some(Fact::RefundRefused),
        // Who was told that it went is told that it came again, whoever had sent it.
        State::Reversed if refund || elsewhere => Some(Fact::RefundUndone),
        State::Created
        | State::Requested
        | State::RequiresAction
        | State::RetryScheduled
        | State::PendingConfirmation
        | State::RequiresReview
        | State::Succeeded
        | State::Rejected
        | State::Canceled
        | State::Reversed => None,
    }
}

/// Where the operation of a mail stands when the mail is about to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Its state.
    pub state: State,
    /// Its outcome is unknown.
    pub unknown: bool,
    /// Another payment of the order took money, or a later one was begun.
    pub passed_by: bool,
    /// A payment: what it took was given back already. A refund that did not stay with the
    /// shopper: another one, opened after that, has sent money back.
    pub given_back: bool,
}

/// Whether a mail still says what is so. One that was held up until news overtook it is not sent.
pub fn is_still_so(fact: Fact, now: Standing) -> bool {
    match fact {
        Fact::Paid | Fact::RefundSent => now.state == State::Succeeded,
        Fact::PaymentUnwanted => now.state == State::Succeeded && !now.given_back,
        Fact::Declined => now.state == State::Rejected && !now.passed_by,
        Fact::NotCompleted => now.state == State::Canceled && !now.passed_by,
        Fact::StillUnknown => now.unknown && !now.passed_by,
        Fact::WithAPerson => now.state == State::RequiresReview && !now.passed_by,
        Fact::PaymentReversed => now.state == State::Reversed,
        // Both say that the money is with us.
        Fact::RefundUndone => now.state == State::Reversed && !now.given_back,
        Fact::RefundRefused => now.state == State::Rejected && !now.given_back,
    }
}

#[cfg(test)]
mod tests;
