//! What supervisor and helpers share: jobs that wait, results of units, checks that were merged.
//!
//! A worker takes the job that is wanted first, runs its first unit, and puts back what is left of
//! the job in parts, so that others can go on with them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::dedup::{KnownChecks, SeenChecks};
use crate::explore::{Job, Strategy, Unit, UnitId};
use crate::plan::RunOrigin;
use crate::worker::UnitResult;

/// Helpers stop running ahead when so many bytes of results wait for the supervisor, or so many
/// results.
const ROOM: usize = 64 << 20;
const RESULTS: usize = 256;
/// So many jobs wait for each worker.
const JOBS: usize = 8;
/// At most so many keys are sent at once.
const KEYS: usize = 1 << 16;
/// Who waits looks around at least so often.
const LOOK: Duration = Duration::from_millis(50);

/// What supervisor and helpers share.
#[derive(Default)]
pub struct UnitStore {
    shared: Mutex<SharedUnits>,
    changed: Condvar,
}

#[derive(Default)]
struct SharedUnits {
    stopped: bool,
    /// What the run begins with, once that is known.
    origin: Option<RunOrigin>,
    /// Those that wait, in the order in which they will be wanted.
    jobs: VecDeque<Job>,
    /// How many states waited when jobs were asked for last.
    waited: Option<usize>,
    running: BTreeSet<UnitId>,
    /// Units that are left to the supervisor: a worker has died of them.
    left: BTreeSet<UnitId>,
    results: BTreeMap<UnitId, (Unit, UnitResult)>,
    bytes: usize,
    helpers: Vec<HelperSlot>,
}

/// What a helper has to hear.
#[derive(Default)]
struct HelperSlot {
    /// Its worker knows of no checks yet.
    is_new: bool,
    news: Vec<Arc<KnownChecks>>,
}

/// What a helper is given.
pub enum HelperTask {
    /// A job: its first unit is to be run.
    Job(Job),
    /// There may be one later.
    Later,
    /// Nothing any more.
    End,
}

/// What becomes of a unit that the supervisor wants.
pub enum TakenUnit {
    /// It was run.
    Result(Box<UnitResult>),
    /// A helper runs it. Meanwhile this can be run, if there is anything.
    Running(Option<Job>),
    /// It is the supervisor's.
    Free,
}

/// Stops the helpers when it is dropped.
pub struct StopGuard<'a>(&'a UnitStore);

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        self.0.lock().stopped = true;
        self.0.changed.notify_all();
    }
}

/// The supervisor's side.
impl UnitStore {
    /// For so many helpers.
    pub fn new(helpers: usize) -> UnitStore {
        let store = UnitStore::default();
        store.lock().helpers.resize_with(helpers, HelperSlot::default);
        store
    }

    /// Whatever happens, the helpers end when this goes.
    pub fn stop_at_the_end(&self) -> StopGuard<'_> {
        StopGuard(self)
    }

    /// The run begins with this: so must a helper.
    pub fn set_origin(&self, origin: &RunOrigin) {
        self.lock().origin = Some(origin.clone());
        self.changed.notify_all();
    }

    /// Takes the result of a unit, if there is one; if no worker runs the unit, it is the
    /// supervisor's from now on.
    pub fn take(&self, unit: &Unit) -> TakenUnit {
        let id = unit.id();
        let mut shared = self.lock();
        if let Some((ran, result)) = shared.results.remove(&id) {
            shared.bytes -= result.weight();
            self.changed.notify_all();
            if ran == *unit {
                return TakenUnit::Result(Box::new(result));
            }
        }
        if shared.running.contains(&id) {
            let job = if shared.is_full() { None } else { shared.pop() };
            shared.running.extend(job.iter().map(|job| job.unit.id()));
            return TakenUnit::Running(job);
        }
        shared.running.insert(id);
        TakenUnit::Free
    }

    /// Waits for a change, but not long.
    pub fn wait_for_change(&self) {
        drop(self.wait(self.lock()));
    }

    /// A unit has ended, and is merged: these checks are new.
    pub fn merged(&self, unit: &Unit, known: KnownChecks) {
        let mut shared = self.lock();
        let id = unit.id();
        shared.running.remove(&id);
        shared.left.remove(&id);
        let known = Arc::new(known);
        shared.helpers.iter_mut().for_each(|slot| slot.news.push(Arc::clone(&known)));
    }

    /// Asks the strategy for more jobs, if they are about to be wanted, and tells new workers of
    /// all checks that are merged.
    pub fn refill(&self, strategy: &dyn Strategy, checks: &SeenChecks) {
        let mut shared = self.lock();
        for slot in shared.helpers.iter_mut().filter(|slot| slot.is_new) {
            *slot = HelperSlot { is_new: false, news: checks.parts(KEYS).map(Arc::new).collect() };
        }
        let wanted = JOBS * (shared.helpers.len() + 1);
        let waiting = Some(strategy.waiting());
        if shared.jobs.len() >= wanted / 2 || !shared.jobs.is_empty() && shared.waited == waiting {
            return;
        }
        shared.waited = waiting;
        let most = wanted + shared.results.len() + shared.running.len();
        let mut jobs = VecDeque::new();
        let mut queued = BTreeSet::new();
        for job in strategy.ahead(most) {
            let mut parts = vec![job];
            while let Some(job) = parts.pop() {
                let id = job.unit.id();
                if let Some((_, result)) = shared.results.get(&id) {
                    // What is left of it, the first part last.
                    let rest =
                        job.after(&result.choices).map_or_else(Vec::new, |job| job.split(wanted));
                    parts.extend(rest.into_iter().rev());
                } else if !shared.running.contains(&id)
                    && !shared.left.contains(&id)
                    && queued.insert(id)
                {
                    jobs.push_back(job);
                }
            }
        }
        shared.jobs = jobs;
        drop(shared);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, SharedUnits> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, shared: MutexGuard<'a, SharedUnits>) -> MutexGuard<'a, SharedUnits> {
        let waited = self.changed.wait_timeout(shared, LOOK);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The side of a worker.
impl UnitStore {
    /// Is it over?
    pub fn stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Waits until the run has begun: what it begins with; none if it is over before.
    pub fn origin(&self) -> Option<RunOrigin> {
        let mut shared = self.lock();
        while !shared.stopped && (shared.origin.is_none() || shared.jobs.is_empty()) {
            shared = self.wait(shared);
        }
        shared.origin.clone().filter(|_| !shared.stopped)
    }

    /// A helper has a new worker.
    pub fn begin(&self, helper: usize) {
        let mut shared = self.lock();
        shared.helpers[helper] = HelperSlot { is_new: true, news: Vec::new() };
    }

    /// A job; waits for a moment if there is none, or no room for its result.
    pub fn give(&self, helper: usize) -> HelperTask {
        let mut shared = self.lock();
        if !shared.stopped
            && (shared.jobs.is_empty() || shared.is_full())
            && shared.helpers[helper].news.is_empty()
        {
            shared = self.wait(shared);
        }
        if shared.stopped {
            return HelperTask::End;
        }
        if shared.is_full() || !shared.helpers[helper].news.is_empty() {
            return HelperTask::Later;
        }
        let Some(job) = shared.pop() else { return HelperTask::Later };
        shared.running.insert(job.unit.id());
        HelperTask::Job(job)
    }

    /// The checks that were merged since this was asked last.
    pub fn news(&self, helper: usize) -> Vec<Arc<KnownChecks>> {
        std::mem::take(&mut self.lock().helpers[helper].news)
    }

    /// The first unit of a job was run; without a result it is left to the supervisor.
    pub fn ran(&self, job: &Job, result: Option<UnitResult>) {
        let id = job.unit.id();
        let mut shared = self.lock();
        shared.running.remove(&id);
        match result {
            None => _ = shared.left.insert(id),
            Some(result) => {
                let rest = job.after(&result.choices).map_or_else(Vec::new, |job| job.split(JOBS));
                rest.into_iter().rev().for_each(|job| shared.jobs.push_front(job));
                shared.bytes += result.weight();
                shared.results.insert(id, (job.unit.clone(), result));
            }
        }
        drop(shared);
        self.changed.notify_all();
    }
}

impl SharedUnits {
    fn is_full(&self) -> bool {
        self.bytes > ROOM || self.results.len() >= RESULTS
    }

    /// The next job whose first unit no worker has run, or runs.
    fn pop(&mut self) -> Option<Job> {
        loop {
            let job = self.jobs.pop_front()?;
            let id = job.unit.id();
            if !self.running.contains(&id)
                && !self.results.contains_key(&id)
                && !self.left.contains(&id)
            {
                return Some(job);
            }
        }
    }
}

impl std::fmt::Debug for UnitStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}
