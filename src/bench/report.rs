//! The report of a bench.

use explode_runtime::base::Mode;
use serde::{Deserialize, Serialize};

/// What was measured. Times are medians, in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    /// The target's name.
    pub target: String,
    /// Where the benchmark ran.
    #[serde(rename = "in")]
    pub mode: Mode,
    /// Crash disks of a round.
    pub disks: u64,
    /// How many of them show an error.
    pub violations: u64,
    /// Rounds of each kind.
    pub rounds: usize,
    /// A check by explode.
    pub explode_us: f64,
    /// How many blocks the plain loop restores for a disk, on average: what differs from the one
    /// before, and what the check of that has written.
    pub blocks: Option<f64>,
    /// A check by a plain loop, if the stack's top can say what that is.
    pub floor_us: Option<f64>,
    /// The plain loop's time divided by explode's: 1 if explode adds nothing. The median over the
    /// rounds.
    pub share: Option<f64>,
    /// A check by explode with crashes during recovery, one deep: of the crash disks, and of those
    /// that their recovery leaves.
    pub recovery_us: f64,
    /// How many disks that were.
    pub recovery_disks: u64,
    /// How many disks of crashes during recovery.
    pub recovery_crash_crash_disks: u64,
    /// How long all this took, by the clock of the machine it ran on.
    pub seconds: f64,
}
