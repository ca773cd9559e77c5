//! Running a plan to its end: the supervisor and its scouts, findings, the journal and the run folder.

mod attempts;
mod confirm;
mod explore;
mod findings;
mod folder;
mod hearing;
mod journal;
mod keeping;
mod memory;
mod names;
mod scouts;
mod supervise;
mod tell;
mod time;

pub use crate::explore::StrategyName;

pub use confirm::{Confirm, Confirmation};
pub use explore::{explore, explore_by};
pub use folder::{Claim, RunFolder, check_owner, fresh_folder, is_tagged};
pub use journal::{History, JournalError};
pub use keeping::Keeping;
pub use names::OWN_NAMES;
pub use scouts::{Scouts, WithCrew};
pub use supervise::{Keep, Supervisor};
pub use tell::{Audience, Local};
