//! Running a plan to its end: the supervisor, its workers, findings, the journal and the run
//! folder.

mod attempt;
mod confirm;
mod deadline;
mod dispatch;
mod findings;
mod folder;
mod frame;
mod in_thread;
mod job_files;
mod journal;
mod keeping;
mod names;
mod progress;
mod retry;
mod sink;
mod start;
mod supervisor;
mod totals;

pub use crate::explore::StrategyName;

pub use confirm::{Confirmation, ReplayCheck};
pub use dispatch::{HelperWorkers, Helpers};
pub use folder::{FolderLock, RunFolder, check_owner, fresh_folder, is_tagged};
pub use in_thread::{explore, explore_by};
pub use job_files::{JobFile, JobFolder, Results, write_result};
pub use journal::{JournalError, ResumedJournal};
pub use keeping::Keeping;
pub use names::OWN_NAMES;
pub use sink::{LocalSink, RunSink};
pub use start::first_start;
pub use supervisor::{Persistence, Supervisor};
