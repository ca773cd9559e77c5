//! The supervisor: follows the strategy, counts totals, collects findings and writes the journal.
//! Workers do the rest (`docs/internals/architecture.md`).

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tracing::debug_span;

use super::attempt::Attempt;
use super::deadline::RunDeadline;
use super::dispatch::{Helpers, TakenUnit, UnitStore};
use super::findings::Findings;
use super::job_files::{JobUnit, Results};
use super::journal::{Journal, ResumedJournal, UnitRecord};
use super::progress::RunState;
use super::retry::UnitRetry;
use super::sink::{RunSink, run_info};
use super::start::{FIRST, LATER, send_known, start};
use super::totals::Merged;
use crate::base::{RunError, UsageError};
use crate::choose::Choice;
use crate::dedup::SeenChecks;
use crate::explore::{FinishedUnit, Strategy, StrategyName, Unit};
use crate::plan::Plan;
use crate::report::{Message, Summary};
use crate::verdict::{BrokenKind, WorkerStep};
use crate::worker::{UnitListener, UnitResult, WorkerStarted, Workers};

/// The persistence of a run. It lets another process resume the run.
#[derive(Debug, Default)]
pub enum Persistence {
    /// The run keeps nothing.
    #[default]
    Nothing,
    /// A journal in the run folder.
    Journal,
    /// The journal of an earlier process, which this run continues.
    Resume(Box<ResumedJournal>),
}

/// Explores a plan with workers.
pub struct Supervisor<'a> {
    plan: &'a Plan,
    workers: &'a mut dyn Workers,
    sink: &'a mut dyn RunSink,
    /// A strategy of the caller, which the plan calls [`StrategyName::Own`]. `None` uses the
    /// strategy that the plan names. Default: `None`.
    pub strategy: Option<Box<dyn Strategy>>,
    /// The persistence of the run. Default: nothing is kept.
    pub keep: Persistence,
    /// A flag that ends the run after the current step once it is set.
    pub interrupt: Option<&'a AtomicBool>,
    /// More workers, which run units before their turn.
    pub helpers: Option<Helpers<'a>>,
    /// The results of units that are run elsewhere, and the start of the stack there. The run ends
    /// at the first missing result.
    pub elsewhere: Option<(&'a mut Results, WorkerStarted)>,
}

impl<'a> Supervisor<'a> {
    /// Creates a supervisor without persistence, interrupt or helpers.
    pub fn new(
        plan: &'a Plan,
        workers: &'a mut dyn Workers,
        sink: &'a mut dyn RunSink,
    ) -> Supervisor<'a> {
        Supervisor {
            plan,
            workers,
            sink,
            strategy: None,
            keep: Persistence::Nothing,
            interrupt: None,
            helpers: None,
            elsewhere: None,
        }
    }

    /// Runs the plan to its end, or until a bound, the budget or an interrupt stops it.
    ///
    /// # Errors
    /// As [`explore`](super::explore), or the journal belongs to another run.
    pub fn run(mut self) -> Result<Summary, RunError> {
        let keep_events = self.sink.wants_events();
        let strategy = strategy_of(self.plan, self.strategy.take())?;
        match self.helpers {
            Some(helpers) => helpers.run(keep_events, strategy.wants_sketches(), |store| {
                self.explore(strategy, keep_events, Some(store))
            }),
            None => self.explore(strategy, keep_events, None),
        }
    }

    fn explore(
        self,
        mut strategy: Box<dyn Strategy>,
        keep_events: bool,
        store: Option<&UnitStore>,
    ) -> Result<Summary, RunError> {
        let Supervisor { plan, workers, sink, keep, interrupt, elsewhere, .. } = self;
        let (mut results, mut started) = match elsewhere {
            Some((results, started)) => (Some(results), started),
            None => (None, start(FIRST, workers, &SeenChecks::default(), keep_events)?),
        };
        if let Persistence::Resume(history) = &keep {
            history.fits(&started.origin)?;
        }
        let folder = sink.open(&plan.target)?;
        let mut run = RunState::new(plan, &started, interrupt);
        let journal = match keep {
            Persistence::Nothing => None,
            Persistence::Journal => Some(Journal::of(&folder, plan, &started.origin)),
            Persistence::Resume(history) => {
                let go_on = |record: UnitRecord| {
                    results.iter_mut().for_each(|results| results.merged(record.unit));
                    repeat(&mut run, strategy.as_mut(), record)
                };
                let journal = history.go_on(&folder, go_on)?;
                let checks = run.totals.checks();
                if results.is_none() && send_known(workers, checks).is_err() {
                    started = start(LATER, workers, checks, keep_events)?;
                }
                Some(journal)
            }
        };
        if let Some(store) = store {
            store.set_origin(&started.origin);
        }
        sink.emit(&Message::Run(run_info(plan, &started, &folder)))?;
        let is_alive = results.is_none();
        let attempts =
            UnitRetry::new(workers, started, is_alive, keep_events, strategy.wants_sketches());
        let kept = KeptJournal { journal, error: None };
        let mut exploring = Exploring { plan, sink, strategy, store, results, run, attempts, kept };
        while let Some(unit) = exploring.strategy.next() {
            exploring.report_depth()?;
            if exploring.run.bound_reached() || !exploring.explore(&unit)? {
                exploring.run.stopped = true;
                break;
            }
        }
        exploring.finish()
    }
}

/// A run that goes through its units.
struct Exploring<'l, 's> {
    plan: &'l Plan,
    sink: &'l mut dyn RunSink,
    strategy: Box<dyn Strategy>,
    store: Option<&'l UnitStore>,
    results: Option<&'l mut Results>,
    run: RunState<'l>,
    attempts: UnitRetry<'s>,
    kept: KeptJournal,
}

/// The result of a unit. `by_others` is true if another worker or process has run the unit.
struct MergedUnit {
    result: UnitResult,
    by_others: bool,
}

impl Exploring<'_, '_> {
    /// Explores a unit and merges its result. Returns false if the run ends with it.
    fn explore(&mut self, unit: &Unit) -> Result<bool, RunError> {
        let Some(MergedUnit { result, by_others }) = self.result(unit)? else { return Ok(false) };
        if self.sink.wants_events() {
            self.sink.events(&result.events)?;
        }
        let merged = self.run.totals.merge(unit, &result, self.plan.settings.states);
        if by_others {
            self.attempts.learn(&merged.known);
        } else {
            self.attempts.counts();
        }
        if let Some(store) = self.store {
            store.merged(unit, merged.known.clone());
        }
        add(&mut self.run.findings, &merged);
        let choices: Vec<Choice> =
            unit.state.choices.iter().chain(&merged.choices).cloned().collect();
        let (arrivals, reached) = (&merged.arrivals, merged.reached());
        self.strategy.observe(&FinishedUnit { unit, choices: &choices, arrivals, reached });
        if self.run.findings.is_any_fresh() {
            self.attempts.yield_machine();
        }
        let reported = self.run.findings.report(self.sink, self.run.time)?;
        self.run.report_progress(self.strategy.waiting(), 0, self.sink)?;
        if result.stopped || reported.late {
            // The unit did not run to its end, so a resumed run repeats it.
            return Ok(false);
        }
        let ends = merged.is_cut;
        self.results.iter_mut().for_each(|results| results.merged(unit.id()));
        if self.kept.journal.is_some() {
            let (change, time) = (self.run.findings.change(), self.run.elapsed_ms());
            self.kept.append(&UnitRecord::new(unit, merged, change, time), reported.any);
            self.keep_files();
        }
        Ok(!ends)
    }

    /// Reports that all paths of a length are explored, if that is new.
    fn report_depth(&mut self) -> Result<(), RunError> {
        self.run.report_depth(self.strategy.explored(), self.sink)
    }

    /// Returns the result of a unit: from another worker, from another process, or from the
    /// supervisor's own worker, which runs it now. `None` ends the run.
    fn result(&mut self, unit: &Unit) -> Result<Option<MergedUnit>, RunError> {
        let waiting = self.strategy.waiting();
        let ran = match (self.store, &mut self.results) {
            (Some(store), _) => {
                let (strategy, attempts) = (self.strategy.as_ref(), &mut self.attempts);
                OtherWorkers { store, strategy, attempts }.take(unit, &mut self.run, self.sink)?
            }
            (None, Some(results)) => match results.take(unit) {
                JobUnit::Result(result) => Some(*result),
                JobUnit::Here => None,
                JobUnit::NotYet => {
                    results.wait_for(|most| self.strategy.ahead(most));
                    return Ok(None);
                }
            },
            (None, None) => None,
        };
        if let Some(result) = ran {
            return Ok(Some(MergedUnit { result, by_others: true }));
        }
        let mut attempt = Attempt::new(&mut self.run, self.sink, waiting);
        let result = self.attempts.run(unit, &mut attempt)?;
        if result.is_none() {
            self.run.findings.report(self.sink, self.run.time)?;
        }
        Ok(result.map(|result| MergedUnit { result, by_others: false }))
    }

    /// Keeps the files of results if no journal records what is merged.
    fn keep_files(&mut self) {
        if self.kept.error.is_some() {
            self.results.iter_mut().for_each(|results| results.keep_files());
        }
    }

    /// Reports the remaining findings and the summary.
    fn finish(mut self) -> Result<Summary, RunError> {
        self.kept.sync();
        self.keep_files();
        if let Some(error) = self.kept.error.take() {
            let why = format!("the journal is incomplete; --resume may repeat units: {error}");
            self.run.findings.broken(&BrokenKind::Tool.of(why), 1);
            self.run.findings.report(self.sink, self.run.time)?;
        }
        self.run.findings.report_counts(self.sink)?;
        if !self.run.stopped {
            self.report_depth()?;
        }
        let summary = self.run.finish(self.strategy.explored());
        self.sink.emit(&Message::Summary(summary.clone()))?;
        Ok(summary)
    }
}

/// The journal of a run. If it cannot be written the run continues without it, because findings are
/// worth more.
struct KeptJournal {
    journal: Option<Journal>,
    error: Option<RunError>,
}

impl KeptJournal {
    fn append(&mut self, record: &UnitRecord, now: bool) {
        let appended = self.journal.as_mut().map(|journal| journal.append(record, now));
        if let Some(Err(error)) = appended {
            *self = KeptJournal { journal: None, error: Some(error) };
        }
    }

    fn sync(&mut self) {
        if let Some(Err(error)) = self.journal.as_mut().map(Journal::sync) {
            self.error = Some(error);
        }
    }
}

/// The other workers of a run.
struct OtherWorkers<'a, 's> {
    store: &'a UnitStore,
    strategy: &'a dyn Strategy,
    attempts: &'a mut UnitRetry<'s>,
}

impl OtherWorkers<'_, '_> {
    /// Returns the result of a unit that another worker has run or is running, and runs other units
    /// meanwhile. `None` if no other worker runs the unit, or if the time is up.
    fn take(
        &mut self,
        unit: &Unit,
        run: &mut RunState<'_>,
        sink: &mut dyn RunSink,
    ) -> Result<Option<UnitResult>, RunError> {
        loop {
            self.store.refill(self.strategy, run.totals.checks());
            match self.store.take(unit) {
                TakenUnit::Result(result) => return Ok(Some(*result)),
                TakenUnit::Free => return Ok(None),
                TakenUnit::Running(_) if run.time.is_up() => return Ok(None),
                TakenUnit::Running(Some(job)) => {
                    let result = self.attempts.run_ahead(&job.unit, &mut UntilDeadline(run.time));
                    self.store.ran(&job, result);
                }
                TakenUnit::Running(None) => {
                    debug_span!("wait").in_scope(|| self.store.wait_for_change());
                }
            }
            run.report_progress(self.strategy.waiting(), 0, sink)?;
        }
    }
}

/// Stops a unit when the time of the run is up.
struct UntilDeadline<'a>(RunDeadline<'a>);

impl UnitListener for UntilDeadline<'_> {
    fn next_step(&mut self, _step: WorkerStep, _checked: u64) {}
    fn stop(&mut self) -> bool {
        self.0.is_up()
    }
}

fn add(findings: &mut Findings<'_>, merged: &Merged) {
    merged.errors.iter().for_each(|(error, times)| findings.found(error.clone(), *times));
    merged.broken.iter().for_each(|(why, times)| findings.broken(why, *times));
}

/// Restores a unit that an earlier process has recorded, in place of running it.
fn repeat(
    run: &mut RunState<'_>,
    strategy: &mut dyn Strategy,
    record: UnitRecord,
) -> Result<(), UsageError> {
    let unknown =
        || UsageError("the journal has more units than the run; start the run again".to_owned());
    let unit = strategy.next().ok_or_else(unknown)?;
    let UnitRecord { unit: recorded, merged, findings, elapsed_ms } = record;
    if unit.id() != recorded {
        let text = "the strategy gives other units than those of the journal; start the run again";
        return Err(UsageError(text.to_owned()));
    }
    run.totals.repeat(&unit, &merged);
    // A bound has ended the run within this unit.
    run.stopped |= merged.is_cut;
    run.findings.restore(findings);
    run.before = Duration::from_millis(elapsed_ms);
    let choices: Vec<Choice> = unit.state.choices.iter().chain(&merged.choices).cloned().collect();
    let (arrivals, reached) = (&merged.arrivals, merged.reached());
    strategy.observe(&FinishedUnit { unit: &unit, choices: &choices, arrivals, reached });
    Ok(())
}

/// Returns the strategy that the plan names, or the caller's.
fn strategy_of(
    plan: &Plan,
    own: Option<Box<dyn Strategy>>,
) -> Result<Box<dyn Strategy>, UsageError> {
    match own {
        None => plan.strategy(),
        Some(own) if matches!(plan.settings.strategy, StrategyName::Own(_)) => Ok(own),
        Some(_) => Err(UsageError(format!(
            "the plan names strategy {}, and another one was passed; give that its own name in \
             the plan",
            plan.settings.strategy
        ))),
    }
}
