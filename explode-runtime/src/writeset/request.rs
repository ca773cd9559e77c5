//! The requests that are in flight.

/// A request in flight.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    pub dev: u32,
    pub submitted: u64,
    /// The pieces that the request carries. Empty for a flush.
    pub pieces: Vec<u64>,
    pub fua: bool,
    /// The pieces that its flush makes durable. Empty if it has no flush.
    pub flushes: Vec<u64>,
    /// True if its own pieces can be on the disk. False only for a write with PREFLUSH whose flush
    /// has not ended.
    pub started: bool,
    /// The number of pieces that the request wrote and flushed when it was submitted.
    pub size: u64,
}

impl InFlight {
    /// Returns a request without effect, submitted at this instant.
    pub fn of_nothing(dev: u32, submitted: u64) -> InFlight {
        InFlight {
            dev,
            submitted,
            pieces: Vec::new(),
            fua: false,
            flushes: Vec::new(),
            started: true,
            size: 0,
        }
    }
}
