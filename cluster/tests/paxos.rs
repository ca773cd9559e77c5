//! Paxos with the bugs of CrystalBall: found by each policy, and without them nothing is found.

mod common;

use explode_cluster::cluster::Cluster;
use explode_cluster::paxos::{CORRECT, LAST_PROMISE, Paxos, UNSYNCED_PROMISE, paxos};
use explode_cluster::prelude::*;

const POLICIES: [&str; 3] = ["weighted", "random", "pct:d=3,k=80"];
const SIGNATURE: &str = "check-failed/one-value-is-chosen";

fn found<const BUG: u8>(name: &str, policy: &str, most: u64) -> common::Ran {
    let cluster: Cluster<Paxos<BUG>> = paxos::<BUG>(name).strategy(policy);
    common::run_with(cluster, walks(most), 1)
}

#[test]
fn correct_paxos_chooses_one_value() {
    for policy in POLICIES {
        let ran = found::<CORRECT>("paxos", policy, 1000);
        assert!(ran.found.is_empty() && ran.broken.is_empty(), "{policy}: {ran:?}");
        assert_eq!(ran.summary.states, common::exactly(1000), "{policy}");
        assert!(!ran.summary.complete, "walks never cover everything");
        for reached in ["a value is chosen", "an acceptor crashed after its promise"] {
            assert!(ran.tally("reached", reached) > 100, "{policy}, {reached}: {ran:?}");
        }
        assert!(ran.tally("crashes", "during recovery") > 0, "{policy}: {ran:?}");
    }
}

#[test]
fn both_bugs_are_found_by_every_policy() {
    for policy in POLICIES {
        let last = found::<LAST_PROMISE>("paxos+last-promise", policy, 2000);
        assert!(last.found[0].contains(SIGNATURE), "{policy}: {last:?}");
        let unsynced = found::<UNSYNCED_PROMISE>("paxos+unsynced-promise", policy, 10_000);
        assert!(unsynced.found[0].contains(SIGNATURE), "{policy}: {unsynced:?}");
    }
}

/// Half of the walks of a run are enough, whatever the seed.
#[test]
fn an_unsynced_promise_is_found_by_each_seed() {
    let make = |name: &str, seed| paxos::<UNSYNCED_PROMISE>(name).seed(seed);
    common::found_by_each_seed("paxos+unsynced-promise", make, "one-value-is-chosen", 10_000);
}

/// An unsynced promise does no harm without a crash, so the bug is one of crash disks alone.
#[test]
fn an_unsynced_promise_needs_a_crash() {
    let faults = FaultBudget { drops: 4, partitions: 1, ..FaultBudget::NONE };
    let cluster = paxos::<UNSYNCED_PROMISE>("paxos+unsynced-promise").faults(faults);
    let ran = common::run_with(cluster, walks(3000), 1);
    assert!(ran.found.is_empty(), "{ran:?}");
}

/// The report of a finding in a test: a smaller walk, as a table of hosts by steps.
#[test]
fn a_finding_is_told_as_a_table() {
    let text = paxos::<UNSYNCED_PROMISE>("paxos+unsynced-promise").outcome(walks(10_000));
    let text = text.expect_err("it has a bug");
    for part in [
        "step     ms  n1        n2        n3",
        "| CUT |",
        "CRASH, cut ",
        "lost /acceptor at byte 0",
        "opens",
        "EXPLODE_REPLAY=",
        "a_finding_is_told_as_a_table",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let steps = text.lines().filter(|line| line.contains(" opens") || line.contains(" > "));
    assert!(steps.count() < 45, "{text}");
}
