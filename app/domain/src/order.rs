//! The order: what the shopper wants. It pays once.

use serde::{Deserialize, Serialize};

use crate::words;

/// Where an order stands. Its payments, refunds, invoice and shipment have states of their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderState {
    /// Nothing is known to be paid; an outcome may be unknown.
    AwaitingPayment,
    /// One payment succeeded.
    Paid,
    /// Asked to be cancelled while a payment's outcome is not settled.
    CancelRequested,
    /// Given up, its stock is free again.
    Canceled,
    /// Money arrived that must go back.
    RefundDue,
    /// Part of the money went back.
    PartiallyRefunded,
    /// All of the money went back.
    Refunded,
    /// The provider undid the payment.
    PaymentReversed,
}

words!(OrderState {
    AwaitingPayment => "awaiting_payment",
    Paid => "paid",
    CancelRequested => "cancel_requested",
    Canceled => "canceled",
    RefundDue => "refund_due",
    PartiallyRefunded => "partially_refunded",
    Refunded => "refunded",
    PaymentReversed => "payment_reversed",
});

/// What may happen to an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderNews {
    /// A payment succeeded and this order takes it.
    PaymentTaken,
    /// A payment succeeded that this order cannot take: its refund is owed.
    PaymentUnwanted,
    /// The payment that paid the order was undone by the provider.
    PaymentUndone,
    /// The shopper or the shop gives the order up; `open` tells that an outcome is not settled.
    CancelAsked {
        /// Whether some payment operation is open or in review.
        open: bool,
    },
    /// Every payment operation is settled and none of them took money.
    AllClosed,
    /// The sum of succeeded refunds changed.
    Refunded {
        /// Whether it now equals all that was taken.
        total: bool,
        /// Whether it is above zero.
        some: bool,
    },
}

/// Decides where an order goes. Pure and total; what does not concern a state leaves it.
pub fn decide_order(state: OrderState, news: OrderNews) -> OrderState {
    use OrderNews as N;
    use OrderState as S;
    match (state, news) {
        (S::AwaitingPayment, N::PaymentTaken) => S::Paid,
        (S::AwaitingPayment | S::CancelRequested | S::Canceled, N::PaymentUnwanted) => S::RefundDue,
        (S::AwaitingPayment, N::CancelAsked { open: true }) => S::CancelRequested,
        (S::AwaitingPayment, N::CancelAsked { open: false }) => S::Canceled,
        (S::CancelRequested, N::AllClosed) => S::Canceled,
        (S::Paid | S::PartiallyRefunded, N::PaymentUndone) => S::PaymentReversed,
        (S::RefundDue, N::PaymentUndone) => S::Canceled,
        // A refund that was undone gives the order its earlier standing back.
        (S::Paid | S::PartiallyRefunded | S::Refunded, N::Refunded { total: true, .. }) => {
            S::Refunded
        }
        (S::Paid | S::PartiallyRefunded | S::Refunded, N::Refunded { some: true, .. }) => {
            S::PartiallyRefunded
        }
        (S::PartiallyRefunded, N::Refunded { .. }) => S::Paid,
        // What was to go back entirely and did not is owed; its goods may be sold to others.
        (S::Refunded, N::Refunded { .. }) => S::RefundDue,
        (S::RefundDue, N::Refunded { total: true, .. }) => S::Refunded,
        (
            S::AwaitingPayment
            | S::Paid
            | S::CancelRequested
            | S::Canceled
            | S::RefundDue
            | S::PartiallyRefunded
            | S::Refunded
            | S::PaymentReversed,
            _,
        ) => state,
    }
}

#[cfg(test)]
mod tests;
