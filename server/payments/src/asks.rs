//! Shoppers ask for refunds: a request moves no money, a person answers it.

use domain::{
    id::{CheckoutId, CustomerId, OrderId},
    operation::{Kind, State},
    refund_request::{AskedWhy, Asking, DeclinedWhy, RequestState, may_ask},
    schedule::Timestamp,
    view::RefundRequestView,
};

use crate::{
    Error, clock,
    engine::{Engine, order_transition},
    refunds,
    store::{Operation, Order, RefundAsk, Stored, Work},
};

/// What asking for a refund came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AskOutcome {
    /// Committed now; a person is told.
    Asked,
    /// It was asked for already.
    Stored,
    /// There is nothing that could be asked for; nothing was written.
    NotPossible,
}

/// The alert's name: one incident while the request is open.
fn incident(order: OrderId) -> String {
    format!("refund-asked:{order}")
}

/// The payment that paid an order.
fn paid(operations: &[Operation]) -> Option<&Operation> {
    operations.iter().find(|it| it.kind == Kind::PAYMENT && it.state == State::Succeeded)
}

/// The number that the next request must carry; `None` while none may be made.
pub fn next(
    order: &Order,
    operations: &[Operation],
    newest: Option<&RefundAsk>,
    now: Timestamp,
) -> Option<u32> {
    let payment = paid(operations)?;
    let asking = Asking {
        order: order.state,
        payment: payment.state,
        paid_at: payment.confirmed_at.unwrap_or(payment.entered_at),
        left_minor: refunds::left(payment, operations).map_or(0, |left| left.minor),
        newest: newest.map(|it| it.state),
    };
    may_ask(&asking, now).then(|| newest.map_or(0, |it| it.number) + 1)
}

/// A request as its owner sees it.
pub fn view(ask: &RefundAsk) -> RefundRequestView {
    RefundRequestView { state: ask.state, asked_at: ask.created_at, declined_why: ask.declined_why }
}

/// The shopper asks. The same number is the same request, however often it is sent.
pub async fn ask(
    engine: &Engine,
    id: CheckoutId,
    customer: CustomerId,
    number: u32,
    why: Option<AskedWhy>,
) -> Result<AskOutcome, Error> {
    let now = clock::now();
    let mut work = engine.store.write().await?;
    let order = work.order_of_checkout(id).await?.ok_or(Error::NotFound)?;
    if order.customer != customer {
        return Err(Error::NotFound);
    }
    let newest = work.newest_ask(order.id).await?;
    let known = newest.as_ref();
    if known.is_some_and(|it| it.number >= number || it.state == RequestState::Open) {
        return Ok(AskOutcome::Stored);
    }
    let operations = work.operations_of(order.id).await?;
    if next(&order, &operations, known, now) != Some(number) {
        return Ok(AskOutcome::NotPossible);
    }
    let ask = RefundAsk {
        order_id: order.id,
        number,
        state: RequestState::Open,
        asked_why: why,
        declined_why: None,
        created_at: now,
        closed_at: None,
    };
    work.save_ask(&ask).await?;
    let detail = format!("the shopper of order {} asks for a refund", order.reference);
    engine.alert(work.as_mut(), &incident(order.id), "refund_asked", &detail, now).await?;
    noted(work.as_mut(), &operations, order, "refund_asked", "shopper", now).await?;
    work.commit().await?;
    engine.hub.tell(id);
    Ok(AskOutcome::Asked)
}

/// The history row of a request and of its answer: the payment stays as it is.
async fn noted(
    work: &mut dyn Work,
    operations: &[Operation],
    mut order: Order,
    evidence: &str,
    source: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let last = operations.iter().rfind(|it| it.kind == Kind::PAYMENT);
    let Some(payment) = paid(operations).or(last) else { return Ok(()) };
    let moved = Operation { version: payment.version + 1, ..payment.clone() };
    if work.update_operation(&moved, payment.version).await? == Stored::Stale {
        return Err(Error::Stale);
    }
    order.sequence += 1;
    work.insert_transition(&order_transition(&moved, &order, evidence, source, now)).await?;
    Ok(work.update_order(&order, now).await?)
}

/// Money goes back: that answers an open request, and takes back a no.
pub async fn answer(work: &mut dyn Work, order: OrderId, now: Timestamp) -> Result<(), Error> {
    let asked = work.newest_ask(order).await?.filter(|it| it.state != RequestState::Answered);
    if let Some(ask) = asked {
        let state = RequestState::Answered;
        let ask = RefundAsk { state, declined_why: None, closed_at: Some(now), ..ask };
        work.save_ask(&ask).await?;
        work.close_alert(&incident(order), now).await?;
    }
    Ok(())
}

/// A person says no. True if the same was said before.
pub async fn decline(
    engine: &Engine,
    reference: &str,
    why: DeclinedWhy,
    who: &str,
) -> Result<bool, Error> {
    let now = clock::now();
    let mut work = engine.store.write().await?;
    let order = work.order_of_reference(reference).await?.ok_or(Error::NotFound)?;
    let Some(ask) = work.newest_ask(order.id).await? else {
        return Err(Error::Invalid("nobody asked for a refund of this order".into()));
    };
    match ask.state {
        RequestState::Open => {}
        RequestState::Declined if ask.declined_why == Some(why) => return Ok(true),
        RequestState::Declined => {
            return Err(Error::Invalid("it was declined for another reason already".into()));
        }
        RequestState::Answered => {
            return Err(Error::Invalid("it was answered by a refund already".into()));
        }
    }
    let ask = RefundAsk {
        state: RequestState::Declined,
        declined_why: Some(why),
        closed_at: Some(now),
        ..ask
    };
    work.save_ask(&ask).await?;
    work.close_alert(&incident(order.id), now).await?;
    let subject = order.id.to_string();
    work.insert_audit(who, "refund_declined", &subject, why.as_str(), now).await?;
    let (operations, checkout) = (work.operations_of(order.id).await?, order.checkout_id);
    noted(work.as_mut(), &operations, order, "refund_declined", "operator", now).await?;
    work.commit().await?;
    engine.hub.tell(checkout);
    Ok(false)
}
