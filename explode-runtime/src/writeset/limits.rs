//! The most that a write set takes.

/// Most writes with PREFLUSH in flight at once: they make 2^k worlds.
pub(super) const MOST_UNSTARTED: usize = 16;
/// Most pending pieces: in blocks of 4096 bytes, 4 GiB that were written and not flushed.
pub(super) const MOST_PIECES: u64 = 1 << 20;
/// Most pending pieces, counted in each world.
pub(super) const MOST_IN_WORLDS: u64 = 1 << 21;
/// Most pieces that the requests in flight write or flush, counted for each request.
pub(super) const MOST_IN_FLIGHT: u64 = 1 << 24;
