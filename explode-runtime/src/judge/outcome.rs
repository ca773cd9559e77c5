//! The result of one check of a disk.

use std::sync::Arc;

use explode_ramdisk::{Event, ReadRange};

use crate::verdict::{Broken, StepName, Violation};

/// A check that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOutcome {
    /// What came of it.
    pub judgement: CheckEnding,
    /// What was written from the first recover to the last mount; empty unless it was asked for.
    pub recovery: Arc<Vec<Event>>,
    /// What of the disk was read, from the first recover to the end of the check; none unless it
    /// was asked for, and can be said.
    pub reads: Option<Vec<ReadRange>>,
    /// The step in which the check has ended workers. It was not made again then.
    pub died: Option<StepName>,
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckEnding {
    /// All promises kept.
    Ok,
    /// All kept, after a repair.
    Repaired,
    /// A promise is broken.
    Violated(Violation),
    /// The check could not be made.
    Broken(Broken),
    /// The check was asked to end before it was made.
    Stopped,
}

impl CheckOutcome {
    /// A check that was not made here, whose judgement is known, with what the recovery wrote if
    /// that is known.
    pub fn known(judgement: CheckEnding, recovery: Arc<Vec<Event>>) -> CheckOutcome {
        CheckOutcome { judgement, recovery, reads: None, died: None }
    }
}

impl CheckEnding {
    /// Is every promise kept?
    pub fn is_sound(&self) -> bool {
        matches!(self, CheckEnding::Ok | CheckEnding::Repaired)
    }
}
