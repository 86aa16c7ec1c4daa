//! What visitors have started in the lab: kept in memory, since a restart ends the scripts too.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use app::pages::lab::{naive::Try, scenario::Scenario, watch::invoice_is_open};
use domain::{
    id::{CheckoutId, CustomerId},
    schedule::Timestamp,
    view::CheckoutView,
};
use uuid::Uuid;

use super::scripts::Fault;

/// How many are remembered.
const RUNS_MAX: usize = 500;

/// One scenario that somebody started.
#[derive(Clone, Debug)]
pub struct Run {
    /// The checkout that meets the fault.
    pub checkout: CheckoutId,
    /// Who started it.
    pub customer: CustomerId,
    /// What goes wrong.
    pub scenario: Scenario,
    /// How.
    pub fault: Fault,
    /// The scripts that are still installed.
    pub scripts: Vec<u64>,
    /// The wishes for money back that it may make, one after the other.
    pub wishes: [Uuid; 2],
    /// Where the naive shop stands.
    pub naive: NaiveRun,
}

impl Run {
    /// Whether its invoice is still to be written, or not known to be.
    pub fn awaits_invoice(&self, view: &CheckoutView) -> bool {
        self.fault.is_about_invoice() && invoice_is_open(view)
    }
}

/// Where the naive shop stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NaiveRun {
    /// Nobody has let it try.
    NotRun,
    /// It is trying.
    Running,
    /// Its scripts were not taken.
    Trouble,
    /// It has tried.
    Done {
        /// It told its shopper “paid”.
        told_paid: bool,
        /// Its tries.
        tries: Vec<Try>,
        /// What its references begin with.
        reference: String,
        /// Until when something may still come of its tries.
        until: Timestamp,
    },
}

/// All of them, oldest first.
#[derive(Default)]
pub struct Runs(Mutex<VecDeque<Run>>);

impl Runs {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Run>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers one; gives those whose faults nobody needs any more: this visitor's earlier ones,
    /// and the oldest where there are too many.
    pub fn begin(&self, run: Run) -> Vec<Run> {
        let mut runs = self.lock();
        let mut over = Vec::new();
        for earlier in runs.iter_mut().filter(|it| it.customer == run.customer) {
            over.push(earlier.clone());
            earlier.scripts.clear();
        }
        while runs.len() >= RUNS_MAX {
            over.extend(runs.pop_front());
        }
        runs.push_back(run);
        over
    }

    /// Scripts that were installed later.
    pub fn add_scripts(&self, checkout: CheckoutId, scripts: Vec<u64>) {
        self.change(checkout, |it| it.scripts.extend(scripts));
    }

    /// A visitor's run of a checkout.
    pub fn find(&self, checkout: CheckoutId, customer: CustomerId) -> Option<Run> {
        let runs = self.lock();
        runs.iter().find(|it| it.checkout == checkout && it.customer == customer).cloned()
    }

    /// What a visitor started last.
    pub fn latest(&self, customer: CustomerId) -> Option<Run> {
        self.lock().iter().rfind(|it| it.customer == customer).cloned()
    }

    /// All that a visitor started, oldest first.
    pub fn checkouts(&self, customer: CustomerId) -> Vec<CheckoutId> {
        let runs = self.lock();
        runs.iter().filter(|it| it.customer == customer).map(|it| it.checkout).collect()
    }

    /// Whether scripts of a checkout are still installed.
    pub fn has_scripts(&self, checkout: CheckoutId) -> bool {
        self.lock().iter().any(|it| it.checkout == checkout && !it.scripts.is_empty())
    }

    fn change<T>(&self, checkout: CheckoutId, change: impl FnOnce(&mut Run) -> T) -> Option<T> {
        self.lock().iter_mut().find(|it| it.checkout == checkout).map(change)
    }

    /// Takes the scripts of a run, to be forgotten at the provider.
    pub fn take_scripts(&self, checkout: CheckoutId) -> Vec<u64> {
        self.change(checkout, |it| std::mem::take(&mut it.scripts)).unwrap_or_default()
    }

    /// The naive shop begins to try; false if it is at it already.
    pub fn begin_naive(&self, checkout: CheckoutId) -> bool {
        let begun = self.change(checkout, |it| {
            std::mem::replace(&mut it.naive, NaiveRun::Running) != NaiveRun::Running
        });
        begun == Some(true)
    }

    /// The naive shop has tried.
    pub fn end_naive(&self, checkout: CheckoutId, naive: NaiveRun) {
        self.change(checkout, |it| it.naive = naive);
    }
}
