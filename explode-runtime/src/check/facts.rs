//! What is known of a checker before it drives a stack.

use crate::base::StepError;

/// What is known of a checker on a stack. It is asked for once per run, when the stack was started
/// for the first time. The default describes a checker that must start without files and says
/// nothing of its promises.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckerFacts {
    /// The words of the promises that its checks are about, if that is known beforehand. A run of a
    /// stack whose profile excludes all of them is refused: it could find nothing, and that would
    /// not count as a pass.
    pub promises: Vec<&'static str>,
    /// True if the checker can start from files that it has not made
    /// ([`Stack::starts_populated`](crate::stack::Stack::starts_populated)). A checker that cannot
    /// would report them as corruption, so a run of it on a stack whose first start leaves files is
    /// refused (exit code 3).
    pub populated_ok: bool,
    /// True if `check` depends only on the disk and on what
    /// [`check_key`](super::Checker::check_key) says or, without one, on what the checker
    /// remembers. If it depends on anything else, every check is made, because no check can stand
    /// for another.
    pub reads_only_its_disks: bool,
    /// True if the checker reads the log of events or marks it ([`Cx::log`](super::Cx::log),
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
    /// The checker reads the log of events or marks it.
    pub fn reads_log(self, reads_log: bool) -> CheckerFacts {
        CheckerFacts { reads_log, ..self }
    }

    /// Sets the words of the promises that the checks are about.
    pub fn about(self, about: impl IntoIterator<Item = &'static str>) -> CheckerFacts {
        CheckerFacts { promises: about.into_iter().collect(), ..self }
    }

    /// The checker can start from files that it has not made.
    pub fn populated_ok(self) -> CheckerFacts {
        CheckerFacts { populated_ok: true, ..self }
    }

    /// Sets whether `check` depends only on the disk and the checker.
    pub fn reads_only_its_disks(self, reads_only_its_disks: bool) -> CheckerFacts {
        CheckerFacts { reads_only_its_disks, ..self }
    }
}

/// What a checker needs and the stack does not have, in words that say what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

impl From<StepError> for Unsupported {
    fn from(fault: StepError) -> Unsupported {
        Unsupported(fault.to_string())
    }
}
