//! What a shopper reads about a payment: one table for every face and state.
//!
//! Nothing here says "failed", "error" or "try again" unless a definitive verdict is stored.

use domain::{
    operation::{CanceledWhy, State},
    order::OrderState,
    view::{CheckoutView, Face},
};

/// The words for one moment of a payment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words {
    /// What is known, in one line.
    pub heading: &'static str,
    /// The same in a sentence.
    pub sentence: String,
    /// What happens next, or what the shopper may do.
    pub next: &'static str,
}

/// The words for a checkout as it is stored.
pub fn words(view: &CheckoutView) -> Words {
    let given_up = matches!(
        view.order_state,
        OrderState::CancelRequested | OrderState::RefundDue | OrderState::Refunded
    );
    match (view.order_state, view.payment.face) {
        (OrderState::RefundDue, Face::Paid) => Words {
            heading: "Your money is on its way back",
            sentence: "The payment arrived although this order no longer needed it.".to_owned(),
            next: "We are sending all of it back. You do not have to do anything.",
        },
        (OrderState::Refunded, Face::Paid) => Words {
            heading: "Refunded",
            sentence: "The payment for this order was sent back in full.".to_owned(),
            next: "Your bank shows it within a few days.",
        },
        (OrderState::PartiallyRefunded, Face::Paid) => Words {
            heading: "Paid, partly refunded",
            sentence: "A part of the payment was sent back.".to_owned(),
            next: "Your bank shows it within a few days.",
        },
        (_, face) => of_face(view, face, given_up),
    }
}

fn of_face(view: &CheckoutView, face: Face, given_up: bool) -> Words {
    match face {
        Face::Sending => Words {
            heading: "Sending your payment",
            sentence: "We have your order and are handing the payment to the provider.".to_owned(),
            next: "This page changes by itself. It is safe to close it.",
        },
        Face::ConfirmAtBank if view.payment.provider == "paypal" => Words {
            heading: "PayPal asks you to confirm",
            sentence: "The payment waits for you on PayPal's page.".to_owned(),
            next: "Confirm it there; this page changes by itself afterwards. It is safe to close it.",
        },
        Face::ConfirmAtBank => Words {
            heading: "Your bank asks you to confirm",
            sentence: "The payment waits for you on the provider's page.".to_owned(),
            next: "Confirm it there; this page changes by itself afterwards. It is safe to close it.",
        },
        Face::Checking if given_up => Words {
            heading: "Checking payment status",
            sentence: "You gave this order up. Do not pay again: we check automatically whether the payment went through.".to_owned(),
            next: "If money arrives after all, we send it back by ourselves. It is safe to close this page.",
        },
        Face::Checking => Words {
            heading: "Checking payment status",
            sentence: "Do not pay again: we check automatically.".to_owned(),
            next: "It is safe to close this page. Your order is kept, and this link shows how it went.",
        },
        Face::InReview => Words {
            heading: "We are still confirming your payment; a person is looking at it.",
            sentence: "You do not need to pay again.".to_owned(),
            next: "It is safe to close this page. Your order is kept, and this link shows how it went.",
        },
        Face::Paid => Words {
            heading: "Thank you. Your order is paid.",
            sentence: "The provider confirmed the payment.".to_owned(),
            next: "We pack it on the next working day. You do not have to do anything.",
        },
        Face::Declined => declined(view),
        Face::NotCompleted => not_completed(view),
        Face::Reversed => Words {
            heading: "Your payment was undone",
            sentence: "The provider took the payment back after it had gone through.".to_owned(),
            next: "We do not charge you again by ourselves. Please write to us with your order's reference.",
        },
    }
}

fn declined(view: &CheckoutView) -> Words {
    let mut sentence = view
        .payment
        .decline_code
        .as_deref()
        .map_or(String::new(), |code| super::cards::decline(code).to_owned());
    if view.payment.no_money_taken {
        sentence = format!("No money was taken. {sentence}");
    }
    Words {
        heading: "Declined.",
        sentence,
        next: may_pay(view, "You may pay with another card, or with this one once more."),
    }
}

/// Whether the owner may pay again is a fact; a non-owner is not told to.
fn may_pay(view: &CheckoutView, words: &'static str) -> &'static str {
    match &view.owner {
        Some(owner) if owner.pay_attempt.is_some() => words,
        Some(_) if view.order_state == OrderState::AwaitingPayment => {
            "Something in this order has just sold out, so it cannot be paid at the moment."
        }
        Some(_) if view.order_state == OrderState::Canceled => "This order is canceled.",
        Some(_) | None => "",
    }
}

fn not_completed(view: &CheckoutView) -> Words {
    let sentence = match view.payment.canceled_why {
        Some(CanceledWhy::NeverExecuted) => "We could not reach the provider. No money was taken.",
        Some(CanceledWhy::OurFault) => {
            "This was our mistake: our request to the provider was wrong. No money was taken."
        }
        Some(CanceledWhy::Expired) => "It was not confirmed in time. No money was taken.",
        Some(CanceledWhy::ByShopper) => "You gave the order up. No money was taken.",
        Some(CanceledWhy::ByProvider | CanceledWhy::Operator) | None => "No money was taken.",
    };
    Words {
        heading: "Payment was not completed.",
        sentence: sentence.to_owned(),
        next: may_pay(view, "You may pay again, with any card."),
    }
}

/// What is being done while the outcome is not known.
pub fn doing(view: &CheckoutView) -> &'static str {
    match (view.payment.face, view.payment.state) {
        (Face::Sending, _) => "Handing the payment to the provider.",
        (Face::Checking, State::Requested) => "Waiting for the provider's answer.",
        (Face::Checking, _) => "Asking the provider what became of the payment.",
        (Face::InReview, _) => "A person compares the provider's records with ours.",
        (Face::ConfirmAtBank, _) => "Waiting for your confirmation.",
        (Face::Paid | Face::Declined | Face::NotCompleted | Face::Reversed, _) => "",
    }
}

/// A face in the spelling that styles and tests use.
pub fn face_word(face: Face) -> &'static str {
    match face {
        Face::Sending => "sending",
        Face::ConfirmAtBank => "confirm_at_bank",
        Face::Checking => "checking",
        Face::InReview => "in_review",
        Face::Paid => "paid",
        Face::Declined => "declined",
        Face::NotCompleted => "not_completed",
        Face::Reversed => "reversed",
    }
}

/// A face in a few words, for lists.
pub fn short(face: Face) -> &'static str {
    match face {
        Face::Sending => "Sending payment",
        Face::ConfirmAtBank => "Waiting for your bank",
        Face::Checking => "Checking payment",
        Face::InReview => "Being looked at",
        Face::Paid => "Paid",
        Face::Declined => "Declined",
        Face::NotCompleted => "Not completed",
        Face::Reversed => "Payment undone",
    }
}

/// An order in a few words, for lists: money that went back speaks louder than the payment.
pub fn short_order(order: OrderState, face: Face) -> &'static str {
    match order {
        OrderState::Refunded => "Refunded",
        OrderState::PartiallyRefunded => "Partly refunded",
        OrderState::RefundDue => "Refund on its way",
        OrderState::Canceled => "Canceled",
        OrderState::AwaitingPayment
        | OrderState::Paid
        | OrderState::CancelRequested
        | OrderState::PaymentReversed => short(face),
    }
}

/// A refund's state, for the owner.
pub fn refund(state: State) -> &'static str {
    match state {
        State::Succeeded => "sent back",
        State::Rejected => "could not be sent back this way; we will write to you",
        State::Reversed => "came back to us; we will write to you",
        State::Canceled => "not sent yet; a person sees to it",
        State::Created
        | State::Requested
        | State::RequiresAction
        | State::RetryScheduled
        | State::PendingConfirmation => "on its way",
        State::RequiresReview => "being confirmed by a person",
    }
}

/// A shipment's state, for the owner.
pub fn parcel(state: State) -> &'static str {
    match state {
        State::Created | State::Requested | State::RetryScheduled | State::RequiresAction => {
            "being handed to the carrier"
        }
        State::PendingConfirmation => "being confirmed",
        State::RequiresReview => "being confirmed by a person",
        State::Succeeded => "handed to the carrier",
        State::Rejected | State::Canceled => "not handed over yet; a person sees to it",
        State::Reversed => "came back to us; we will write to you",
    }
}

/// An invoice's state, for the owner.
pub fn invoice(state: State, number: &str) -> String {
    match state {
        State::Created | State::Requested | State::RetryScheduled | State::RequiresAction => {
            "being written".to_owned()
        }
        State::PendingConfirmation => "being confirmed".to_owned(),
        State::RequiresReview => "being confirmed by a person".to_owned(),
        State::Succeeded => number.to_owned(),
        State::Rejected | State::Canceled => "not written yet; a person sees to it".to_owned(),
        State::Reversed => "withdrawn; we will write to you".to_owned(),
    }
}
