//! Checkouts in every state a page can meet, made by hand; the gallery and the panel's tests use
//! them alike.

use domain::{
    catalogue::Product,
    id::{CartId, CheckoutId},
    money::{Currency, Money},
    operation::{CanceledWhy, ReviewReason, State},
    order::OrderState,
    refund_request::{DeclinedWhy, RequestState},
    schedule::Timestamp,
    view::{CheckoutView, Face, LineView, OwnerView, PaymentView, RefundRequestView, RefundView},
};

/// 1 December 2026, 14:02:11 UTC.
pub const NOW: i64 = 1_796_133_731_000;

/// The cards that the demo offers, without the repeats.
pub const TOKENS: [&str; 4] = ["tok_visa", "tok_declined", "tok_lost_response", "tok_429"];

/// A named checkout.
pub struct Sample {
    /// What it shows.
    pub name: String,
    /// The checkout.
    pub view: CheckoutView,
}

/// The face that a state has when nothing is unusual.
pub fn face(state: State) -> Face {
    match state {
        State::Created | State::Requested | State::RetryScheduled => Face::Sending,
        State::RequiresAction => Face::ConfirmAtBank,
        State::PendingConfirmation => Face::Checking,
        State::RequiresReview => Face::InReview,
        State::Succeeded => Face::Paid,
        State::Rejected => Face::Declined,
        State::Canceled => Face::NotCompleted,
        State::Reversed => Face::Reversed,
    }
}

fn line(sku: &str, quantity: u32) -> Option<LineView> {
    let product = Product::find(sku)?;
    let unit = product.price(Currency::EUR)?;
    Some(LineView { sku: product.sku(), quantity, unit, total: unit.times(quantity)? })
}

fn owner(state: State) -> OwnerView {
    let closed = matches!(state, State::Rejected | State::Canceled);
    OwnerView {
        lines: [line("kettle", 1), line("sencha", 2)].into_iter().flatten().collect(),
        total: Money::new(9300, Currency::EUR),
        cart_id: CartId(uuid::Uuid::from_u128(7)),
        cart_version: 3,
        created_at: Timestamp(NOW - 90_000),
        refunds: Vec::new(),
        parcel: None,
        invoice: None,
        pay_attempt: closed.then_some(2),
        mail_promised: false,
        mail_to: None,
        refund_request: None,
        ask_refund: None,
    }
}

/// A checkout in this state, as its owner sees it.
pub fn checkout(state: State) -> CheckoutView {
    let face = face(state);
    let open = matches!(face, Face::Sending | Face::ConfirmAtBank | Face::Checking);
    let unknown = matches!(face, Face::Checking | Face::InReview);
    CheckoutView {
        checkout_id: CheckoutId(uuid::Uuid::from_u128(0x6f96_19ff_8b86_4011_b42d_00cf_4fc9_64ff)),
        reference: "P-7K3M-2QXA".to_owned(),
        order_state: match state {
            State::Succeeded => OrderState::Paid,
            State::Reversed => OrderState::PaymentReversed,
            State::Created
            | State::Requested
            | State::RequiresAction
            | State::RetryScheduled
            | State::PendingConfirmation
            | State::RequiresReview
            | State::Rejected
            | State::Canceled => OrderState::AwaitingPayment,
        },
        sequence: 4,
        payment: PaymentView {
            attempt: 1,
            state,
            face,
            since: Timestamp(NOW - 60_000),
            unknown_since: unknown.then_some(Timestamp(NOW - 60_000)),
            unknown_long: false,
            last_check_at: unknown.then_some(Timestamp(NOW - 8000)),
            next_check_at: (open || unknown).then_some(Timestamp(NOW + 12_000)),
            deadline_at: Timestamp(NOW + 1_740_000),
            action_url: (face == Face::ConfirmAtBank)
                .then(|| "https://pay.example/confirm/1".to_owned()),
            decline_code: (state == State::Rejected).then(|| "insufficient_funds".to_owned()),
            no_money_taken: matches!(state, State::Rejected | State::Canceled),
            canceled_why: (state == State::Canceled).then_some(CanceledWhy::NeverExecuted),
            review_reason: (state == State::RequiresReview).then_some(ReviewReason::Deadline),
            effect: None,
            provider: "examplepay".to_owned(),
        },
        settled: matches!(state, State::Succeeded | State::Reversed),
        now: Timestamp(NOW),
        owner: Some(owner(state)),
    }
}

fn sample(name: impl Into<String>, view: CheckoutView) -> Sample {
    Sample { name: name.into(), view }
}

fn with(state: State, change: impl FnOnce(&mut CheckoutView)) -> CheckoutView {
    let mut view = checkout(state);
    change(&mut view);
    view
}

/// Everything that a status page can look like.
pub fn all() -> Vec<Sample> {
    let mut samples: Vec<Sample> =
        State::ALL.iter().map(|state| sample(state.as_str(), checkout(*state))).collect();
    samples.extend(
        State::ALL.iter().map(|state| {
            sample(format!("{state}-stranger"), with(*state, |view| view.owner = None))
        }),
    );
    samples.extend(CanceledWhy::ALL.iter().map(|why| {
        let view = with(State::Canceled, |view| view.payment.canceled_why = Some(*why));
        sample(format!("canceled-{why}"), view)
    }));
    samples.push(sample(
        "rejected-unsure-of-money",
        with(State::Rejected, |view| view.payment.no_money_taken = false),
    ));
    samples.push(sample(
        "rejected-sold-out",
        with(State::Rejected, no_pay(OrderState::AwaitingPayment)),
    ));
    samples.push(sample(
        "rejected-order-canceled",
        with(State::Rejected, no_pay(OrderState::Canceled)),
    ));
    samples.push(sample(
        "pending-given-up",
        with(State::PendingConfirmation, |view| view.order_state = OrderState::CancelRequested),
    ));
    samples.push(sample(
        "pending-for-days",
        with(State::PendingConfirmation, |view| {
            view.payment.unknown_since = Some(Timestamp(NOW - 260_000_000));
            view.payment.unknown_long = true;
        }),
    ));
    samples.push(sample(
        "succeeded-other-amount",
        with(State::Succeeded, |view| {
            view.payment.effect = Some(Money::new(9301, Currency::EUR));
        }),
    ));
    for state in [OrderState::RefundDue, OrderState::Refunded, OrderState::PartiallyRefunded] {
        let view = with(State::Succeeded, |view| {
            view.order_state = state;
            let refund = if state == OrderState::RefundDue {
                State::PendingConfirmation
            } else {
                State::Succeeded
            };
            let amount = Money::new(4650, Currency::EUR);
            if let Some(owner) = &mut view.owner {
                let (outside, since) = (false, Timestamp(NOW));
                owner.refunds = vec![RefundView { state: refund, amount, outside, since }];
            }
        });
        samples.push(sample(format!("succeeded-{state}"), view));
    }
    for state in State::ALL {
        let view = with(State::Succeeded, |view| {
            let amount = Money::new(1200, Currency::EUR);
            if let Some(owner) = &mut view.owner {
                let (outside, since) = (false, Timestamp(NOW));
                owner.refunds = vec![RefundView { state: *state, amount, outside, since }];
                owner.parcel = Some(*state);
                owner.invoice = Some((*state, "INV-P-7K3M-2QXA".to_owned()));
            }
        });
        samples.push(sample(format!("after-{state}"), view));
    }
    for state in [State::PendingConfirmation, State::RequiresReview, State::Succeeded] {
        samples.push(sample(format!("{state}-with-mail"), with(state, with_mail)));
    }
    samples.push(sample("refund-may-be-asked-for", with(State::Succeeded, asked(None))));
    for state in RequestState::ALL {
        let view = with(State::Succeeded, asked(Some((*state, None))));
        samples.push(sample(format!("refund-asked-for-{state}"), view));
    }
    for why in DeclinedWhy::ALL {
        let view = with(State::Succeeded, asked(Some((RequestState::Declined, Some(*why)))));
        samples.push(sample(format!("refund-declined-{why}"), view));
    }
    samples.push(sample(
        "paypal-confirm",
        with(State::RequiresAction, |view| view.payment.provider = "paypal".to_owned()),
    ));
    samples
}

/// Whoever ordered it is written to.
fn with_mail(view: &mut CheckoutView) {
    let waits = matches!(view.payment.face, Face::Checking | Face::InReview);
    if let Some(owner) = &mut view.owner {
        owner.mail_promised = waits;
        owner.mail_to = Some("a…@example.org".to_owned());
    }
}

/// A refund was asked for, or may be.
fn asked(request: Option<(RequestState, Option<DeclinedWhy>)>) -> impl FnOnce(&mut CheckoutView) {
    move |view| {
        let Some(owner) = &mut view.owner else { return };
        let asked_at = Timestamp(NOW - 3_600_000);
        owner.refund_request = request.map(|(state, declined_why)| RefundRequestView {
            state,
            asked_at,
            declined_why,
        });
        owner.ask_refund = match request {
            None => Some(1),
            Some((RequestState::Answered, _)) => Some(2),
            Some((RequestState::Open | RequestState::Declined, _)) => None,
        };
    }
}

/// Nothing may be paid, for a reason that the order's state tells.
fn no_pay(state: OrderState) -> impl FnOnce(&mut CheckoutView) {
    move |view| {
        view.order_state = state;
        if let Some(owner) = &mut view.owner {
            owner.pay_attempt = None;
        }
    }
}
