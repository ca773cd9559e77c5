//! How far a run goes.

use serde::{Deserialize, Serialize};

use super::mode::Mode;

/// How far a run goes unless told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetBounds {
    /// Mutates on a path.
    pub depth: u32,
    /// Above so many crash disks an emission is sampled.
    pub limit: u64,
    /// The size of that sample.
    pub samples: u64,
    /// Crashes during recovery, and during the recovery from those, so many deep.
    pub crash_depth: u32,
}

impl TargetBounds {
    /// The default of a checker on a stack that is no target.
    pub(crate) fn on(mode: Mode) -> TargetBounds {
        match mode {
            Mode::Mem => TargetBounds { depth: 3, limit: 10_000, samples: 2_000, crash_depth: 1 },
            // A check costs a mount there.
            Mode::Vm | Mode::Here => {
                TargetBounds { depth: 2, limit: 200, samples: 40, crash_depth: 1 }
            }
        }
    }
}
