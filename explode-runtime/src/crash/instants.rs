//! The instants of an interval at which a crash may happen.

use serde::{Deserialize, Serialize};

/// The instants of an interval whose crash disks are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Instants {
    /// The last instant (`check_crashes_now`; EX-61).
    Now,
    /// The last instant, for a soft crash.
    Soft,
    /// The end of each operation of the interval, each for a soft crash (EX-80).
    Prefixes,
    /// All instants from the first to the last (`check_crashes_start` to `check_crashes_end`;
    /// EX-62).
    Interval,
}
