//! The report of a bench.

use explode_runtime::base::Mode;
use serde::{Deserialize, Serialize};

/// The measurements of a bench. Times are medians, in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    /// The target's name.
    pub target: String,
    /// The mode in which the benchmark ran.
    #[serde(rename = "in")]
    pub mode: Mode,
    /// The number of crash disks of a round.
    pub disks: u64,
    /// The number of these disks that show an error.
    pub violations: u64,
    /// The number of rounds of each kind.
    pub rounds: usize,
    /// The time of a check by explode.
    pub explode_us: f64,
    /// The average number of blocks that the plain loop restores for a disk: those that differ from
    /// the disk before, and those that its check wrote.
    pub blocks: Option<f64>,
    /// The time of a check by the plain loop. `None` if the stack's top component defines no such
    /// check.
    pub floor_us: Option<f64>,
    /// The plain loop's time divided by explode's: 1 if explode adds nothing. The median over the
    /// rounds. `None` without a plain loop.
    pub share: Option<f64>,
    /// The time of a check by explode with crashes during recovery (crash depth 1), over crash
    /// disks and crash-crash disks.
    pub recovery_us: f64,
    /// The number of crash disks in that measurement.
    pub recovery_disks: u64,
    /// The number of crash-crash disks in that measurement.
    pub recovery_crash_crash_disks: u64,
    /// The duration of the whole bench in seconds, by the clock of the machine that ran it.
    pub seconds: f64,
}
