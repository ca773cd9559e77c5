//! Scripts that reproduce a trace without explode: a stand-alone shell script, and a test for the
//! suite xfstests (`docs/guide/report-a-bug.md`).
//!
//! A worker replays the trace up to the crash and logs the calls of its checker
//! ([`CallLog`](crate::events::CallLog)). It then reports the calls, the disks, and the demands of
//! the check ([`Evidence`](crate::worker::Evidence)). The rest is text. Invariants:
//!
//! - The crash disk of a script is that of the trace, byte for byte, and the script verifies it.
//! - A finding that a shell cannot reproduce is refused ([`ScriptRefused`]) and not approximated.
//! - Only the workload may use commands in place of the calls, because nothing is concluded from
//!   it.
//!
//! The exception is a test of the suite that drops writes in place of a recorded disk. It is made
//! only if dropping the writes leaves exactly the crash disk of the trace.

mod blocks;
mod demands;
mod embedded;
mod listed;
mod pending_notes;
mod recorded;
mod reproduction;
mod sh;
mod steps;
mod words;
mod xfstests;

pub use reproduction::{Reproduction, ScriptForm, ScriptRefused, collect, refuse};
pub use xfstests::XfstestsCase;
