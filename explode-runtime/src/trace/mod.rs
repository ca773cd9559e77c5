//! Traces: one file with everything that leads to a finding, and the outcome of its replay.

mod format;
mod outcome;
mod tag;
mod witness;

pub use format::{CrashDiskRecord, Trace, TraceError};
pub use outcome::{NotReproduced, ReplayResult};
pub use tag::{Secret, Tagged};
pub use witness::{FoundError, Position, Witness};
