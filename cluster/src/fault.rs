//! Faults: their kinds and how many of each may happen in a walk.

/// The number of faults of each kind that may happen in one walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FaultBudget {
    /// Crashes of a node: a power cut of its host, at any moment of a handler.
    pub crashes: u32,
    /// Messages that are lost.
    pub drops: u32,
    /// Messages that arrive twice.
    pub duplicates: u32,
    /// Partitions of the hosts into two groups.
    pub partitions: u32,
    /// Calls on files that fail with an I/O error.
    pub io_errors: u32,
}

impl FaultBudget {
    /// No faults.
    pub const NONE: FaultBudget =
        FaultBudget { crashes: 0, drops: 0, duplicates: 0, partitions: 0, io_errors: 0 };
}

impl Default for FaultBudget {
    fn default() -> FaultBudget {
        FaultBudget::NONE
    }
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// A node crashes.
    Crash,
    /// A message is lost.
    Drop,
    /// A message arrives twice.
    Duplicate,
    /// The hosts are parted.
    Partition,
    /// A call on a file fails.
    IoError,
}

/// Returns the weights of no and yes for a fault of which `left` may still happen in `steps` steps,
/// so that they are spread over them.
pub fn spread(left: u32, steps: u32) -> [u32; 2] {
    [steps.saturating_sub(left).max(1), left.max(1)]
}
