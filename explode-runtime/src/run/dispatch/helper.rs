//! A helper: runs units that the supervisor is going to want.

use super::store::{Give, Store};
use crate::dedup::Checks;
use crate::run::start::start;
use crate::verdict::Step;
use crate::worker::{Crew, Listener, Order};

/// A helper whose workers die so often in a row gives up.
const DEATHS: u32 = 8;

/// Runs units until there is nothing more to do.
///
/// # Errors
/// Why it has given up before.
pub(super) fn help(
    number: usize,
    keep_events: bool,
    sketches: bool,
    store: &Store,
    crew: &mut dyn Crew,
) -> Result<(), String> {
    let mut deaths = 0;
    while deaths < DEATHS && !store.stopped() {
        let Some(origin) = store.origin() else { return Ok(()) };
        let started =
            start(crew, &Checks::default(), keep_events).map_err(|error| error.to_string())?;
        if started.origin != origin {
            return Err(
                "its first start made other disks than the run's: the stack is not deterministic"
                    .to_owned(),
            );
        }
        store.begin(number);
        match run(number, sketches, store, crew) {
            Lived::ToTheEnd => return Ok(()),
            Lived::ForUnits(0) => deaths += 1,
            Lived::ForUnits(_) => deaths = 0,
        }
    }
    Err(format!("{DEATHS} times in a row it died in the first unit that it ran"))
}

/// How long a worker has lived.
enum Lived {
    ToTheEnd,
    /// It has died.
    ForUnits(u32),
}

fn run(number: usize, sketches: bool, store: &Store, crew: &mut dyn Crew) -> Lived {
    let mut units = 0;
    loop {
        for known in store.news(number) {
            if crew.know(&known).is_err() {
                return Lived::ForUnits(units);
            }
        }
        let job = match store.give(number) {
            Give::Job(job) => job,
            Give::Later => continue,
            Give::End => return Lived::ToTheEnd,
        };
        let order = Order { sketches, ..Order::new(&job.unit) };
        let result = crew.run(&order, &mut Ear { store });
        let died = result.is_err();
        store.ran(&job, result.ok().filter(|result| !result.stopped));
        if died {
            return Lived::ForUnits(units);
        }
        units += 1;
    }
}

/// Hears when the run is over.
struct Ear<'a> {
    store: &'a Store,
}

impl Listener for Ear<'_> {
    fn about_to(&mut self, _step: Step, _checked: u64) {}
    fn stop(&mut self) -> bool {
        self.store.stopped()
    }
}
