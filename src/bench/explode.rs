//! Rounds of checks as a run makes them: the interval's disks enumerated, each looked up by its key, built, recovered, checked.

use std::time::{Duration, Instant};

use explode_ramdisk::{Event, Image, Recording};

use explode_runtime::base::{Blame, Fault};
use explode_runtime::check::Ask;
use explode_runtime::choose::Choice;
use explode_runtime::crash::CrashDisk;
use explode_runtime::dedup::{Checks, Notes as _};
use explode_runtime::judge::{Candidate, Judge, Judgement, Pipeline, key};
use explode_runtime::stack::Stack;

/// A request for crash checks, which can be answered as often as one likes.
pub(super) struct Crashes<'a> {
    pub stack: &'a Stack,
    pub ask: &'a Ask<'a>,
    /// The request's number in the run, and the choices that led to it.
    pub at: (u64, &'a [Choice]),
}

/// What a round has come to.
pub(super) struct Round {
    pub time: Duration,
    pub crash_disks: u64,
    pub crash_crash_disks: u64,
    pub violations: u64,
}

impl Crashes<'_> {
    /// The first `most` distinct disks, in the order in which a run checks them.
    pub fn images(&self, pipeline: &Pipeline<'_>, most: u64) -> Result<Vec<Image>, Fault> {
        let (mut images, mut seen) = (Vec::new(), Checks::default());
        pipeline.clone().candidates(self.stack.devices(), self.ask, self.at, |candidate| {
            if (images.len() as u64) < most && seen.insert(candidate.key) {
                images.push(candidate.disk.image());
            }
        })?;
        Ok(images)
    }

    /// Checks the first `most` distinct disks.
    pub fn check(&self, pipeline: &Pipeline<'_>, most: u64) -> Result<Round, Fault> {
        self.round(pipeline, most, most, Recording::Off)
    }

    /// The same, each followed by the disks that a crash during its recovery leaves; no further crash disk is begun once
    /// `enough` disks were checked.
    pub fn check_deeper(&self, pipeline: &Pipeline<'_>, most: u64, enough: u64) -> Result<Round, Fault> {
        self.round(pipeline, most, enough, Recording::On)
    }

    fn round(
        &self,
        pipeline: &Pipeline<'_>,
        most: u64,
        enough: u64,
        recording: Recording,
    ) -> Result<Round, Fault> {
        let mut pipeline = pipeline.clone();
        let judge = pipeline.judge();
        let round = Round { time: Duration::ZERO, crash_disks: 0, crash_crash_disks: 0, violations: 0 };
        let mut checking = Checking { crashes: self, judge, seen: Checks::default(), round, broken: None };
        let started = Instant::now();
        pipeline.candidates(self.stack.devices(), self.ask, self.at, |candidate| {
            let Round { crash_disks, crash_crash_disks, .. } = checking.round;
            if crash_disks < most && crash_disks + crash_crash_disks < enough {
                checking.visit(candidate, recording);
            }
        })?;
        let time = started.elapsed();
        checking.broken.map_or(Ok(Round { time, ..checking.round }), |why| {
            Err(Fault::new(format!("a check could not be made: {why}")).blame(Blame::Tool))
        })
    }
}

/// A round that is under way.
struct Checking<'a> {
    crashes: &'a Crashes<'a>,
    judge: Judge<'a>,
    seen: Checks,
    round: Round,
    broken: Option<String>,
}

impl Checking<'_> {
    fn visit(&mut self, candidate: &Candidate<'_>, recording: Recording) {
        if !self.seen.insert(candidate.key) {
            return;
        }
        self.round.crash_disks += 1;
        let image = candidate.disk.image();
        let judged = self.judge(candidate, image.clone(), recording);
        if judged.is_empty() {
            return;
        }
        let judge = self.judge;
        let walked = judge.crash_crash_disks(&image, &judged, candidate.seed, |disk: &CrashDisk<'_>| {
            let key = key(disk.identity(), candidate.epoch, candidate.args, candidate.rest);
            if self.seen.insert_crash_crash(key, 0).is_some() {
                self.round.crash_crash_disks += 1;
                self.judge(candidate, disk.image(), Recording::Off);
            }
        });
        if let Err(fault) = walked {
            self.broken = Some(fault.to_string());
        }
    }

    /// Checks one disk, and returns what its recovery wrote; nothing if the check did not go well.
    fn judge(&mut self, candidate: &Candidate<'_>, image: Image, recording: Recording) -> Vec<Event> {
        let Candidate { epoch, args, .. } = candidate;
        let judged = self.judge.judge(image, self.crashes.ask.checker, *epoch, args, recording);
        match judged.judgement {
            Judgement::Ok | Judgement::Repaired => return judged.recovery,
            Judgement::Violated(_) => self.round.violations += 1,
            Judgement::Broken(why) => self.broken = Some(why),
            // Nobody tells it to.
            Judgement::Stopped => {}
        }
        Vec::new()
    }
}
