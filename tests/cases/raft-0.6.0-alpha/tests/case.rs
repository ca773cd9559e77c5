//! raft 0.6.0-alpha asks for no sync of new entries: acknowledged entries are lost.

#[path = "../../shared/search.rs"]
mod search;

use raft_case::map::{ALWAYS_SYNCED, NOTHING_UNSYNCED, raft_map};

/// The number of walks of a search.
const WALKS: u32 = 200;

#[test]
fn acknowledged_entries_are_lost() {
    let obeys = |seed| raft_map::<NOTHING_UNSYNCED>("raft").seed(seed);
    search::found("raft 0.6.0-alpha", WALKS, "one-entry-at-an-index", obeys);
}

/// The answer of the crate is the cause: an application that does not heed it loses nothing.
#[test]
fn an_application_that_always_syncs_loses_nothing() {
    let syncs = |seed| raft_map::<ALWAYS_SYNCED>("raft").seed(seed);
    search::clean("raft 0.6.0-alpha, always synced", WALKS, ("a leader crashed", WALKS / 4), syncs);
}
