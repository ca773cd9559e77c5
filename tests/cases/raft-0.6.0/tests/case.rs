//! raft 0.6.0 asks for a sync of new entries: nothing is lost in the walks that find the bug of
//! 0.6.0-alpha.

#[path = "../../shared/search.rs"]
mod search;

use raft_case::map::{NOTHING_UNSYNCED, raft_map};

/// The number of walks of a search.
const WALKS: u32 = 200;

#[test]
fn nothing_is_lost() {
    let obeys = |seed| raft_map::<NOTHING_UNSYNCED>("raft").version("raft", "0.6.0").seed(seed);
    search::clean("raft 0.6.0", WALKS, ("a leader crashed", WALKS / 4), obeys);
}
