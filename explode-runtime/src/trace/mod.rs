//! Traces: one file with everything that leads to a finding, and the outcome of its replay.

mod crash_disk;
mod format;
mod outcome;
mod recorded;
mod tag;
mod witness;

pub use crash_disk::CrashDiskRecord;
pub use format::{Trace, TraceError};
pub use outcome::{NotReproduced, ReplayResult, ReplaySource};
pub use recorded::{PackedLog, RecordedCrash};
pub use tag::{Secret, Tagged};
pub use witness::{FoundError, Position, Witness};
