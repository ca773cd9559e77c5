//! More workers (`--jobs`). They run units before their turn, so that a run ends sooner.
//!
//! The result of a unit is a function of the unit, so nothing of a run depends on them. The
//! supervisor merges units one by one, in strategy order. It runs a unit itself if no helper has
//! the result. If the worker of a helper dies of a unit, the unit is left to the supervisor.

mod helper;
mod store;

use crate::worker::Workers;

pub(super) use store::{TakenUnit, UnitStore};

/// More workers for a run.
#[derive(Clone, Copy)]
pub struct Helpers<'a> {
    /// The number of helpers.
    pub count: usize,
    /// Makes the workers of one helper and runs the helper with them, in the calling thread.
    pub with_workers: &'a HelperWorkers<'a>,
    /// Receives the reason why the run continues without a helper.
    pub lost: &'a (dyn Fn(&str) + Sync + 'a),
}

/// Makes workers and passes them to its second argument. The first argument returns true once the
/// run is over. Workers may then be killed.
pub type HelperWorkers<'a> =
    dyn Fn(&dyn Fn() -> bool, &mut dyn FnMut(&mut dyn Workers)) + Sync + 'a;

impl Helpers<'_> {
    /// Calls `supervise` while the helpers run units.
    pub(super) fn run<T>(
        &self,
        keep_events: bool,
        sketches: bool,
        supervise: impl FnOnce(&UnitStore) -> T,
    ) -> T {
        let store = UnitStore::new(self.count);
        std::thread::scope(|scope| {
            // The helpers also stop if `supervise` panics.
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
                                "the run continues without worker {worker} of {all}: {why}"
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
