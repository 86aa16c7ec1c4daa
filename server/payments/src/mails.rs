//! Mails about orders: kept with their fact, handed over one try at a time, told once.
//!
//! A row is inserted in the transaction that makes its fact true. Handing it over is a request on
//! the wire like any other: the try is committed first, and a try without an answer may have
//! arrived. It is repeated under the same Message-ID, a few times, and then told to a person. What
//! is no longer so when its turn comes is overtaken: nobody is told, and if it becomes so once
//! more, it is told then.

use std::time::Duration;

use domain::{
    mail::{Fact, Recipient, Standing, Taken, fact_of, is_still_so},
    operation::{Effect, Kind, State},
    order::OrderState,
    schedule::Timestamp,
    view::{CheckoutView, Face, RefundView},
};
use uuid::Uuid;

use crate::{
    Error, clock,
    engine::{Engine, Loaded, Outcome},
    read,
    store::{Mail, MailState, Operation, Order, Work},
};

/// After how long a try whose end never came on record is made again. Longer than whoever carries
/// mails waits for a mail server.
const TRY: Duration = Duration::from_secs(15 * 60);
/// The states in which a shopper is told to wait for the outcome.
const UNKNOWN: [State; 2] = [State::PendingConfirmation, State::RequiresReview];
/// How many mails one look takes.
const BATCH: u32 = 32;

/// Everything that a mail is made of.
#[derive(Clone, Debug)]
pub struct Letter {
    /// Its name, the same for every try.
    pub id: Uuid,
    /// What it tells.
    pub fact: Fact,
    /// When that became true.
    pub since: Timestamp,
    /// Where it goes.
    pub to: Recipient,
    /// The order's language.
    pub language: String,
    /// The order's page.
    pub link: String,
    /// The order as its owner sees it at this moment.
    pub view: CheckoutView,
    /// The refund it is about, where it is about one.
    pub refund: Option<RefundView>,
}

/// How a try ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MailEnd {
    /// The mail server said that it takes it.
    Taken,
    /// The mail server said no for good.
    Refused,
    /// It was not taken, or nobody knows whether it was.
    Again,
}

fn fresh(operation: &Operation, fact: Fact, now: Timestamp) -> Mail {
    Mail {
        id: clock::fresh_id(),
        order_id: operation.order_id,
        operation_id: operation.id,
        fact,
        state: MailState::Waiting,
        tries: 0,
        in_flight: false,
        next_action_at: Some(now),
        created_at: now,
        ended_at: None,
    }
}

/// Keeps the mail of a change, if there is one and somebody to write to. `old` is the order's
/// state before it.
pub async fn keep(
    engine: &Engine,
    work: &mut dyn Work,
    loaded: &Loaded,
    before: &Operation,
    outcome: &Outcome,
    old: OrderState,
    now: Timestamp,
) -> Result<(), Error> {
    let (order, operation) = (&loaded.order, &loaded.operation);
    if order.mail_to.is_none() || operation.state == before.state {
        return Ok(());
    }
    let pays = matches!(order.state, OrderState::Paid | OrderState::PartiallyRefunded);
    let taken = if pays && old == OrderState::AwaitingPayment {
        Taken::Pays
    } else if outcome.decision.effects.contains(&Effect::OweRefund) {
        Taken::Unwanted
    } else {
        Taken::Neither
    };
    let canceling = loaded.steps.iter().any(|step| step.cancels);
    let face = read::face(before, old, canceling);
    // Whoever was sent to the bank, or has waited for long, may have left the page.
    let left = before.state == State::RequiresAction
        || now.since(operation.created_at) >= engine.timing.patience;
    let promised = matches!(face, Face::Checking | Face::InReview)
        || left
        || (operation.kind == Kind::PAYMENT && work.was_in(operation.id, &UNKNOWN).await?);
    if let Some(fact) = fact_of(&operation.kind, operation.state, taken, promised) {
        work.insert_mail(&fresh(operation, fact, now)).await?;
    }
    Ok(())
}

fn is_unknown(operation: &Operation) -> bool {
    operation.unknown_since.is_some()
        && matches!(operation.state, State::Requested | State::PendingConfirmation)
}

/// Time makes a fact too: an outcome is unknown for longer than somebody waits at a page.
pub async fn tell_unknown(engine: &Engine) -> Result<(), Error> {
    let before = clock::now().before(engine.timing.patience);
    let mut work = engine.store.read().await?;
    let late = work.unknown_since(before).await?;
    drop(work);
    for (order, id) in late {
        let mut work = engine.store.write().await?;
        let operations = work.operations_of(order).await?;
        let Some(operation) = operations.iter().find(|it| it.id == id) else { continue };
        // Judged as at a try: or a mail that another payment overtakes were kept again and again.
        if is_still_so(Fact::StillUnknown, standing(operation, &operations)) {
            let mail = fresh(operation, Fact::StillUnknown, clock::now());
            work.insert_mail(&mail).await?;
            work.commit().await?;
        }
    }
    Ok(())
}

/// Mails whose time has come.
pub async fn due(engine: &Engine) -> Result<Vec<Uuid>, Error> {
    let now = clock::now();
    let longest = engine.timing.mails.iter().max().copied().unwrap_or_default().max(TRY);
    let mut work = engine.store.read().await?;
    Ok(work.due_mails(now, now.after(longest * 2), BATCH).await?)
}

fn standing(operation: &Operation, operations: &[Operation]) -> Standing {
    let payments = operations.iter().filter(|it| it.kind == Kind::PAYMENT && it.id != operation.id);
    let mut others = payments.filter(|_| operation.kind == Kind::PAYMENT);
    // A refund beside this one gives back other money; one that was opened once this one had ended
    // stands in for it.
    let stands_in = |it: &Operation| {
        operation.refunds.is_some()
            && it.refunds == operation.refunds
            && it.id != operation.id
            && it.created_at >= operation.entered_at
    };
    let mut back = operations.iter().filter(|it| it.refunds == Some(operation.id) || stands_in(it));
    Standing {
        state: operation.state,
        unknown: is_unknown(operation),
        passed_by: others.any(|it| it.state == State::Succeeded || it.attempt > operation.attempt),
        given_back: back.any(|it| it.state == State::Succeeded),
    }
}

/// Commits a try and gives what is to be handed over; `None` if there is nothing to hand over any
/// more.
pub async fn take(engine: &Engine, id: Uuid) -> Result<Option<Letter>, Error> {
    let now = clock::now();
    let mut work = engine.store.write().await?;
    let Some(mut mail) = work.mail(id).await?.filter(|it| it.state == MailState::Waiting) else {
        return Ok(None);
    };
    let order = work.order(mail.order_id).await?.ok_or(Error::NotFound)?;
    let operations = work.operations_of(order.id).await?;
    let operation = operations.iter().find(|it| it.id == mail.operation_id);
    let operation = operation.ok_or(Error::Internal("a mail about nothing"))?;
    let so = is_still_so(mail.fact, standing(operation, &operations));
    // An address may have been erased since.
    let Some(to) = order.mail_to.clone().filter(|_| so) else {
        close(&mut mail, MailState::Overtaken, now);
        work.update_mail(&mail).await?;
        work.commit().await?;
        return Ok(None);
    };
    if mail.tries as usize > engine.timing.mails.len() {
        // The last try was cut, and nobody knows more.
        give_up(engine, work.as_mut(), &mut mail, &order, MailState::GivenUp, now).await?;
        work.commit().await?;
        return Ok(None);
    }
    mail.tries += 1;
    mail.in_flight = true;
    mail.next_action_at = Some(now.after(TRY));
    work.update_mail(&mail).await?;
    let letter = letter(engine, work.as_mut(), &mail, &order, operation, &operations, to).await?;
    work.commit().await?;
    Ok(Some(letter))
}

async fn letter(
    engine: &Engine,
    work: &mut dyn Work,
    mail: &Mail,
    order: &Order,
    operation: &Operation,
    operations: &[Operation],
    to: Recipient,
) -> Result<Letter, Error> {
    let about = (operation.kind == Kind::PAYMENT).then_some(operation);
    let payment = about.or_else(|| read::shown(operations)).ok_or(Error::NotFound)?;
    Ok(Letter {
        id: mail.id,
        fact: mail.fact,
        since: mail.created_at,
        to,
        language: order.language.clone(),
        link: format!("{}/checkout/{}", engine.public_url, order.checkout_id),
        view: read::view(engine, work, order, operations, payment, true).await?,
        refund: about.is_none().then(|| read::refund_view(operation)),
    })
}

fn close(mail: &mut Mail, state: MailState, now: Timestamp) {
    mail.state = state;
    mail.in_flight = false;
    mail.next_action_at = None;
    mail.ended_at = Some(now);
    metrics::counter!("payonce_mails_total", "fact" => mail.fact.as_str(), "state" => state.as_str())
        .increment(1);
}

async fn give_up(
    engine: &Engine,
    work: &mut dyn Work,
    mail: &mut Mail,
    order: &Order,
    state: MailState,
    now: Timestamp,
) -> Result<(), Error> {
    close(mail, state, now);
    work.update_mail(mail).await?;
    let detail = format!(
        "the mail {} of order {} is {state} after {} tries: the shopper may not have been told",
        mail.fact, order.reference, mail.tries
    );
    engine.alert(work, &format!("mail:{}", mail.id), "mail_not_sent", &detail, now).await
}

/// Records how a try ended. The first end stays.
pub async fn ended(engine: &Engine, id: Uuid, end: MailEnd) -> Result<(), Error> {
    let now = clock::now();
    let mut work = engine.store.write().await?;
    let Some(mut mail) = work.mail(id).await?.filter(|it| it.state == MailState::Waiting) else {
        return Ok(());
    };
    let wait = engine.timing.mail_wait(mail.tries, clock::jitter());
    let last = match (end, wait) {
        (MailEnd::Taken, _) => MailState::Sent,
        (MailEnd::Refused, _) => MailState::Refused,
        (MailEnd::Again, None) => MailState::GivenUp,
        (MailEnd::Again, Some(wait)) => {
            mail.in_flight = false;
            mail.next_action_at = Some(now.after(wait));
            work.update_mail(&mail).await?;
            return Ok(work.commit().await?);
        }
    };
    if last == MailState::Sent {
        close(&mut mail, last, now);
        work.update_mail(&mail).await?;
    } else {
        let order = work.order(mail.order_id).await?.ok_or(Error::NotFound)?;
        give_up(engine, work.as_mut(), &mut mail, &order, last, now).await?;
    }
    Ok(work.commit().await?)
}

#[cfg(test)]
mod tests;
