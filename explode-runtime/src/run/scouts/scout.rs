//! A scout: runs the units of a part of the exploration ahead of their turn, then those of the next.

use std::collections::HashMap;

use super::Ran;
use super::store::{Give, Store};
use crate::choose::Point;
use crate::dedup::ByKey;
use crate::explore::{Arrival, Finished, Reached, Strategy};
use crate::run::memory::Memory;
use crate::run::supervise::start;
use crate::verdict::Step;
use crate::worker::{Crew, Listener, Order, Snapshot};

/// A scout whose workers die so often in a row gives up.
const DEATHS: u32 = 8;

/// Runs units ahead until there is nothing more to do.
///
/// # Errors
/// Why it has given up before.
pub(super) fn scout(
    number: usize,
    keep_events: bool,
    store: &Store,
    crew: &mut dyn Crew,
) -> Result<(), String> {
    let mut scout = Scout { number, store, crew, states: HashMap::default() };
    let mut deaths = 0;
    while deaths < DEATHS && !store.stopped() {
        let Some(origin) = store.origin() else { return Ok(()) };
        let started = start(scout.crew, &Memory::Nowhere, keep_events).map_err(|error| error.to_string())?;
        if started.origin != origin {
            return Err(
                "its first start made other disks than the run's: the stack is not deterministic".to_owned()
            );
        }
        match scout.run() {
            Lived::ToTheEnd => return Ok(()),
            Lived::ForUnits(0) => deaths += 1,
            Lived::ForUnits(_) => deaths = 0,
        }
    }
    Err(format!("{DEATHS} times in a row it died in the first unit that it ran"))
}

struct Scout<'a> {
    number: usize,
    store: &'a Store,
    crew: &'a mut dyn Crew,
    /// The states that are known, each with its depth: for a guess whether one is new.
    states: HashMap<u128, u32, ByKey>,
}

/// How long a worker has lived.
enum Lived {
    ToTheEnd,
    /// It has died.
    ForUnits(u32),
}

impl Scout<'_> {
    fn run(&mut self) -> Lived {
        let mut units = 0;
        loop {
            match self.store.part(self.number) {
                Give::End => return Lived::ToTheEnd,
                Give::Later => {
                    if self.hear_news().is_none() {
                        return Lived::ForUnits(units);
                    }
                }
                Give::Part(mut part) => {
                    if self.run_part(part.as_mut(), &mut units).is_none() {
                        self.store.next(self.number, None, None);
                        return Lived::ForUnits(units);
                    }
                }
            }
        }
    }

    /// Runs the units of a part, until it is left to the supervisor; none if the worker has died.
    fn run_part(&mut self, part: &mut dyn Strategy, units: &mut u32) -> Option<()> {
        let mut next = part.next();
        let mut ended = None;
        // Those of this part count only here: what a scout knows of others is what the run knows.
        let mut states: HashMap<u128, u32, ByKey> = HashMap::default();
        let mut is_first = true;
        while self.store.next(self.number, ended.take(), next.as_ref()) {
            self.hear_news()?;
            let Some(unit) = next.take() else { return Some(()) };
            let mut ear = Ear { store: self.store, states: Vec::new() };
            let order = Order::ahead(&unit, std::mem::take(&mut is_first));
            let scouted = self.crew.run_ahead(&order, &mut ear).ok()?;
            *units += 1;
            let reached = self.guess(&mut states, &ear.states);
            let choices = &scouted.end.choices;
            part.observe(&Finished { unit: &unit, choices, arrivals: &[], reached });
            next = part.next();
            ended = scouted.is_usable().then_some(Ran { unit, scouted, states: ear.states });
        }
        Some(())
    }

    /// What a unit has probably led to.
    fn guess(&self, part: &mut HashMap<u128, u32, ByKey>, reached: &[(Arrival, bool)]) -> Reached {
        let mut last = Reached::Stopped;
        let mutated = reached.iter().map(|(arrival, _)| arrival).filter(|arrival| arrival.depth > 0);
        for Arrival { signature, depth, .. } in mutated {
            let known = |states: &HashMap<u128, u32, ByKey>| {
                states.get(signature).is_some_and(|known| known <= depth)
            };
            let is_known = known(&self.states) || known(part);
            part.insert(*signature, *depth);
            last = if is_known { Reached::Known } else { Reached::New };
        }
        last
    }

    /// Tells the worker which checks count by now; none if it has died.
    fn hear_news(&mut self) -> Option<()> {
        for news in self.store.news(self.number) {
            self.states.extend(news.states.iter().copied());
            self.crew.know(&news.known).ok()?;
        }
        Some(())
    }
}

/// Hears what a unit reaches, for later.
struct Ear<'a> {
    store: &'a Store,
    states: Vec<(Arrival, bool)>,
}

impl Listener for Ear<'_> {
    fn fallback(&mut self, _point: &Point<'_>) -> u32 {
        0
    }
    fn reached(&mut self, arrival: &Arrival, more: bool) -> bool {
        self.states.push((arrival.clone(), more));
        true
    }
    fn about_to(&mut self, _step: Step, _checked: u64) {}
    fn wary(&mut self, _step: Step, _snapshot: Snapshot) {}
    fn stop(&mut self) -> bool {
        self.store.stopped()
    }
}
