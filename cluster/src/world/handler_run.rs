//! The effects of a handler that has run.

use explode_ramdisk::Event;

use crate::clock::Time;
use crate::disk::CallNote;
use crate::node::{Effect, Handled, Node, Timer};

/// The effects of a handler that has run.
pub(super) struct HandlerRun<N: Node> {
    /// The events on the disk.
    pub events: Vec<Event>,
    /// The calls that made some of them, in words.
    pub notes: Vec<CallNote>,
    /// The other effects, each with the number of events before it.
    pub effects: Vec<(usize, Effect<N>)>,
    /// The timers that were set or cancelled.
    pub timers: Vec<(Timer, Option<Time>)>,
    /// True if a call on a file was made to fail.
    pub has_failed: bool,
    /// A call of the node that explode cannot answer, in words.
    pub refused: Option<String>,
    /// The result, with panics as an error.
    pub result: Result<Handled, String>,
}
