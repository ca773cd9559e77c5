//! Searches with consecutive seeds. Each prints its row of the table.

use std::time::Instant;

use explode_cluster::cluster::Cluster;
use explode_cluster::prelude::*;

/// The number of seeds.
const SEEDS: u64 = 20;

/// Asserts that a search with each seed breaks this promise, and prints the walks that it took.
#[allow(dead_code, reason = "a case searches for a bug, or shows that there is none")]
pub fn found<N: Node>(name: &str, most: u32, promise: &str, of: impl Fn(u64) -> Cluster<N>) {
    let begun = Instant::now();
    let walks_of = |seed| {
        let first = of(seed).first_finding(most, |found| found.promise.contains(promise));
        let first = first.unwrap_or_else(|error| panic!("{error}"));
        first.unwrap_or_else(|| panic!("seed {seed}: not found in {most} walks")).walks
    };
    let mut walks: Vec<u64> = (0..SEEDS).map(walks_of).collect();
    walks.sort_unstable();
    let (median, worst) = (walks[walks.len() / 2], walks[walks.len() - 1]);
    let seconds = begun.elapsed().as_secs();
    println!("| {name} | found with {SEEDS} of {SEEDS} seeds | {median} | {worst} | {seconds} |");
}

/// Asserts that the same number of walks finds nothing with any seed, and that each search has
/// reached this in more than a number of its walks.
#[allow(dead_code, reason = "a case searches for a bug, or shows that there is none")]
pub fn clean<N: Node>(
    name: &str,
    most: u32,
    (reached, in_more_than): (&str, u32),
    of: impl Fn(u64) -> Cluster<N>,
) {
    let begun = Instant::now();
    for seed in 0..SEEDS {
        let summary = of(seed).run(walks(most.into()));
        let mut tallies = summary.tallies.iter().flat_map(|group| &group.tallies);
        let (_, count) = tallies.find(|(name, _)| name == reached).expect("it is counted");
        let count: u32 = count.to_string().parse().expect("a number of walks");
        assert!(count > in_more_than, "seed {seed}: {reached}: in {count} walks of {most}");
    }
    let seconds = begun.elapsed().as_secs();
    println!("| {name} | clean with {SEEDS} of {SEEDS} seeds | {most} | {most} | {seconds} |");
}
