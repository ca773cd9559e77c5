//! What a worker is asked about a trace, and what it says.
//!
//! A [`ProbeOrder`] runs a way. When the request for crash checks is there that is looked for, the
//! worker says where it [stands](StoppedAt), and the system stands still while disks of that moment
//! are tried, one after the other ([`ProbeCommand`]).

use serde::{Deserialize, Serialize};

use crate::choose::Choice;
use crate::crash::{Epoch, PieceId};
use crate::events::{EventSummary, FailedCommand, PlacedCall};
use crate::trace::CrashDiskRecord;
use crate::verdict::{Broken, Verdict, Violation};
use crate::worker::Evidence;

/// A way to run, and where it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeOrder {
    /// The answers, call of mutate by call of mutate.
    pub answers: ProbeAnswers,
    /// How many calls of mutate.
    pub mutates: u32,
    /// The verdict that is looked for.
    pub verdict: Verdict,
    /// The promise that it is about.
    pub promise: String,
    /// Where it ends.
    pub until: ProbeGoal,
    /// The worker may die of it: each choice and each disk is said before.
    pub snapshot_before: bool,
    /// The calls of the checker are written down, for a script.
    pub noted: bool,
}

/// Answers to the choices of a way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeAnswers {
    /// Just these in their order, whichever mutate asks; anything else is another way.
    Exactly(Vec<Choice>),
    /// Of each mutate its own. A point gets the first of its mutate's answers that is left and
    /// fits; what stood before that one is dropped; if none fits it gets the first option.
    AsFits(Vec<Vec<Choice>>),
}

/// Where a way ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeGoal {
    /// When a mutate itself sees the error.
    Mutate,
    /// At the first disk of the last mutate that shows the error, or that crashes during recovery
    /// lead to from there.
    Failing {
        /// So many of them at most.
        crashes: u32,
        /// Only at the request for crash checks of this index, and only if the log there is not the
        /// one of this hash: where it is, the recorded disk is the only one, as in a replay
        /// (EX-60).
        only: Option<(u64, String)>,
        /// A disk that keeps these pieces is looked at first.
        first: Vec<PieceId>,
        /// So many disks are looked at, at most.
        most: u64,
        /// So many milliseconds may be taken.
        budget_ms: u64,
    },
    /// At this disk, which is not looked at.
    At(CrashPoint),
}

/// Everything that leads to a crash disk besides the choices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashPoint {
    /// Calls of mutate so far, the current one included.
    pub mutates: u32,
    /// Index of the request for crash checks.
    pub interval: u64,
    /// When the crash was.
    pub epoch: Epoch,
    /// The arguments of the check.
    pub args: Vec<String>,
    /// Hash of all events up to there, 32 hexadecimal digits.
    pub log: String,
    /// The disk that the crash left; then those that crashes during recovery left.
    pub disks: Vec<CrashDiskRecord>,
}

/// What a worker that stands still is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeCommand {
    /// Recover and check: the crash disk that keeps these pieces, in the recovery of that one a
    /// crash that keeps these, and so on.
    Try(Vec<Vec<PieceId>>),
    /// Say what a script needs: what was done, and the bytes of the disks. With a disk that keeps
    /// these pieces, to compare with; none for no such disk. And what was found broken.
    Evidence(Vec<PieceId>, Violation),
    /// Nothing more: the way ends.
    Enough,
}

/// What a worker says of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeReply {
    /// In the mutate of this number, from 1, this was chosen; said if the worker may die.
    Chose(u32, Choice),
    /// This disk comes next; said if the worker may die.
    Looking(CrashPoint),
    /// It stands still, and waits for what to try.
    Standing(StoppedAt),
    /// What came of a try.
    Tried(TryResult),
    /// What a script needs.
    Evidence(Evidence),
    /// The way has ended.
    Ended(ProbeResult),
}

/// Where a worker stands still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedAt {
    /// The choices so far, mutate by mutate.
    pub choices: Vec<Vec<Choice>>,
    /// Steps of the checker's own commands that have failed.
    pub failed: Vec<FailedCommand>,
    /// At this disk.
    pub spot: CrashPoint,
    /// What could be kept or lost there; then the same of the recovery of each disk but the last.
    pub moments: Vec<CrashMoment>,
    /// How many disks were looked at on the way.
    pub looked: u64,
}

/// The moment of a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashMoment {
    /// Which emission of its interval, and which world of that.
    pub place: (usize, usize),
    /// The calls up to the crash, in the order in which they began; of the recovery none. The one
    /// that the crash interrupted has not returned.
    pub calls: Vec<PlacedCall>,
    /// How many events came before those of the interval, marks not counted.
    pub first: u64,
    /// How many events had come at the latest when the crash came: more of them do not lead to such
    /// a disk in its epoch.
    pub crash: u64,
    /// The events of the interval, or of the recovery, up to the crash.
    pub events: Vec<EventSummary>,
    /// How many of them came after.
    pub later: u64,
    /// What was pending: the ranges with versions that a crash in this epoch can keep.
    pub ranges: Vec<PendingRange>,
}

/// A range of a device, and what of it is pending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingRange {
    /// The device.
    pub dev: u32,
    /// Its sectors: first and how many, of each part.
    pub sectors: Vec<(u64, u64)>,
    /// What stands there, as far as a component can tell.
    #[serde(rename = "whose")]
    pub owner: Option<String>,
    /// The number of each version, oldest first, with its place in the order in which pieces were
    /// first written.
    pub versions: Vec<(u32, u64)>,
    /// Since which event each version can reach the disk, as a count of events, marks not counted.
    pub since: Vec<u64>,
    /// The version that the disk has kept.
    pub kept: Option<u32>,
}

impl PendingRange {
    /// The name of a version.
    pub fn name(&self, version: u32) -> PieceId {
        (self.dev, self.sectors.first().map_or(0, |part| part.0), version)
    }

    /// Its newest version.
    pub fn newest(&self) -> Option<u32> {
        self.versions.last().map(|version| version.0)
    }

    /// Bytes of the range.
    pub fn bytes(&self) -> u64 {
        self.sectors.iter().map(|part| part.1 * 512).sum()
    }
}

/// The names of the versions that are kept, range by range.
pub(crate) fn kept_names(ranges: &[PendingRange], digits: &[Option<u32>]) -> Vec<PieceId> {
    ranges.iter().zip(digits).filter_map(|(range, digit)| Some(range.name((*digit)?))).collect()
}

/// What came of a try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TryResult {
    /// No crash in this epoch leaves such a disk.
    Impossible,
    /// It was looked at.
    Looked {
        /// The disks, as a trace has them; fewer than asked for if one of them failed on the way to
        /// the last.
        disks: Vec<CrashDiskRecord>,
        /// What the last one is like.
        looks: DiskCondition,
    },
}

/// What a disk is like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiskCondition {
    /// It recovers, and all promises are kept.
    Sound,
    /// Recovery or check fails.
    Violated(Violation),
    /// The check could not be made.
    Broken(String),
}

/// The result of a way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeResult {
    /// The choices, mutate by mutate.
    pub choices: Vec<Vec<Choice>>,
    /// Steps of the checker's own commands that have failed.
    pub failed: Vec<FailedCommand>,
    /// How it ended.
    pub end: ProbeEnd,
    /// How many disks were looked at on the way.
    pub looked: u64,
    /// The profile's line about the promise that is broken, if there is one.
    pub promise: Option<CitedPromise>,
    /// The events, a line each, if the worker keeps them.
    pub events: Vec<String>,
}

/// How a way ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeEnd {
    /// It stood still, until it was asked to end.
    Stood,
    /// A mutate itself has seen this.
    Violated(Violation),
    /// It went to its end, and did not find what was looked for; or a bound has ended the search:
    /// true.
    Nothing(String, bool),
    /// It went another way.
    Diverged(String),
    /// The checker, a component or the tool failed.
    Broken(Broken),
}

/// A line of a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedPromise {
    /// The system, with the settings that matter.
    pub system: String,
    /// Which promise.
    pub name: String,
    /// Is it promised?
    pub kept: bool,
    /// The system's own words.
    pub quote: String,
    /// Where they stand.
    pub source: String,
}
