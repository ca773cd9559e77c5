//! Traces: everything that leads to a finding, in one file, and its replay.

mod format;
mod replay;

pub use format::{CrashDiskRecord, Origin, Trace, TraceError};
pub(crate) use replay::replay_heard;
pub use replay::{Replay, came_to_an_end, replay};
