//! The data that supervisor and helpers share: waiting jobs, results of units, and merged checks.
//!
//! A worker takes the job that is needed first and runs its first unit. It puts the rest of the job
//! back in parts, so that others can continue with them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::dedup::{KnownChecks, SeenChecks};
use crate::explore::{Job, Strategy, Unit, UnitId};
use crate::plan::RunOrigin;
use crate::worker::UnitResult;

/// The bytes of results, and the number of results, that may wait for the supervisor. Beyond that
/// helpers stop running ahead.
const ROOM: usize = 64 << 20;
const RESULTS: usize = 256;
/// The number of jobs that wait for each worker.
const JOBS: usize = 8;
/// The maximal number of keys that are sent at once.
const KEYS: usize = 1 << 16;
/// The maximal time that a thread waits for a change.
const LOOK: Duration = Duration::from_millis(50);

/// The data that supervisor and helpers share.
#[derive(Default)]
pub struct UnitStore {
    shared: Mutex<SharedUnits>,
    changed: Condvar,
}

#[derive(Default)]
struct SharedUnits {
    stopped: bool,
    /// The origin of the run; `None` until it is known.
    origin: Option<RunOrigin>,
    /// The jobs that wait, in the order in which they are needed.
    jobs: VecDeque<Job>,
    /// The number of states that waited when the strategy was last queried for jobs.
    waited: Option<usize>,
    running: BTreeSet<UnitId>,
    /// Units that are left to the supervisor, because a worker has died of them.
    left: BTreeSet<UnitId>,
    results: BTreeMap<UnitId, (Unit, UnitResult)>,
    bytes: usize,
    helpers: Vec<HelperSlot>,
}

/// The data that a helper has to receive.
#[derive(Default)]
struct HelperSlot {
    /// True if its worker knows no merged checks yet.
    is_new: bool,
    news: Vec<Arc<KnownChecks>>,
}

/// The next task of a helper.
pub enum HelperTask {
    /// A job whose first unit is to be run.
    Job(Job),
    /// No job now; there may be one later.
    Later,
    /// No job any more: the run is over.
    End,
}

/// The status of a unit that the supervisor needs.
pub enum TakenUnit {
    /// The unit was run.
    Result(Box<UnitResult>),
    /// A helper runs the unit. The supervisor can run this job meanwhile, if there is one.
    Running(Option<Job>),
    /// The supervisor must run the unit.
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
    /// Creates the store for this number of helpers.
    pub fn new(helpers: usize) -> UnitStore {
        let store = UnitStore::default();
        store.lock().helpers.resize_with(helpers, HelperSlot::default);
        store
    }

    /// Returns a guard. When it is dropped, the helpers end.
    pub fn stop_at_the_end(&self) -> StopGuard<'_> {
        StopGuard(self)
    }

    /// Sets the origin of the run. Each helper must start with the same one.
    pub fn set_origin(&self, origin: &RunOrigin) {
        self.lock().origin = Some(origin.clone());
        self.changed.notify_all();
    }

    /// Takes the result of a unit, if there is one. If no worker runs the unit, it belongs to the
    /// supervisor from now on.
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

    /// Waits a short time for a change.
    pub fn wait_for_change(&self) {
        drop(self.wait(self.lock()));
    }

    /// Notes that a unit is merged, and that these checks are new.
    pub fn merged(&self, unit: &Unit, known: KnownChecks) {
        let mut shared = self.lock();
        let id = unit.id();
        shared.running.remove(&id);
        shared.left.remove(&id);
        // A job of this unit may still wait. Its result would not be used.
        shared.jobs.retain(|job| job.unit.id() != id);
        let known = Arc::new(known);
        shared.helpers.iter_mut().for_each(|slot| slot.news.push(Arc::clone(&known)));
    }

    /// Queries the strategy for more jobs if they are about to be needed. Passes all merged checks
    /// to new workers.
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
                    // The rest of the job, with the first part last.
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

/// The side of the helpers.
impl UnitStore {
    /// Returns true if the run is over.
    pub fn stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Waits until the run has begun and returns its origin; `None` if the run is over before that.
    pub fn origin(&self) -> Option<RunOrigin> {
        let mut shared = self.lock();
        while !shared.stopped && (shared.origin.is_none() || shared.jobs.is_empty()) {
            shared = self.wait(shared);
        }
        shared.origin.clone().filter(|_| !shared.stopped)
    }

    /// Notes that a helper has a new worker.
    pub fn begin(&self, helper: usize) {
        let mut shared = self.lock();
        shared.helpers[helper] = HelperSlot { is_new: true, news: Vec::new() };
    }

    /// Returns a task. Waits a short time if there is no job, or no room for its result.
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

    /// Returns the checks that were merged since the last call.
    pub fn news(&self, helper: usize) -> Vec<Arc<KnownChecks>> {
        std::mem::take(&mut self.lock().helpers[helper].news)
    }

    /// Notes that the first unit of a job was run. Without a result it is left to the supervisor.
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

    /// Returns the next job whose first unit is not run, running or left to the supervisor.
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
