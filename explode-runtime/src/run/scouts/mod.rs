//! Scouts: more workers, which run units ahead of their turn, so that a run is over sooner (`--jobs`).
//!
//! Nothing of a run depends on them. The supervisor goes through its units one by one in the order of its strategy, as it does
//! without scouts; a unit that was run ahead is not run again, its counts are made up with all that is known when its turn
//! has come ([`Scouted`]). Where that cannot be done, and where a scout has died, the unit is run in the ordinary way.

mod scout;
mod store;

use crate::explore::{Arrival, Unit};
use crate::worker::{Crew, Scouted};

pub(super) use store::{News, Store};

/// More workers for a run.
#[derive(Clone, Copy)]
pub struct Scouts<'a> {
    /// How many.
    pub count: usize,
    /// Calls what it is given with a crew of its own, in the thread that it is called in.
    pub with_crew: &'a WithCrew<'a>,
    /// Hears why the run goes on without one of them.
    pub lost: &'a (dyn Fn(&str) + Sync + 'a),
}

/// Makes a crew and calls with it what it is given. The first argument says when the run is over: then its workers need not end
/// what they do.
pub type WithCrew<'a> = dyn Fn(&dyn Fn() -> bool, &mut dyn FnMut(&mut dyn Crew)) + Sync + 'a;

/// A unit that was run ahead.
#[derive(Debug)]
pub(super) struct Ran {
    pub unit: Unit,
    pub scouted: Scouted,
    /// The states that it has reached, and whether there were mutates left.
    pub states: Vec<(Arrival, bool)>,
}

impl Scouts<'_> {
    /// Calls `supervise` while they run ahead.
    pub(super) fn run<T>(&self, keep_events: bool, supervise: impl FnOnce(&Store) -> T) -> T {
        let store = Store::new(self.count);
        std::thread::scope(|scope| {
            // Also when `supervise` panics.
            let _stop = store.stop_at_the_end();
            for number in 0..self.count {
                let store = &store;
                scope.spawn(move || {
                    (self.with_crew)(&|| store.stopped(), &mut |crew| {
                        if let Err(why) = scout::scout(number, keep_events, store, crew)
                            && !store.stopped()
                        {
                            let (worker, all) = (number + 2, self.count + 1);
                            (self.lost)(&format!("the run goes on without worker {worker} of {all}: {why}"));
                        }
                    });
                });
            }
            supervise(&store)
        })
    }
}
