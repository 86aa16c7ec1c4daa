//! What goes with a decision in the same transaction: the order, its goods, the history, alarms.

use domain::{
    evidence::Evidence,
    fingerprint::fingerprint,
    id::OperationId,
    money::Money,
    operation::{Alert, Decision, Effect, Kind, State},
    order::{OrderNews, OrderState, decide_order},
    schedule::Timestamp,
};

use super::{Engine, Loaded, Outcome, unsettled};
use crate::{
    Error, clock, mails, opening, partners, refunds,
    store::{Goods, Operation, Order, StoreError, Transition, Work},
};

impl Engine {
    /// Anomalies and alerts of a decision.
    pub(super) async fn keep_alarms(
        &self,
        work: &mut dyn Work,
        loaded: &Loaded,
        decision: &Decision,
        evidence: &Evidence,
        now: Timestamp,
    ) -> Result<(), Error> {
        let operation = &loaded.operation;
        if let Some(kind) = decision.anomaly {
            let detail = format!("{} while {}", evidence.name(), loaded.snapshot.state);
            work.insert_anomaly(
                Some(operation.id),
                kind,
                evidence.source(),
                evidence.name(),
                &detail,
                now,
            )
            .await?;
            metrics::counter!("payonce_anomalies_total", "kind" => kind.as_str()).increment(1);
        }
        for effect in &decision.effects {
            if let Effect::Alert(alert) = effect {
                // Settings are one incident per provider, whatever the number of operations.
                let incident = match alert {
                    Alert::Configuration => super::incident(*alert, &operation.provider),
                    Alert::Review | Alert::OurFault | Alert::Anomaly | Alert::Reversed => {
                        super::incident(*alert, operation.id)
                    }
                };
                let detail =
                    format!("{} of order {}", operation.kind.as_str(), loaded.order.reference);
                self.alert(work, &incident, alert.as_str(), &detail, now).await?;
            }
        }
        let owed = ![Kind::PAYMENT, Kind::EXTERNAL].contains(&operation.kind);
        if let Some(to) = decision.to.filter(|to| owed && to.is_void()) {
            let detail =
                format!("{} of order {} is {to}", operation.kind.as_str(), loaded.order.reference);
            let name = format!("undone:{}", operation.id);
            self.alert(work, &name, "undone", &detail, now).await?;
        }
        let left_review = loaded.snapshot.state == State::RequiresReview
            && decision.to.is_some_and(|to| to != State::RequiresReview);
        if left_review {
            work.close_alert(&super::incident(Alert::Review, operation.id), now).await?;
        }
        Ok(())
    }

    /// Tells a person, once per incident, and logs it then.
    pub async fn alert(
        &self,
        work: &mut dyn Work,
        incident: &str,
        kind: &str,
        detail: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        if self.raise(work, incident, kind, detail, now).await? {
            tracing::warn!(incident, kind, detail, "alert: {kind}");
        }
        Ok(())
    }

    /// Opens an incident; false if it is open already. The counter counts incidents, not repeats.
    pub async fn raise(
        &self,
        work: &mut dyn Work,
        incident: &str,
        kind: &str,
        detail: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let fresh = work.raise_alert(incident, kind, detail, now).await?;
        if fresh {
            metrics::counter!("payonce_alerts_total", "kind" => kind.to_owned()).increment(1);
        }
        Ok(fresh)
    }

    /// The order's change, its goods, the history row and the outbox. True if the order changed,
    /// so that its other operations have to look at the time again.
    pub(super) async fn keep_order(
        &self,
        work: &mut dyn Work,
        loaded: &mut Loaded,
        before: &Operation,
        outcome: &mut Outcome,
        evidence: &Evidence,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let old = loaded.order.state;
        // What went back before we knew that it had come.
        let gone = refunds::gone(&loaded.operation, &loaded.siblings);
        let surely_gone = refunds::returned(&loaded.operation, &loaded.siblings);
        let came = loaded.operation.effect.unwrap_or(loaded.operation.amount).minor;
        for effect in outcome.decision.effects.clone() {
            match effect {
                // It ends where it would have ended, had we heard of both in their order.
                Effect::TakePayment if surely_gone >= came => {
                    self.returned_before_taken(work, loaded, gone, now).await?;
                    loaded.order.state = refunded(decide_order(old, OrderNews::PaymentUnwanted));
                }
                Effect::TakePayment => {
                    if loaded.order.goods == Goods::Free {
                        let short = work.reserve(&loaded.order.lines).await?;
                        if !short.is_empty() {
                            // Seen available in this very transaction, the only one that writes.
                            return Err(Error::Stale);
                        }
                    }
                    work.sell(&loaded.order.lines).await?;
                    loaded.order.goods = Goods::Sold;
                    loaded.order.state = decide_order(old, OrderNews::PaymentTaken);
                    partners::open_all(self, work, &mut loaded.order, now).await?;
                    if gone > 0 {
                        self.returned_before_taken(work, loaded, gone, now).await?;
                    }
                    if surely_gone > 0 {
                        let news = OrderNews::Refunded { total: false, some: true };
                        loaded.order.state = decide_order(loaded.order.state, news);
                    }
                }
                Effect::OweRefund => {
                    loaded.order.state = decide_order(old, OrderNews::PaymentUnwanted);
                    self.owe_refund(work, loaded, now).await?;
                    if surely_gone >= came {
                        // All of it had gone back without us.
                        loaded.order.state = refunded(loaded.order.state);
                    }
                }
                Effect::PaymentUndone => {
                    loaded.order.state = decide_order(old, OrderNews::PaymentUndone);
                }
                Effect::OpenCircuit => outcome.open_circuit = true,
                Effect::Lookup | Effect::Alert(_) => {}
            }
        }
        let moved = loaded.operation.state != before.state;
        if moved && [Kind::REFUND, Kind::EXTERNAL].contains(&loaded.operation.kind) {
            self.keep_refunds(work, loaded).await?;
        }
        let others_settled = !loaded.siblings.iter().any(unsettled);
        if moved && others_settled && !unsettled(&loaded.operation) {
            // Only an order that waits to be given up is moved by this.
            loaded.order.state = decide_order(loaded.order.state, OrderNews::AllClosed);
            let given_up = loaded.operation.kind == Kind::PAYMENT;
            if given_up && loaded.order.goods == Goods::Reserved {
                work.release(&loaded.order.lines).await?;
                loaded.order.goods = Goods::Free;
            }
        }
        if moved || loaded.order.state != old {
            loaded.order.sequence += 1;
            let transition = Transition {
                operation_id: loaded.operation.id,
                order_id: loaded.order.id,
                from: Some(before.state),
                to: loaded.operation.state,
                evidence: evidence.name().to_owned(),
                source: evidence.source().to_owned(),
                version: before.version + 1,
                order_sequence: loaded.order.sequence,
                order_state: loaded.order.state,
                at: now,
            };
            work.insert_transition(&transition).await?;
            work.update_order(&loaded.order, now).await?;
            self.keep_outbox(work, &loaded.order, &loaded.operation, old, before, now).await?;
            mails::keep(self, work, loaded, before, outcome, old, now).await?;
        }
        Ok(loaded.order.state != old)
    }

    /// Money went back before it was known to have come: a person is told.
    async fn returned_before_taken(
        &self,
        work: &mut dyn Work,
        loaded: &Loaded,
        gone: i64,
        now: Timestamp,
    ) -> Result<(), Error> {
        let detail = format!(
            "the payment of order {} came after {gone} of it had gone back",
            loaded.order.reference
        );
        let name = format!("returned-before-taken:{}", loaded.operation.id);
        self.alert(work, &name, "returned_before_taken", &detail, now).await
    }

    /// What the rest of the shop is told, once per fact.
    async fn keep_outbox(
        &self,
        work: &mut dyn Work,
        order: &Order,
        operation: &Operation,
        old: OrderState,
        before: &Operation,
        now: Timestamp,
    ) -> Result<(), Error> {
        if order.state != old {
            let topic = format!("order.{}", order.state);
            work.insert_outbox(&topic, &order.id.to_string(), &order.reference, now).await?;
        }
        if operation.state != before.state && !operation.state.is_open() {
            let topic = format!("{}.{}", operation.kind.as_str(), operation.state);
            work.insert_outbox(&topic, &operation.id.to_string(), &order.reference, now).await?;
        }
        Ok(())
    }

    /// Opens the refund of an effect that its order cannot take.
    async fn owe_refund(
        &self,
        work: &mut dyn Work,
        loaded: &Loaded,
        now: Timestamp,
    ) -> Result<(), Error> {
        let payment = &loaded.operation;
        let all: Vec<Operation> =
            loaded.siblings.iter().chain(std::iter::once(payment)).cloned().collect();
        let amount = refunds::left(payment, &all)
            .unwrap_or_else(|| payment.effect.unwrap_or(payment.amount));
        if amount.minor <= 0 {
            return Ok(());
        }
        let earlier =
            loaded.siblings.iter().filter(|sibling| sibling.compensates == Some(payment.id));
        if earlier.clone().any(|refund| !refund.state.is_void()) {
            return Ok(());
        }
        let version = earlier.count() + 1;
        let attempt =
            loaded.siblings.iter().filter(|sibling| sibling.kind == Kind::REFUND).count() + 1;
        let Some(provider) = self.provider(&payment.provider) else {
            return Err(Error::UnknownProvider);
        };
        let Some(capability) = provider.capability(&Kind::REFUND) else {
            return self.by_hand(work, loaded, amount, now).await;
        };
        let reference = format!("{}-C{version}", payment.reference);
        let operation = Operation {
            compensates: Some(payment.id),
            refunds: Some(payment.id),
            ..opening::operation(opening::Opening {
                id: OperationId(clock::fresh_id()),
                kind: Kind::REFUND,
                order: &loaded.order,
                attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
                provider: provider.as_ref(),
                reference,
                amount,
                instrument: None,
                request_hash: fingerprint("refund", &payment.id.to_string(), amount, &[]),
                deadline_at: now.after(capability.deadline),
                now,
            })
        };
        let prefix = format!("refund:comp:{}:v{version}", payment.id);
        match self.open(work, &operation, &loaded.order, Some(payment), &prefix).await {
            // The provider takes no such amount. That the money came is recorded all the same.
            Err(Error::Invalid(_)) => return self.by_hand(work, loaded, amount, now).await,
            opened => opened?,
        }
        tracing::info!(operation_id = %operation.id, business_state = %operation.state,
            "a refund of {amount} is owed for order {}", loaded.order.reference);
        Ok(())
    }

    /// Money is owed that no operation can send back.
    async fn by_hand(
        &self,
        work: &mut dyn Work,
        loaded: &Loaded,
        amount: Money,
        now: Timestamp,
    ) -> Result<(), Error> {
        let detail = format!("order {} is owed {amount}", loaded.order.reference);
        let incident = format!("refund-by-hand:{}", loaded.operation.id);
        self.alert(work, &incident, "refund_by_hand", &detail, now).await
    }

    /// What the order's refunds add up to.
    async fn keep_refunds(&self, work: &mut dyn Work, loaded: &mut Loaded) -> Result<(), Error> {
        let mut all = work.operations_of(loaded.order.id).await?;
        all.retain(|other| other.id != loaded.operation.id);
        all.push(loaded.operation.clone());
        let effects = |kinds: &'static [Kind]| {
            all.iter()
                .filter(|operation| kinds.contains(&operation.kind))
                .filter(|operation| operation.state == State::Succeeded)
                .filter_map(|operation| operation.effect)
        };
        // What a provider tells may be of any size: past all bounds it is everything.
        let sum = |effects: &mut dyn Iterator<Item = Money>| {
            effects
                .filter(|effect| effect.currency == loaded.order.amount.currency)
                .fold(0_i64, |sum, effect| sum.saturating_add(effect.minor))
        };
        let back: &[Kind] = &[Kind::REFUND, Kind::EXTERNAL];
        let taken = sum(&mut effects(&[Kind::PAYMENT]));
        let returned = sum(&mut effects(back));
        let some = effects(back).next().is_some();
        // A compensating refund of a second payment leaves the first one's standing alone.
        let extra = loaded.operation.compensates.is_some()
            && matches!(loaded.order.state, OrderState::Paid | OrderState::PartiallyRefunded);
        let total = returned >= taken && taken > 0;
        if !extra || total {
            let news = OrderNews::Refunded { total, some };
            loaded.order.state = decide_order(loaded.order.state, news);
        }
        Ok(())
    }
}

/// All that came has gone back.
fn refunded(state: OrderState) -> OrderState {
    decide_order(state, OrderNews::Refunded { total: true, some: true })
}
