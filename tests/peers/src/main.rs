//! Walks of explode beside those of other tools, on the same nodes. All run in turns; the tables have
//! medians, and the ratio to explode is the median over the turns. The times of walks are processor
//! times, because each tool makes them in one thread.

mod by_explode;
mod by_hand;
mod by_shuttle;
mod by_stateright;
mod by_turmoil;
mod peer;
mod vote;

use std::time::Duration;

use explode_cluster::by_hand::HandLoops;
use explode_cluster::prelude::walks;
use explode_cluster::raft::{NOTHING_UNSYNCED, raft_by_hand, raft_map};
use explode_cluster::rates::measure;
use nix::time::{ClockId, clock_gettime};

/// The number of turns.
const TURNS: usize = 9;

/// The number of steps of a path of Paxos.
const DEPTH: u32 = 9;

/// A tool, the number of walks that it makes in a turn, and what it does.
type Tool = (&'static str, u64, fn(u64, u64) -> u64);

const TOOLS: [Tool; 4] = [
    ("a loop by hand", 400, |turn, walks| by_hand::walks(turn, walks).0),
    ("explode", 400, by_explode::walks),
    ("shuttle 0.9, random schedules", 20, |_, walks| by_shuttle::walks(walks)),
    ("turmoil 0.7, datagrams", 20, by_turmoil::walks),
];

fn main() {
    let (events, applied) = by_hand::walks(0, 100);
    println!("Raft 0.7, {} nodes without disks, {} events a walk;", peer::HOSTS, peer::EVENTS);
    println!("{:.1} entries are applied in 100 events.\n", 100.0 * applied as f64 / events as f64);
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); TOOLS.len()];
    for turn in 0..TURNS {
        for ((_, walks, make), rates) in TOOLS.iter().zip(&mut rates) {
            let started = processor_time();
            let events = make(turn as u64, *walks);
            rates.push(events as f64 / (processor_time() - started).as_secs_f64());
        }
    }
    println!("| tool | events a second | explode's rate, divided by this one |");
    println!("| --- | --- | --- |");
    for ((name, ..), own) in TOOLS.iter().zip(&rates) {
        let ratios = rates[1].iter().zip(own).map(|(explode, own)| explode / own);
        println!("| {name} | {:.0} | {:.2} |", median(own.iter().copied()), median(ratios));
    }
    disks();
    states();
}

/// Prints the table of walks with disks, faults and promises: the target `raft`.
fn disks() {
    let cluster = raft_map::<NOTHING_UNSYNCED>("raft").test(walks(1));
    let (mut registry, plan) = cluster.expect("the target is sound");
    HandLoops::register(&mut registry, "raft", raft_by_hand);
    let rates = measure(&registry, &plan).expect("the nodes are deterministic");
    let by_hand = rates.by_hand.expect("there is a loop");
    println!(
        "\nRaft 0.7 with disks, {:.1} crashes and {} steps a walk.\n",
        rates.crashes, rates.steps
    );
    println!("| tool | steps a second | share |");
    println!("| --- | --- | --- |");
    println!("| a loop by hand | {:.0} | 1 |", 1e9 / by_hand.step_ns);
    println!("| explode | {:.0} | {:.2} |", 1e9 / rates.step_ns, by_hand.share);
}

/// Prints the table of searches for all states.
fn states() {
    let (hosts, proposers) = (vote::HOSTS, vote::PROPOSERS);
    println!(
        "\nPaxos for one value, {hosts} nodes, {proposers} proposers: all paths of {DEPTH} steps."
    );
    println!("Under explode each start of a node is a step, too.\n");
    let turns: Vec<_> =
        (0..3).map(|_| (by_explode::states(DEPTH), by_stateright::states(DEPTH))).collect();
    println!("| tool | distinct states | states a second |");
    println!("| --- | --- | --- |");
    let rate = |(states, time): (u64, Duration)| states as f64 / time.as_secs_f64();
    let explode = median(turns.iter().map(|(explode, _)| rate(*explode)));
    println!("| explode, every state | {} | {explode:.0} |", turns[0].0.0);
    let stateright = median(turns.iter().map(|(_, stateright)| rate(*stateright)));
    println!("| stateright 0.31, breadth first | {} | {stateright:.0} |", turns[0].1.0);
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("Linux has this clock").into()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
