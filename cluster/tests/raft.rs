//! Raft of TiKV on hosts with disks: clean, and found where a vote or an entry is not synced.

mod common;

use explode_cluster::cluster::Cluster;
use explode_cluster::prelude::*;
use explode_cluster::raft::{
    ENTRIES_UNSYNCED, NOTHING_UNSYNCED, RaftMap, VOTES_UNSYNCED, raft_map,
};

fn run<const BUG: u8>(name: &str, seed: u64, most: u64) -> common::Ran {
    let cluster: Cluster<RaftMap<BUG>> = raft_map::<BUG>(name).seed(seed);
    common::run_with(cluster, walks(most), 1)
}

#[test]
fn raft_is_clean() {
    let ran = run::<NOTHING_UNSYNCED>("raft", 0, 1500);
    assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
    assert_eq!(ran.summary.states, common::exactly(1500));
    assert_eq!(ran.summary.operations, common::exactly(1500 * 150));
    assert!(ran.tally("crashes", "crashes") > 4000, "{ran:?}");
    for reached in ["a leader crashed", "two leaders"] {
        assert!(ran.tally("reached", reached) > 20, "{reached}: {ran:?}");
    }
}

/// Half of the walks of a run are enough, whatever the seed.
#[test]
fn an_unsynced_vote_elects_two_leaders_of_a_term() {
    let make = |name: &str, seed| raft_map::<VOTES_UNSYNCED>(name).seed(seed);
    common::found_by_each_seed("raft+votes-unsynced", make, "one-leader-of-a-term", 4000);
}

#[test]
fn an_unsynced_entry_is_lost() {
    let ran = run::<ENTRIES_UNSYNCED>("raft+entries-unsynced", 0, 3000);
    assert!(ran.found.iter().any(|found| found.contains("/one-entry-at-an-index")), "{ran:?}");
}
