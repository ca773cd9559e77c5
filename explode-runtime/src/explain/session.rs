//! The supervisor's side of probes: a worker runs paths and tries disks, and the session remembers
//! the result of each disk.
//!
//! A worker's death is a result as well. If the worker died in the step and on the path that the
//! trace names, the path or the disk shows the error. The next question goes to a new worker, which
//! is first restored to the same place.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::base::RunError;
use crate::choose::Choice;
use crate::crash::{Epoch, PieceName};
use crate::events::{FailedCommand, ToldStory};
use crate::trace::{CrashDiskRecord, ReplayResult, Trace};
use crate::verdict::{Broken, BrokenKind, StepName, Violation, WorkerDeath};
use crate::worker::probe::{
    CitedPromise, CrashPoint, DiskCondition, ProbeAnswers, ProbeCommand, ProbeEnd, ProbeGoal,
    ProbeOrder, ProbeReply, ProbeResult, StoppedAt, TryResult,
};
use crate::worker::{
    Evidence, FromWorker, RemoteWorkers, StartError, ToWorker, WorkerStarted, Workers as _,
};

/// The bounds of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchBounds {
    /// The maximum duration. `None` for no limit.
    pub budget: Option<Duration>,
    /// The maximum number of tests: paths run and disks checked.
    pub tests: u64,
}

/// Runs paths and tries disks for one trace.
pub struct ProbeSession<'a, 'r> {
    remote: &'a mut RemoteWorkers<'r>,
    trace: &'a Trace,
    bounds: SearchBounds,
    began: Instant,
    /// The description of the present worker. `None` if no worker runs.
    started: Option<WorkerStarted>,
    stopped: bool,
    /// The choices and the disk to return to.
    at: Option<(Vec<Choice>, CrashPoint)>,
    /// The moment of that disk.
    moment_key: Option<MomentKey>,
    /// The known results of disks in that moment.
    known: BTreeMap<Vec<Vec<PieceName>>, DiskTry>,
    /// True if the calls of the checker are logged, for [`evidence`](ProbeSession::evidence).
    noted: bool,
    /// True if time passes before each logged call.
    ticks: bool,
    /// The number of tests made.
    pub tests: u64,
    /// The number of questions that were answered from memory.
    pub remembered: u64,
    /// True if a bound has been reached.
    pub cut: bool,
    /// The events of the last path, a line each, if they are wanted.
    events: Vec<String>,
}

/// The key of a moment. In one moment the kept pieces identify a disk.
#[derive(Debug, PartialEq, Eq)]
struct MomentKey {
    choices: Vec<Vec<Choice>>,
    interval: u64,
    epoch: Epoch,
    places: Vec<(usize, usize)>,
}

impl MomentKey {
    fn of(stopped: &StoppedAt) -> MomentKey {
        MomentKey {
            choices: stopped.choices.clone(),
            interval: stopped.spot.interval,
            epoch: stopped.spot.epoch,
            places: stopped.moments.iter().map(|moment| moment.place).collect(),
        }
    }
}

/// The result of a path.
#[derive(Debug)]
pub enum PathResult {
    /// The worker has stopped at a disk.
    Stopped(Box<StoppedAt>),
    /// The error occurred in a mutate or killed the worker. No worker has stopped at a disk.
    Fails(Box<PathFailure>),
    /// The error did not occur, for this reason.
    Not(String),
    /// The path diverged.
    Diverged(String),
    /// The checker, a component or the tool failed.
    Broken(Broken),
}

/// A failure of a path.
#[derive(Clone, Debug)]
pub struct PathFailure {
    /// The choices, mutate by mutate.
    pub choices: Vec<Vec<Choice>>,
    /// The steps of the checker's own commands that have failed.
    pub failed: Vec<FailedCommand>,
    /// The disk of the failure. `None` without a crash.
    pub spot: Option<CrashPoint>,
    /// The error.
    pub violation: Violation,
    /// The profile's line about the broken promise.
    pub promise: Option<CitedPromise>,
    /// The lines of the system's own story, if it has one.
    pub told: ToldStory,
}

/// The result of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskTry {
    /// No crash can leave the disk.
    Impossible,
    /// Every promise is kept.
    Sound,
    /// The disk has the error of the trace. The records are its disks in the form of a trace.
    Same(Vec<CrashDiskRecord>, Violation),
    /// The disk has another error.
    Other(String),
}

impl<'a, 'r> ProbeSession<'a, 'r> {
    /// Returns a session for a trace, with workers for its plan.
    pub fn new(
        remote: &'a mut RemoteWorkers<'r>,
        trace: &'a Trace,
        bounds: SearchBounds,
    ) -> ProbeSession<'a, 'r> {
        ProbeSession {
            remote,
            trace,
            bounds,
            began: Instant::now(),
            started: None,
            stopped: false,
            at: None,
            moment_key: None,
            known: BTreeMap::new(),
            noted: false,
            ticks: false,
            tests: 0,
            remembered: 0,
            cut: false,
            events: Vec::new(),
        }
    }

    /// Makes the session log the calls of the checker from the beginning.
    #[must_use = "this returns the session that has them written down"]
    pub fn noting(self) -> Self {
        ProbeSession { noted: true, ..self }
    }

    /// Makes time pass before each call of the checker, on systems that have a clock. Then no two
    /// calls give a file the same times, as if a person typed them.
    #[must_use = "this returns the session in which time passes"]
    pub fn ticking(self) -> Self {
        ProbeSession { noted: true, ticks: true, ..self }
    }

    /// Returns true if another test is allowed. Otherwise records that a bound was reached.
    pub fn may_go_on(&mut self) -> bool {
        let late = self.bounds.budget.is_some_and(|budget| self.began.elapsed() >= budget);
        self.cut |= late || self.tests >= self.bounds.tests;
        !self.cut
    }

    /// Returns the time since the start of the session.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns the description of the present worker.
    pub fn started(&self) -> Option<&WorkerStarted> {
        self.started.as_ref()
    }

    /// Returns the goal of a search for the error. Disks with these pieces are checked first.
    pub fn failing(&self, first: Vec<PieceName>) -> ProbeGoal {
        if self.trace.epoch.is_none() {
            return ProbeGoal::Mutate;
        }
        let left = self.bounds.budget.map(|budget| budget.saturating_sub(self.began.elapsed()));
        let budget_ms =
            left.map_or(u64::MAX, |left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        let most = self.bounds.tests.saturating_sub(self.tests);
        ProbeGoal::Failing {
            crashes: self.trace.recovery.len() as u32,
            only: None,
            first,
            most,
            budget_ms,
        }
    }

    /// Returns the same goal, restricted to the request of the trace's crash, for a log that
    /// differs from the recorded one.
    pub fn failing_elsewhere(&self, first: Vec<PieceName>) -> ProbeGoal {
        match self.failing(first) {
            ProbeGoal::Failing { crashes, first, most, budget_ms, .. } => {
                let only = Some((self.trace.interval, self.trace.log.clone()));
                ProbeGoal::Failing { crashes, only, first, most, budget_ms }
            }
            until => until,
        }
    }

    /// Runs a path.
    ///
    /// # Errors
    /// A worker cannot be started, or the tool or a component is broken.
    pub fn run_path(
        &mut self,
        answers: ProbeAnswers,
        mutates: u32,
        until: ProbeGoal,
    ) -> Result<PathResult, RunError> {
        self.leave();
        self.at = None;
        let end = self.run(answers, mutates, until)?;
        let mut moment = None;
        if let PathResult::Stopped(stopped) = &end {
            self.at = Some((stopped.choices.concat(), stopped.spot.clone()));
            moment = Some(MomentKey::of(stopped));
        }
        if moment.is_none() || moment != self.moment_key {
            self.known.clear();
        }
        self.moment_key = moment;
        Ok(end)
    }

    /// Stops at a disk without checking it. `None` if the disk does not occur.
    ///
    /// # Errors
    /// Those of [`run_path`](ProbeSession::run_path).
    pub fn stop_at(
        &mut self,
        choices: &[Choice],
        spot: &CrashPoint,
    ) -> Result<Option<Box<StoppedAt>>, RunError> {
        let answers = ProbeAnswers::Exactly(choices.to_vec());
        match self.run_path(answers, spot.mutates, ProbeGoal::At(spot.clone()))? {
            PathResult::Stopped(stopped) => Ok(Some(stopped)),
            _ => Ok(None),
        }
    }

    /// Recovers and checks the disk with these pieces at the present moment. Each further element
    /// has the pieces of a crash during recovery.
    ///
    /// # Errors
    /// Those of [`run_path`](ProbeSession::run_path). It is also an error if no path has stopped at
    /// a disk before.
    pub fn attempt(&mut self, pieces: &[Vec<PieceName>]) -> Result<DiskTry, RunError> {
        if let Some(known) = self.known.get(pieces) {
            self.remembered += 1;
            return Ok(known.clone());
        }
        self.tests += 1;
        let outcome = self.try_anew(pieces)?;
        self.known.insert(pieces.to_vec(), outcome.clone());
        Ok(outcome)
    }

    /// Returns the evidence for a script from the worker that has stopped at a disk with this
    /// violation. `pieces` are those of the disk to compare with.
    ///
    /// # Errors
    /// No worker has stopped at a disk, or the worker dies.
    pub fn evidence(
        &mut self,
        pieces: Vec<PieceName>,
        violation: &Violation,
    ) -> Result<Evidence, RunError> {
        if !self.stopped {
            return Err(broken(BrokenKind::Tool, "no worker is stopped at the disk"));
        }
        match self
            .remote
            .exchange(Some(&ToWorker::Next(ProbeCommand::Evidence(pieces, violation.clone()))))
            .map(probe_reply)
        {
            Ok(Some(ProbeReply::Evidence(evidence))) => Ok(evidence),
            Ok(_) => Err(broken(BrokenKind::Worker, "a worker sent an unexpected message")),
            Err(death) => {
                self.stop();
                Err(broken(BrokenKind::Worker, &format!("a worker died {death}")))
            }
        }
    }

    /// Returns true if [`attempt`](ProbeSession::attempt) would answer from memory.
    pub fn knows(&self, pieces: &[Vec<PieceName>]) -> bool {
        self.known.contains_key(pieces)
    }

    /// Ends the worker's path. Returns the profile's line about the error, if there is one.
    pub fn leave(&mut self) -> Option<CitedPromise> {
        if !std::mem::take(&mut self.stopped) {
            return None;
        }
        let enough = ToWorker::Next(ProbeCommand::Enough);
        match self.remote.exchange(Some(&enough)).map(probe_reply) {
            Ok(Some(ProbeReply::Ended(probed))) => probed.promise,
            _ => {
                self.stop();
                None
            }
        }
    }

    /// Runs the choices of a trace without crash checks, in a new worker or in the present one.
    /// Returns the first choice that differs from the recorded one, and the events, a line each.
    ///
    /// # Errors
    /// Those of [`run_path`](ProbeSession::run_path).
    pub(super) fn logged(
        &mut self,
        trace: &Trace,
        anew: bool,
    ) -> Result<(Option<String>, Vec<String>), RunError> {
        if anew || self.started.is_none() {
            self.stop();
            self.started = Some(self.remote.start(true)?);
        }
        let end = self.run_path(
            ProbeAnswers::Exactly(trace.choices.clone()),
            trace.mutates,
            ProbeGoal::Mutate,
        )?;
        let other =
            if let PathResult::Diverged(divergence) = end { Some(divergence) } else { None };
        Ok((other, std::mem::take(&mut self.events)))
    }

    fn try_anew(&mut self, pieces: &[Vec<PieceName>]) -> Result<DiskTry, RunError> {
        if !self.stopped {
            let (choices, spot) = self
                .at
                .clone()
                .ok_or_else(|| diverged("the disk that failed cannot be built again"))?;
            let mutates = spot.mutates;
            let end = self.run(ProbeAnswers::Exactly(choices), mutates, ProbeGoal::At(spot))?;
            if !matches!(end, PathResult::Stopped(_)) {
                return Err(diverged("the same choices did not lead to the same disk again"));
            }
        }
        let mut word = Some(ToWorker::Next(ProbeCommand::Try(pieces.to_vec())));
        let mut looking = Vec::new();
        let tried = loop {
            match self.remote.exchange(word.take().as_ref()).map(probe_reply) {
                Ok(Some(ProbeReply::Tried(tried))) => break tried,
                Ok(Some(ProbeReply::Looking(spot))) => looking = spot.disks,
                Ok(Some(ProbeReply::Ended(probed))) => {
                    self.stopped = false;
                    return Err(match probed.end {
                        ProbeEnd::Diverged(divergence) => RunError::Diverged(divergence),
                        end => broken(
                            BrokenKind::Tool,
                            &format!("a path ended while a disk was tried: {end:?}"),
                        ),
                    });
                }
                Ok(_) => {
                    return Err(broken(BrokenKind::Worker, "a worker sent an unexpected message"));
                }
                Err(death) => {
                    self.stop();
                    check_not_killed(&death)?;
                    return Ok(match self.trace.replay_of(&death) {
                        ReplayResult::Reproduced { violation, .. }
                            if looking.len() == pieces.len() =>
                        {
                            DiskTry::Same(looking, violation)
                        }
                        _ => DiskTry::Other(format!("a worker died {death}")),
                    });
                }
            }
        };
        Ok(match tried {
            TryResult::Impossible => DiskTry::Impossible,
            TryResult::Looked { looks: DiskCondition::Sound, .. } => DiskTry::Sound,
            TryResult::Looked { looks: DiskCondition::Broken(why), .. } => DiskTry::Other(why),
            TryResult::Looked { disks, looks: DiskCondition::Violated(violation) } => {
                let same = violation.signature(&self.trace.checker) == self.trace.signature;
                if same && self.trace.died.is_none() && disks.len() == pieces.len() {
                    DiskTry::Same(disks, violation)
                } else {
                    DiskTry::Other(format!("{}: {}", violation.verdict, violation.message))
                }
            }
        })
    }

    fn run(
        &mut self,
        answers: ProbeAnswers,
        mutates: u32,
        until: ProbeGoal,
    ) -> Result<PathResult, RunError> {
        self.tests += 1;
        if self.started.is_none() {
            match self.remote.start(false) {
                Ok(started) => self.started = Some(started),
                Err(StartError::Refused(error)) => return Err(error),
                Err(StartError::Died(death)) => return self.died(&death, Vec::new(), None),
            }
        }
        let (verdict, promise) = (self.trace.verdict, self.trace.promise().to_owned());
        let snapshot_before = self.trace.died.is_some();
        let ProbeSession { noted, ticks, .. } = *self;
        let order =
            ProbeOrder { answers, mutates, verdict, promise, until, snapshot_before, noted, ticks };
        let mut word = Some(ToWorker::Probe(Box::new(order)));
        let mut made: Vec<Vec<Choice>> = Vec::new();
        let mut looking = None;
        loop {
            let message = match self.remote.exchange(word.take().as_ref()) {
                Ok(message) => message,
                Err(death) => return self.died(&death, made, looking),
            };
            match probe_reply(message) {
                Some(ProbeReply::Chose(mutate, choice)) => {
                    made.resize(made.len().max(mutate as usize), Vec::new());
                    if let Some(last) = made.last_mut() {
                        last.push(choice);
                    }
                }
                Some(ProbeReply::Looking(spot)) => looking = Some(spot),
                Some(ProbeReply::Stopped(stopped)) => {
                    self.stopped = true;
                    self.tests += stopped.looked;
                    return Ok(PathResult::Stopped(Box::new(stopped)));
                }
                Some(ProbeReply::Ended(probed)) => {
                    self.tests += probed.looked;
                    return Ok(self.ended(probed));
                }
                _ => return Err(broken(BrokenKind::Worker, "a worker sent an unexpected message")),
            }
        }
    }

    fn ended(&mut self, probed: ProbeResult) -> PathResult {
        let ProbeResult { choices, failed, end, promise, events, told, .. } = probed;
        self.events = events;
        match end {
            ProbeEnd::Violated(violation)
                if self.trace.epoch.is_none()
                    && self.trace.died.is_none()
                    && violation.signature(&self.trace.checker) == self.trace.signature =>
            {
                PathResult::Fails(Box::new(PathFailure {
                    choices,
                    failed,
                    spot: None,
                    violation,
                    promise,
                    told,
                }))
            }
            ProbeEnd::Violated(violation) => PathResult::Not(format!(
                "mutate itself found: {}: {}",
                violation.verdict, violation.message
            )),
            ProbeEnd::Stopped => {
                PathResult::Not("it was stopped at a crash and ended on request".to_owned())
            }
            ProbeEnd::Nothing(why, cut) => {
                self.cut |= cut;
                PathResult::Not(why)
            }
            ProbeEnd::Diverged(divergence) => PathResult::Diverged(divergence),
            ProbeEnd::Broken(why) => PathResult::Broken(why),
        }
    }

    /// Returns the result of a path on which the worker died.
    fn died(
        &mut self,
        death: &WorkerDeath,
        mut choices: Vec<Vec<Choice>>,
        looking: Option<CrashPoint>,
    ) -> Result<PathResult, RunError> {
        self.stop();
        check_not_killed(death)?;
        let ReplayResult::Reproduced { violation, .. } = self.trace.replay_of(death) else {
            return Ok(PathResult::Not(format!("a worker died {death}")));
        };
        let on_disk = [StepName::Recover, StepName::Mount, StepName::Check];
        let spot =
            looking.filter(|_| death.step.name().is_some_and(|step| on_disk.contains(&step)));
        let mutates = match (&spot, death.step) {
            (Some(spot), _) => spot.mutates,
            (None, crate::verdict::WorkerStep::Mutate { mutates, .. }) => mutates,
            _ => self.trace.mutates,
        };
        choices.resize(mutates as usize, Vec::new());
        Ok(PathResult::Fails(Box::new(PathFailure {
            choices,
            failed: Vec::new(),
            spot,
            violation,
            promise: None,
            told: ToldStory::default(),
        })))
    }

    fn stop(&mut self) {
        self.remote.stop();
        self.started = None;
        self.stopped = false;
    }
}

impl std::fmt::Debug for ProbeSession<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProbeSession")
            .field("tests", &self.tests)
            .field("cut", &self.cut)
            .finish_non_exhaustive()
    }
}

fn probe_reply(message: FromWorker) -> Option<ProbeReply> {
    match message {
        FromWorker::Probe(message) => Some(*message),
        _ => None,
    }
}

/// Returns an error if the worker was killed from outside. Such a death proves nothing about its
/// step and must not be remembered.
fn check_not_killed(death: &WorkerDeath) -> Result<(), RunError> {
    match death.killed_externally {
        true => Err(broken(BrokenKind::Worker, &format!("a worker died {death}; try again"))),
        false => Ok(()),
    }
}

fn diverged(text: &str) -> RunError {
    RunError::Diverged(text.to_owned())
}

fn broken(kind: BrokenKind, why: &str) -> RunError {
    kind.of(why).into()
}
