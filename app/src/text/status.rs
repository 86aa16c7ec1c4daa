//! What a shopper reads about an order and its operations: one table for every surface.
//!
//! For each state there is what is known, the same in a sentence, what happens next, and which
//! controls exist. Pages, the live panel, lists and e-mails read from here and have no words of
//! their own. Nothing here says "failed", "error" or "try again" unless a definitive verdict is
//! stored.

use domain::{
    mail::Fact,
    operation::{CanceledWhy, ReviewReason, State},
    order::OrderState,
    refund_request::{AskedWhy, DeclinedWhy, RequestState},
    view::{CheckoutView, Face, RefundRequestView, RefundView},
};
use payments::Letter;

use super::{Lang, MAIL, cards, money::money, say, time::date_of};

/// The words for one moment of an operation or an order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words {
    /// What is known, in one line.
    pub heading: String,
    /// The same in a sentence.
    pub sentence: String,
    /// What happens next, or what the shopper may do.
    pub next: String,
}

/// Something that a shopper can do on the order's page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Pay once more: a new attempt with a new key. Only after a definitive no.
    PayAgain,
    /// The provider's own step: its page, its link.
    Confirm,
    /// Look again: a link that asks and sends nothing.
    CheckAgain,
    /// Give the order up.
    GiveUp,
    /// Ask for a refund: a person answers, nothing moves by itself.
    AskRefund,
}

macro_rules! row {
    ($lang:expr, $group:ident.$row:ident) => {
        Words {
            heading: say!($lang, status.$group.$row.heading).to_owned(),
            sentence: say!($lang, status.$group.$row.sentence).to_owned(),
            next: say!($lang, status.$group.$row.next).to_owned(),
        }
    };
}

/// The words for a checkout as it is stored.
pub fn words(lang: Lang, view: &CheckoutView) -> Words {
    match (view.order_state, view.payment.face) {
        (OrderState::RefundDue, Face::Paid) if is_held_up(view) => {
            row!(lang, order.refund_held_up)
        }
        (OrderState::RefundDue, Face::Paid) => row!(lang, order.refund_due),
        (OrderState::Refunded, Face::Paid) => row!(lang, order.refunded),
        (OrderState::PartiallyRefunded, Face::Paid) => row!(lang, order.partly_refunded),
        (_, face) => of_face(lang, view, face),
    }
}

/// Whether the newest refund of ours was refused, came back, or waits for a person: its owner sees
/// that.
fn is_held_up(view: &CheckoutView) -> bool {
    let Some(owner) = &view.owner else { return false };
    owner.refunds.iter().rfind(|it| !it.outside).is_some_and(|it| {
        matches!(
            it.state,
            State::Rejected | State::Reversed | State::Canceled | State::RequiresReview
        )
    })
}

fn of_face(lang: Lang, view: &CheckoutView, face: Face) -> Words {
    let payment = &view.payment;
    let given_up = matches!(
        view.order_state,
        OrderState::CancelRequested
            | OrderState::Canceled
            | OrderState::RefundDue
            | OrderState::Refunded
    );
    match face {
        // Proven not executed, and sent again.
        Face::Sending if payment.state == State::RetryScheduled => row!(lang, payment.resending),
        Face::Sending => row!(lang, payment.sending),
        Face::ConfirmAtBank if payment.provider == "paypal" => row!(lang, payment.confirm_paypal),
        Face::ConfirmAtBank => row!(lang, payment.confirm),
        Face::Checking if given_up => row!(lang, payment.checking_given_up),
        Face::Checking if payment.unknown_long => row!(lang, payment.checking_long),
        Face::Checking => row!(lang, payment.checking),
        Face::InReview if given_up => row!(lang, payment.review_given_up),
        Face::InReview if payment.review_reason == Some(ReviewReason::Deadline) => {
            row!(lang, payment.review_deadline)
        }
        Face::InReview => row!(lang, payment.review),
        Face::Paid => row!(lang, payment.paid),
        Face::Declined => declined(lang, view),
        Face::NotCompleted => not_completed(lang, view),
        Face::Reversed => reversed(lang),
    }
}

/// The one state in which the shopper has to write to us.
fn reversed(lang: Lang) -> Words {
    Words {
        heading: say!(lang, status.payment.reversed.heading).to_owned(),
        sentence: say!(lang, status.payment.reversed.sentence).to_owned(),
        next: say!(lang, status.payment.reversed.next, address = MAIL),
    }
}

fn declined(lang: Lang, view: &CheckoutView) -> Words {
    let code = view.payment.decline_code.as_deref();
    let mut sentence = code.map_or(String::new(), |code| cards::decline(lang, code).to_owned());
    if view.payment.no_money_taken {
        sentence = format!("{} {sentence}", say!(lang, status.payment.declined.no_money));
    }
    Words {
        heading: say!(lang, status.payment.declined.heading).to_owned(),
        sentence: sentence.trim().to_owned(),
        next: may_pay(lang, view, say!(lang, status.payment.declined.next)),
    }
}

/// Whether the owner may pay again is a fact; a non-owner is not told to.
fn may_pay(lang: Lang, view: &CheckoutView, words: &'static str) -> String {
    let words = match &view.owner {
        Some(owner) if owner.pay_attempt.is_some() => words,
        Some(_) if view.order_state == OrderState::AwaitingPayment => {
            say!(lang, status.payment.sold_out.next)
        }
        Some(_) if view.order_state == OrderState::Canceled => {
            say!(lang, status.order.canceled.next)
        }
        Some(_) | None => "",
    };
    words.to_owned()
}

fn not_completed(lang: Lang, view: &CheckoutView) -> Words {
    let sentence = match view.payment.canceled_why {
        Some(CanceledWhy::NeverExecuted) => {
            say!(lang, status.payment.not_completed.never_executed)
        }
        Some(CanceledWhy::OurFault) => say!(lang, status.payment.not_completed.our_fault),
        Some(CanceledWhy::Expired) => say!(lang, status.payment.not_completed.expired),
        Some(CanceledWhy::ByShopper) => say!(lang, status.payment.not_completed.by_shopper),
        Some(CanceledWhy::ByProvider | CanceledWhy::Operator) | None => {
            say!(lang, status.payment.not_completed.other)
        }
    };
    Words {
        heading: say!(lang, status.payment.not_completed.heading).to_owned(),
        sentence: sentence.to_owned(),
        next: may_pay(lang, view, say!(lang, status.payment.not_completed.next)),
    }
}

/// Whether the provider is still asked although a person looks at it too: only where nothing but
/// time has run out.
fn is_asked_beside_a_person(view: &CheckoutView) -> bool {
    let payment = &view.payment;
    payment.face == Face::InReview && payment.review_reason == Some(ReviewReason::Deadline)
}

/// What the viewer can do. While an outcome is not known there is nothing to pay with.
pub fn controls(view: &CheckoutView) -> Vec<Control> {
    let payment = &view.payment;
    let mut controls = Vec::new();
    if payment.action_url.is_some() {
        controls.push(Control::Confirm);
    } else if payment.face == Face::Checking || is_asked_beside_a_person(view) {
        controls.push(Control::CheckAgain);
    }
    let Some(owner) = &view.owner else { return controls };
    if owner.pay_attempt.is_some() {
        controls.push(Control::PayAgain);
    }
    let on_its_way = match payment.face {
        // Proven not executed: it may still end as a nothing at once.
        Face::Sending => payment.state != State::RetryScheduled,
        Face::Checking | Face::InReview => true,
        Face::ConfirmAtBank | Face::Paid | Face::Declined | Face::NotCompleted | Face::Reversed => {
            false
        }
    };
    if view.order_state == OrderState::AwaitingPayment && !on_its_way {
        controls.push(Control::GiveUp);
    }
    if payment.face == Face::Paid && owner.ask_refund.is_some() {
        controls.push(Control::AskRefund);
    }
    controls
}

/// What is being done while the outcome is not known.
pub fn doing(lang: Lang, view: &CheckoutView) -> &'static str {
    match (view.payment.face, view.payment.state) {
        (Face::Sending, State::RetryScheduled) => say!(lang, status.doing.resending),
        (Face::Sending, _) => say!(lang, status.doing.sending),
        (Face::Checking, State::Requested) => say!(lang, status.doing.waiting),
        (Face::Checking, _) => say!(lang, status.doing.asking),
        (Face::InReview, _) if is_asked_beside_a_person(view) => {
            say!(lang, status.doing.person_and_checks)
        }
        (Face::InReview, _) => say!(lang, status.doing.person),
        (Face::ConfirmAtBank, _) => say!(lang, status.doing.confirm),
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

/// An order in a few words, for lists: money that went back speaks louder than the payment.
pub fn short(lang: Lang, order: OrderState, face: Face, provider: &str) -> &'static str {
    match (order, face) {
        (OrderState::Refunded, _) => say!(lang, status.short.refunded),
        (OrderState::PartiallyRefunded, _) => say!(lang, status.short.partly_refunded),
        (OrderState::RefundDue, _) => say!(lang, status.short.refund_due),
        (OrderState::Canceled, face) if !matches!(face, Face::Checking | Face::InReview) => {
            say!(lang, status.short.canceled)
        }
        (_, Face::Sending) => say!(lang, status.short.sending),
        (_, Face::ConfirmAtBank) if provider == "paypal" => say!(lang, status.short.confirm_paypal),
        (_, Face::ConfirmAtBank) => say!(lang, status.short.confirm),
        (_, Face::Checking) => say!(lang, status.short.checking),
        (_, Face::InReview) => say!(lang, status.short.review),
        (_, Face::Paid) => say!(lang, status.short.paid),
        (_, Face::Declined) => say!(lang, status.short.declined),
        (_, Face::NotCompleted) => say!(lang, status.short.not_completed),
        (_, Face::Reversed) => say!(lang, status.short.reversed),
    }
}

macro_rules! partner {
    ($lang:expr, $group:ident, $short:ident, $sentence:ident, $next:ident) => {
        Words {
            heading: say!($lang, status.$group.$short).to_owned(),
            sentence: say!($lang, status.$group.$sentence).to_owned(),
            next: say!($lang, status.$group.$next).to_owned(),
        }
    };
}

/// A refund, for the owner; its heading goes with the amount.
pub fn refund(lang: Lang, view: &RefundView) -> Words {
    if view.outside {
        return outside(lang, view.state);
    }
    match view.state {
        State::Created | State::Requested | State::RequiresAction | State::RetryScheduled => {
            partner!(lang, refund, going_short, going, going_next)
        }
        State::PendingConfirmation => {
            partner!(lang, refund, checking_short, checking, checking_next)
        }
        State::RequiresReview => partner!(lang, refund, review_short, review, review_next),
        State::Succeeded => partner!(lang, refund, sent_short, sent, sent_next),
        State::Rejected => partner!(lang, refund, refused_short, refused, refused_next),
        State::Reversed => partner!(lang, refund, undone_short, undone, undone_next),
        State::Canceled => partner!(lang, refund, waiting_short, waiting, waiting_next),
    }
}

/// What the bank or the provider takes back without us: we sent nothing and promise nothing.
fn outside(lang: Lang, state: State) -> Words {
    match state {
        State::Created
        | State::Requested
        | State::RequiresAction
        | State::RetryScheduled
        | State::PendingConfirmation => {
            partner!(lang, refund, disputed_short, disputed, disputed_next)
        }
        State::RequiresReview => {
            partner!(lang, refund, outside_review_short, outside_review, outside_review_next)
        }
        State::Succeeded => partner!(lang, refund, outside_short, outside, outside_next),
        State::Rejected | State::Canceled => {
            partner!(lang, refund, outside_over_short, outside_over, outside_over_next)
        }
        State::Reversed => {
            partner!(lang, refund, outside_undone_short, outside_undone, outside_undone_next)
        }
    }
}

/// A shipment, for the owner.
pub fn parcel(lang: Lang, state: State, order: OrderState) -> Words {
    let unwanted = matches!(order, OrderState::RefundDue | OrderState::Refunded);
    match state {
        State::Created | State::Requested | State::RetryScheduled | State::RequiresAction => {
            partner!(lang, parcel, going_short, going, going_next)
        }
        State::PendingConfirmation => {
            partner!(lang, parcel, checking_short, checking, checking_next)
        }
        State::RequiresReview => partner!(lang, parcel, review_short, review, review_next),
        State::Succeeded => partner!(lang, parcel, sent_short, sent, sent_next),
        State::Canceled if unwanted => {
            partner!(lang, parcel, stopped_short, stopped, stopped_next)
        }
        State::Rejected | State::Canceled => {
            partner!(lang, parcel, waiting_short, waiting, waiting_next)
        }
        State::Reversed => partner!(lang, parcel, undone_short, undone, undone_next),
    }
}

/// An invoice, for the owner.
pub fn invoice(lang: Lang, state: State, number: &str) -> Words {
    match state {
        State::Created | State::Requested | State::RetryScheduled | State::RequiresAction => {
            partner!(lang, invoice, going_short, going, going_next)
        }
        State::PendingConfirmation => {
            partner!(lang, invoice, checking_short, checking, checking_next)
        }
        State::RequiresReview => partner!(lang, invoice, review_short, review, review_next),
        State::Succeeded => Words {
            heading: say!(lang, status.invoice.sent_short, number = number),
            sentence: say!(lang, status.invoice.sent, number = number),
            next: say!(lang, status.invoice.sent_next).to_owned(),
        },
        State::Rejected | State::Canceled => {
            partner!(lang, invoice, waiting_short, waiting, waiting_next)
        }
        State::Reversed => partner!(lang, invoice, undone_short, undone, undone_next),
    }
}

/// Why a refund is asked for.
pub fn asked_why(lang: Lang, why: AskedWhy) -> &'static str {
    match why {
        AskedWhy::ChangedMind => say!(lang, status.asking.changed_mind),
        AskedWhy::Damaged => say!(lang, status.asking.damaged),
        AskedWhy::NotAsExpected => say!(lang, status.asking.not_as_expected),
        AskedWhy::NotArrived => say!(lang, status.asking.not_arrived),
    }
}

/// A refund that was asked for: when, and what a person made of it. Nothing once money goes back:
/// the refund speaks for itself.
pub fn asked(lang: Lang, request: &RefundRequestView) -> Option<String> {
    let when = date_of(lang, request.asked_at);
    match request.state {
        RequestState::Open => Some(say!(lang, status.asking.open, when = when)),
        RequestState::Answered => None,
        RequestState::Declined => {
            let why = match request.declined_why {
                Some(DeclinedWhy::NotReturned) => say!(lang, status.asking.not_returned),
                Some(DeclinedWhy::NotAsItWas) => say!(lang, status.asking.not_as_it_was),
                Some(DeclinedWhy::Other) | None => say!(lang, status.asking.other),
            };
            let no = say!(lang, status.asking.no, when = when);
            Some(format!("{no} {why} {}", say!(lang, status.asking.after_no)))
        }
    }
}

/// What a mail tells, from the same table. What happens next is said differently where the page
/// speaks of itself.
pub fn mailed(lang: Lang, letter: &Letter) -> Words {
    let view = &letter.view;
    match (letter.fact, &letter.refund) {
        (Fact::Paid, _) => {
            // A receipt stays one, whatever became of its order since; only that it is packed may
            // not be so any more.
            let paid = row!(lang, payment.paid);
            let next = if view.order_state == OrderState::Paid { paid.next } else { String::new() };
            Words { next, ..paid }
        }
        (Fact::Declined | Fact::NotCompleted, _) => words(lang, view),
        (Fact::StillUnknown | Fact::WithAPerson, _) => {
            let next = match view.order_state {
                OrderState::AwaitingPayment => say!(lang, mail.waiting),
                OrderState::Paid
                | OrderState::CancelRequested
                | OrderState::Canceled
                | OrderState::RefundDue
                | OrderState::PartiallyRefunded
                | OrderState::Refunded
                | OrderState::PaymentReversed => say!(lang, mail.waiting_given_up),
            };
            Words { next: next.to_owned(), ..words(lang, view) }
        }
        (Fact::PaymentUnwanted, _) => row!(lang, order.refund_due),
        (Fact::PaymentReversed, _) => reversed(lang),
        (Fact::RefundSent | Fact::RefundRefused | Fact::RefundUndone, Some(it)) => {
            let words = refund(lang, it);
            let amount = money(lang, it.amount);
            let heading = say!(lang, mail.refund, amount = amount, what = words.heading);
            let next = match letter.fact {
                Fact::RefundRefused | Fact::RefundUndone if !it.outside => {
                    say!(lang, mail.other_way).to_owned()
                }
                Fact::Paid
                | Fact::PaymentUnwanted
                | Fact::Declined
                | Fact::NotCompleted
                | Fact::StillUnknown
                | Fact::WithAPerson
                | Fact::PaymentReversed
                | Fact::RefundSent
                | Fact::RefundRefused
                | Fact::RefundUndone => words.next,
            };
            Words { heading, next, ..words }
        }
        (Fact::RefundSent | Fact::RefundRefused | Fact::RefundUndone, None) => words(lang, view),
    }
}

/// What a post that led to a page has to say there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// A second post for an order that is being paid named another card.
    OtherCard,
    /// A post for another attempt came to an order that takes none.
    NoPayment,
    /// A post with another id for a cart that is being paid.
    AlreadyPaying,
    /// A refund was asked for where none can be asked for any more.
    NoRefund,
}

impl Note {
    /// Its words.
    pub fn words(self, lang: Lang) -> &'static str {
        match self {
            Self::OtherCard => say!(lang, status.label.other_card),
            Self::NoPayment => say!(lang, status.label.no_payment),
            Self::AlreadyPaying => say!(lang, status.label.already_paying),
            Self::NoRefund => say!(lang, status.asking.closed),
        }
    }
}
