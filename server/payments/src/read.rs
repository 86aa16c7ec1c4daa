//! What pages are told: stored facts, and which of them the viewer may see.

use domain::{
    id::{CheckoutId, CustomerId},
    mail::Recipient,
    money::Money,
    operation::{Kind, State},
    order::OrderState,
    view::{
        CartView, CheckoutView, Face, LineView, OrderSummary, OwnerView, PaymentView, RefundView,
    },
};

use crate::{
    Error, OperationRecord, OrderRecord, RefundRequestRecord, RequestView, TransitionView, asks,
    clock,
    engine::{Engine, goods_available, unsettled, waits},
    refunds, shop,
    store::{Cart, Operation, Order, OrderLine, Work},
};

/// A cart with today's prices.
pub fn cart_view(cart: &Cart) -> Result<CartView, Error> {
    let (lines, total) = shop::priced(cart)?;
    let count = lines.iter().map(|line| line.quantity).sum();
    Ok(CartView {
        id: cart.id,
        version: cart.version,
        lines: lines_of(&lines, total)?,
        total,
        count,
    })
}

fn lines_of(lines: &[OrderLine], total: Money) -> Result<Vec<LineView>, Error> {
    lines
        .iter()
        .map(|line| {
            let unit = Money::new(line.unit_minor, total.currency);
            Ok(LineView {
                sku: line.sku.clone(),
                quantity: line.quantity,
                unit,
                total: unit.times(line.quantity).ok_or(Error::Overflow)?,
            })
        })
        .collect()
}

/// What a shopper is shown for a payment.
pub fn face(operation: &Operation, order: OrderState, canceling: bool) -> Face {
    let unwanted = order != OrderState::AwaitingPayment;
    let now = clock::now();
    let expired =
        operation.action_expires_at.is_some_and(|at| now >= at) || now >= operation.deadline_at;
    match operation.state {
        State::Requested | State::RetryScheduled
            if operation.unknown_since.is_some() || canceling =>
        {
            Face::Checking
        }
        State::Created | State::Requested | State::RetryScheduled => Face::Sending,
        State::RequiresAction if expired || unwanted => Face::Checking,
        State::RequiresAction => Face::ConfirmAtBank,
        State::PendingConfirmation => Face::Checking,
        State::RequiresReview => Face::InReview,
        State::Succeeded => Face::Paid,
        State::Rejected => Face::Declined,
        State::Canceled => Face::NotCompleted,
        State::Reversed => Face::Reversed,
    }
}

/// The newest payment among these; every order has one from its first moment.
fn newest<'a>(operations: impl Iterator<Item = &'a Operation>) -> Option<&'a Operation> {
    operations.filter(|it| it.kind == Kind::PAYMENT).max_by_key(|it| it.attempt)
}

/// The payment a page speaks of: one that took money, else the newest of those that still may,
/// else the newest.
pub fn shown(operations: &[Operation]) -> Option<&Operation> {
    let taken =
        operations.iter().find(|it| it.kind == Kind::PAYMENT && it.state == State::Succeeded);
    let open = |it: &&Operation| !it.state.is_void() && it.state != State::Reversed;
    taken.or_else(|| newest(operations.iter().filter(open))).or_else(|| newest(operations.iter()))
}

/// A checkout as its status page shows it.
pub async fn checkout(
    engine: &Engine,
    id: CheckoutId,
    viewer: Option<CustomerId>,
) -> Result<Option<CheckoutView>, Error> {
    let mut work = engine.store.read().await?;
    let Some(order) = work.order_of_checkout(id).await? else { return Ok(None) };
    let operations = work.operations_of(order.id).await?;
    let Some(payment) = shown(&operations) else { return Ok(None) };
    let owner = viewer == Some(order.customer);
    Ok(Some(view(engine, work.as_mut(), &order, &operations, payment, owner).await?))
}

/// An order as one of its payments has it; with what only its owner may see, or without.
pub async fn view(
    engine: &Engine,
    work: &mut dyn Work,
    order: &Order,
    operations: &[Operation],
    payment: &Operation,
    owner: bool,
) -> Result<CheckoutView, Error> {
    let canceling = work.steps(payment.id).await?.iter().any(|step| step.cancels);
    let mut shown = payment_view(engine, payment, order, canceling)?;
    // A cancel that is still owed puts the handing over off. Nobody hands over what a provider that
    // was taken out holds.
    if shown.face == Face::Checking
        && let Ok(loaded) = engine.load(work, payment.id).await
    {
        shown.deadline_at = loaded.snapshot.gives_up_at();
    }
    let payment = shown;
    let owner =
        if owner { Some(owner_view(work, order, operations, &payment).await?) } else { None };
    let refund_due = order.state == OrderState::RefundDue;
    // A dispute may be open for months; nobody waits at a page for it.
    let open = operations.iter().filter(|it| it.kind != Kind::EXTERNAL).any(unsettled);
    let settled = !waits(order) && !refund_due && !open;
    Ok(CheckoutView {
        checkout_id: order.checkout_id,
        reference: order.reference.clone(),
        order_state: order.state,
        sequence: order.sequence,
        payment,
        settled,
        now: clock::now(),
        owner,
    })
}

fn payment_view(
    engine: &Engine,
    payment: &Operation,
    order: &Order,
    canceling: bool,
) -> Result<PaymentView, Error> {
    // A provider that is no longer set up promises nothing.
    let promised = engine.capability(payment).is_ok_and(|it| it.decline_takes_no_money);
    let face = face(payment, order.state, canceling);
    let asks = unsettled(payment);
    let expired_at = payment
        .action_expires_at
        .map_or(payment.deadline_at, |at| at.min(payment.deadline_at))
        .min(clock::now());
    let unknown_since = payment.unknown_since.or(match (face, payment.state) {
        (Face::InReview, _) => Some(payment.entered_at),
        // What the shopper did until then may have been done in time.
        (Face::Checking, State::RequiresAction) => Some(expired_at),
        _ => None,
    });
    Ok(PaymentView {
        attempt: payment.attempt,
        state: payment.state,
        face,
        since: payment.entered_at,
        unknown_since,
        unknown_long: unknown_since
            .is_some_and(|since| clock::now().since(since) >= engine.timing.patience),
        last_check_at: payment.looked_up_at,
        next_check_at: payment.next_action_at.filter(|_| asks),
        deadline_at: payment.deadline_at,
        action_url: payment.action_url.clone().filter(|_| face == Face::ConfirmAtBank),
        decline_code: payment.decline_code.clone(),
        no_money_taken: match payment.state {
            State::Rejected => promised,
            State::Canceled => true,
            State::Created
            | State::Requested
            | State::RequiresAction
            | State::RetryScheduled
            | State::PendingConfirmation
            | State::RequiresReview
            | State::Succeeded
            | State::Reversed => false,
        },
        canceled_why: payment.canceled_why,
        review_reason: payment.review_reason,
        effect: payment.effect,
        provider: payment.provider.clone(),
    })
}

async fn owner_view(
    work: &mut dyn Work,
    order: &Order,
    operations: &[Operation],
    payment: &PaymentView,
) -> Result<OwnerView, Error> {
    let mut payments = operations.iter().filter(|it| it.kind == Kind::PAYMENT);
    let may_pay = order.state == OrderState::AwaitingPayment
        && payments.all(|payment| payment.state.is_void())
        && goods_available(work, order).await?;
    let last = newest(operations.iter()).map_or(0, |payment| payment.attempt);
    let of = |kind: Kind| operations.iter().rfind(|it| it.kind == kind);
    let waits_for_news = matches!(payment.face, Face::Checking | Face::InReview);
    let asked = work.newest_ask(order.id).await?;
    Ok(OwnerView {
        lines: lines_of(&order.lines, order.amount)?,
        total: order.amount,
        cart_id: order.cart_id,
        cart_version: order.cart_version,
        created_at: order.created_at,
        refunds: operations
            .iter()
            .filter(|it| [Kind::REFUND, Kind::EXTERNAL].contains(&it.kind))
            .map(refund_view)
            .collect(),
        parcel: of(Kind::SHIPMENT).map(|it| it.state),
        invoice: of(Kind::INVOICE).map(|it| (it.state, it.reference.clone())),
        pay_attempt: may_pay.then_some(last + 1),
        mail_promised: waits_for_news && order.mail_to.is_some(),
        mail_to: order.mail_to.as_ref().map(Recipient::masked),
        refund_request: asked.as_ref().map(asks::view),
        ask_refund: asks::next(order, operations, asked.as_ref(), clock::now()),
    })
}

/// Money that goes back, by us or without us.
pub fn refund_view(operation: &Operation) -> RefundView {
    RefundView {
        state: operation.state,
        amount: operation.amount,
        outside: operation.kind == Kind::EXTERNAL,
        since: operation.entered_at,
    }
}

/// A customer's orders, newest first.
pub async fn orders(engine: &Engine, customer: CustomerId) -> Result<Vec<OrderSummary>, Error> {
    let mut work = engine.store.read().await?;
    let mut rows = Vec::new();
    for order in work.orders_of(customer).await? {
        let operations = work.operations_of(order.id).await?;
        let Some(payment) = shown(&operations) else { continue };
        let canceling = work.steps(payment.id).await?.iter().any(|step| step.cancels);
        rows.push(OrderSummary {
            checkout_id: order.checkout_id,
            reference: order.reference.clone(),
            order_state: order.state,
            face: face(payment, order.state, canceling),
            provider: payment.provider.clone(),
            total: order.amount,
            count: order.lines.iter().map(|line| line.quantity).sum(),
            created_at: order.created_at,
        });
    }
    Ok(rows)
}

/// The committed changes of an order after a sequence number.
pub async fn history(
    engine: &Engine,
    id: CheckoutId,
    after: i64,
) -> Result<Vec<TransitionView>, Error> {
    let mut work = engine.store.read().await?;
    let Some(order) = work.order_of_checkout(id).await? else { return Ok(Vec::new()) };
    let rows = work.transitions(order.id, after).await?;
    let operations = work.operations_of(order.id).await?;
    let kind = |id| operations.iter().find(|it| it.id == id).map(|it| it.kind.as_str().to_owned());
    Ok(rows
        .into_iter()
        .map(|(operation_attempt, row)| TransitionView {
            sequence: row.order_sequence,
            kind: kind(row.operation_id).unwrap_or_default(),
            operation_attempt,
            from: row.from,
            to: row.to,
            source: row.source,
            evidence: row.evidence,
            at: row.at,
        })
        .collect())
}

/// Every request on the wire for an order, oldest first.
pub async fn requests(engine: &Engine, id: CheckoutId) -> Result<Vec<RequestView>, Error> {
    let mut work = engine.store.read().await?;
    let Some(order) = work.order_of_checkout(id).await? else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for operation in work.operations_of(order.id).await? {
        let sent = work.sent(operation.id).await?.into_iter();
        all.extend(sent.map(|it| RequestView {
            kind: operation.kind.as_str().to_owned(),
            operation_attempt: operation.attempt,
            step: it.step,
            replay: it.replay,
            sent_at: it.sent_at,
            ended_at: it.ended_at,
            transport: it.transport_state,
            http_status: it.http_status,
            verdict: it.verdict,
        }));
    }
    all.sort_by_key(|it| it.sent_at);
    Ok(all)
}

/// What is on record about an order.
pub async fn record(engine: &Engine, reference: &str) -> Result<Option<OrderRecord>, Error> {
    let mut work = engine.store.read().await?;
    let Some(order) = work.order_of_reference(reference).await? else { return Ok(None) };
    let operations = work.operations_of(order.id).await?;
    let left = operations.iter().filter_map(|it| refunds::left(it, &operations));
    let refundable = left.filter(|left| left.currency == order.amount.currency);
    // One refund takes from one payment.
    let refundable = refundable.map(|left| left.minor).max().unwrap_or_default();
    let asked = work.newest_ask(order.id).await?;
    Ok(Some(OrderRecord {
        state: order.state,
        amount: order.amount,
        refundable: Money::new(refundable, order.amount.currency),
        refund_request: asked.map(|it| RefundRequestRecord {
            number: it.number,
            state: it.state,
            asked_at: it.created_at,
            asked_why: it.asked_why,
            declined_why: it.declined_why,
        }),
        operations: operations
            .into_iter()
            .map(|it| OperationRecord {
                id: it.id,
                kind: it.kind.as_str().to_owned(),
                attempt: it.attempt,
                provider: it.provider,
                provider_id: it.provider_operation_id,
                state: it.state,
                since: it.entered_at,
                amount: it.amount,
                review_reason: it.review_reason,
                effect: it.effect,
                looked_up_at: it.looked_up_at,
            })
            .collect(),
    }))
}
