//! More workers (`--jobs`): they run units before their turn, so that a run is over sooner.
//!
//! The result of a unit is a function of the unit, so nothing of a run depends on them. The
//! supervisor merges the results of units one by one in the order of its strategy; it runs a unit
//! itself if no helper has its result. A helper whose worker dies leaves the unit to the
//! supervisor.

mod helper;
mod store;

use crate::worker::Workers;

pub(super) use store::{TakenUnit, UnitStore};

/// More workers for a run.
#[derive(Clone, Copy)]
pub struct Helpers<'a> {
    /// How many.
    pub count: usize,
    /// Calls its argument with workers of its own, in the calling thread.
    pub with_workers: &'a HelperWorkers<'a>,
    /// Hears why the run goes on without one of them.
    pub lost: &'a (dyn Fn(&str) + Sync + 'a),
}

/// Makes workers and passes them to its argument. The first argument says when the run is over:
/// then its workers need not end what they do.
pub type HelperWorkers<'a> =
    dyn Fn(&dyn Fn() -> bool, &mut dyn FnMut(&mut dyn Workers)) + Sync + 'a;

impl Helpers<'_> {
    /// Calls `supervise` while they run units.
    pub(super) fn run<T>(
        &self,
        keep_events: bool,
        sketches: bool,
        supervise: impl FnOnce(&UnitStore) -> T,
    ) -> T {
        let store = UnitStore::new(self.count);
        std::thread::scope(|scope| {
            // Also when `supervise` panics.
            let _stop = store.stop_at_the_end();
            for number in 0..self.count {
                let store = &store;
                scope.spawn(move || {
                    (self.with_workers)(&|| store.stopped(), &mut |workers| {
                        if let Err(why) =
                            helper::help(number, keep_events, sketches, store, workers)
                            && !store.stopped()
                        {
                            let (worker, all) = (number + 2, self.count + 1);
                            (self.lost)(&format!(
                                "the run goes on without worker {worker} of {all}: {why}"
                            ));
                        }
                    });
                });
            }
            supervise(&store)
        })
    }
}

impl std::fmt::Debug for Helpers<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Helpers").field("count", &self.count).finish_non_exhaustive()
    }
}
