//! Explaining a trace: what of it matters, and what it tells (`docs/guide/explain-a-finding.md`).
//!
//! A worker runs the trace's way, or another one, and stands still where the crash was
//! ([`probe`](crate::worker::probe)). The [`ProbeSession`], on the other side of the wire, then has
//! it try other disks of that moment, and remembers the results. Smaller traces ([`minimise`]) and
//! stories are made of that.

mod bench;
pub mod critical;
mod differences;
mod here;
pub mod minimise;
mod reach;
mod story;
mod text;

pub use bench::{DiskTry, PathFailure, PathResult, ProbeSession, SearchBounds};
pub use differences::{CAUSES, differences, diverged};
pub use here::story_here;
pub use reach::{LocatedFailure, Location, SearchResult, look, reach};
pub use story::{Story, StoryRun, story};
pub use text::StoryCommands;
