//! openraft as published, on seven hosts with disks: is each acknowledged write on four of them.
//!
//! | file | contents |
//! | --- | --- |
//! | `log.rs` | the log of a node, one file of records |
//! | `machine.rs` | a state machine that only counts |
//! | `network.rs` | the network of openraft on that of the hosts |
//! | `server.rs` | a node |

mod log;
mod machine;
mod network;
mod server;

use std::io::Cursor;
use std::time::Instant;

use explode_cluster::cluster::Cluster;
use explode_cluster::prelude::*;

use server::Server;

openraft::declare_raft_types!(
    /// The types of a node.
    pub Types: D = u64, R = (), Node = openraft::EmptyNode,
);

/// The seeds of the searches.
const SEEDS: u64 = 20;
/// The number of walks of each search.
const WALKS: u32 = 100;
/// The name of the walks that have tested anything.
const ACKNOWLEDGED: &str = "a write was acknowledged";

/// Seven hosts. Up to 16 messages of a walk are lost, about 4 of 100. Latencies are drawn.
fn seven(seed: u64) -> Cluster<Tasks<Server>> {
    let latencies = [1, 2, 5, 10, 20, 50, 100].map(ms).to_vec();
    async_cluster::<Server>("openraft", 7)
        .timing(Timing::Ordered { latencies })
        .faults(FaultBudget { drops: 16, ..FaultBudget::NONE })
        .clients(2, |next| next.fresh())
        .calls(40)
        .steps(800, 0)
        .seed(seed)
        .always("an acknowledged write is on a quorum", |world| {
            let on = |value| world.up().filter(|node| has(node.get(), value)).count();
            let calls = world.history().calls().iter();
            calls.filter(|call| call.replied.is_some()).all(|call| on(call.call) >= 4)
        })
        .sometimes(ACKNOWLEDGED, |world| {
            world.history().calls().iter().any(|call| call.replied.is_some())
        })
}

fn has(node: &Tasks<Server>, value: u64) -> bool {
    node.node().is_some_and(|server| server.log.has(value))
}

/// Asserts that a search with each seed finds an acknowledged write without a quorum. Prints how
/// many walks that took.
#[allow(dead_code, reason = "a case calls it or the other one")]
pub fn found(name: &str) {
    let begun = Instant::now();
    let mut walks_of: Vec<u64> = (0..SEEDS).map(walks_until_found).collect();
    let seconds = begun.elapsed().as_secs();
    walks_of.sort_unstable();
    let (median, worst) = (walks_of[walks_of.len() / 2], walks_of[walks_of.len() - 1]);
    println!("| {name} | found with {SEEDS} of {SEEDS} seeds | {median} | {worst} | {seconds} |");
}

/// Returns the number of walks of a search with this seed until it finds the bug.
#[allow(dead_code, reason = "a case may not call it")]
fn walks_until_found(seed: u64) -> u64 {
    let first = seven(seed).first_finding(WALKS).unwrap_or_else(|error| panic!("{error}"));
    let first = first.unwrap_or_else(|| panic!("seed {seed}: not found in {WALKS} walks"));
    assert!(first.violation.promise.contains("acknowledged"), "{first:?}");
    first.walks
}

/// Asserts that no search finds anything, and that writes were acknowledged in most walks.
#[allow(dead_code, reason = "a case calls it or the other one")]
pub fn clean(name: &str) {
    let begun = Instant::now();
    for seed in 0..SEEDS {
        let summary = seven(seed).run(walks(WALKS.into()));
        let tallies = summary.tallies.iter().flat_map(|group| &group.tallies);
        let acknowledged = tallies.filter(|(name, _)| name == ACKNOWLEDGED);
        let count = acknowledged.map(|(_, count)| count.to_string()).collect::<String>();
        let count: u32 = count.parse().expect("it is counted");
        assert!(count > WALKS * 9 / 10, "a write was acknowledged in {count} walks of {WALKS}");
    }
    let seconds = begun.elapsed().as_secs();
    println!("| {name} | clean with {SEEDS} of {SEEDS} seeds | {WALKS} | {WALKS} | {seconds} |");
}
