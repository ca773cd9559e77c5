//! The loop over units of work: strategy, seen sets, counters, bounds.

use std::time::{Duration, Instant};

use explode_ramdisk::{Image, Recording};

use super::error::RunError;
use super::findings::Findings;
use super::plan::{Plan, Settings};
use super::registry::Registry;
use super::seen::{Checks, States};
use super::tell::{Audience, run_info};
use super::unit::{Early, Ended, ErrorFound, Place, Runner, Work};
use crate::check::{Ask, Failure};
use crate::crash::{CrashDisk, Kept};
use crate::devices::Lab;
use crate::explore::{Finished, Reached, Unit};
use crate::pipeline::{Candidate, Judge, Judgement, Pipeline, key};
use crate::recover::Stack;
use crate::report::{Message, Progress, Summary};

/// How often progress is told.
const PROGRESS: Duration = Duration::from_secs(1);

/// Explores a plan in a lab to its end, or until a bound or the budget stops it. The audience hears every message.
///
/// # Errors
/// Wrong usage, a component that cannot start, a run folder that cannot be written. What was found before stands in the
/// folder and has been told; traces that could not be written are in the error.
pub fn explore(
    registry: &Registry,
    plan: &Plan,
    lab: &Lab,
    audience: &mut dyn Audience,
) -> Result<Summary, RunError> {
    let mut runner = Runner::start(registry, plan, lab)?;
    if audience.wants_events() {
        runner.keep_events();
    }
    let folder = audience.open(&plan.target)?;
    audience.tell(&Message::Run(run_info(plan, &runner, &folder)))?;
    let mut run = Explorer::new(&plan.settings, Findings::new(plan, runner.profile(), runner.origin()));
    let mut strategy = plan.strategy();
    while let Some(unit) = strategy.next() {
        if run.bound_reached() {
            run.stopped = true;
            break;
        }
        run.reached = Reached::Stopped;
        let ended = runner.run(&unit, &mut |point| strategy.fallback(point), &mut run);
        run.count(&unit, &ended);
        if audience.wants_events() {
            audience.events(&ended.events)?;
        }
        strategy.observe(&Finished { unit: &unit, choices: &ended.choices, reached: run.reached });
        run.early(ended);
        run.findings.report(audience)?;
        if run.last_progress.elapsed() >= PROGRESS {
            run.last_progress = Instant::now();
            audience.tell(&Message::Progress(run.progress(strategy.waiting())))?;
        }
        if run.stopped {
            break;
        }
    }
    run.findings.tell_counts(audience)?;
    let summary = run.finish();
    audience.tell(&Message::Summary(summary.clone()))?;
    Ok(summary)
}

/// Everything that a run remembers.
struct Explorer<'a> {
    settings: &'a Settings,
    started: Instant,
    last_progress: Instant,
    /// A bound or the budget has ended it before the strategy did.
    stopped: bool,
    states: States,
    checks: Checks,
    findings: Findings<'a>,
    summary: Summary,
    reached: Reached,
}

impl<'a> Explorer<'a> {
    fn new(settings: &'a Settings, findings: Findings<'a>) -> Explorer<'a> {
        let now = Instant::now();
        Explorer {
            settings,
            started: now,
            last_progress: now,
            stopped: false,
            states: States::default(),
            checks: Checks::default(),
            findings,
            summary: Summary::default(),
            reached: Reached::Stopped,
        }
    }

    fn bound_reached(&self) -> bool {
        self.settings.states.is_some_and(|most| self.states.len() >= most) || self.out_of_time()
    }

    fn out_of_time(&self) -> bool {
        let budget = self.settings.budget_ms.map(Duration::from_millis);
        budget.is_some_and(|budget| self.started.elapsed() >= budget)
    }

    fn count(&mut self, unit: &Unit, ended: &Ended) {
        self.summary.operations += ended.operations;
        self.summary.choices += ended.choices.len().saturating_sub(unit.state.choices.len()) as u64;
    }

    /// What ended a unit early, if that is worth a word. Whatever it is, the run goes on with other states (EX-47).
    fn early(&mut self, ended: Ended) {
        match ended.early {
            None | Some(Early::Stopped) => {}
            Some(Early::Violated(violation, place)) => {
                let choices = ended.choices;
                let by_design = self.findings.found(violation, |violation| ErrorFound {
                    violation,
                    epoch: None,
                    args: Vec::new(),
                    disk: None,
                    recovery: Vec::new(),
                    choices,
                    place,
                    log_hash: 0,
                });
                self.summary.by_design += u64::from(by_design);
            }
            Some(Early::Broken(why)) => self.findings.broken(&why),
            Some(Early::Diverged(divergence)) => self.findings.broken(&format!(
                "restoring a state took another path: {divergence}; the checked system is not deterministic"
            )),
        }
    }

    fn progress(&self, waiting: usize) -> Progress {
        Progress {
            states: self.states.len(),
            waiting: waiting as u64,
            operations: self.summary.operations.clone(),
            checked: self.summary.checked.clone(),
            left_out: self.summary.left_out.clone(),
            findings: self.findings.distinct(),
            seconds: self.seconds(),
        }
    }

    /// Adds everything up.
    fn finish(&self) -> Summary {
        let mut summary = self.summary.clone();
        summary.states = self.states.len().into();
        summary.findings = self.findings.distinct().into();
        summary.broken = self.findings.times_broken.into();
        summary.complete = !self.stopped
            && summary.left_out.is_zero()
            && summary.crash_crash_left_out.is_zero()
            && summary.pending.is_zero();
        summary.seconds = self.seconds();
        summary
    }

    /// To the millisecond.
    fn seconds(&self) -> f64 {
        self.started.elapsed().as_millis() as f64 / 1000.0
    }
}

/// What all checks of one crash have in common.
#[derive(Clone, Copy)]
struct Crash<'a> {
    judge: Judge<'a>,
    ask: &'a Ask<'a>,
    place: Place,
    candidate: &'a Candidate<'a>,
}

impl Explorer<'_> {
    /// Checks a disk, then those that a crash during its recovery leaves, as deep as the user wants. `before` has the disks
    /// that led there, the outermost crash first. Returns whether all is well, or by design.
    fn check(
        &mut self,
        crash: &Crash<'_>,
        disk: &CrashDisk<'_>,
        image: Image,
        before: &mut Vec<Disk>,
    ) -> bool {
        let Crash { judge, ask, place, candidate } = crash;
        let deeper = (before.len() as u32) < self.settings.crash_depth;
        let recording = if deeper { Recording::On } else { Recording::Off };
        let judged = judge.judge(image.clone(), ask.checker, candidate.epoch, candidate.args, recording);
        match judged.judgement {
            Judgement::Ok | Judgement::Repaired => {}
            Judgement::Broken(why) => {
                self.findings.broken(&why);
                return true;
            }
            Judgement::Violated(violation) => {
                let this = (disk.identity().to_string(), disk.kept());
                let mut disks = before.iter().cloned().chain([this]);
                let by_design = self.findings.found(violation, |violation| ErrorFound {
                    violation,
                    epoch: Some(candidate.epoch),
                    args: candidate.args.to_vec(),
                    disk: disks.next(),
                    recovery: disks.collect(),
                    choices: ask.chooser.made().to_vec(),
                    place: *place,
                    log_hash: candidate.log_hash,
                });
                self.summary.by_design += u64::from(by_design);
                return by_design;
            }
        }
        let mut sound = true;
        if deeper && !judged.recovery.is_empty() {
            before.push((disk.identity().to_string(), disk.kept()));
            let Candidate { epoch, args, rest, seed, .. } = candidate;
            let counts = judge.crash_crash_disks(&image, &judged.recovery, *seed, |disk| {
                let key = key(disk.identity(), *epoch, args, rest);
                self.stopped |= self.out_of_time();
                if !self.stopped && self.checks.insert_crash_crash(key) {
                    self.summary.crash_crash_disks += 1;
                    sound &= self.check(crash, disk, disk.image(), before);
                }
            });
            before.pop();
            match counts {
                Ok(counts) => self.summary.crash_crash_left_out += counts.left_out,
                Err(fault) => self.findings.broken(&fault.to_string()),
            }
        }
        sound
    }
}

/// A disk as a trace names it: its identity, and what it has kept.
type Disk = (String, Vec<Kept>);

impl Work for Explorer<'_> {
    fn crashes(
        &mut self,
        pipeline: &mut Pipeline<'_>,
        stack: &Stack,
        ask: &Ask<'_>,
        place: Place,
    ) -> Result<(), Failure> {
        let judge = pipeline.judge();
        let mut sound = true;
        let counts = pipeline.candidates(stack.devices(), ask, place.interval, |candidate| {
            if !self.checks.insert(candidate.key) {
                // Found from another state: this one is not explored further either (EX-47).
                sound &= !self.checks.is_error(candidate.key);
                return;
            }
            self.summary.distinct += 1;
            self.stopped |= self.out_of_time();
            if self.stopped {
                self.summary.pending += 1;
                return;
            }
            self.summary.checked += 1;
            let crash = Crash { judge, ask, place, candidate };
            if !self.check(&crash, candidate.disk, candidate.disk.image(), &mut Vec::new()) {
                sound = false;
                self.checks.insert_error(candidate.key);
            }
        });
        let counts = counts?;
        self.summary.crash_disks += counts.crash_disks;
        self.summary.left_out += counts.left_out;
        if sound && !self.stopped { Ok(()) } else { Err(Failure::Stop) }
    }

    fn reached(&mut self, signature: u128, depth: u32) -> bool {
        let new = self.states.reach(signature, depth);
        // At depth 0 no mutate has led anywhere yet; what the first one leads to is not known before it returns.
        if depth > 0 {
            self.reached = if new { Reached::New } else { Reached::Known };
        }
        !self.bound_reached()
    }
}
