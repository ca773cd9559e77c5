//! Rounds of checks as a run makes them: enumerates the interval's disks, looks up each by its key,
//! then builds, recovers and checks it.

use std::time::{Duration, Instant};

use explode_ramdisk::Image;

use explode_runtime::base::{Blame, StepError};
use explode_runtime::check::CrashRequest;
use explode_runtime::choose::Choice;
use explode_runtime::crash::IntervalCounts;
use explode_runtime::dedup::SeenChecks;
use explode_runtime::judge::{
    Check, CheckEnding, CheckOutcome, Crash, CrashPipeline, JudgeHooks, judge as judge_disk,
};
use explode_runtime::stack::Stack;

/// A request for crash checks that can be served repeatedly.
pub(super) struct Crashes<'a> {
    pub stack: &'a Stack,
    pub request: &'a CrashRequest<'a>,
    /// The request's number in the run, and the choices that led to it.
    pub at: (u64, &'a [Choice]),
}

/// The result of a round.
pub(super) struct Round {
    pub time: Duration,
    pub crash_disks: u64,
    pub crash_crash_disks: u64,
    pub violations: u64,
}

impl Crashes<'_> {
    /// Returns the images of the first `most` distinct disks, in the order in which a run checks
    /// them. True is returned beside them if no sample has left out any disk.
    pub fn images(
        &self,
        pipeline: &CrashPipeline<'_>,
        most: u64,
    ) -> Result<(Vec<Image>, bool), StepError> {
        let (mut images, mut seen) = (Vec::new(), SeenChecks::default());
        let (devices, mut pipeline) = (self.stack.devices(), pipeline.clone());
        let counts = pipeline.candidates(devices, self.request, self.at, |candidate| {
            if (images.len() as u64) < most && seen.insert(candidate.key) {
                images.push(candidate.disk.image());
            }
        })?;
        Ok((images, counts.left_out == IntervalCounts::default().left_out))
    }

    /// Checks the first `most` distinct disks.
    pub fn check(&self, pipeline: &CrashPipeline<'_>, most: u64) -> Result<Round, StepError> {
        self.round(pipeline, most, most, 0)
    }

    /// Checks the first `most` distinct disks, and after each the disks of a crash during its
    /// recovery. Begins no further crash disk once `enough` disks are checked.
    pub fn check_deeper(
        &self,
        pipeline: &CrashPipeline<'_>,
        most: u64,
        enough: u64,
    ) -> Result<Round, StepError> {
        self.round(pipeline, most, enough, 1)
    }

    fn round(
        &self,
        pipeline: &CrashPipeline<'_>,
        most: u64,
        enough: u64,
        depth: u32,
    ) -> Result<Round, StepError> {
        let mut pipeline = pipeline.clone();
        let judge = pipeline.judge();
        let round =
            Round { time: Duration::ZERO, crash_disks: 0, crash_crash_disks: 0, violations: 0 };
        let mut checking = Checking { seen: SeenChecks::default(), round, broken: None };
        let started = Instant::now();
        pipeline.candidates(self.stack.devices(), self.request, self.at, |candidate| {
            let Round { crash_disks, crash_crash_disks, .. } = checking.round;
            let wanted = crash_disks < most && crash_disks + crash_crash_disks < enough;
            if wanted && checking.seen.insert(candidate.key) {
                let crash = Crash::of(judge, self.request, candidate, depth);
                judge_disk(&crash, candidate.key, candidate.disk, &mut checking);
            }
        })?;
        let time = started.elapsed();
        checking.broken.map_or(Ok(Round { time, ..checking.round }), |why| {
            Err(StepError::new(format!("a check could not be made: {why}")).blame(Blame::Tool))
        })
    }
}

/// A round that is under way.
struct Checking {
    seen: SeenChecks,
    round: Round,
    broken: Option<String>,
}

impl JudgeHooks for Checking {
    fn known(&mut self, check: &Check<'_>) -> Option<bool> {
        if check.is_outermost() {
            self.round.crash_disks += 1;
        } else if self.seen.insert_crash_crash(check.key) {
            self.round.crash_crash_disks += 1;
        } else {
            return Some(true);
        }
        None
    }

    fn judged(
        &mut self,
        _check: &Check<'_>,
        _image: &Image,
        outcome: CheckOutcome,
    ) -> (CheckOutcome, bool) {
        match &outcome.ending {
            CheckEnding::Violated(_) => self.round.violations += 1,
            CheckEnding::Broken(why) => self.broken = Some(why.to_string()),
            // The hooks stop nothing.
            CheckEnding::Ok | CheckEnding::Repaired | CheckEnding::Stopped => {}
        }
        let sound = outcome.ending.is_sound();
        (outcome, sound)
    }

    fn descended(&mut self, _check: &Check<'_>, counts: Result<IntervalCounts, StepError>) {
        if let Err(fault) = counts {
            self.broken = Some(fault.to_string());
        }
    }
}
