//! Traces: everything that leads to a finding, in one file, and its replay.

mod format;
mod replay;
mod tag;

pub use format::{CrashDiskRecord, Trace, TraceError};
pub(crate) use replay::replay_heard;
pub use replay::{Replay, came_to_an_end, replay};
pub use tag::{Secret, Tagged};
