//! Sound skipping: a crash disk that agrees with one that was judged on all that was read of it has
//! the same verdict (`docs/model/equivalence.md`).
//!
//! A [`Tree`] belongs to one (epoch, arguments, check_key). Each of its inner nodes is something
//! that was read, each edge what was there, each leaf what came of the check; so a path from the
//! root to a leaf has all reads of one check with their values, and a disk that walks it reaches
//! that check's verdict. The [`Forest`] keeps the trees of a unit of work, within a bound.
//!
//! Nothing else is kept: no verdict of a check that could not be made, or that has ended a worker.

mod forest;
mod tree;
pub(crate) mod unit;

use std::sync::Arc;

use explode_ramdisk::{Event, Identity};

pub use forest::{Forest, MEMORY_BYTES};
pub use tree::Tree;

use super::outcome::{Judged, Judgement};
use crate::verdict::Violation;

/// What came of a check that was made; copies share it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What came of it.
    pub outcome: Outcome,
    /// What was written from the first recover to the last mount, if that was recorded.
    pub recovery: Option<Arc<Vec<Event>>>,
    /// The disk that was checked.
    pub disk: Identity,
}

/// The verdict of a check that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All promises kept.
    Ok,
    /// All kept, after a repair.
    Repaired,
    /// A promise is broken.
    Violated(Arc<Violation>),
}

impl Answer {
    /// What is kept of a check: nothing if it could not be made. `recorded` says whether its
    /// recovery was.
    pub fn of(judged: &Judged, recorded: bool, disk: Identity) -> Option<Answer> {
        let outcome = match &judged.judgement {
            Judgement::Ok => Outcome::Ok,
            Judgement::Repaired => Outcome::Repaired,
            Judgement::Violated(violation) => Outcome::Violated(Arc::new(violation.clone())),
            Judgement::Broken(_) | Judgement::Stopped => return None,
        };
        let recovery = recorded.then(|| Arc::clone(&judged.recovery));
        Some(Answer { outcome, recovery, disk })
    }

    /// The judgement in its form.
    pub fn judgement(&self) -> Judgement {
        match &self.outcome {
            Outcome::Ok => Judgement::Ok,
            Outcome::Repaired => Judgement::Repaired,
            Outcome::Violated(violation) => Judgement::Violated((**violation).clone()),
        }
    }

    /// Does it say all that is asked for? A broken promise ends the matter; else what the recovery
    /// has written may be wanted.
    pub fn is_enough(&self, recovery_wanted: bool) -> bool {
        !recovery_wanted || self.recovery.is_some() || matches!(self.outcome, Outcome::Violated(_))
    }

    /// How a check that was made all the same differs, in words; none if it does not. `recorded`
    /// says whether its recovery was.
    pub fn difference(&self, judged: &Judged, recorded: bool) -> Option<String> {
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
fn alike(one: &Judgement, other: &Judgement) -> bool {
    match (one, other) {
        (Judgement::Violated(one), Judgement::Violated(other)) => {
            (one.verdict, &one.promise) == (other.verdict, &other.promise)
        }
        (one, other) => one == other,
    }
}

fn name(judgement: &Judgement) -> String {
    match judgement {
        Judgement::Ok => "ok".to_owned(),
        Judgement::Repaired => "repaired".to_owned(),
        Judgement::Violated(violation) => format!("{} ({})", violation.verdict, violation.promise),
        Judgement::Broken(why) => format!("broken ({why})"),
        Judgement::Stopped => "stopped".to_owned(),
    }
}
