//! When things happen: time stamps, back-off, windows and caps. Pure; the random number comes in.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This long after; saturates.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }

    /// This long before; saturates.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }

    /// How long after `earlier` this is; zero if it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A duration in whole milliseconds.
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Every wait the engine knows, in one place, so that tests and demos can compress them together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Waits before the first lookups of an unknown outcome.
    pub lookups: Vec<Duration>,
    /// The wait between lookups once the list is used up.
    pub lookup_steady: Duration,
    /// Waits, from when the outcome became unknown, before each same-key replay.
    pub replays: Vec<Duration>,
    /// The wait between lookups while a person is asked.
    pub review_lookup: Duration,
    /// Waits before sending again what was proven not executed.
    pub resends: Vec<Duration>,
    /// How long a worker owns an operation it talks to the provider about.
    pub lease: Duration,
    /// The sliding window of the two caps.
    pub hour: Duration,
    /// Requests of one operation in the window, lookups and refused connections included.
    pub requests_max: u32,
    /// Of these, how many may be mutating.
    pub mutating_max: u32,
    /// How long an unpaid order without an open operation keeps its stock.
    pub order_expiry: Duration,
    /// How long after a cancel was first sent its answer is waited for.
    pub cancel_grace: Duration,
    /// How long a provider's circuit stays open.
    pub circuit_open: Duration,
    /// How often each provider's list is compared with ours.
    pub sweep: Duration,
    /// After how long an unknown outcome is told to a person, who need not act yet.
    pub unknown_alert: Duration,
    /// For how long an outcome may be unknown before its page says so in other words.
    pub patience: Duration,
    /// Waits before a mail is handed over again that was not taken, or not known to be.
    pub mails: Vec<Duration>,
}

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lookups: [2, 5, 10, 20, 40, 60, 120, 240].map(seconds).to_vec(),
            lookup_steady: seconds(300),
            replays: [30, 120, 600].map(seconds).to_vec(),
            review_lookup: seconds(3600),
            resends: [5, 30, 240, 600].map(seconds).to_vec(),
            lease: seconds(30),
            hour: seconds(3600),
            requests_max: 18,
            mutating_max: 4,
            order_expiry: seconds(3600),
            cancel_grace: seconds(1800),
            circuit_open: seconds(30),
            sweep: seconds(24 * 3600),
            unknown_alert: seconds(600),
            patience: seconds(120),
            // A mail server that is away for a night, or for a day, loses nothing.
            mails: [30, 120, 600, 3600, 4 * 3600, 12 * 3600, 24 * 3600].map(seconds).to_vec(),
        }
    }
}

impl Timing {
    /// All waits times `permille`/1000; the lease keeps its length, since it covers a real call.
    #[must_use]
    pub fn scaled(&self, permille: u32) -> Self {
        let scale = |duration: Duration| duration.saturating_mul(permille) / 1000;
        let scale_all = |list: &[Duration]| list.iter().copied().map(scale).collect();
        Self {
            lookups: scale_all(&self.lookups),
            lookup_steady: scale(self.lookup_steady),
            replays: scale_all(&self.replays),
            review_lookup: scale(self.review_lookup),
            resends: scale_all(&self.resends),
            lease: self.lease,
            hour: scale(self.hour),
            requests_max: self.requests_max,
            mutating_max: self.mutating_max,
            order_expiry: scale(self.order_expiry),
            cancel_grace: scale(self.cancel_grace),
            circuit_open: scale(self.circuit_open),
            sweep: scale(self.sweep),
            unknown_alert: scale(self.unknown_alert),
            patience: scale(self.patience),
            mails: scale_all(&self.mails),
        }
    }

    /// The wait before lookup number `done` + 1. Full jitter around the declared wait; ±50 %
    /// once it is steady. `random` is uniform over all of `u32`.
    pub fn lookup_wait(&self, done: u32, random: u32) -> Duration {
        match self.lookups.get(done as usize) {
            Some(declared) => full_jitter(*declared, random),
            None => half_jitter(self.lookup_steady, random),
        }
    }

    /// The wait before sending again what was proven not executed for the `done` + 1st time: ±50 %
    /// of the declared one, since only four sends fit into an hour and none may come too early.
    pub fn resend_wait(&self, done: u32, random: u32) -> Duration {
        let last = self.resends.last().copied().unwrap_or_default();
        half_jitter(self.resends.get(done as usize).copied().unwrap_or(last), random)
    }

    /// The wait before a mail is tried again for the `done`th time: ±50 %; `None` after the last.
    pub fn mail_wait(&self, done: u32, random: u32) -> Option<Duration> {
        let place = done.checked_sub(1)? as usize;
        self.mails.get(place).map(|declared| half_jitter(*declared, random))
    }

    /// The wait before the next lookup of something a person looks at.
    pub fn review_wait(&self, random: u32) -> Duration {
        half_jitter(self.review_lookup, random)
    }

    /// The longest wait any schedule here can give: a stored wait beyond it is a clock's fault.
    pub fn longest_wait(&self) -> Duration {
        let lists = [&self.lookups, &self.replays, &self.resends];
        let longest = lists.into_iter().flatten().copied().max().unwrap_or_default();
        let steady = self.lookup_steady.max(self.review_lookup).max(self.order_expiry);
        longest.max(steady).max(self.hour).saturating_mul(2)
    }

    /// When the caps allow one more request; `None` if now.
    ///
    /// `sent` lists the operation's requests as (time, mutating), in any order. `mutating` tells,
    /// for a mutating one, how many steps are still to come after it: each of them keeps a place.
    pub fn capped_until(
        &self,
        sent: &[(Timestamp, bool)],
        mutating: Option<u32>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let start = now.before(self.hour);
        let until = |only_mutating: bool, max: u32| {
            let mut recent: Vec<Timestamp> = sent
                .iter()
                .filter(|(at, is_mutating)| *at > start && (*is_mutating || !only_mutating))
                .map(|(at, _)| *at)
                .collect();
            recent.sort_unstable();
            let over = recent.len().checked_sub(max as usize)?;
            recent.get(over).map(|at| at.after(self.hour))
        };
        let all = until(false, self.requests_max);
        match mutating {
            Some(later) => all.max(until(true, self.mutating_max.saturating_sub(later).max(1))),
            None => all,
        }
    }
}

/// Uniform between nothing and twice the declared wait, so that its mean is the declared one.
fn full_jitter(declared: Duration, random: u32) -> Duration {
    let part = u128::from(random) * declared.as_nanos() * 2 / u128::from(u32::MAX);
    Duration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX))
}

/// Uniform between half and one and a half of the declared wait.
fn half_jitter(declared: Duration, random: u32) -> Duration {
    declared / 2 + full_jitter(declared, random) / 2
}

/// Until when a step may be sent again with its key: 75 % of the provider's window from its
/// first send. The rest is for a request that is slow and a worker that was paused.
pub fn replay_until(first_sent_at: Timestamp, window: Duration) -> Timestamp {
    first_sent_at.after(window / 4 * 3)
}

#[cfg(test)]
mod tests;
