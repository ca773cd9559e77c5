//! The supervisor: strategy, queue, states, counters, findings, journal. The worker does the rest (`docs/architecture.md`).

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::attempts::Attempts;
use super::findings::Findings;
use super::hearing::Hearing;
use super::journal::{History, Journal, Record, identity};
use super::memory::Memory;
use super::scouts::{News, Scouts, Store};
use super::tell::{Audience, run_info};
use super::time::Time;
use crate::base::{Count, RunError, UsageError};
use crate::dedup::{ByKey, Known, States};
use crate::explore::{Finished, Strategy, StrategyName, Unit};
use crate::plan::{Plan, Settings};
use crate::report::{Message, Progress, Summary, rate};
use crate::verdict::BrokenKind;
use crate::worker::{Crew, StartError, Started, UnitEnd};

/// What is kept of a run, so that another process can go on with it.
#[derive(Debug, Default)]
pub enum Keep {
    /// Nothing.
    #[default]
    Nothing,
    /// A journal in the run folder.
    Journal,
    /// The journal goes on from here.
    Resume(Box<History>),
}

/// Explores a plan with the workers of a crew.
pub struct Supervisor<'a> {
    plan: &'a Plan,
    crew: &'a mut dyn Crew,
    audience: &'a mut dyn Audience,
    /// A strategy of the caller's own, which the plan calls [`StrategyName::Own`]; by default the one that the plan names.
    pub strategy: Option<Box<dyn Strategy>>,
    /// What is kept.
    pub keep: Keep,
    /// Set by whoever wants the run to end after the current step.
    pub interrupt: Option<&'a AtomicBool>,
    /// More workers.
    pub scouts: Option<Scouts<'a>>,
}

impl<'a> Supervisor<'a> {
    /// One that keeps nothing, and is not interrupted.
    pub fn new(plan: &'a Plan, crew: &'a mut dyn Crew, audience: &'a mut dyn Audience) -> Supervisor<'a> {
        Supervisor {
            plan,
            crew,
            audience,
            strategy: None,
            keep: Keep::Nothing,
            interrupt: None,
            scouts: None,
        }
    }

    /// Runs to the end, or until a bound, the budget or an interrupt stops it.
    ///
    /// # Errors
    /// As [`explore`](super::explore); a history of another run.
    pub fn run(self) -> Result<Summary, RunError> {
        let keep_events = self.audience.wants_events();
        match self.scouts {
            Some(scouts) => scouts.run(keep_events, |store| self.explore(keep_events, Some(store))),
            None => self.explore(keep_events, None),
        }
    }

    fn explore(self, keep_events: bool, store: Option<&Store>) -> Result<Summary, RunError> {
        let Supervisor { plan, crew, audience, strategy, keep, interrupt, .. } = self;
        let mut strategy = strategy_of(plan, strategy)?;
        let started = start(crew, &Memory::Nowhere, keep_events)?;
        if let Keep::Resume(history) = &keep {
            history.fits(&started.origin)?;
        }
        let folder = audience.open(&plan.target)?;
        let mut run = Progressing::new(plan, &started, interrupt);
        if let Some(store) = store {
            store.set_origin(&started.origin);
        }
        match keep {
            Keep::Nothing if crew.lasts() => {}
            Keep::Nothing => run.memory = Memory::Here(Known::default()),
            Keep::Journal => run.memory = Memory::Journal(Journal::of(&folder, plan, &started.origin)),
            Keep::Resume(history) => {
                let mut told = Ok(());
                let journal = history.go_on(&folder, |record| {
                    if told.is_ok() {
                        told = crew.know(&record.end.known);
                    }
                    store
                        .into_iter()
                        .for_each(|store| store.tell(News::of(&record.end.known, &record.arrivals)));
                    run.repeat(strategy.as_mut(), record)
                })?;
                run.memory = Memory::Journal(journal);
                if told.is_err() {
                    start(crew, &run.memory, keep_events)?;
                }
            }
        }
        audience.tell(&Message::Run(run_info(plan, &started, &folder)))?;
        let mut unkept = None;
        let mut attempts = Attempts::new(crew, started, keep_events);
        while let Some(unit) = strategy.next() {
            if run.bound_reached() {
                run.stopped = true;
                break;
            }
            let ran = store.and_then(|store| {
                store.refill(strategy.as_ref());
                store.take(&unit, || run.time.is_up())
            });
            let mut answers = Vec::new();
            let mut hearing = Hearing::new(&mut run, strategy.as_mut(), audience, &mut answers);
            let made_up = ran.and_then(|ran| attempts.account(ran, &mut hearing));
            let end = if made_up.is_some() { made_up } else { attempts.run(&unit, &mut hearing)? };
            let Some(end) = end else {
                run.stopped = true;
                run.findings.report(audience, run.time)?;
                break;
            };
            let (reached, cut) = (hearing.reached, hearing.cut);
            let arrivals = std::mem::take(&mut hearing.arrivals);
            if keep_events {
                audience.events(&end.events)?;
            }
            run.add(&unit, &end);
            for (error, times) in &end.errors {
                run.findings.found(error.clone(), *times);
            }
            for (why, times) in &end.broken {
                run.findings.broken(why, *times);
            }
            strategy.observe(&Finished { unit: &unit, choices: &end.choices, arrivals: &arrivals, reached });
            if let Some(store) = store {
                store.ended(&unit, &end.choices, reached, News::of(&end.known, &arrivals));
            }
            if run.findings.is_any_fresh() {
                attempts.rest();
            }
            let told = run.findings.report(audience, run.time)?;
            run.tell_progress(strategy.waiting(), audience)?;
            if end.stopped || cut || told.late {
                // It did not come to its end: whoever resumes the run repeats it.
                run.stopped = true;
                break;
            }
            let record = Record::new(&unit, end, reached, arrivals, run.findings.change(), run.elapsed_ms());
            if let Err(error) = run.memory.add(&record, told.any) {
                // What is found is worth more: the run goes on without a journal.
                unkept = Some(error);
            }
        }
        if let Err(error) = run.memory.sync() {
            unkept = Some(error);
        }
        if let Some(error) = unkept {
            let why = format!("the run can be resumed only in part, if at all: {error}");
            run.findings.broken(&BrokenKind::Tool.of(why), 1);
            run.findings.report(audience, run.time)?;
        }
        run.findings.tell_counts(audience)?;
        let summary = run.finish();
        audience.tell(&Message::Summary(summary.clone()))?;
        Ok(summary)
    }
}

/// The strategy that the plan names, or the caller's own.
fn strategy_of(plan: &Plan, own: Option<Box<dyn Strategy>>) -> Result<Box<dyn Strategy>, UsageError> {
    match own {
        None => plan.strategy(),
        Some(own) if matches!(plan.settings.strategy, StrategyName::Own(_)) => Ok(own),
        Some(_) => Err(UsageError(format!(
            "the plan goes by strategy {}, and another one was given; give that a name of its own",
            plan.settings.strategy
        ))),
    }
}

/// Starts a worker that knows what is remembered; one that dies may try once more.
pub(super) fn start(crew: &mut dyn Crew, memory: &Memory, keep_events: bool) -> Result<Started, RunError> {
    let mut once = || -> Result<Started, StartError> {
        let started = crew.start(keep_events)?;
        memory.tell(crew)?;
        Ok(started)
    };
    match once() {
        Err(StartError::Died(_)) => Ok(once()?),
        other => Ok(other?),
    }
}

/// Everything that a run remembers, but for its strategy.
pub(super) struct Progressing<'a> {
    settings: &'a Settings,
    pub time: Time<'a>,
    started: Instant,
    /// How long earlier processes took for it.
    before: Duration,
    pub last_progress: Instant,
    /// A bound, the budget or an interrupt has ended it before the strategy did.
    stopped: bool,
    pub states: States,
    /// Those of the states.
    pub topologies: HashSet<u128, ByKey>,
    pub memory: Memory,
    pub findings: Findings<'a>,
    summary: Summary,
}

impl<'a> Progressing<'a> {
    fn new(plan: &'a Plan, started: &Started, interrupt: Option<&'a AtomicBool>) -> Progressing<'a> {
        let now = Instant::now();
        Progressing {
            settings: &plan.settings,
            time: Time::new(plan.settings.budget_ms, interrupt),
            started: now,
            before: Duration::ZERO,
            last_progress: now,
            stopped: false,
            states: States::default(),
            topologies: HashSet::default(),
            memory: Memory::Nowhere,
            findings: Findings::new(plan, started.origin.clone()),
            summary: Summary::default(),
        }
    }

    pub fn bound_reached(&self) -> bool {
        self.settings.states.is_some_and(|most| self.states.len() >= most) || self.time.is_up()
    }

    /// Counts a unit that has ended.
    fn add(&mut self, unit: &Unit, end: &UnitEnd) {
        let summary = &mut self.summary;
        summary.operations += end.operations;
        summary.choices += end.choices.len().saturating_sub(unit.state.choices.len()) as u64;
        summary.crash_disks += end.crash_disks.0.clone();
        summary.distinct += end.distinct;
        summary.checked += end.checked;
        summary.equivalent += end.equivalent;
        summary.pending += end.pending;
        summary.left_out += end.left_out.0.clone();
        summary.crash_crash_disks += end.crash_crash_disks;
        summary.crash_crash_left_out += end.crash_crash_left_out.0.clone();
        summary.by_design += end.by_design;
    }

    /// Repeats what an earlier process has written down of a unit, in place of running it.
    fn repeat(&mut self, strategy: &mut dyn Strategy, record: Record) -> Result<(), UsageError> {
        let unknown = || UsageError("the journal goes on where the run has nothing to do".to_owned());
        let unit = strategy.next().ok_or_else(unknown)?;
        let Record { unit: recorded, mut end, reached, arrivals, findings, elapsed_ms } = record;
        if identity(&unit) != recorded {
            let text = "the journal was written by a strategy that went another way; begin the run anew";
            return Err(UsageError(text.to_owned()));
        }
        end.choices.splice(..0, unit.state.choices.iter().cloned());
        self.add(&unit, &end);
        for (arrival, _) in &arrivals {
            self.states.reach(arrival.signature, arrival.depth);
            self.topologies.extend(arrival.topology);
        }
        self.findings.restore(findings);
        self.before = Duration::from_millis(elapsed_ms);
        strategy.observe(&Finished { unit: &unit, choices: &end.choices, arrivals: &arrivals, reached });
        Ok(())
    }

    fn tell_progress(&mut self, waiting: usize, audience: &mut dyn Audience) -> Result<(), RunError> {
        if self.last_progress.elapsed() >= Duration::from_secs(1) {
            self.last_progress = Instant::now();
            audience.tell(&Message::Progress(self.progress(waiting, 0)))?;
        }
        Ok(())
    }

    /// How far it is; the running unit has made so many checks.
    pub fn progress(&self, waiting: usize, checked: u64) -> Progress {
        let mut progress = Progress {
            states: self.states.len(),
            waiting: waiting as u64,
            operations: self.summary.operations.clone(),
            checked: self.summary.checked.clone(),
            equivalent: self.summary.equivalent.clone(),
            left_out: self.summary.left_out.clone(),
            findings: self.findings.distinct(),
            rate: 0.0,
            seconds: self.seconds(),
        };
        progress.checked += checked;
        progress.rate = rate(&progress.checked, self.elapsed_ms());
        progress
    }

    /// Adds everything up.
    fn finish(&self) -> Summary {
        let mut summary = self.summary.clone();
        summary.states = self.states.len().into();
        summary.topologies = Some(self.topologies.len() as u64).filter(|count| *count > 0).map(Count::from);
        summary.findings = self.findings.distinct().into();
        summary.broken = self.findings.times_broken.into();
        summary.complete = !self.stopped
            && summary.left_out.is_zero()
            && summary.crash_crash_left_out.is_zero()
            && summary.pending.is_zero();
        summary.seconds = self.seconds();
        summary
    }

    fn elapsed_ms(&self) -> u64 {
        (self.before + self.started.elapsed()).as_millis() as u64
    }

    /// To the millisecond.
    fn seconds(&self) -> f64 {
        self.elapsed_ms() as f64 / 1000.0
    }
}
