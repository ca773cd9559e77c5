//! Scripts that show what a trace shows, without us: a stand-alone one for a shell, and a test in
//! the style of the suite xfstests (`docs/guide/report-a-bug.md`).
//!
//! A worker runs the trace's way with the calls of its checker written down
//! ([`CallLog`](crate::events::CallLog)), stands still at the crash, and says what was done, which
//! disks there are, and what the check demands ([`Evidence`](crate::worker::Evidence)). The rest is
//! text. Invariants: the crash disk of a script is the trace's, byte for byte, and the script makes
//! sure of it; what a shell cannot show is refused ([`ScriptRefused`]), not approximated; only the
//! workload may be done by commands in place of the calls, since nothing is concluded from it. But
//! for tests of the suite that drop writes in place of a recorded disk: these are made where the
//! drop left that very disk in the trace.

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

pub use reproduction::{Reproduction, ScriptRefused, collect};
pub use xfstests::XfstestsCase;
