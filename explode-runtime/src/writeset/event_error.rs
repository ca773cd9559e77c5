//! The errors of events: an event contradicts the log before it, or exceeds a limit.

use super::limits::{MOST_IN_FLIGHT, MOST_IN_WORLDS, MOST_UNSTARTED};

/// An invalid event and its place in the log.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("event {index}: {error}")]
pub struct LogContradiction {
    /// The index of the event in the log, from 0.
    pub index: usize,
    /// The reason why the event is invalid.
    pub error: Contradiction,
}

/// The reason why an event cannot be applied.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Contradiction {
    /// A completion names no request in flight.
    #[error("no request with id {0} is in flight")]
    UnknownId(u64),
    /// Two requests in flight have one id.
    #[error(
        "a request with id {0} is still in flight; an id may be used again after its completion"
    )]
    IdInFlight(u64),
    /// Too many writes with PREFLUSH are in flight. Each doubles the number of worlds.
    #[error("more than {MOST_UNSTARTED} writes with PREFLUSH are in flight at once")]
    TooManyWorlds,
    /// The pending pieces would need too much memory and time.
    #[error("{pieces} pieces would be pending; at most {most} are supported")]
    #[expect(missing_docs, reason = "the message says what the numbers are")]
    TooManyPieces { pieces: u64, most: u64 },
    /// The pending pieces of all worlds together would need too much memory and time.
    #[error(
        "{pieces} pieces would be pending in each of {worlds} worlds, which writes with PREFLUSH \
         in flight make; at most \
         {MOST_IN_WORLDS} in all are supported"
    )]
    #[expect(missing_docs, reason = "the message says what the numbers are")]
    TooManyInWorlds { pieces: u64, worlds: u64 },
    /// The pieces that the requests in flight write or flush would need too much memory and time.
    #[error(
        "the requests in flight would write or flush {0} pieces; at most {MOST_IN_FLIGHT} are \
         supported"
    )]
    TooManyInFlight(u64),
}

impl Contradiction {
    /// Returns true if the log is sound and only exceeds a limit.
    pub fn is_limit(&self) -> bool {
        !matches!(self, Contradiction::UnknownId(_) | Contradiction::IdInFlight(_))
    }
}
