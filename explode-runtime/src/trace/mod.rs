//! Traces: everything that leads to a finding, in one file; and the outcome of a replay.

mod format;
mod outcome;
mod tag;
mod witness;

pub use format::{CrashDiskRecord, Trace, TraceError};
pub use outcome::{NotReproduced, ReplayResult};
pub use tag::{Secret, Tagged};
pub use witness::{FoundError, Position, Witness};
