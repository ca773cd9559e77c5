//! raft 0.6.0 asks for a sync of new entries: nothing is lost with the budget that finds the bug of
//! 0.6.0-alpha.

#[path = "../../../../cluster/tests/common/mod.rs"]
mod common;

use std::time::Instant;

use explode_cluster::prelude::*;
use raft_case::RaftMap;
use raft_case::map::{SEEDS, WALKS, map};

const VERSION: &str = "0.6.0";

#[test]
fn nothing_is_lost() {
    let begun = Instant::now();
    let mut crashes = 0;
    for seed in 0..SEEDS {
        let ran = common::run_with(map::<RaftMap>(VERSION, seed), walks(WALKS), 1);
        assert!(ran.found.is_empty() && ran.broken.is_empty(), "seed {seed}: {ran:?}");
        crashes += ran.tally("crashes", "crashes");
    }
    let seconds = begun.elapsed().as_secs();
    println!(
        "| raft {VERSION} | clean with {SEEDS} of {SEEDS} seeds, {crashes} crashes | {WALKS} | \
         {WALKS} | {seconds} |"
    );
}
