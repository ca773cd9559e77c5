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
    /// Calls that change or sync files, and fail once with an I/O error. What a failed sync has not
    /// written counts as written from then on, as on Linux: a later sync that works does not make
    /// it durable.
    pub io_errors: u32,
    /// Disks that fail: from some call on, all calls that change or sync files fail, also after a
    /// crash. A host whose node cannot open on such a disk stays down.
    pub bad_disks: u32,
}

impl FaultBudget {
    /// No faults.
    pub const NONE: FaultBudget = FaultBudget {
        crashes: 0,
        drops: 0,
        duplicates: 0,
        partitions: 0,
        io_errors: 0,
        bad_disks: 0,
    };
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
    /// A disk fails for good.
    BadDisk,
}

/// The condition of the disk of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DiskCondition {
    /// Calls work.
    #[default]
    Works,
    /// Calls that change or sync files fail.
    Fails,
    /// They fail, and the node cannot open.
    OutOfService,
}

/// Returns the weights of no and yes for a fault of which `left` may still happen in `steps` steps,
/// so that they are spread over them.
pub fn spread(left: u32, steps: u32) -> [u32; 2] {
    [steps.saturating_sub(left).max(1), left.max(1)]
}
