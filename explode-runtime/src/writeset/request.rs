//! Requests that are in flight.

/// A request on its way.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    pub dev: u32,
    pub submitted: u64,
    /// The pieces that it carries; none for a flush.
    pub pieces: Vec<u64>,
    pub fua: bool,
    /// What its flush makes durable, if it has one.
    pub flushes: Vec<u64>,
    /// Its own pieces can be on the disk. False only for a write with PREFLUSH whose flush has not
    /// ended.
    pub started: bool,
    /// How many pieces it wrote and flushed when it was submitted.
    pub size: u64,
}
