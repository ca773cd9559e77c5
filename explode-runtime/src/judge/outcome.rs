//! The result of one check of a disk.

use std::sync::Arc;

use explode_ramdisk::{Event, Read};

use crate::verdict::{Broken, StepName, Violation};

/// A check that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// What came of it.
    pub judgement: Judgement,
    /// What was written from the first recover to the last mount; empty unless it was asked for.
    pub recovery: Arc<Vec<Event>>,
    /// What of the disk was read, from the first recover to the end of the check; none unless it
    /// was asked for, and can be said.
    pub reads: Option<Vec<Read>>,
    /// The step in which the check has ended workers. It was not made again then.
    pub died: Option<StepName>,
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
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

impl Judged {
    /// A check that was not made here, whose judgement is known, with what the recovery wrote if
    /// that is known.
    pub fn known(judgement: Judgement, recovery: Arc<Vec<Event>>) -> Judged {
        Judged { judgement, recovery, reads: None, died: None }
    }
}

impl Judgement {
    /// Is every promise kept?
    pub fn is_sound(&self) -> bool {
        matches!(self, Judgement::Ok | Judgement::Repaired)
    }
}
