//! The limits of a write set.

/// The largest number k of writes with PREFLUSH in flight at once. They make 2^k worlds.
pub(super) const MOST_UNSTARTED: usize = 16;
/// The largest number of pending pieces. In blocks of 4096 bytes they are 4 GiB of unflushed data.
pub(super) const MOST_PIECES: u64 = 1 << 20;
/// The largest number of pending pieces, counted in each world.
pub(super) const MOST_IN_WORLDS: u64 = 1 << 21;
/// The largest number of pieces that the requests in flight write or flush, counted for each
/// request.
pub(super) const MOST_IN_FLIGHT: u64 = 1 << 24;
