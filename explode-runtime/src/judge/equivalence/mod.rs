//! Sound skipping: a crash disk that agrees with one that was judged on all that was read of it has
//! the same verdict (`docs/model/equivalence.md`).
//!
//! A [`ReadTree`] belongs to one (epoch, arguments, check_key). Each of its inner nodes is
//! something that was read, each edge what was there, each leaf what came of the check; so a path
//! from the root to a leaf has all reads of one check with their values, and a disk that walks it
//! reaches that check's verdict. The [`EquivalenceForest`] keeps the trees of a unit of work,
//! within a bound.
//!
//! Nothing else is kept: no verdict of a check that could not be made, or that has ended a worker.

mod forest;
mod tree;
pub(crate) mod unit;

use std::sync::Arc;

use explode_ramdisk::{Event, Identity};

pub use forest::{EquivalenceForest, MEMORY_BYTES};
pub use tree::ReadTree;

use super::outcome::{CheckEnding, CheckOutcome};
use crate::verdict::Violation;

/// What came of a check that was made; copies share it.
#[derive(Clone, Debug)]
pub struct KnownVerdict {
    /// What came of it.
    pub outcome: DiskVerdict,
    /// What was written from the first recover to the last mount, if that was recorded.
    pub recovery: Option<Arc<Vec<Event>>>,
    /// The disk that was checked.
    pub disk: Identity,
}

/// The verdict of a check that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskVerdict {
    /// All promises kept.
    Ok,
    /// All kept, after a repair.
    Repaired,
    /// A promise is broken.
    Violated(Arc<Violation>),
}

impl KnownVerdict {
    /// What is kept of a check: nothing if it could not be made. `recorded` says whether its
    /// recovery was.
    pub fn of(judged: &CheckOutcome, recorded: bool, disk: Identity) -> Option<KnownVerdict> {
        let outcome = match &judged.judgement {
            CheckEnding::Ok => DiskVerdict::Ok,
            CheckEnding::Repaired => DiskVerdict::Repaired,
            CheckEnding::Violated(violation) => DiskVerdict::Violated(Arc::new(violation.clone())),
            CheckEnding::Broken(_) | CheckEnding::Stopped => return None,
        };
        let recovery = recorded.then(|| Arc::clone(&judged.recovery));
        Some(KnownVerdict { outcome, recovery, disk })
    }

    /// The judgement in its form.
    pub fn judgement(&self) -> CheckEnding {
        match &self.outcome {
            DiskVerdict::Ok => CheckEnding::Ok,
            DiskVerdict::Repaired => CheckEnding::Repaired,
            DiskVerdict::Violated(violation) => CheckEnding::Violated((**violation).clone()),
        }
    }

    /// Does it say all that is asked for? A broken promise ends the matter; else what the recovery
    /// has written may be wanted.
    pub fn is_enough(&self, recovery_wanted: bool) -> bool {
        !recovery_wanted
            || self.recovery.is_some()
            || matches!(self.outcome, DiskVerdict::Violated(_))
    }

    /// How a check that was made all the same differs, in words; none if it does not. `recorded`
    /// says whether its recovery was.
    pub fn difference(&self, judged: &CheckOutcome, recorded: bool) -> Option<String> {
        let (expected, found) = (self.judgement(), &judged.judgement);
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

/// The same verdict, by signature.
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
