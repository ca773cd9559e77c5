//! The bounds of a run.

use serde::{Deserialize, Serialize};

use super::mode::Mode;

/// The bounds of a run for which the user gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetBounds {
    /// The number of mutates on a path.
    pub depth: u32,
    /// The largest number of crash disks of an emission that are all checked. Above it they are
    /// sampled.
    pub limit: u64,
    /// The size of the sample.
    pub samples: u64,
    /// The depth of crash-crash disks: crashes during recovery, and during the recovery from those.
    pub crash_depth: u32,
}

impl TargetBounds {
    /// Returns the bounds of a checker on a stack that is no registered target.
    pub(crate) fn on(mode: Mode) -> TargetBounds {
        match mode {
            Mode::Mem => TargetBounds { depth: 3, limit: 10_000, samples: 2_000, crash_depth: 1 },
            // In these modes each check costs a mount.
            Mode::Vm | Mode::Here => {
                TargetBounds { depth: 2, limit: 200, samples: 40, crash_depth: 1 }
            }
        }
    }
}
