//! A helper: runs units that the supervisor is going to need.

use super::store::{HelperTask, UnitStore};
use crate::dedup::SeenChecks;
use crate::run::start::{FIRST, start};
use crate::verdict::WorkerStep;
use crate::worker::{UnitListener, UnitOrder, Workers};

/// The number of workers in a row that may die in their first unit before a helper gives up.
const DEATHS: u32 = 8;

/// Runs units until the run is over.
///
/// # Errors
/// The reason why the helper has given up.
pub(super) fn help(
    number: usize,
    keep_events: bool,
    sketches: bool,
    store: &UnitStore,
    workers: &mut dyn Workers,
) -> Result<(), String> {
    let mut deaths = 0;
    while deaths < DEATHS && !store.stopped() {
        let Some(origin) = store.origin() else { return Ok(()) };
        let started = start(FIRST, workers, &SeenChecks::default(), keep_events)
            .map_err(|error| error.to_string())?;
        if started.origin != origin {
            return Err(
                "its first start made other disks than the run's: the stack is not deterministic"
                    .to_owned(),
            );
        }
        store.begin(number);
        match run(number, sketches, store, workers) {
            WorkerLife::ToTheEnd => return Ok(()),
            WorkerLife::ForUnits(0) => deaths += 1,
            WorkerLife::ForUnits(_) => deaths = 0,
        }
    }
    Err(format!("{DEATHS} times in a row it died in the first unit that it ran"))
}

/// The life of a worker.
enum WorkerLife {
    ToTheEnd,
    /// The worker has died after this number of units.
    ForUnits(u32),
}

fn run(number: usize, sketches: bool, store: &UnitStore, workers: &mut dyn Workers) -> WorkerLife {
    let mut units = 0;
    loop {
        for known in store.news(number) {
            if workers.learn(&known).is_err() {
                return WorkerLife::ForUnits(units);
            }
        }
        let job = match store.give(number) {
            HelperTask::Job(job) => job,
            HelperTask::Later => continue,
            HelperTask::End => return WorkerLife::ToTheEnd,
        };
        let order = UnitOrder { sketches, ..UnitOrder::new(&job.unit) };
        let result = workers.run(&order, &mut HelperListener { store });
        let died = result.is_err();
        store.ran(&job, result.ok().filter(|result| !result.stopped));
        if died {
            return WorkerLife::ForUnits(units);
        }
        units += 1;
    }
}

/// Stops a unit when the run is over.
struct HelperListener<'a> {
    store: &'a UnitStore,
}

impl UnitListener for HelperListener<'_> {
    fn next_step(&mut self, _step: WorkerStep, _checked: u64) {}
    fn stop(&mut self) -> bool {
        self.store.stopped()
    }
}
