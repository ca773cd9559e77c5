//! The result of one check of a disk.

use std::sync::Arc;

use explode_ramdisk::{Event, ReadRange};

use crate::verdict::{Broken, StepName, Violation};

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOutcome {
    /// The ending of the check.
    pub ending: CheckEnding,
    /// The events from the first recover to the last mount. Empty unless they were requested.
    pub recovery: Arc<Vec<Event>>,
    /// The ranges of the disk that were read, from the first recover to the end of the check.
    /// `None` unless they were requested and can be determined.
    pub reads: Option<Vec<ReadRange>>,
    /// The step in which the check has killed workers. Such a check is not made again. `None` if no
    /// worker died.
    pub died: Option<StepName>,
}

/// The ending of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckEnding {
    /// Every promise is kept.
    Ok,
    /// Every promise is kept, after a repair.
    Repaired,
    /// A promise is broken.
    Violated(Violation),
    /// The check could not be made.
    Broken(Broken),
    /// The check was stopped by its caller before it was made.
    Stopped,
}

impl CheckOutcome {
    /// Returns the outcome of a check that was not made here and whose ending is known. `recovery`
    /// is empty if the recovery's events are unknown.
    pub fn known(judgement: CheckEnding, recovery: Arc<Vec<Event>>) -> CheckOutcome {
        CheckOutcome { ending: judgement, recovery, reads: None, died: None }
    }
}

impl CheckEnding {
    /// Returns true if every promise is kept.
    pub fn is_sound(&self) -> bool {
        matches!(self, CheckEnding::Ok | CheckEnding::Repaired)
    }
}
