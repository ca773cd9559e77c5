//! The messages of a probe: orders about a trace, and the replies of the worker.
//!
//! A [`ProbeOrder`] runs a path. At the request for crash checks that is its goal, the worker
//! reports [where it has stopped](StoppedAt). The system then stands still, and the supervisor
//! tries disks of that moment, one after the other ([`ProbeCommand`]).

use serde::{Deserialize, Serialize};

use crate::choose::Choice;
use crate::crash::{Epoch, PieceName};
use crate::events::{EventSummary, FailedCommand, PlacedCall, ToldStory};
use crate::trace::CrashDiskRecord;
use crate::verdict::{Broken, Verdict, Violation};
use crate::worker::Evidence;

/// A path to run, and its goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeOrder {
    /// The answers to the choices of the path.
    pub answers: ProbeAnswers,
    /// The number of calls of mutate.
    pub mutates: u32,
    /// The verdict of the error.
    pub verdict: Verdict,
    /// The promise that the error breaks.
    pub promise: String,
    /// The goal at which the path ends.
    pub until: ProbeGoal,
    /// True if the worker may die on the path. It then sends each choice, and each disk before its
    /// check.
    pub snapshot_before: bool,
    /// True if the calls of the checker are recorded for a script.
    pub noted: bool,
    /// True if time passes before each recorded call.
    pub ticks: bool,
}

/// The answers to the choices of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeAnswers {
    /// Exactly these answers, in their order, in any mutate. Any other choice is a divergence.
    Exactly(Vec<Choice>),
    /// The answers of each mutate. A choice point gets the first unused answer of its mutate that
    /// fits. The answers before that one are dropped. If none fits, the point gets the first
    /// option.
    AsFits(Vec<Vec<Choice>>),
}

/// The goal of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeGoal {
    /// A mutate that itself sees the error.
    Mutate,
    /// The first disk of the last mutate that shows the error, or from which crashes during
    /// recovery lead to a disk that shows it.
    Failing {
        /// The maximal number of crashes during recovery.
        crashes: u32,
        /// The index of the only request for crash checks to search, and a hash. If the log has
        /// this hash there, nothing is searched: then the recorded disk is the only one, as in a
        /// replay (EX-60).
        only: Option<(u64, String)>,
        /// The pieces of the disk that is checked first.
        first: Vec<PieceName>,
        /// The maximal number of disks to check.
        most: u64,
        /// The maximal time, in milliseconds.
        budget_ms: u64,
    },
    /// This disk, which is not checked.
    At(CrashPoint),
}

/// The path to a crash disk, besides the choices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashPoint {
    /// The number of calls of mutate so far, the current one included.
    pub mutates: u32,
    /// The index of the request for crash checks.
    pub interval: u64,
    /// The epoch of the crash.
    pub epoch: Epoch,
    /// The arguments of the check.
    pub args: Vec<String>,
    /// The hash of all events up to the crash checks, in 32 hexadecimal digits.
    pub log: String,
    /// The disk that the crash left, then those that crashes during recovery left.
    pub disks: Vec<CrashDiskRecord>,
}

/// A command to a worker that has stopped at a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeCommand {
    /// Recover and check the disk that keeps these pieces: the pieces of the crash disk, then those
    /// of a disk that a crash during its recovery leaves, and so on.
    Try(Vec<Vec<PieceName>>),
    /// Send the evidence that a script needs, about this violation. The disk that keeps these
    /// pieces is the one to compare with. If no disk keeps them, there is no disk to compare with.
    Evidence(Vec<PieceName>, Violation),
    /// End the path.
    Enough,
}

/// A reply of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeReply {
    /// A choice and the number of its mutate, from 1. Only if the worker may die.
    Chose(u32, Choice),
    /// The disk that is checked next. Only if the worker may die.
    Looking(CrashPoint),
    /// The worker has stopped at a disk, and waits for a command.
    Stopped(StoppedAt),
    /// The result of a try.
    Tried(TryResult),
    /// The evidence that a script needs.
    Evidence(Evidence),
    /// The path has ended.
    Ended(ProbeResult),
}

/// The place at which a worker has stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedAt {
    /// The choices so far, for each mutate.
    pub choices: Vec<Vec<Choice>>,
    /// The commands of the checker that have failed.
    pub failed: Vec<FailedCommand>,
    /// The disk at which the worker has stopped.
    pub spot: CrashPoint,
    /// The moment of the crash, then the moment of each crash during recovery.
    pub moments: Vec<CrashMoment>,
    /// The number of disks that were checked on the path.
    pub looked: u64,
}

/// The moment of a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashMoment {
    /// The index of the emission in its interval, and of the world in the emission.
    pub place: (usize, usize),
    /// The calls up to the crash, in the order in which they began; empty for a recovery. The call
    /// that the crash interrupted has no end.
    pub calls: Vec<PlacedCall>,
    /// The number of events before those of the interval, without marks.
    pub first: u64,
    /// The latest instant of the crash, as a number of events without marks. A later crash does not
    /// leave this disk in its epoch.
    pub crash: u64,
    /// The events of the interval, or of the recovery, up to the crash.
    pub events: Vec<EventSummary>,
    /// The number of events of the interval or the recovery after the crash.
    pub later: u64,
    /// The pending ranges with the versions that a crash in this epoch can keep.
    pub ranges: Vec<PendingRange>,
}

/// A range of a device, and its pending versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingRange {
    /// The device.
    pub dev: u32,
    /// Its sectors: the first sector and the number of sectors of each part.
    pub sectors: Vec<(u64, u64)>,
    /// The owner of the range; `None` if no component knows it.
    #[serde(rename = "whose")]
    pub owner: Option<String>,
    /// The number of each version, oldest first, with its index in the order in which pieces were
    /// first written.
    pub versions: Vec<(u32, u64)>,
    /// The event since which each version can reach the disk, as a number of events without marks.
    pub since: Vec<u64>,
    /// The version that the disk has kept; `None` if it has kept no version.
    pub kept: Option<u32>,
}

impl PendingRange {
    /// Returns the name of a version.
    pub fn name(&self, version: u32) -> PieceName {
        (self.dev, self.sectors.first().map_or(0, |part| part.0), version)
    }

    /// Returns the newest version.
    pub fn newest(&self) -> Option<u32> {
        self.versions.last().map(|version| version.0)
    }

    /// Returns the size of the range, in bytes.
    pub fn bytes(&self) -> u64 {
        self.sectors.iter().map(|part| part.1 * 512).sum()
    }
}

/// Returns the names of the versions that are kept, range by range.
pub(crate) fn kept_names(ranges: &[PendingRange], digits: &[Option<u32>]) -> Vec<PieceName> {
    ranges.iter().zip(digits).filter_map(|(range, digit)| Some(range.name((*digit)?))).collect()
}

/// The result of a try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TryResult {
    /// No crash in this epoch leaves such a disk.
    Impossible,
    /// The disk was checked.
    Looked {
        /// The disks, as a trace has them. If a disk before the last one fails, those after it are
        /// missing.
        disks: Vec<CrashDiskRecord>,
        /// The condition of the last disk.
        looks: DiskCondition,
    },
}

/// The condition of a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiskCondition {
    /// Recovery succeeds, and all promises are kept.
    Sound,
    /// Recovery or the check fails.
    Violated(Violation),
    /// The check could not be made.
    Broken(String),
}

/// The result of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeResult {
    /// The choices, for each mutate.
    pub choices: Vec<Vec<Choice>>,
    /// The commands of the checker that have failed.
    pub failed: Vec<FailedCommand>,
    /// The end of the path.
    pub end: ProbeEnd,
    /// The number of disks that were checked on the path.
    pub looked: u64,
    /// The profile's line about the promise of the order; `None` if there is no such line.
    pub promise: Option<CitedPromise>,
    /// The events, one line each; empty unless the worker keeps events.
    pub events: Vec<String>,
    /// The system's own story; empty if it has none, or if the calls are not recorded.
    pub told: ToldStory,
}

/// The end of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeEnd {
    /// The worker has stopped at a disk, and has then received the command to end.
    Stopped,
    /// A mutate itself has seen this violation.
    Violated(Violation),
    /// The path has ended without reaching its goal, for this reason. True if a bound has ended the
    /// search.
    Nothing(String, bool),
    /// The path has diverged.
    Diverged(String),
    /// The checker, a component or the tool failed.
    Broken(Broken),
}

/// A line of a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedPromise {
    /// The system, with the settings that matter.
    pub system: String,
    /// The name of the promise.
    pub name: String,
    /// True if the system gives the promise.
    pub kept: bool,
    /// The words of the system's documentation.
    pub quote: String,
    /// The place of the words.
    pub source: String,
}
