//! The facts of a checker that are known before it drives a stack.

use crate::base::StepError;

/// The facts of a checker on a stack. They are read once per run, after the first start of the
/// stack. The default describes a checker that must start without files and names no promises.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckerFacts {
    /// The names of the promises that the checks are about, if known in advance. If the stack's
    /// profile excludes all of them, the run is refused: it could find nothing, and that would not
    /// count as a pass.
    pub promises: Vec<&'static str>,
    /// True if the checker can start from files that it has not made
    /// ([`Stack::starts_populated`](crate::stack::Stack::starts_populated)). Any other checker
    /// would report such files as corruption. Its run is refused (exit code 3) if the first start
    /// of the stack leaves files.
    pub populated_ok: bool,
    /// True if `check` depends only on the disk and on [`check_key`](super::Checker::check_key) or,
    /// without a key, on the checker's state. If it depends on anything else, every check is made,
    /// because no verdict can be reused.
    pub reads_only_its_disks: bool,
    /// True if the checker reads the event log or marks it ([`Cx::log`](super::Cx::log),
    /// [`Cx::mark`](super::Cx::mark)). Then all events of a unit are kept.
    pub reads_log: bool,
}

impl Default for CheckerFacts {
    fn default() -> CheckerFacts {
        CheckerFacts {
            promises: Vec::new(),
            populated_ok: false,
            reads_only_its_disks: true,
            reads_log: false,
        }
    }
}

/// Setters, to be chained.
impl CheckerFacts {
    /// Sets whether the checker reads the event log or marks it.
    pub fn reads_log(self, reads_log: bool) -> CheckerFacts {
        CheckerFacts { reads_log, ..self }
    }

    /// Sets the names of the promises that the checks are about.
    pub fn promises(self, promises: impl IntoIterator<Item = &'static str>) -> CheckerFacts {
        CheckerFacts { promises: promises.into_iter().collect(), ..self }
    }

    /// Declares that the checker can start from files that it has not made.
    pub fn populated_ok(self) -> CheckerFacts {
        CheckerFacts { populated_ok: true, ..self }
    }

    /// Sets whether `check` depends only on the disk and the checker.
    pub fn reads_only_its_disks(self, reads_only_its_disks: bool) -> CheckerFacts {
        CheckerFacts { reads_only_its_disks, ..self }
    }
}

/// A requirement of the checker that the stack does not meet, in words that tell the user what to
/// do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

impl From<StepError> for Unsupported {
    fn from(fault: StepError) -> Unsupported {
        Unsupported(fault.to_string())
    }
}
