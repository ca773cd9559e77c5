//! Runs a unit until it has ended, even if workers die of it.
//!
//! After the first death in a step the unit is repeated unchanged. After the second death the step
//! is an error. If a replay dies there as well, it is an error of the checked system, and the unit
//! continues past it. Otherwise the unit is repeated again. A step with further deaths of this kind
//! is given up as broken. The death of a worker that was killed from outside says nothing about its
//! step, so the unit is just repeated. Only the last attempt counts, and errors that a replay has
//! confirmed. Those are reported even if the run ends before the unit gets there again.

use std::collections::BTreeMap;

use tracing::info;

use super::attempt::Attempt;
use super::start::{LATER, start};
use crate::base::RunError;
use crate::dedup::KnownChecks;
use crate::explore::Unit;
use crate::run::confirm::Confirmation;
use crate::trace::FoundError;
use crate::verdict::{BrokenKind, StepName, WorkerDeath, WorkerStep};
use crate::worker::{
    DeathOutcome, FatalCheck, UnitListener, UnitOrder, UnitResult, UnitSnapshot, WorkerStarted,
    Workers,
};

/// The number of replays after which a step is given up if its deaths do not reproduce.
const REPLAYS: u32 = 2;
/// The number of deaths outside of all steps after which a unit is given up. Such deaths say
/// nothing about the checked system.
const OUTSIDE: u32 = 10;
/// The number of deaths in one unit that ends the run.
const DEATHS: u32 = 100;

/// Runs units, and starts new workers as they are needed.
pub(super) struct UnitRetry<'a> {
    workers: &'a mut dyn Workers,
    started: WorkerStarted,
    keep_events: bool,
    sketches: bool,
    /// True if the current worker has not died.
    alive: bool,
    /// True if the last unit of the worker is merged.
    last_counts: bool,
}

/// The deaths of a unit in one step.
#[derive(Default)]
struct StepDeaths {
    /// The number of deaths since the last replay.
    times: u32,
    replays: u32,
    last: String,
    /// True if the deaths are an error or broken, and are reported as such.
    settled: bool,
    /// The confirmed error of a crash disk. The unit continues past it.
    confirmed: Option<FoundError>,
}

/// The continuation of a unit after a death.
enum AfterDeath {
    Repeat,
    End(Box<UnitResult>),
}

impl<'a> UnitRetry<'a> {
    /// Creates the retries of a run. Each worker must start like `started`. With `is_alive` a
    /// worker runs already; otherwise the first is started when it is needed.
    pub fn new(
        workers: &'a mut dyn Workers,
        started: WorkerStarted,
        is_alive: bool,
        keep_events: bool,
        sketches: bool,
    ) -> UnitRetry<'a> {
        UnitRetry { workers, started, keep_events, sketches, alive: is_alive, last_counts: false }
    }

    /// Stops the worker if a replay by another worker needs the machine.
    pub fn yield_machine(&mut self) {
        self.alive &= !self.workers.yield_machine();
    }

    /// Notes that the last unit of the worker is merged.
    pub fn counts(&mut self) {
        self.last_counts = true;
    }

    /// Sends the worker the merged checks of a unit that another worker has run.
    pub fn learn(&mut self, known: &KnownChecks) {
        // A worker that dies here receives all merged checks when the next one is started.
        self.alive &= self.alive && self.workers.learn(known).is_ok();
    }

    /// Runs a unit before its turn; `None` if that is not possible now.
    pub fn run_ahead(
        &mut self,
        unit: &Unit,
        listener: &mut dyn UnitListener,
    ) -> Option<UnitResult> {
        if !self.alive {
            return None;
        }
        let last_counts = std::mem::take(&mut self.last_counts);
        let order = UnitOrder { sketches: self.sketches, last_counts, ..UnitOrder::new(unit) };
        let result = self.workers.run(&order, listener);
        self.alive = result.is_ok();
        result.ok().filter(|result| !result.stopped)
    }

    /// Runs a unit to its end; `None` if the run must end, which is then reported.
    ///
    /// # Errors
    /// The sink cannot write.
    pub fn run(
        &mut self,
        unit: &Unit,
        attempt: &mut Attempt<'_, '_>,
    ) -> Result<Option<UnitResult>, RunError> {
        let mut order = UnitOrder { sketches: self.sketches, ..UnitOrder::new(unit) };
        let mut deaths: BTreeMap<WorkerStep, StepDeaths> = BTreeMap::new();
        let mut in_all = 0;
        let mut end = loop {
            // The worker is started only now, so that it knows all checks, those of units that died
            // included.
            if !self.alive && !self.restart(attempt) {
                confirmed(deaths).for_each(|error| attempt.run.findings.found(error, 1));
                return Ok(None);
            }
            order.last_counts = std::mem::take(&mut self.last_counts);
            attempt.chosen.clear();
            let result = self.workers.run(&order, attempt);
            if let Some(error) = attempt.failed.take() {
                return Err(error);
            }
            let death = match result {
                Ok(end) => break end,
                Err(death) => death,
            };
            self.alive = false;
            in_all += 1;
            let snapshot = attempt.snapshot.take();
            let then = self.died(unit, &mut order, &mut deaths, &death, snapshot, attempt)?;
            if in_all == DEATHS {
                let why = format!(
                    "the run ends: {DEATHS} workers have died of one unit, the last {death}"
                );
                attempt.run.findings.broken(&BrokenKind::Worker.of(why), 1);
                confirmed(deaths).for_each(|error| attempt.run.findings.found(error, 1));
                return Ok(None);
            }
            match then {
                AfterDeath::End(end) => break *end,
                AfterDeath::Repeat => {}
            }
        };
        for (_, StepDeaths { last, .. }) in
            deaths.iter().filter(|(_, deaths)| !deaths.settled && deaths.replays == 0)
        {
            let then = if end.stopped {
                "the run has ended before the unit was repeated"
            } else {
                "when the unit was repeated, it did not"
            };
            let why = BrokenKind::Worker.of(format!("a worker died {last}; {then}"));
            attempt.run.findings.broken(&why, 1);
        }
        for error in confirmed(deaths) {
            if !end.errors.iter().any(|known| known.is_like(&error.violation)) {
                end.add_error(error);
            }
        }
        Ok(Some(end))
    }

    /// Records a death and decides how the unit continues.
    fn died(
        &self,
        unit: &Unit,
        order: &mut UnitOrder,
        deaths: &mut BTreeMap<WorkerStep, StepDeaths>,
        death: &WorkerDeath,
        snapshot: Option<(WorkerStep, UnitSnapshot)>,
        attempt: &mut Attempt<'_, '_>,
    ) -> Result<AfterDeath, RunError> {
        if death.killed_externally {
            let why = BrokenKind::Worker.of(format!("a worker died {death}; the unit is repeated"));
            attempt.run.findings.broken(&why, 1);
            return Ok(AfterDeath::Repeat);
        }
        let step = death.step;
        let step_deaths = deaths.entry(step).or_default();
        step_deaths.times += 1;
        step_deaths.last = death.to_string();
        order.stream_choices = true;
        if !order.snapshot_before.contains(&step) {
            order.snapshot_before.push(step);
        }
        let Some((_, snapshot)) =
            snapshot.filter(|(wary, _)| *wary == step && step_deaths.times > 1)
        else {
            return Ok(AfterDeath::Repeat);
        };
        let Some(name) = step.name() else {
            // No step of the checked system ran.
            if step_deaths.times < OUTSIDE {
                return Ok(AfterDeath::Repeat);
            }
            step_deaths.settled = true;
            let mut end = snapshot.result;
            let why = format!("a worker died {death}, {OUTSIDE} times; the unit is given up");
            end.add_broken(BrokenKind::Worker.of(why));
            return Ok(AfterDeath::End(Box::new(end)));
        };
        let mut error = FoundError {
            violation: death.violation(name),
            by_design: None,
            died: Some(name),
            way: snapshot.way,
        };
        let mut end = snapshot.result;
        if let WorkerStep::Mutate { mutates, .. } = step
            && mutates > unit.state.depth
        {
            let made = unit.state.choices.iter().chain(&unit.script).chain(&attempt.chosen);
            error.way.choices = made.cloned().collect();
            end.choices.clone_from(&error.way.choices);
        }
        let Some(outcome) = replayed(step_deaths, death, &error, name, attempt)? else {
            return Ok(AfterDeath::Repeat);
        };
        step_deaths.settled = true;
        if let WorkerStep::Disk { key, crashes, .. } = step {
            step_deaths.confirmed = matches!(outcome, DeathOutcome::Error(..)).then_some(error);
            order.past.push(FatalCheck { key, crashes, outcome });
            return Ok(AfterDeath::Repeat);
        }
        match outcome {
            DeathOutcome::Error(..) => end.add_error(error),
            DeathOutcome::Broken(why) => end.add_broken(why),
        }
        Ok(AfterDeath::End(Box::new(end)))
    }

    /// Starts a new worker. Returns false, after reporting it, if that cannot be done.
    fn restart(&mut self, attempt: &mut Attempt<'_, '_>) -> bool {
        info!("restart");
        let why = match start(LATER, self.workers, attempt.run.totals.checks(), self.keep_events) {
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
        attempt.run.findings.broken(&why, 1);
        false
    }
}

/// Replays an error that killed workers. Returns the outcome of its step, or `None` to repeat the
/// unit.
fn replayed(
    step_deaths: &mut StepDeaths,
    death: &WorkerDeath,
    error: &FoundError,
    name: StepName,
    attempt: &mut Attempt<'_, '_>,
) -> Result<Option<DeathOutcome>, RunError> {
    let reason = match attempt.run.findings.confirm(error, attempt.sink)? {
        Confirmation::Reproduced => {
            return Ok(Some(DeathOutcome::Error(error.violation.clone(), name)));
        }
        Confirmation::Not(reason) => reason,
    };
    step_deaths.times = 0;
    step_deaths.replays += 1;
    let why = format!("a worker died {death}, twice; a replay did not: {reason}");
    attempt.run.findings.broken(&BrokenKind::Worker.of(why), 1);
    if step_deaths.replays < REPLAYS {
        return Ok(None);
    }
    let why = format!("a worker died {death}, again and again, but in no replay; given up");
    Ok(Some(DeathOutcome::Broken(BrokenKind::Worker.of(why))))
}

/// Returns the errors that replays have confirmed.
fn confirmed(deaths: BTreeMap<WorkerStep, StepDeaths>) -> impl Iterator<Item = FoundError> {
    deaths.into_values().filter_map(|deaths| deaths.confirmed)
}
