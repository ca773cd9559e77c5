//! Explaining a trace: what of it matters, and what it tells (`docs/guide/explain-a-finding.md`).
//!
//! A worker runs the trace's way, or another one, and stands still where the crash was
//! ([`probe`](crate::worker::probe)). The [`ProbeSession`], on the other side of the wire, then has
//! it try other disks of that moment, and remembers the results. Smaller traces ([`minimise`]) and
//! stories are made of that.

pub mod critical;
mod differences;
mod in_thread;
mod locate;
pub mod minimise;
mod session;
mod story;
mod text;

pub use differences::{CAUSES, differences, diverged};
pub use in_thread::story_in_thread;
pub use locate::{LocatedFailure, Location, SearchResult, locate, look};
pub use session::{DiskTry, PathFailure, PathResult, ProbeSession, SearchBounds};
pub use story::{Story, StoryRun, story};
pub use text::StoryCommands;
