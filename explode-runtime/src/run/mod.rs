//! Running a plan to its end: the supervisor, its workers, findings, the journal and the run
//! folder.

mod attempts;
mod confirm;
mod dispatch;
mod elsewhere;
mod explore;
mod findings;
mod folder;
mod frame;
mod hearing;
mod journal;
mod keeping;
mod names;
mod progress;
mod start;
mod supervisor;
mod tell;
mod time;
mod totals;

pub use crate::explore::StrategyName;

pub use confirm::{Confirmation, ReplayCheck};
pub use dispatch::{HelperWorkers, Helpers};
pub use elsewhere::{JobFile, JobFolder, Results, write_result};
pub use explore::{explore, explore_by};
pub use folder::{FolderLock, RunFolder, check_owner, fresh_folder, is_tagged};
pub use journal::{JournalError, ResumedJournal};
pub use keeping::Keeping;
pub use names::OWN_NAMES;
pub use start::first_start;
pub use supervisor::{Persistence, Supervisor};
pub use tell::{LocalSink, RunSink};
