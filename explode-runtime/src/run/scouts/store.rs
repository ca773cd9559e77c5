//! What supervisor and scouts share: parts of the exploration that wait, units that were run ahead, news.
//!
//! A scout takes a part and runs its units one by one, in the order in which they will be wanted, then the next part. When the
//! supervisor has caught up with it and wants the unit that it is running, it waits for that, and the scout leaves the rest of the
//! part to the supervisor: else both would come to each of its units at the same time. The scout then leaps ahead, as far as parts
//! are known: the supervisor is to catch up with it as seldom as can be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Ran;
use crate::choose::Choice;
use crate::dedup::Known;
use crate::explore::{Arrival, Reached, Strategy, Unit};
use crate::plan::Origin;
use crate::run::journal::identity;

/// The scouts do not run further ahead when so many bytes wait for the supervisor.
const ROOM: usize = 64 << 20;
/// Scouts leap over so many parts at most.
const LEAP: usize = 16;
/// The supervisor looks around at least so often while it waits.
const LOOK: Duration = Duration::from_millis(50);

/// What supervisor and scouts share.
#[derive(Default)]
pub struct Store {
    shared: Mutex<Shared>,
    changed: Condvar,
}

#[derive(Default)]
struct Shared {
    stopped: bool,
    /// What the run begins with, once that is known.
    origin: Option<Origin>,
    /// Parts in the order in which they will be wanted, until their turn has come.
    parts: Vec<Part>,
    /// How many states waited when they were taken from the strategy.
    waited: usize,
    scouts: Vec<Slot>,
    /// Units that were run ahead, and how many bytes they have.
    ran: BTreeMap<UnitId, Ran>,
    bytes: usize,
}

/// A unit, by a hash of all that decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UnitId(u128);

/// A part of the exploration, by its first unit; its units are gone when a scout has taken it.
struct Part {
    first: UnitId,
    units: Option<Box<dyn Strategy + Send>>,
}

/// What a scout does.
#[derive(Default)]
struct Slot {
    at: Option<At>,
    /// The part that it has taken last.
    last: Option<UnitId>,
    news: Vec<Arc<News>>,
}

/// Which unit it is at.
struct At {
    id: UnitId,
    unit: Unit,
    /// It has begun with it.
    running: bool,
    /// What comes after it is left to the supervisor.
    leave: bool,
    /// Nobody wants it any more.
    void: bool,
}

/// What a unit has added to what is known.
#[derive(Debug)]
pub struct News {
    /// Checks.
    pub known: Known,
    /// States, each with its depth.
    pub states: Vec<(u128, u32)>,
}

impl News {
    /// What a unit has added that has made these checks, and was in these states.
    pub fn of(known: &Known, arrivals: &[(Arrival, Reached)]) -> News {
        let states = arrivals.iter().map(|(arrival, _)| (arrival.signature, arrival.depth)).collect();
        News { known: known.clone(), states }
    }
}

/// What the supervisor gives a scout that has nothing to do.
pub enum Give {
    /// A part.
    Part(Box<dyn Strategy + Send>),
    /// There may be one later; these are the news.
    Later,
    /// Nothing any more.
    End,
}

/// Stops the scouts when it is dropped.
pub struct Stop<'a>(&'a Store);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.lock().stopped = true;
        self.0.changed.notify_all();
    }
}

impl UnitId {
    fn of(unit: &Unit) -> UnitId {
        UnitId(identity(unit))
    }
}

/// The supervisor's side.
impl Store {
    /// For so many scouts.
    pub fn new(scouts: usize) -> Store {
        let store = Store::default();
        store.lock().scouts.resize_with(scouts, Slot::default);
        store
    }

    /// Whatever happens, the scouts end when this goes.
    pub fn stop_at_the_end(&self) -> Stop<'_> {
        Stop(self)
    }

    /// The run begins with this: so must a scout.
    pub fn set_origin(&self, origin: &Origin) {
        self.lock().origin = Some(origin.clone());
        self.changed.notify_all();
    }

    /// Takes a unit that was run ahead, or is being run; `stop` says when nobody has time to wait for that.
    pub fn take(&self, unit: &Unit, stop: impl Fn() -> bool) -> Option<Ran> {
        let id = UnitId::of(unit);
        let mut shared = self.lock();
        shared.parts.retain(|part| part.first != id);
        loop {
            if let Some(ran) = shared.ran.remove(&id) {
                shared.bytes -= ran.weight();
                self.changed.notify_all();
                return (ran.unit == *unit).then_some(ran);
            }
            let at = shared.scouts.iter_mut().find_map(|slot| slot.at.as_mut().filter(|at| at.id == id));
            let at = at?;
            at.leave = true;
            if !at.running || stop() {
                at.void = true;
                self.changed.notify_all();
                return None;
            }
            shared = self.wait(shared);
        }
    }

    /// A unit has ended, and counts. Says what is new, and hands out more of what waits.
    pub fn ended(&self, unit: &Unit, choices: &[Choice], reached: Reached, news: News) {
        let mut shared = self.lock();
        let news = Arc::new(news);
        shared.scouts.iter_mut().for_each(|slot| slot.news.push(Arc::clone(&news)));
        if reached != Reached::New {
            // A scout may have gone on from the state.
            let depth = unit.state.depth;
            let follows =
                |other: &Unit| other.state.depth > depth && other.state.choices.starts_with(choices);
            let gone: Vec<UnitId> =
                shared.ran.iter().filter(|(_, ran)| follows(&ran.unit)).map(|(id, _)| *id).collect();
            for ran in gone.iter().filter_map(|id| shared.ran.remove(id)).collect::<Vec<Ran>>() {
                shared.bytes -= ran.weight();
            }
            for at in shared.scouts.iter_mut().filter_map(|slot| slot.at.as_mut()) {
                at.void |= follows(&at.unit);
            }
        }
        drop(shared);
        self.changed.notify_all();
    }

    /// Takes more of what waits from the strategy, if the scouts are about to want it.
    pub fn refill(&self, strategy: &dyn Strategy) {
        let mut shared = self.lock();
        let wanted = 2 * LEAP * shared.scouts.len();
        let free = shared.parts.iter().filter(|part| part.units.is_some()).count();
        if free > wanted / 2 || shared.waited == strategy.waiting() {
            return;
        }
        shared.waited = strategy.waiting();
        let taken = shared.parts.iter().filter(|part| part.units.is_none());
        let taken: BTreeSet<UnitId> = taken.map(|part| part.first).collect();
        let parts = strategy.ahead(taken.len() + wanted).into_iter().filter_map(|mut units| {
            let first = UnitId::of(&units.next()?);
            Some(Part { first, units: (!taken.contains(&first)).then_some(units) })
        });
        shared.parts = parts.collect();
        drop(shared);
        self.changed.notify_all();
    }

    /// News of an earlier process.
    pub fn tell(&self, news: News) {
        let news = Arc::new(news);
        self.lock().scouts.iter_mut().for_each(|slot| slot.news.push(Arc::clone(&news)));
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, shared: MutexGuard<'a, Shared>) -> MutexGuard<'a, Shared> {
        let waited = self.changed.wait_timeout(shared, LOOK);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The side of a scout.
impl Store {
    /// Is it over?
    pub fn stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Waits until there is something to run ahead: what the run begins with; none if it is over before.
    pub fn origin(&self) -> Option<Origin> {
        let mut shared = self.lock();
        loop {
            if shared.stopped {
                return None;
            }
            if let Some(origin) = shared.origin.as_ref().filter(|_| shared.free().next().is_some()) {
                return Some(origin.clone());
            }
            shared = self.wait(shared);
        }
    }

    /// A part to run ahead; waits for a moment if there is none.
    pub fn part(&self, scout: usize) -> Give {
        let mut shared = self.lock();
        shared.scouts[scout].at = None;
        if !shared.stopped && shared.free().next().is_none() && shared.scouts[scout].news.is_empty() {
            shared = self.wait(shared);
        }
        if shared.stopped {
            return Give::End;
        }
        let last = shared.scouts[scout].last.take();
        let Some(index) = shared.after(last).or_else(|| shared.leap()) else { return Give::Later };
        shared.scouts[scout].last = Some(shared.parts[index].first);
        shared.parts[index].units.take().map_or(Give::Later, Give::Part)
    }

    /// What is new since this was asked last.
    pub fn news(&self, scout: usize) -> Vec<Arc<News>> {
        std::mem::take(&mut self.lock().scouts[scout].news)
    }

    /// The unit that the scout was at has ended, or was given up, and this one comes next. Shall it begin? It waits until there is
    /// room for what it will come to.
    pub fn next(&self, scout: usize, ended: Option<Ran>, next: Option<&Unit>) -> bool {
        let mut shared = self.lock();
        let before = shared.scouts[scout].at.take();
        let leave = before.as_ref().is_some_and(|at| at.leave || at.void);
        if let (Some(at), Some(ran)) = (before, ended)
            && !at.void
        {
            shared.bytes += ran.weight();
            shared.ran.insert(at.id, ran);
        }
        self.changed.notify_all();
        let Some(unit) = next.filter(|_| !leave) else { return false };
        let id = UnitId::of(unit);
        let known = shared.ran.contains_key(&id);
        if known || shared.scouts.iter().any(|slot| slot.at.as_ref().is_some_and(|at| at.id == id)) {
            return false;
        }
        let at = At { id, unit: unit.clone(), running: false, leave: false, void: false };
        shared.scouts[scout].at = Some(at);
        while shared.bytes > ROOM && !shared.stopped {
            shared = self.wait(shared);
            if shared.scouts[scout].at.as_ref().is_none_or(|at| at.void) {
                break;
            }
        }
        let stopped = shared.stopped;
        match &mut shared.scouts[scout].at {
            Some(at) if !at.void && !stopped => {
                at.running = true;
                true
            }
            at => {
                *at = None;
                false
            }
        }
    }
}

impl Shared {
    /// The parts that nobody has taken.
    fn free(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().enumerate().filter(|(_, part)| part.units.is_some()).map(|(index, _)| index)
    }

    /// The part after this one, if it is free. One that the supervisor has come to is not there any more.
    fn after(&self, last: Option<UnitId>) -> Option<usize> {
        let next = self.parts.iter().position(|part| Some(part.first) == last)? + 1;
        self.parts.get(next)?.units.as_ref().map(|_| next)
    }

    /// The middle of the largest gap between parts that were taken: what is before it is left to whoever comes from there.
    fn leap(&self) -> Option<usize> {
        let gaps = self.parts.chunk_by(|one, other| one.units.is_some() == other.units.is_some());
        let starts = gaps.scan(0, |start, gap| {
            *start += gap.len();
            Some((*start - gap.len(), gap))
        });
        let free = starts.filter(|(_, gap)| gap[0].units.is_some());
        let (start, gap) = free.reduce(|best, gap| if gap.1.len() > best.1.len() { gap } else { best })?;
        Some(start + gap.len() / 2)
    }
}

impl Ran {
    /// About how much memory it takes, in bytes.
    fn weight(&self) -> usize {
        let Ran { unit, scouted, states } = self;
        let choices = unit.state.choices.len() + unit.script.len() + scouted.end.choices.len();
        let errors = scouted.end.errors.len() * 4096;
        let events: usize = scouted.end.events.len() * 4096;
        1024 + choices * 128 + states.len() * size_of::<Arrival>() + scouted.weight() + errors + events
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}
