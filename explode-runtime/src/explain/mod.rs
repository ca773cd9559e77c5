//! Explaining a trace: what of it matters, and what it tells (`docs/guide/explain-a-finding.md`).
//!
//! A worker runs the trace's way, or another one, and stands still where the crash was
//! ([`probe`](crate::worker::probe)). The [`Bench`], on the other side of the wire, then has it try
//! other disks of that moment, and remembers the results. Smaller traces
//! ([`minimise`]) and stories are made of that.

mod bench;
pub mod critical;
mod differences;
pub mod minimise;
mod reach;
mod story;
mod text;

pub use bench::{Bench, Bounds, Failing, Outcome, WayEnd};
pub use differences::{CAUSES, differences, diverged};
pub use reach::{Failure, Look, Reached, look, reach};
pub use story::{Retold, Story, story};
