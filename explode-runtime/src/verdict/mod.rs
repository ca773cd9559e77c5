//! The judgements of a system: verdicts, violations, promises and demands, and the steps in which a
//! worker can end.

mod check_error;
mod death;
mod demand;
mod profile;
mod step;
#[expect(clippy::module_inception, reason = "the room has the name of its main item")]
mod verdict;

pub use check_error::CheckError;
pub use death::WorkerDeath;
pub use demand::{FileContents, ShellDemand};
pub use profile::{ExcludedPromises, Profile, Promise};
pub use step::{DiskStage, StepName, WorkerStep};
pub use verdict::{Verdict, Violation};

pub use crate::base::{Broken, BrokenKind};
