//! The disks of a host are those that `crash-disks` lists of its log, and counts are the same in
//! every run.

mod common;

use std::collections::BTreeSet;

use explode_cluster::disk::{HandlerCut, HostDisk};
use explode_cluster::paxos::{LAST_PROMISE, paxos};
use explode_cluster::prelude::*;
use explode_ramdisk::{Event, Image};
use explode_runtime::crash::{SampleLimits, crash_disks};
use explode_runtime::writeset::DeviceRules;
use num_bigint::BigUint;
use proptest::prelude::*;

/// A call on the files of a host.
#[derive(Clone, Copy, Debug)]
enum Call {
    Write(u8, u8, u8),
    Sync(u8),
    Truncate(u8),
    Rename(u8, u8),
    SyncFolder,
}

const NAMES: [&str; 3] = ["/a", "/b", "/c"];

fn make(files: &dyn Files, call: Call) {
    // A call on a file that is not there changes nothing.
    let _ = match call {
        Call::Write(name, block, value) => files
            .open(NAMES[name as usize], OpenFlags::CREATE)
            .and_then(|fd| files.pwrite(fd, u64::from(block) * 4096, &[value; 100])),
        Call::Sync(name) => {
            files.open(NAMES[name as usize], OpenFlags::EXISTING).and_then(|fd| files.fsync(fd))
        }
        Call::Truncate(name) => files
            .open(NAMES[name as usize], OpenFlags::EXISTING)
            .and_then(|fd| files.ftruncate(fd, 10)),
        Call::Rename(from, to) => files.rename(NAMES[from as usize], NAMES[to as usize]),
        Call::SyncFolder => files.sync_dir("/"),
    };
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let name = || 0_u8..3;
    let call = prop_oneof![
        3 => (name(), 0_u8..2, 1_u8..4).prop_map(|(name, at, value)| Call::Write(name, at, value)),
        2 => name().prop_map(Call::Sync),
        1 => name().prop_map(Call::Truncate),
        1 => (name(), name()).prop_map(|(from, to)| Call::Rename(from, to)),
        1 => Just(Call::SyncFolder),
    ];
    prop::collection::vec(call, 0..7)
}

fn disk() -> HostDisk {
    HostDisk::new("n1", Image::new(), DeviceRules::default()).expect("the disk is empty")
}

/// Returns the identities of all disks that a crash at a cut can leave.
fn images(disk: &HostDisk, cut: HandlerCut, events: &[Event]) -> BTreeSet<u128> {
    let left = disk.at(cut, events).expect("the log is sound");
    let limits = SampleLimits { limit: u64::MAX, ..SampleLimits::default() };
    let numbers = left.disks.numbers(&limits, 0);
    let build = |place| left.disks.build(&numbers.at(place)).image.identity().0;
    (0..numbers.len()).map(build).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_disks_of_all_cuts_are_those_of_the_log(before in calls(), handler in calls()) {
        let mut host = disk();
        before.iter().for_each(|call| make(&*host.as_files(), *call));
        let log_before = host.take_log();
        host.add(log_before.clone()).unwrap();
        handler.iter().for_each(|call| make(&*host.as_files(), *call));
        let events = host.take_log();
        let limits = SampleLimits { limit: u64::MAX, ..SampleLimits::default() };
        let rules = DeviceRules::default();
        let whole = crash_disks(Image::new(), &log_before, &events, &[], rules, &limits, &mut |_| {});
        let whole = whole.expect("the log is sound");
        prop_assume!(whole.crash_disks <= BigUint::from(5000_u32));
        let expected: BTreeSet<u128> = whole.disks.iter().map(|disk| disk.identity.0).collect();
        let cuts = host.cuts(&events, &[]).unwrap();
        let found: BTreeSet<u128> =
            cuts.iter().flat_map(|cut| images(&host, *cut, &events)).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(host.count(&cuts, &events).unwrap(), whole.crash_disks);
        // Any event is a moment of a crash, and no moment leaves another disk.
        let moments = (0..=events.len()).map(|events| HandlerCut { events, effects: 0 });
        let of_moments: BTreeSet<u128> =
            moments.flat_map(|cut| images(&host, cut, &events)).collect();
        prop_assert_eq!(
            of_moments, whole.disks.iter().map(|disk| disk.identity.0).collect::<BTreeSet<_>>()
        );
    }

    /// The effects before an event are those that a crash at the event leaves.
    #[test]
    fn every_pair_of_effects_and_disk_is_in_some_cut(
        handler in calls(),
        sends in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut host = disk();
        handler.iter().for_each(|call| make(&*host.as_files(), *call));
        let events = host.take_log();
        let mut effects: Vec<usize> = sends.iter().map(|at| at.index(events.len() + 1)).collect();
        effects.sort_unstable();
        let pairs = |cut: HandlerCut| images(&host, cut, &events).into_iter().map(move |id| (cut.effects, id));
        let found: BTreeSet<_> =
            host.cuts(&events, &effects).unwrap().into_iter().flat_map(pairs).collect();
        // A crash between any two things that the handler does.
        let moments = (0..=events.len()).flat_map(|at| {
            let first = effects.iter().filter(|before| **before < at).count();
            let last = effects.iter().filter(|before| **before <= at).count();
            (first..=last).map(move |effects| HandlerCut { events: at, effects })
        });
        let expected: BTreeSet<_> = moments.flat_map(pairs).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_crash_after_a_handler_is_a_cut_at_its_end(handler in calls()) {
        let mut host = disk();
        handler.iter().for_each(|call| make(&*host.as_files(), *call));
        let events = host.take_log();
        let end = host.cuts(&events, &[]).unwrap()[0];
        let at_end = images(&host, end, &events);
        host.add(events.clone()).unwrap();
        prop_assert_eq!(images(&host, HandlerCut { events: 0, effects: 0 }, &[]), at_end);
    }
}

#[test]
fn counts_are_equal_in_twenty_runs_and_for_any_number_of_jobs() {
    let run =
        |jobs| common::run_with(paxos::<LAST_PROMISE>("paxos+last-promise"), walks(1000), jobs);
    let first = run(1);
    assert_eq!(first.found.len(), 1, "{first:?}");
    assert_eq!(first.summary.states, common::exactly(1000));
    assert!(first.broken.is_empty(), "{:?}", first.broken);
    for jobs in [1; 17].into_iter().chain([2, 8]) {
        let other = run(jobs);
        assert_eq!(other.counts(), first.counts(), "{jobs} jobs");
        let trace = |ran: &common::Ran| ran.traces[0].choices.clone();
        assert_eq!(trace(&other), trace(&first), "{jobs} jobs");
    }
}
