//! The errors of a log: events that contradict the ones before them, or exceed a limit.

use super::limits::{MOST_IN_FLIGHT, MOST_IN_WORLDS, MOST_UNSTARTED};

/// An event that contradicts the log before it, and its place.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("event {index}: {error}")]
pub struct LogContradiction {
    /// Its index in the log, from 0.
    pub index: usize,
    /// What is wrong with it.
    pub error: Contradiction,
}

/// An event that contradicts the log before it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Contradiction {
    /// A completion of nothing.
    #[error("no request with id {0} is in flight")]
    UnknownId(u64),
    /// Two requests with one id.
    #[error(
        "a request with id {0} is still in flight; an id may be used again after its completion"
    )]
    IdInFlight(u64),
    /// Worlds double with each.
    #[error("more than {MOST_UNSTARTED} writes with PREFLUSH are in flight at once")]
    TooManyWorlds,
    /// The pieces would need too much memory and time.
    #[error("{pieces} pieces would be pending; at most {most} are supported")]
    #[expect(missing_docs, reason = "the message says what the numbers are")]
    TooManyPieces { pieces: u64, most: u64 },
    /// The pieces of all worlds together would.
    #[error(
        "{pieces} pieces would be pending in each of {worlds} worlds, which writes with PREFLUSH \
         in flight make; at most \
         {MOST_IN_WORLDS} in all are supported"
    )]
    #[expect(missing_docs, reason = "the message says what the numbers are")]
    TooManyInWorlds { pieces: u64, worlds: u64 },
    /// What the requests in flight write and flush would.
    #[error(
        "the requests in flight would write or flush {0} pieces; at most {MOST_IN_FLIGHT} are \
         supported"
    )]
    TooManyInFlight(u64),
}

impl Contradiction {
    /// Is the log sound, and only more than is supported?
    pub fn is_limit(&self) -> bool {
        !matches!(self, Contradiction::UnknownId(_) | Contradiction::IdInFlight(_))
    }
}
