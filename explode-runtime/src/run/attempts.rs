//! Running a unit until it has ended, however many workers die of it.
//!
//! The first time that a worker dies in a step the unit is repeated as it was. The second time the
//! step is an error: if a replay dies there too, it is one of the checked system, and the unit goes
//! on past it. If not, the unit is repeated again; a step that goes on like that is given up as
//! broken. If a worker was ended from outside, that says nothing of the step that it was in: the
//! unit is just repeated. Only the last attempt counts, and what a replay has confirmed: that is
//! reported even if the run ends before the unit gets there again.

use std::collections::BTreeMap;

use tracing::info;

use super::hearing::Hearing;
use super::start::start;
use crate::base::RunError;
use crate::dedup::Known;
use crate::explore::Unit;
use crate::run::confirm::Confirmation;
use crate::trace::ErrorFound;
use crate::verdict::{BrokenKind, Death, Step, StepName};
use crate::worker::{Crew, Listener, Order, Outcome, Past, Snapshot, Started, UnitResult};

/// A step whose deaths do not reproduce is given up after so many replays.
const REPLAYS: u32 = 2;
/// So many deaths in one unit outside of all steps give it up: they say nothing of the checked
/// system.
const OUTSIDE: u32 = 10;
/// So many deaths in one unit end the run.
const DEATHS: u32 = 100;

/// Runs units, and starts new workers as they are needed.
pub(super) struct Attempts<'a> {
    crew: &'a mut dyn Crew,
    started: Started,
    keep_events: bool,
    sketches: bool,
    /// The worker of the moment has not died yet.
    alive: bool,
    /// What it has run last is merged.
    last_counts: bool,
}

/// The deaths of a unit in one step.
#[derive(Default)]
struct Deaths {
    /// Since the last replay.
    times: u32,
    replays: u32,
    last: String,
    /// They are an error, or are broken: said already.
    settled: bool,
    /// The error that they are, on a crash disk: the unit goes on past it.
    confirmed: Option<ErrorFound>,
}

/// What becomes of a unit after a death.
enum Then {
    Repeat,
    End(Box<UnitResult>),
}

impl<'a> Attempts<'a> {
    /// Workers start like this; one `is_there`, or is started when it is wanted.
    pub fn new(
        crew: &'a mut dyn Crew,
        started: Started,
        is_there: bool,
        keep_events: bool,
        sketches: bool,
    ) -> Attempts<'a> {
        Attempts { crew, started, keep_events, sketches, alive: is_there, last_counts: false }
    }

    /// Something is about to be replayed by another worker.
    pub fn rest(&mut self) {
        self.alive &= !self.crew.rest();
    }

    /// The unit that was run last is merged.
    pub fn counts(&mut self) {
        self.last_counts = true;
    }

    /// Checks of a unit that another worker has run are merged.
    pub fn know(&mut self, known: &Known) {
        // One that dies of it gets the whole list when it starts anew.
        self.alive &= self.alive && self.crew.know(known).is_ok();
    }

    /// Runs a unit whose turn has not come; none if that cannot be done now.
    pub fn run_ahead(&mut self, unit: &Unit, listener: &mut dyn Listener) -> Option<UnitResult> {
        if !self.alive {
            return None;
        }
        let last_counts = std::mem::take(&mut self.last_counts);
        let order = Order { sketches: self.sketches, last_counts, ..Order::new(unit) };
        let result = self.crew.run(&order, listener);
        self.alive = result.is_ok();
        result.ok().filter(|result| !result.stopped)
    }

    /// Runs a unit to its end; none if there are no workers any more, which is then said.
    ///
    /// # Errors
    /// The audience cannot write.
    pub fn run(
        &mut self,
        unit: &Unit,
        hearing: &mut Hearing<'_, '_>,
    ) -> Result<Option<UnitResult>, RunError> {
        let mut order = Order { sketches: self.sketches, ..Order::new(unit) };
        let mut deaths: BTreeMap<Step, Deaths> = BTreeMap::new();
        let mut in_all = 0;
        let mut end = loop {
            // Only now: it has to know what was checked until now, units that died included.
            if !self.alive && !self.restart(hearing) {
                confirmed(deaths).for_each(|error| hearing.run.findings.found(error, 1));
                return Ok(None);
            }
            order.last_counts = std::mem::take(&mut self.last_counts);
            hearing.chosen.clear();
            let result = self.crew.run(&order, hearing);
            if let Some(error) = hearing.failed.take() {
                return Err(error);
            }
            let death = match result {
                Ok(end) => break end,
                Err(death) => death,
            };
            self.alive = false;
            in_all += 1;
            let snapshot = hearing.wary.take();
            let then = self.died(unit, &mut order, &mut deaths, &death, snapshot, hearing)?;
            if in_all == DEATHS {
                let why = format!(
                    "the run ends: {DEATHS} workers have died of one unit, the last {death}"
                );
                hearing.run.findings.broken(&BrokenKind::Worker.of(why), 1);
                confirmed(deaths).for_each(|error| hearing.run.findings.found(error, 1));
                return Ok(None);
            }
            match then {
                Then::End(end) => break *end,
                Then::Repeat => {}
            }
        };
        for (_, Deaths { last, .. }) in
            deaths.iter().filter(|(_, deaths)| !deaths.settled && deaths.replays == 0)
        {
            let then = if end.stopped {
                "the run has ended before the unit was repeated"
            } else {
                "when the unit was repeated, it did not"
            };
            let why = BrokenKind::Worker.of(format!("a worker died {last}; {then}"));
            hearing.run.findings.broken(&why, 1);
        }
        for error in confirmed(deaths) {
            if !end.errors.iter().any(|there| there.is_like(&error.violation)) {
                end.add_error(error);
            }
        }
        Ok(Some(end))
    }

    /// Takes note of a death; decides how to go on.
    fn died(
        &self,
        unit: &Unit,
        order: &mut Order,
        deaths: &mut BTreeMap<Step, Deaths>,
        death: &Death,
        snapshot: Option<(Step, Snapshot)>,
        hearing: &mut Hearing<'_, '_>,
    ) -> Result<Then, RunError> {
        if death.from_outside {
            let why = BrokenKind::Worker.of(format!("a worker died {death}; the unit is repeated"));
            hearing.run.findings.broken(&why, 1);
            return Ok(Then::Repeat);
        }
        let step = death.step;
        let here = deaths.entry(step).or_default();
        here.times += 1;
        here.last = death.to_string();
        order.stream_choices = true;
        if !order.wary.contains(&step) {
            order.wary.push(step);
        }
        let Some((_, snapshot)) = snapshot.filter(|(wary, _)| *wary == step && here.times > 1)
        else {
            return Ok(Then::Repeat);
        };
        let Some(name) = step.name() else {
            // Nothing of the checked system's ran.
            if here.times < OUTSIDE {
                return Ok(Then::Repeat);
            }
            here.settled = true;
            let mut end = snapshot.result;
            let why = format!("a worker died {death}, {OUTSIDE} times; the unit is given up");
            end.add_broken(BrokenKind::Worker.of(why));
            return Ok(Then::End(Box::new(end)));
        };
        let mut error = ErrorFound {
            violation: death.violation(name),
            by_design: None,
            died: Some(name),
            way: snapshot.way,
        };
        let mut end = snapshot.result;
        if let Step::Mutate { mutates, .. } = step
            && mutates > unit.state.depth
        {
            let made = unit.state.choices.iter().chain(&unit.script).chain(&hearing.chosen);
            error.way.choices = made.cloned().collect();
            end.choices.clone_from(&error.way.choices);
        }
        let Some(outcome) = replayed(here, death, &error, name, hearing)? else {
            return Ok(Then::Repeat);
        };
        here.settled = true;
        if let Step::Disk { key, crashes, .. } = step {
            here.confirmed = matches!(outcome, Outcome::Error(..)).then_some(error);
            order.past.push(Past { key, crashes, outcome });
            return Ok(Then::Repeat);
        }
        match outcome {
            Outcome::Error(..) => end.add_error(error),
            Outcome::Broken(why) => end.add_broken(why),
        }
        Ok(Then::End(Box::new(end)))
    }

    /// Starts a new worker; false if that cannot be done, which is then said.
    fn restart(&mut self, hearing: &mut Hearing<'_, '_>) -> bool {
        info!("restart");
        let why = match start(self.crew, hearing.run.totals.checks(), self.keep_events) {
            Ok(started) if started.origin == self.started.origin => {
                (self.alive, self.last_counts) = (true, false);
                return true;
            }
            Ok(_) => "its first start made other disks than the one before: the stack is not \
                      deterministic"
                .to_owned(),
            Err(error) => error.to_string(),
        };
        let why = BrokenKind::Worker.of(format!("run stopped: no worker could be started: {why}"));
        hearing.run.findings.broken(&why, 1);
        false
    }
}

/// Replays an error that has ended workers: the outcome of its step, or `None` to repeat the unit.
fn replayed(
    here: &mut Deaths,
    death: &Death,
    error: &ErrorFound,
    name: StepName,
    hearing: &mut Hearing<'_, '_>,
) -> Result<Option<Outcome>, RunError> {
    let what = match hearing.run.findings.confirm(error, hearing.audience)? {
        Confirmation::Reproduced => {
            return Ok(Some(Outcome::Error(error.violation.clone(), name)));
        }
        Confirmation::Not(what) => what,
    };
    here.times = 0;
    here.replays += 1;
    let why = format!("a worker died {death}, twice; a replay did not: {what}");
    hearing.run.findings.broken(&BrokenKind::Worker.of(why), 1);
    if here.replays < REPLAYS {
        return Ok(None);
    }
    let why = format!("a worker died {death}, again and again, but in no replay; given up");
    Ok(Some(Outcome::Broken(BrokenKind::Worker.of(why))))
}

/// What replays have confirmed.
fn confirmed(deaths: BTreeMap<Step, Deaths>) -> impl Iterator<Item = ErrorFound> {
    deaths.into_values().filter_map(|deaths| deaths.confirmed)
}
