//! The input of a walk over a crash disk, and the hooks of its caller.

use explode_ramdisk::{Event, Identity, Image};

use super::key::key;
use super::outcome::CheckOutcome;
use super::request::CandidateDisk;
use super::stacks::CrashStacks;
use super::watch::CheckWatch;
use crate::base::StepError;
use crate::check::{CrashRequest, DiskCheck};
use crate::crash::{CrashDisk, Epoch, IntervalCounts, KeptPiece, PieceName, SampleSeed};
use crate::stack::Stack;
use crate::verdict::{DiskStage, WorkerStep};

/// The name of a disk in a trace: its identity and the pieces that it has kept.
pub type DiskName = (String, Vec<KeptPiece>);

/// The common part of all checks that follow one crash.
#[derive(Clone, Copy)]
pub struct Crash<'a> {
    /// Makes the stacks.
    pub judge: CrashStacks<'a>,
    /// Checks the disks.
    pub checker: &'a dyn DiskCheck,
    /// The epoch in which the crash can leave its disk.
    pub epoch: Epoch,
    /// The epoch that the check gets. A soft crash before the last operation of an interval is
    /// judged as any crash in between.
    pub judged_as: Epoch,
    /// The arguments of the check.
    pub args: &'a [String],
    /// The part of the key besides image, epoch and arguments.
    pub rest: &'a [u8],
    /// The seed of samples.
    pub seed: SampleSeed,
    /// The maximum number of nested crashes during recovery.
    pub depth: u32,
}

impl<'a> Crash<'a> {
    /// Returns the crash that leaves a candidate of a request.
    pub fn of(
        judge: CrashStacks<'a>,
        request: &CrashRequest<'a>,
        candidate: &'a CandidateDisk<'_>,
        depth: u32,
    ) -> Crash<'a> {
        let CandidateDisk { epoch, judged_as, args, rest, seed, .. } = *candidate;
        Crash { judge, checker: request.checker, epoch, judged_as, args, rest, seed, depth }
    }

    /// Returns the seed for samples of the crash-crash disks of a check. It depends on the key of
    /// the check but not on the choices before it.
    pub fn nested_seed(&self, key: u128) -> SampleSeed {
        SampleSeed { seed: self.seed.seed, choices: key, interval: 0 }
    }

    /// Returns the key of the check of a disk.
    pub fn key(&self, disk: Identity) -> u128 {
        key(disk, self.epoch, self.args, self.rest)
    }
}

/// One check.
pub struct Check<'a> {
    /// The crash before the check.
    pub crash: &'a Crash<'a>,
    /// The identity of the check: (image, epoch, arguments, check_key), fault-model.md section 6.
    pub key: u128,
    /// The disk, if it comes from a walk.
    pub disk: Option<&'a CrashDisk<'a>>,
    /// The disks whose recoveries were cut short by crashes, the outermost first.
    pub before: &'a [DiskName],
}

impl Check<'_> {
    /// Returns the number of crashes during recovery before this check.
    pub fn crashes(&self) -> u32 {
        self.before.len() as u32
    }

    /// Returns true if no crash during recovery precedes this check.
    pub fn is_outermost(&self) -> bool {
        self.before.is_empty()
    }

    /// Returns the step of a worker in this check at a stage.
    pub fn step(&self, stage: DiskStage) -> WorkerStep {
        WorkerStep::Disk { key: self.key, crashes: self.crashes(), stage }
    }
}

/// The crash-crash disks of a recovery that are judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descend {
    /// No disk is judged.
    No,
    /// All disks are judged, or a sample.
    All,
    /// The disks that have kept exactly these pieces are judged.
    Named(Vec<PieceName>),
}

/// Controls the checks of a walk and receives their outcomes.
pub trait JudgeHooks {
    /// Returns the verdict of a disk that need not be judged: true if it is sound. `None` if it
    /// must be judged.
    fn known(&mut self, _check: &Check<'_>) -> Option<bool> {
        None
    }

    /// Returns the outcome of this check if it need not be made.
    fn outcome(&mut self, _check: &Check<'_>, _image: &Image) -> Option<CheckOutcome> {
        None
    }

    /// Returns true if checks record their reads.
    fn wants_reads(&self) -> bool {
        false
    }

    /// Announces a stage of the check. Returns false to stop the check.
    fn before(&mut self, _check: &Check<'_>, _stage: DiskStage) -> bool {
        true
    }

    /// Reports that the stack has recovered and that its recovery wrote these events. The checker
    /// has not run yet.
    fn recovered(&mut self, _check: &Check<'_>, _stack: &Stack, _events: &[Event]) {}

    /// Reports that the check was made or stopped.
    fn after(&mut self, _check: &Check<'_>) {}

    /// Receives the outcome of a check. Returns the outcome that counts, and true if it is sound.
    fn judged(
        &mut self,
        _check: &Check<'_>,
        _image: &Image,
        outcome: CheckOutcome,
    ) -> (CheckOutcome, bool) {
        let sound = outcome.ending.is_sound();
        (outcome, sound)
    }

    /// Returns the crash-crash disks of this recovery to judge. Called only within the depth and
    /// for a sound outcome.
    fn descend(&mut self, _check: &Check<'_>, outcome: &CheckOutcome) -> Descend {
        if outcome.recovery.is_empty() { Descend::No } else { Descend::All }
    }

    /// Reports that the crash-crash disks of this recovery were judged.
    fn descended(&mut self, _check: &Check<'_>, _counts: Result<IntervalCounts, StepError>) {}

    /// Reports that the walk has finished with this disk.
    fn left(&mut self, _check: &Check<'_>) {}
}

/// Adapts the hooks to the watch of one check.
pub(super) struct Announced<'a> {
    pub check: &'a Check<'a>,
    pub hooks: &'a mut dyn JudgeHooks,
}

impl CheckWatch for Announced<'_> {
    fn before(&mut self, stage: DiskStage) -> bool {
        self.hooks.before(self.check, stage)
    }

    fn recovered(&mut self, stack: &Stack, events: &[Event]) {
        self.hooks.recovered(self.check, stack, events);
    }
}
