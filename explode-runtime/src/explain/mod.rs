//! Explains and minimises traces (`docs/guide/explain-a-finding.md`).
//!
//! A worker runs the path of a trace or another one, and stops at the crash
//! ([`probe`](crate::worker::probe)). On the other side of the wire, the [`ProbeSession`] makes the
//! worker try other disks of that moment, and remembers the results. Smaller traces ([`minimise`])
//! and stories are made from these results.

pub mod critical;
mod differences;
mod host_events;
mod in_thread;
mod locate;
pub mod minimise;
mod session;
mod story;
mod text;

pub use differences::{CAUSES, differences, diverged};
pub use host_events::{chrome, shiviz};
pub use in_thread::story_in_thread;
pub use locate::{LocatedFailure, Location, SearchResult, locate, look};
pub use session::{DiskTry, PathFailure, PathResult, ProbeSession, SearchBounds};
pub use story::{Story, StoryRun, story};
pub use text::StoryCommands;
