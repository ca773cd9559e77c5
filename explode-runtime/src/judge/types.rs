//! What a walk over a crash disk knows, and what those who start it decide.

use explode_ramdisk::{Event, Identity, Image};

use super::key::key;
use super::outcome::CheckOutcome;
use super::request::CandidateDisk;
use super::stacks::CrashStacks;
use super::watch::CheckWatch;
use crate::base::StepError;
use crate::check::{CrashRequest, DiskCheck};
use crate::crash::{CrashDisk, Epoch, IntervalCounts, KeptPiece, PieceId, SampleSeed};
use crate::stack::Stack;
use crate::verdict::{DiskStage, WorkerStep};

/// A disk as a trace names it: its identity, and what it has kept.
pub type DiskName = (String, Vec<KeptPiece>);

/// What all checks that follow one crash have in common.
#[derive(Clone, Copy)]
pub struct Crash<'a> {
    /// Makes the stacks.
    pub judge: CrashStacks<'a>,
    /// Checks the disks.
    pub checker: &'a dyn DiskCheck,
    /// When the crash can leave its disk.
    pub epoch: Epoch,
    /// The epoch that the check is called with: a soft crash before the last operation of an
    /// interval is judged as any crash in between.
    pub judged_as: Epoch,
    /// The arguments of the check.
    pub args: &'a [String],
    /// What the key says besides image, epoch and arguments.
    pub rest: &'a [u8],
    /// What samples are drawn from.
    pub seed: SampleSeed,
    /// How many crashes during recovery are followed, one in the recovery of the other.
    pub depth: u32,
}

impl<'a> Crash<'a> {
    /// The crash that leaves a candidate of a request.
    pub fn of(
        judge: CrashStacks<'a>,
        ask: &CrashRequest<'a>,
        candidate: &'a CandidateDisk<'_>,
        depth: u32,
    ) -> Crash<'a> {
        let CandidateDisk { epoch, judged_as: told, args, rest, seed, .. } = *candidate;
        Crash { judge, checker: ask.checker, epoch, judged_as: told, args, rest, seed, depth }
    }

    /// What samples of the disks of a crash during the recovery of a check are drawn from: its key,
    /// whatever led to it.
    pub fn nested_seed(&self, key: u128) -> SampleSeed {
        SampleSeed { seed: self.seed.seed, choices: key, interval: 0 }
    }

    /// The key of the check of a disk.
    pub fn key(&self, disk: Identity) -> u128 {
        key(disk, self.epoch, self.args, self.rest)
    }
}

/// One check.
pub struct Check<'a> {
    /// The crash that it follows.
    pub crash: &'a Crash<'a>,
    /// The identity of the check: (image, epoch, arguments, check_key), fault-model.md section 6.
    pub key: u128,
    /// The disk, if it comes from a walk.
    pub disk: Option<&'a CrashDisk<'a>>,
    /// The disks in whose recoveries crashes have led here, the outermost first.
    pub before: &'a [DiskName],
}

impl Check<'_> {
    /// How many crashes during recovery have led here.
    pub fn crashes(&self) -> u32 {
        self.before.len() as u32
    }

    /// Returns true if no crash during recovery has led here.
    pub fn is_outermost(&self) -> bool {
        self.before.is_empty()
    }

    /// The step in which this check is at a stage.
    pub fn step(&self, stage: DiskStage) -> WorkerStep {
        WorkerStep::Disk { key: self.key, crashes: self.crashes(), stage }
    }
}

/// Which disks of a crash during a recovery are judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descend {
    /// No such disk is judged.
    No,
    /// All of them, or a sample.
    All,
    /// Those that have kept just these pieces.
    Named(Vec<PieceId>),
}

/// Decides about the checks of a walk, and receives what they come to.
pub trait JudgeHooks {
    /// Returns the verdict of a disk that is not to be judged here: true for sound.
    fn known(&mut self, _check: &Check<'_>) -> Option<bool> {
        None
    }

    /// The outcome of this check, where it need not be made.
    fn outcome(&mut self, _check: &Check<'_>, _image: &Image) -> Option<CheckOutcome> {
        None
    }

    /// Returns true if the check shall note what is read.
    fn wants_reads(&self) -> bool {
        false
    }

    /// A stage of the check begins. Returns true if it shall.
    fn before(&mut self, _check: &Check<'_>, _stage: DiskStage) -> bool {
        true
    }

    /// The stack has recovered, and its recovery wrote these events. The checker has not looked
    /// yet.
    fn recovered(&mut self, _check: &Check<'_>, _stack: &Stack, _events: &[Event]) {}

    /// The check was made, or stopped.
    fn after(&mut self, _check: &Check<'_>) {}

    /// The outcome is known. Returns the outcome that counts, and whether it is sound.
    fn judged(
        &mut self,
        _check: &Check<'_>,
        _image: &Image,
        outcome: CheckOutcome,
    ) -> (CheckOutcome, bool) {
        let sound = outcome.judgement.is_sound();
        (outcome, sound)
    }

    /// Which disks of a crash during this recovery follow. It is asked only within the depth and of
    /// a sound outcome.
    fn descend(&mut self, _check: &Check<'_>, outcome: &CheckOutcome) -> Descend {
        if outcome.recovery.is_empty() { Descend::No } else { Descend::All }
    }

    /// The disks of crashes during this recovery were judged.
    fn descended(&mut self, _check: &Check<'_>, _counts: Result<IntervalCounts, StepError>) {}

    /// All of this disk is done.
    fn left(&mut self, _check: &Check<'_>) {}
}

/// Hooks, as the watch of one check.
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
