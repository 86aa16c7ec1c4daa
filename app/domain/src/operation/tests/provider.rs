//! A provider in a few lines: keys, objects, read lag, late executions, events.

use std::collections::BTreeMap;

use super::fixtures::{AMOUNT, at};
use crate::{
    capability::Capability,
    evidence::{Found, Outcome, Verdict},
    money::{Currency, Money},
    operation::ReviewReason,
    schedule::Timestamp,
};

/// What the provider makes of an intent when it executes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Succeeds,
    Declines,
    Asks,
    Processes,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Accepted,
    Action,
    Processing,
    Succeeded,
    Rejected,
    Canceled,
    Reversed,
}

/// An object with all it ever was, so that a lagging replica can be asked.
#[derive(Clone, Debug)]
pub struct Object {
    pub log: Vec<(Timestamp, Status)>,
}

impl Object {
    pub fn status(&self) -> Status {
        self.log.last().unwrap().1
    }

    fn status_at(&self, time: Timestamp) -> Option<Status> {
        self.log.iter().rev().find(|(at, _)| *at <= time).map(|(_, status)| *status)
    }

    pub fn ever_succeeded(&self) -> bool {
        self.log.iter().any(|(_, status)| *status == Status::Succeeded)
    }
}

/// A request that is still on its way.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    pub step: usize,
    pub fate: Fate,
    pub sent_at: Timestamp,
    /// The paused worker that will hear the answer, if any does.
    pub fence: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Provider {
    capability: Capability,
    pub objects: Vec<Object>,
    keys: BTreeMap<usize, (Timestamp, Verdict)>,
    key_is_dead: bool,
    pub late: Vec<Late>,
    pub events: Vec<(Timestamp, Verdict)>,
    /// What its objects say they cost.
    amount: Money,
    /// The shopper was sent to the provider's page.
    pub was_shown: bool,
}

impl Provider {
    pub fn new(capability: Capability, wrong_amount: bool) -> Self {
        let amount = if wrong_amount { Money::new(100, Currency::EUR) } else { AMOUNT };
        Self {
            capability,
            objects: Vec::new(),
            keys: BTreeMap::new(),
            key_is_dead: false,
            late: Vec::new(),
            events: Vec::new(),
            amount,
            was_shown: false,
        }
    }

    fn verdict(&self, id: usize, status: Status) -> Verdict {
        let found = Found {
            provider_id: Some(format!("obj{id}")),
            effect_id: None,
            reference: Some("R-1".to_owned()),
            account: Some("acct".to_owned()),
            amount: Some(self.amount),
        };
        let outcome = match status {
            Status::Accepted => return Verdict::Accepted(found),
            Status::Action => Outcome::ActionRequired {
                url: "https://pay.example/a".to_owned(),
                expires_at: Some(at(900)),
            },
            Status::Processing => Outcome::Processing,
            Status::Succeeded => Outcome::Succeeded,
            Status::Rejected => Outcome::Rejected { code: "card_declined".to_owned() },
            Status::Canceled => Outcome::Canceled,
            Status::Reversed => Outcome::Reversed,
        };
        Verdict::Definitive(outcome, found)
    }

    /// An object changes, and an event tells so.
    pub fn change(&mut self, id: usize, status: Status, now: Timestamp) {
        self.objects[id].log.push((now, status));
        if self.capability.webhooks {
            self.events.push((now, self.verdict(id, status)));
        }
    }

    /// Executes a step once it arrives; the answer, and whether it was a stored one.
    pub fn execute(&mut self, step: usize, fate: Fate, now: Timestamp) -> (Verdict, bool) {
        if step == self.capability.steps.len() {
            return (self.cancel(now), false);
        }
        let spec = self.capability.steps[step];
        if let (Some(key), Some((since, verdict))) = (spec.idempotency, self.keys.get(&step))
            && now < since.after(key.window)
        {
            return (verdict.clone(), true);
        }
        let verdict = if step == 0 { self.create(fate, now) } else { self.confirm(fate, now) };
        let declined = matches!(verdict, Verdict::Definitive(Outcome::Rejected { .. }, _));
        if spec.idempotency.is_some_and(|key| key.declines_stored || !declined) {
            self.keys.insert(step, (now, verdict.clone()));
        }
        (verdict, false)
    }

    fn create(&mut self, fate: Fate, now: Timestamp) -> Verdict {
        if self.key_is_dead {
            return Verdict::Definitive(Outcome::Canceled, Found::default());
        }
        if self.capability.unique_reference && !self.objects.is_empty() {
            return Verdict::Indeterminate;
        }
        let stored = self.capability.steps[0].idempotency.is_some_and(|key| key.declines_stored);
        let two_steps = self.capability.steps.len() > 1;
        if fate == Fate::Declines && !stored && !two_steps {
            let code = "card_declined".to_owned();
            return Verdict::Definitive(Outcome::Rejected { code }, Found::default());
        }
        let status = if two_steps { Status::Accepted } else { first_status(fate) };
        self.objects.push(Object { log: Vec::new() });
        let id = self.objects.len() - 1;
        self.change(id, status, now);
        self.verdict(id, status)
    }

    fn confirm(&mut self, fate: Fate, now: Timestamp) -> Verdict {
        if self.objects[0].status() == Status::Accepted {
            self.change(0, first_status(fate), now);
        }
        self.verdict(0, self.objects[0].status())
    }

    fn cancel(&mut self, now: Timestamp) -> Verdict {
        if self.objects.is_empty() {
            self.key_is_dead = true;
            return Verdict::Definitive(Outcome::Canceled, Found::default());
        }
        if matches!(self.objects[0].status(), Status::Accepted | Status::Action)
            || self.stays_payable(0)
        {
            self.change(0, Status::Canceled, now);
        }
        self.verdict(0, self.objects[0].status())
    }

    /// What a replica that is `lag` behind says.
    pub fn look_up(&self, known: Option<&str>, seen: Timestamp) -> Verdict {
        let visible: Vec<(usize, Status)> = self
            .objects
            .iter()
            .enumerate()
            .filter(|(id, _)| known.is_none_or(|known| known == format!("obj{id}")))
            .filter_map(|(id, object)| Some((id, object.status_at(seen)?)))
            .collect();
        let mut effects = visible.iter().filter(|(_, status)| *status == Status::Succeeded);
        match (effects.next(), effects.next(), visible.last()) {
            (Some(_), Some(_), _) => {
                Verdict::Contradicts(ReviewReason::TwoEffects, Found::default())
            }
            (Some((id, status)), None, _) | (None, _, Some((id, status))) => {
                self.verdict(*id, *status)
            }
            (None, _, None) => Verdict::Absent,
        }
    }

    /// Whether a declined object can still be paid by a shopper who was at the provider's page.
    pub fn stays_payable(&self, id: usize) -> bool {
        self.capability.declined_stays_payable
            && self.was_shown
            && self.objects[id].status() == Status::Rejected
    }

    /// How many effects it has made.
    pub fn effects(&self) -> usize {
        self.objects.iter().filter(|object| object.ever_succeeded()).count()
    }

    /// Whether an effect may still come without a further send of ours.
    pub fn may_still_happen(&self) -> bool {
        let open = |object: &Object| matches!(object.status(), Status::Action | Status::Processing);
        self.objects.iter().any(open)
            || (0..self.objects.len()).any(|id| self.stays_payable(id))
            || self.late.iter().any(|late| self.would_execute(late))
    }

    fn would_execute(&self, late: &Late) -> bool {
        let fresh = !self.keys.contains_key(&late.step);
        if late.step == self.capability.steps.len() {
            return false;
        }
        if late.step > 0 {
            return fresh && self.objects[0].status() == Status::Accepted;
        }
        let refused = self.capability.unique_reference && !self.objects.is_empty();
        // A creation alone is no effect where a confirmation is needed.
        fresh && !self.key_is_dead && !refused && self.capability.steps.len() == 1
    }
}

fn first_status(fate: Fate) -> Status {
    match fate {
        Fate::Succeeds => Status::Succeeded,
        Fate::Declines => Status::Rejected,
        Fate::Asks => Status::Action,
        Fate::Processes => Status::Processing,
    }
}
