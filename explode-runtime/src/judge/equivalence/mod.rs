//! Sound skipping: a crash disk that agrees with a checked one on everything that the check has
//! read has the same verdict (`docs/model/equivalence.md`).
//!
//! A [`ReadTree`] belongs to one (epoch, arguments, check_key). Each inner node is a read, each
//! edge a value that the read returned, and each leaf the verdict of a check. So a path from the
//! root to a leaf contains all reads of one check with their values. A disk that has the same
//! values has the verdict at the leaf. The [`EquivalenceForest`] keeps the trees of a unit, within
//! a bound of memory.
//!
//! Checks that could not be made or that have killed a worker are not kept.

mod forest;
mod tree;
pub(crate) mod unit;

use std::sync::Arc;

use explode_ramdisk::{Event, Identity};

pub use forest::{EquivalenceForest, MEMORY_BYTES};
pub use tree::ReadTree;

use super::outcome::{CheckEnding, CheckOutcome};
use crate::verdict::Violation;

/// The verdict of a check that was made, with its recovery. Copies share it.
#[derive(Clone, Debug)]
pub struct KnownVerdict {
    /// The verdict.
    pub verdict: DiskVerdict,
    /// The events from the first recover to the last mount. `None` if they were not recorded.
    pub recovery: Option<Arc<Vec<Event>>>,
    /// The disk that was checked.
    pub disk: Identity,
}

/// The verdict of a check that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskVerdict {
    /// Every promise is kept.
    Ok,
    /// Every promise is kept, after a repair.
    Repaired,
    /// A promise is broken.
    Violated(Arc<Violation>),
}

impl KnownVerdict {
    /// Returns the verdict of a check. `None` if it could not be made or was stopped. `recorded` is
    /// true if its recovery was recorded.
    pub fn of(judged: &CheckOutcome, recorded: bool, disk: Identity) -> Option<KnownVerdict> {
        let outcome = match &judged.ending {
            CheckEnding::Ok => DiskVerdict::Ok,
            CheckEnding::Repaired => DiskVerdict::Repaired,
            CheckEnding::Violated(violation) => DiskVerdict::Violated(Arc::new(violation.clone())),
            CheckEnding::Broken(_) | CheckEnding::Stopped => return None,
        };
        let recovery = recorded.then(|| Arc::clone(&judged.recovery));
        Some(KnownVerdict { verdict: outcome, recovery, disk })
    }

    /// Returns the verdict as the ending of a check.
    pub fn ending(&self) -> CheckEnding {
        match &self.verdict {
            DiskVerdict::Ok => CheckEnding::Ok,
            DiskVerdict::Repaired => CheckEnding::Repaired,
            DiskVerdict::Violated(violation) => CheckEnding::Violated((**violation).clone()),
        }
    }

    /// Returns true if the check need not be made: the recovery is known, is not wanted, or does
    /// not matter because a promise is broken.
    pub fn is_enough(&self, recovery_wanted: bool) -> bool {
        !recovery_wanted
            || self.recovery.is_some()
            || matches!(self.verdict, DiskVerdict::Violated(_))
    }

    /// Describes the difference to an actual check of the same disk. `None` if they agree.
    /// `recorded` is true if the recovery of that check was recorded.
    pub fn difference(&self, judged: &CheckOutcome, recorded: bool) -> Option<String> {
        let (expected, found) = (self.ending(), &judged.ending);
        if !alike(&expected, found) {
            return Some(format!("{} expected, and it is {}", name(&expected), name(found)));
        }
        let recovered = self.recovery.as_ref().filter(|_| recorded && found.is_sound());
        let same = recovered.is_none_or(|recovery| *recovery == judged.recovery);
        (!same).then(|| {
            format!("{} as expected, but its recovery has written something else", name(found))
        })
    }
}

/// Returns true if both endings have the same verdict, by signature.
fn alike(one: &CheckEnding, other: &CheckEnding) -> bool {
    match (one, other) {
        (CheckEnding::Violated(one), CheckEnding::Violated(other)) => {
            (one.verdict, &one.promise) == (other.verdict, &other.promise)
        }
        (one, other) => one == other,
    }
}

fn name(judgement: &CheckEnding) -> String {
    match judgement {
        CheckEnding::Ok => "ok".to_owned(),
        CheckEnding::Repaired => "repaired".to_owned(),
        CheckEnding::Violated(violation) => {
            format!("{} ({})", violation.verdict, violation.promise)
        }
        CheckEnding::Broken(why) => format!("broken ({why})"),
        CheckEnding::Stopped => "stopped".to_owned(),
    }
}
