//! What a worker does next with an operation, and when to look at it again.
//!
//! [`plan`] proposes; [`decide`](crate::operation::decide) still has to grant every send.

use std::time::Duration;

use crate::{
    capability::strategy,
    operation::{Snapshot, State, may_send},
    schedule::{Timestamp, Timing},
};

/// What the worker does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A worker's time is over: record that its answer is missing.
    EndLease,
    /// Let `decide` see the time.
    Tick,
    /// Ask for the right to send this step.
    Send(usize),
    /// Ask the provider about the outcome.
    Lookup,
    /// Nothing to do now.
    Wait,
}

/// What has been tried so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Until when somebody owns the operation.
    pub lease_until: Option<Timestamp>,
    /// Lookups since the operation came to this state, or became unknown.
    pub lookups: u32,
    /// Sends of the effect-making step in question since the outcome became unknown.
    pub replays: u32,
    /// Sends that were proven not executed.
    pub clean_sends: u32,
    /// When the newest lookup was sent.
    pub last_lookup_at: Option<Timestamp>,
    /// When the newest send was made.
    pub last_send_at: Option<Timestamp>,
    /// Somebody asked for a lookup: late news, an opened page.
    pub lookup_wanted: bool,
}

/// Says what to do next with an operation that is due.
pub fn plan(s: &Snapshot, progress: &Progress, timing: &Timing, now: Timestamp) -> Next {
    let asks = s.can_ask();
    let step = s.next_step(now).filter(|step| may_send(s, *step, now.after(timing.lease), now));
    match s.state {
        State::Requested if progress.lease_until.is_none_or(|end| now >= end) => Next::EndLease,
        State::Requested => Next::Wait,
        State::Created | State::RetryScheduled => match step {
            Some(step) if !s.must_end(now) => Next::Send(step),
            // What is acknowledged and has to end is cancelled at the provider.
            Some(step) if now < s.deadline_at.after(s.cancel_grace) => Next::Send(step),
            Some(_) | None => Next::Tick,
        },
        State::PendingConfirmation if now >= s.gives_up_at() => Next::Tick,
        State::PendingConfirmation => {
            // Ask before sending anything again.
            let asked = !asks || progress.last_lookup_at > progress.last_send_at;
            let cancels = step.is_some() && step == s.cancel_step();
            let due = cancels || replay_at(s, progress, timing).is_some_and(|at| now >= at);
            match step {
                Some(step) if asked && due => Next::Send(step),
                Some(_) | None if asks => Next::Lookup,
                Some(_) | None => Next::Wait,
            }
        }
        State::RequiresAction if s.is_expired(now) || s.is_unwanted() => {
            let over = if s.is_unwanted() { s.entered_at } else { s.action_until() };
            let asked = !asks || progress.last_lookup_at.is_some_and(|at| at >= over);
            match step {
                // Whoever confirmed in the last moment is still heard.
                Some(_) | None if s.is_left_to_us() && asks && !asked && !s.is_unheard(now) => {
                    Next::Lookup
                }
                Some(_) | None if !s.is_cancel_open(now) || s.is_unheard(now) => Next::Tick,
                Some(step) if asked => Next::Send(step),
                Some(_) | None if asks => Next::Lookup,
                Some(_) | None => Next::Wait,
            }
        }
        State::RequiresAction if asks => Next::Lookup,
        State::RequiresReview if asks => Next::Lookup,
        State::Succeeded | State::Rejected | State::Canceled | State::Reversed
            if asks && progress.lookup_wanted =>
        {
            Next::Lookup
        }
        State::RequiresAction
        | State::RequiresReview
        | State::Succeeded
        | State::Rejected
        | State::Canceled
        | State::Reversed => Next::Wait,
    }
}

/// When the next same-key replay is due; `None` where a replay cannot help or is not allowed.
fn replay_at(s: &Snapshot, progress: &Progress, timing: &Timing) -> Option<Timestamp> {
    // With the object's id at hand a lookup decides, unless all it can say is "not confirmed yet":
    // then one replay is worth its place under the cap, and leaves one for a cancel.
    let mut effects = s.steps.iter().filter(|step| !step.cancels);
    let accepted = effects.clone().any(|step| step.accepted);
    let confirms = accepted && effects.any(|step| !step.accepted && step.tainted);
    let lookup_decides = s.provider_id.is_some() && s.capability.lookup.is_some();
    if !strategy(&s.capability).replay || (lookup_decides && (!confirms || progress.replays > 0)) {
        return None;
    }
    let wait = timing.replays.get(progress.replays as usize)?;
    Some(s.unknown_since?.after(*wait))
}

/// When an operation is to be looked at again after it changed; `None` if only news can move it.
///
/// `random` is uniform over all of `u32`. `wait` is what the provider asked for.
pub fn next_due(
    s: &Snapshot,
    progress: &Progress,
    timing: &Timing,
    wait: Option<Duration>,
    random: u32,
    now: Timestamp,
) -> Option<Timestamp> {
    let asks = s.can_ask();
    let poll = now.after(timing.lookup_wait(progress.lookups, random));
    match s.state {
        State::Created => Some(now),
        State::Requested => progress.lease_until.or(Some(now)),
        State::RetryScheduled => {
            // With steps still to come there are fewer sends, and each waits longer.
            let later = s.next_step(now).map_or(0, |step| s.steps_after(step));
            let done = progress.clean_sends.saturating_sub(1).saturating_add(later);
            let own = timing.resend_wait(done, random);
            let fresh = progress.clean_sends == 0;
            let own = if fresh { Duration::ZERO } else { own };
            Some(now.after(own.max(wait.unwrap_or_default())).min(s.deadline_at.max(now)))
        }
        State::PendingConfirmation => {
            let next = s.next_step(now);
            let cancels = next.is_some() && next == s.cancel_step();
            // A replay that would be refused is not waited for.
            let replay = replay_at(s, progress, timing).map(|at| at.max(now)).filter(|at| {
                next.is_some_and(|step| may_send(s, step, at.after(timing.lease), *at))
            });
            let ask = match (asks, cancels) {
                (true, _) => Some(poll),
                (false, true) => Some(now.after(timing.resend_wait(s.cancel_sends(), random))),
                (false, false) => replay,
            };
            // A cancel may be told to wait; its object is not asked about earlier either.
            let ask = ask.map(|at| at.max(now.after(wait.unwrap_or_default())));
            Some(ask.map_or(s.gives_up_at(), |at| at.min(s.gives_up_at())).max(now))
        }
        State::RequiresAction => {
            let over = s.action_until();
            let waiting = now < over && !s.is_unwanted();
            let ask = if asks { poll } else { over };
            // Declined, and to be closed before the shopper is told: nobody waits for a question.
            if s.is_closing() && s.cancel_sends() == 0 && !waiting {
                return Some(now);
            }
            Some(if waiting { ask.min(over) } else { poll })
        }
        State::RequiresReview => {
            let open = s.review.is_none_or(crate::operation::ReviewReason::by_deadline);
            // A person decides on a fresh lookup; later ones come only where one may close it.
            let fresh = s.looked_up_at.is_some_and(|at| at >= s.entered_at);
            match (asks, open) {
                (true, true) => Some(now.after(timing.review_wait(random))),
                (true, false) if !fresh || progress.lookup_wanted => Some(poll),
                (true, false) | (false, _) => None,
            }
        }
        State::Succeeded | State::Rejected | State::Canceled | State::Reversed => {
            (asks && progress.lookup_wanted).then_some(poll)
        }
    }
}

#[cfg(test)]
mod tests;
