//! raft 0.6.0-alpha asks for no sync of new entries: acknowledged entries are lost.

#[path = "../../../../cluster/tests/common/mod.rs"]
mod common;

use std::time::Instant;

use explode_cluster::prelude::*;
use raft_case::RaftMap;
use raft_case::map::{SEEDS, WALKS, map, walks_to_finding};

const VERSION: &str = "0.6.0-alpha";

/// Runs one after the other: they share the number of the walk that runs.
#[test]
fn acknowledged_entries_are_lost() {
    let begun = Instant::now();
    let mut needed: Vec<u64> = (0..SEEDS).map(|seed| found_with(seed)).collect();
    needed.sort_unstable();
    let (median, worst) = (needed[needed.len() / 2], needed[needed.len() - 1]);
    let seconds = begun.elapsed().as_secs();
    println!(
        "| raft {VERSION} | found with {SEEDS} of {SEEDS} seeds | {median} | {worst} | {seconds} |"
    );
    // An application that always syncs loses nothing, so the crate's answer is the cause.
    for seed in 0..SEEDS {
        let ran = common::run_with(map::<RaftMap<true>>(VERSION, seed), walks(WALKS), 1);
        assert!(ran.found.is_empty() && ran.broken.is_empty(), "seed {seed}: {ran:?}");
    }
}

fn found_with(seed: u64) -> u64 {
    let ran = common::run_with(map::<RaftMap<false>>(VERSION, seed), walks(WALKS), 1);
    let lost = ran.found.iter().any(|found| found.contains("/one-entry-at-an-index"));
    assert!(lost && ran.broken.is_empty(), "seed {seed}: {ran:?}");
    walks_to_finding().expect("a walk has found it")
}
