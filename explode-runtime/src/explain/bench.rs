//! The supervisor's side of probes: it has a worker run ways and try disks, and remembers what came
//! of each disk.
//!
//! A worker that dies is an answer, too: if it died in the step and in the way that the trace says,
//! the way or the disk shows the error. The next question goes to a new worker, which first goes
//! back to where the system stood.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::base::RunError;
use crate::choose::Choice;
use crate::crash::{Epoch, Name};
use crate::events::FailedStep;
use crate::trace::{CrashDiskRecord, Replay, Trace};
use crate::verdict::{Broken, BrokenKind, Death, StepName, Violation};
use crate::worker::probe::{
    Answers, End, Looks, Next, Probe, ProbeSaid, Probed, PromiseLine, Spot, Standing, Tried, Until,
};
use crate::worker::{Crew as _, Evidence, Remote, Said, StartError, Started, ToWorker};

/// What may be spent.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Time; none for as much as it takes.
    pub budget: Option<Duration>,
    /// Tests: ways that are run, and disks that are looked at.
    pub tests: u64,
}

/// Runs ways and tries disks for one trace.
pub struct Bench<'a, 'r> {
    remote: &'a mut Remote<'r>,
    trace: &'a Trace,
    bounds: Bounds,
    began: Instant,
    /// What the worker of the moment has started, if there is one.
    started: Option<Started>,
    standing: bool,
    /// Where to go back to: choices and disk.
    at: Option<(Vec<Choice>, Spot)>,
    /// In which moment that is.
    here: Option<Here>,
    /// What is known of the disks there.
    known: BTreeMap<Vec<Vec<Name>>, Outcome>,
    /// The calls of the checker are written down, for [`evidence`](Bench::evidence).
    noted: bool,
    /// Tests made.
    pub tests: u64,
    /// Questions that were answered from memory.
    pub remembered: u64,
    /// A bound has said no.
    pub cut: bool,
    /// The events of the last way, a line each, if they are wanted.
    events: Vec<String>,
}

/// A moment: in it, a disk is what it keeps.
#[derive(Debug, PartialEq, Eq)]
struct Here {
    choices: Vec<Vec<Choice>>,
    interval: u64,
    epoch: Epoch,
    places: Vec<(usize, usize)>,
}

impl Here {
    fn of(standing: &Standing) -> Here {
        Here {
            choices: standing.choices.clone(),
            interval: standing.spot.interval,
            epoch: standing.spot.epoch,
            places: standing.moments.iter().map(|moment| moment.place).collect(),
        }
    }
}

/// The result of a way.
#[derive(Debug)]
pub enum WayEnd {
    /// The worker stands still at a disk.
    Stands(Box<Standing>),
    /// The error was there, and the worker stands nowhere: a mutate saw it, or it ended the worker.
    Fails(Box<Failing>),
    /// The error was not there.
    Not(String),
    /// It went another way.
    Diverged(String),
    /// The checker, a component or the tool failed.
    Broken(Broken),
}

/// An error that was seen.
#[derive(Clone, Debug)]
pub struct Failing {
    /// The choices, mutate by mutate.
    pub choices: Vec<Vec<Choice>>,
    /// Steps of the checker's own commands that have failed.
    pub failed: Vec<FailedStep>,
    /// At which disk; none without a crash.
    pub spot: Option<Spot>,
    /// The error.
    pub violation: Violation,
    /// The profile's line about it.
    pub promise: Option<PromiseLine>,
}

/// The result of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No crash leaves it.
    Impossible,
    /// All is well.
    Sound,
    /// The error that is looked for; with the disks as a trace has them.
    Same(Vec<CrashDiskRecord>, Violation),
    /// Something else is wrong.
    Other(String),
}

impl<'a, 'r> Bench<'a, 'r> {
    /// For a trace, with the workers of a crew for its plan.
    pub fn new(remote: &'a mut Remote<'r>, trace: &'a Trace, bounds: Bounds) -> Bench<'a, 'r> {
        Bench {
            remote,
            trace,
            bounds,
            began: Instant::now(),
            started: None,
            standing: false,
            at: None,
            here: None,
            known: BTreeMap::new(),
            noted: false,
            tests: 0,
            remembered: 0,
            cut: false,
            events: Vec::new(),
        }
    }

    /// The same; the calls of the checker are written down from the beginning.
    #[must_use = "this returns the bench that has them written down"]
    pub fn noting(self) -> Self {
        Bench { noted: true, ..self }
    }

    /// May something more be tested? If not, that is noted.
    pub fn may_go_on(&mut self) -> bool {
        let late = self.bounds.budget.is_some_and(|budget| self.began.elapsed() >= budget);
        self.cut |= late || self.tests >= self.bounds.tests;
        !self.cut
    }

    /// How long it has taken.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// What the worker has started.
    pub fn started(&self) -> Option<&Started> {
        self.started.as_ref()
    }

    /// Where the search of a way ends: at the error, looking first at a disk that keeps these
    /// pieces.
    pub fn failing(&self, first: Vec<Name>) -> Until {
        if self.trace.epoch.is_none() {
            return Until::Mutate;
        }
        let left = self.bounds.budget.map(|budget| budget.saturating_sub(self.began.elapsed()));
        let budget_ms =
            left.map_or(u64::MAX, |left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        let most = self.bounds.tests.saturating_sub(self.tests);
        Until::Failing {
            crashes: self.trace.recovery.len() as u32,
            only: None,
            first,
            most,
            budget_ms,
        }
    }

    /// The same where the trace's crash was, if its log is another one now.
    pub fn failing_elsewhere(&self, first: Vec<Name>) -> Until {
        match self.failing(first) {
            Until::Failing { crashes, first, most, budget_ms, .. } => {
                let only = Some((self.trace.interval, self.trace.log.clone()));
                Until::Failing { crashes, only, first, most, budget_ms }
            }
            until => until,
        }
    }

    /// Runs a way.
    ///
    /// # Errors
    /// A worker cannot be started; the tool or a component is broken.
    pub fn way(
        &mut self,
        answers: Answers,
        mutates: u32,
        until: Until,
    ) -> Result<WayEnd, RunError> {
        self.leave();
        self.at = None;
        let end = self.run(answers, mutates, until)?;
        let mut moment = None;
        if let WayEnd::Stands(standing) = &end {
            self.at = Some((standing.choices.concat(), standing.spot.clone()));
            moment = Some(Here::of(standing));
        }
        if moment.is_none() || moment != self.here {
            self.known.clear();
        }
        self.here = moment;
        Ok(end)
    }

    /// Goes to a disk, which is not looked at; none if it is not there.
    ///
    /// # Errors
    /// As [`way`](Bench::way).
    pub fn stand(
        &mut self,
        choices: &[Choice],
        spot: &Spot,
    ) -> Result<Option<Box<Standing>>, RunError> {
        let answers = Answers::Exactly(choices.to_vec());
        match self.way(answers, spot.mutates, Until::At(spot.clone()))? {
            WayEnd::Stands(standing) => Ok(Some(standing)),
            _ => Ok(None),
        }
    }

    /// Recovers and checks the disk that keeps these pieces, where the worker stands; and so on for
    /// crashes during recovery.
    ///
    /// # Errors
    /// As [`way`](Bench::way); the worker stands nowhere.
    pub fn attempt(&mut self, pieces: &[Vec<Name>]) -> Result<Outcome, RunError> {
        if let Some(known) = self.known.get(pieces) {
            self.remembered += 1;
            return Ok(known.clone());
        }
        self.tests += 1;
        let outcome = self.try_anew(pieces)?;
        self.known.insert(pieces.to_vec(), outcome.clone());
        Ok(outcome)
    }

    /// What a script needs, from the worker that stands at a disk, where this was found broken;
    /// with the disk that keeps these pieces, to compare with.
    ///
    /// # Errors
    /// The worker does not stand anywhere, or dies.
    pub fn evidence(
        &mut self,
        pieces: Vec<Name>,
        violation: &Violation,
    ) -> Result<Evidence, RunError> {
        if !self.standing {
            return Err(broken(BrokenKind::Tool, "no worker stands at the disk"));
        }
        match self
            .remote
            .exchange(Some(&ToWorker::Next(Next::Evidence(pieces, violation.clone()))))
            .map(probe_said)
        {
            Ok(Some(ProbeSaid::Evidence(evidence))) => Ok(evidence),
            Ok(_) => Err(broken(BrokenKind::Worker, "a worker said what fits nothing")),
            Err(death) => {
                self.dismiss();
                Err(broken(BrokenKind::Worker, &format!("a worker died {death}")))
            }
        }
    }

    /// Would [`attempt`](Bench::attempt) answer from memory?
    pub fn knows(&self, pieces: &[Vec<Name>]) -> bool {
        self.known.contains_key(pieces)
    }

    /// Has the worker end its way; returns the profile's line about the error.
    pub fn leave(&mut self) -> Option<PromiseLine> {
        if !std::mem::take(&mut self.standing) {
            return None;
        }
        let enough = ToWorker::Next(Next::Enough);
        match self.remote.exchange(Some(&enough)).map(probe_said) {
            Ok(Some(ProbeSaid::Ended(probed))) => probed.promise,
            _ => {
                self.dismiss();
                None
            }
        }
    }

    /// Runs the choices of a trace without crash checks, in a new worker or in the one of the
    /// moment. Returns the first choice that is not the recorded one, and the events, a line each.
    ///
    /// # Errors
    /// As [`way`](Bench::way).
    pub(super) fn logged(
        &mut self,
        trace: &Trace,
        anew: bool,
    ) -> Result<(Option<String>, Vec<String>), RunError> {
        if anew || self.started.is_none() {
            self.dismiss();
            self.started = Some(self.remote.start(true)?);
        }
        let end =
            self.way(Answers::Exactly(trace.choices.clone()), trace.mutates, Until::Mutate)?;
        let other = if let WayEnd::Diverged(what) = end { Some(what) } else { None };
        Ok((other, std::mem::take(&mut self.events)))
    }

    fn try_anew(&mut self, pieces: &[Vec<Name>]) -> Result<Outcome, RunError> {
        if !self.standing {
            let (choices, spot) = self
                .at
                .clone()
                .ok_or_else(|| diverged("the disk that failed cannot be built again"))?;
            let mutates = spot.mutates;
            let end = self.run(Answers::Exactly(choices), mutates, Until::At(spot))?;
            if !matches!(end, WayEnd::Stands(_)) {
                return Err(diverged("the same choices did not lead to the same disk again"));
            }
        }
        let mut word = Some(ToWorker::Next(Next::Try(pieces.to_vec())));
        let mut looking = Vec::new();
        let tried = loop {
            match self.remote.exchange(word.take().as_ref()).map(probe_said) {
                Ok(Some(ProbeSaid::Tried(tried))) => break tried,
                Ok(Some(ProbeSaid::Looking(spot))) => looking = spot.disks,
                Ok(Some(ProbeSaid::Ended(probed))) => {
                    self.standing = false;
                    return Err(match probed.end {
                        End::Diverged(what) => RunError::Diverged(what),
                        end => broken(
                            BrokenKind::Tool,
                            &format!("a way has ended while a disk was tried: {end:?}"),
                        ),
                    });
                }
                Ok(_) => return Err(broken(BrokenKind::Worker, "a worker said what fits nothing")),
                Err(death) => {
                    self.dismiss();
                    says_something(&death)?;
                    return Ok(match self.trace.replay_of(&death) {
                        Replay::Reproduced { violation, .. } if looking.len() == pieces.len() => {
                            Outcome::Same(looking, violation)
                        }
                        _ => Outcome::Other(format!("a worker died {death}")),
                    });
                }
            }
        };
        Ok(match tried {
            Tried::Impossible => Outcome::Impossible,
            Tried::Looked { looks: Looks::Sound, .. } => Outcome::Sound,
            Tried::Looked { looks: Looks::Broken(why), .. } => Outcome::Other(why),
            Tried::Looked { disks, looks: Looks::Violated(violation) } => {
                let same = violation.signature(&self.trace.checker) == self.trace.signature;
                if same && self.trace.died.is_none() && disks.len() == pieces.len() {
                    Outcome::Same(disks, violation)
                } else {
                    Outcome::Other(format!("{}: {}", violation.verdict, violation.message))
                }
            }
        })
    }

    fn run(&mut self, answers: Answers, mutates: u32, until: Until) -> Result<WayEnd, RunError> {
        self.tests += 1;
        if self.started.is_none() {
            match self.remote.start(false) {
                Ok(started) => self.started = Some(started),
                Err(StartError::Said(error)) => return Err(error),
                Err(StartError::Died(death)) => return self.died(&death, Vec::new(), None),
            }
        }
        let (verdict, promise) = (self.trace.verdict, self.trace.promise().to_owned());
        let (wary, noted) = (self.trace.died.is_some(), self.noted);
        let order = Probe { answers, mutates, verdict, promise, until, wary, noted };
        let mut word = Some(ToWorker::Probe(Box::new(order)));
        let mut made: Vec<Vec<Choice>> = Vec::new();
        let mut looking = None;
        loop {
            let said = match self.remote.exchange(word.take().as_ref()) {
                Ok(said) => said,
                Err(death) => return self.died(&death, made, looking),
            };
            match probe_said(said) {
                Some(ProbeSaid::Chose(mutate, choice)) => {
                    made.resize(made.len().max(mutate as usize), Vec::new());
                    if let Some(last) = made.last_mut() {
                        last.push(choice);
                    }
                }
                Some(ProbeSaid::Looking(spot)) => looking = Some(spot),
                Some(ProbeSaid::Standing(standing)) => {
                    self.standing = true;
                    self.tests += standing.looked;
                    return Ok(WayEnd::Stands(Box::new(standing)));
                }
                Some(ProbeSaid::Ended(probed)) => {
                    self.tests += probed.looked;
                    return Ok(self.ended(probed));
                }
                _ => return Err(broken(BrokenKind::Worker, "a worker said what fits nothing")),
            }
        }
    }

    fn ended(&mut self, probed: Probed) -> WayEnd {
        let Probed { choices, failed, end, promise, events, .. } = probed;
        self.events = events;
        match end {
            End::Violated(violation)
                if self.trace.epoch.is_none()
                    && self.trace.died.is_none()
                    && violation.signature(&self.trace.checker) == self.trace.signature =>
            {
                WayEnd::Fails(Box::new(Failing { choices, failed, spot: None, violation, promise }))
            }
            End::Violated(violation) => WayEnd::Not(format!(
                "mutate itself found: {}: {}",
                violation.verdict, violation.message
            )),
            End::Stood => WayEnd::Not("it stood still and was asked to end".to_owned()),
            End::Nothing(why, cut) => {
                self.cut |= cut;
                WayEnd::Not(why)
            }
            End::Diverged(what) => WayEnd::Diverged(what),
            End::Broken(why) => WayEnd::Broken(why),
        }
    }

    /// What it means that the worker died on a way.
    fn died(
        &mut self,
        death: &Death,
        mut choices: Vec<Vec<Choice>>,
        looking: Option<Spot>,
    ) -> Result<WayEnd, RunError> {
        self.dismiss();
        says_something(death)?;
        let Replay::Reproduced { violation, .. } = self.trace.replay_of(death) else {
            return Ok(WayEnd::Not(format!("a worker died {death}")));
        };
        let on_disk = [StepName::Recover, StepName::Mount, StepName::Check];
        let spot =
            looking.filter(|_| death.step.name().is_some_and(|step| on_disk.contains(&step)));
        let mutates = match (&spot, death.step) {
            (Some(spot), _) => spot.mutates,
            (None, crate::verdict::Step::Mutate { mutates, .. }) => mutates,
            _ => self.trace.mutates,
        };
        choices.resize(mutates as usize, Vec::new());
        Ok(WayEnd::Fails(Box::new(Failing {
            choices,
            failed: Vec::new(),
            spot,
            violation,
            promise: None,
        })))
    }

    fn dismiss(&mut self) {
        self.remote.dismiss();
        self.started = None;
        self.standing = false;
    }
}

impl std::fmt::Debug for Bench<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench")
            .field("tests", &self.tests)
            .field("cut", &self.cut)
            .finish_non_exhaustive()
    }
}

fn probe_said(said: Said) -> Option<ProbeSaid> {
    match said {
        Said::Probe(said) => Some(*said),
        _ => None,
    }
}

/// A worker that was killed from outside has said nothing of the step that it was in, and nothing
/// is to be remembered of it.
fn says_something(death: &Death) -> Result<(), RunError> {
    match death.from_outside {
        true => Err(broken(BrokenKind::Worker, &format!("a worker died {death}; try again"))),
        false => Ok(()),
    }
}

fn diverged(what: &str) -> RunError {
    RunError::Diverged(what.to_owned())
}

fn broken(kind: BrokenKind, why: &str) -> RunError {
    kind.of(why).into()
}
