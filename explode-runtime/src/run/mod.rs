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

pub use confirm::{Confirm, Confirmation};
pub use dispatch::{Helpers, WithCrew};
pub use elsewhere::{JobFile, JobFolder, Results, write_result};
pub use explore::{explore, explore_by};
pub use folder::{Claim, RunFolder, check_owner, fresh_folder, is_tagged};
pub use journal::{History, JournalError};
pub use keeping::Keeping;
pub use names::OWN_NAMES;
pub use start::first_start;
pub use supervisor::{Keep, Supervisor};
pub use tell::{Audience, Local};
