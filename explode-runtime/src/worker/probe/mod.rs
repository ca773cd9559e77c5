//! Probe sessions. A worker stops a unit at a request for crash checks, and tries disks there.

mod moment;
mod protocol;
mod runner;

pub(crate) use protocol::kept_names;
pub use protocol::{
    CitedPromise, CrashMoment, CrashPoint, DiskCondition, PendingRange, ProbeAnswers, ProbeCommand,
    ProbeEnd, ProbeGoal, ProbeOrder, ProbeReply, ProbeResult, StoppedAt, TryResult,
};
pub(crate) use runner::{ProbeChannel, probe as run_probe};
