//! Faults: their kinds and how many of each may happen in a walk.

use std::str::FromStr;

use explode_runtime::base::{Options, UsageError};

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

/// The name of the option of a cluster's target for its faults.
pub const OPTION: &str = "faults";

impl FaultBudget {
    /// Returns the kinds by their names.
    fn kinds(&mut self) -> [(&'static str, &mut u32); 6] {
        let FaultBudget { crashes, drops, duplicates, partitions, io_errors, bad_disks } = self;
        [
            ("crashes", crashes),
            ("drops", drops),
            ("duplicates", duplicates),
            ("partitions", partitions),
            ("io_errors", io_errors),
            ("bad_disks", bad_disks),
        ]
    }
}

/// Reads `crashes=2,drops=3`, or `none`. Kinds without a number do not happen.
impl FromStr for FaultBudget {
    type Err = UsageError;

    fn from_str(text: &str) -> Result<FaultBudget, UsageError> {
        let mut budget = FaultBudget::NONE;
        for fault in text.split(',').filter(|_| text != "none") {
            let (kind, number) = fault.split_once('=').unwrap_or((fault, ""));
            let mut kinds = budget.kinds();
            let names = kinds.each_ref().map(|(name, _)| *name);
            let Some((_, count)) = kinds.iter_mut().find(|(name, _)| *name == kind) else {
                return Err(UsageError::unknown("kind of fault", kind, names));
            };
            **count = number.parse().map_err(|_| {
                UsageError(format!(
                    "'{fault}' names no number of faults; write {kind}=2, for example"
                ))
            })?;
        }
        Ok(budget)
    }
}

/// Returns the faults that the options of a target name.
///
/// # Errors
/// There are no such faults.
pub fn faults_in(options: &Options) -> Result<Option<FaultBudget>, UsageError> {
    let faults = options.get(OPTION);
    faults.map(|faults| faults.to_string().parse()).transpose()
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
pub enum HostDiskCondition {
    /// Calls work.
    #[default]
    Works,
    /// Calls that change or sync files fail.
    Fails,
    /// Calls fail, and the node cannot open.
    OutOfService,
}

/// Returns the weights of no and yes for a fault of which `left` may still happen in `steps` steps,
/// so that they are spread over them.
pub fn spread(left: u32, steps: u32) -> [u32; 2] {
    [steps.saturating_sub(left).max(1), left.max(1)]
}
