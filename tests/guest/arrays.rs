//! Stacks on several disks. Arrays of md: each level keeps what is flushed, the write hole is found
//! where it is and nowhere else, and a member that ignores flushes is found. File systems with their
//! journal on a second disk.

use std::collections::BTreeSet;
use std::path::Path;

use explode_runtime::base::{ExactCount, Options};
use explode_runtime::crash::Epoch;
use explode_runtime::dedup::KnownChecks;
use explode_runtime::plan::Plan;
use explode_runtime::report::{Finding, Message, Summary};
use explode_runtime::run::{Confirmation, LocalSink, Supervisor};
use explode_runtime::stack::{Layer, StackSpec};
use explode_runtime::verdict::WorkerDeath;
use explode_runtime::worker::{
    InThreadWorkers, StartError, UnitListener, UnitOrder, UnitResult, WorkerStarted, Workers,
};

use crate::cases::{Cx, is_clean, without_files};
use crate::report::Report;
use crate::skipping;

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    // The number of the level, of the disks, and the counts: states, crash disks, distinct disks.
    let levels = [
        (0, 2, [5, 8, 17, 0]),
        (1, 2, [5, 34, 33, 0]),
        (4, 3, [5, 41, 35, 0]),
        (5, 3, [5, 41, 35, 0]),
        (6, 4, [5, 60, 55, 0]),
        (10, 4, [5, 52, 39, 0]),
    ];
    for (level, disks, counts) in levels {
        report.case(&format!("md: level {level} keeps what is flushed, exact counts"), |_| {
            is_clean(cx, &blocks(cx, disks, Options::none(), array(level)), counts, true);
        });
    }
    report.case("md: after the resync of a mirror it keeps what is flushed", |_| {
        let array = array(1).with("resync", "done");
        is_clean(cx, &blocks(cx, 2, Options::none(), array), [5, 34, 33, 0], true);
    });
    report.case("md: a crash during the resync of a mirror loses nothing", |_| {
        let mut plan = blocks(cx, 2, Options::none(), array(1).with("resync", "done"));
        plan.settings.crash_depth = 1;
        (plan.settings.limit, plan.settings.samples) = (3, 2);
        let (summary, findings) = cx.explore(&plan);
        assert!(findings.is_empty(), "{findings:#?}");
        assert!(summary.crash_crash_disks > 10_u64.into(), "{summary:?}");
        assert_eq!(summary.broken, 0.into(), "{summary:?}");
    });
    report.case("md: a member that ignores flushes is found", |_| {
        let liar = Options::none().with("flushes", "dropped");
        let (_, findings) = cx.explore(&blocks(cx, 2, liar, array(1)));
        assert_eq!(signatures(&findings), ["disk-blocks/lost/durable"].into());
    });
    report.case("md: an unreadable sector of one disk of a mirror loses nothing", |_| {
        let bad = Options::none().with("faults", "unreadable");
        let mut plan = blocks(cx, 2, bad, array(1));
        (plan.settings.limit, plan.settings.samples) = (8, 4);
        let (summary, findings) = cx.explore(&plan);
        assert!(findings.is_empty(), "{findings:#?}");
        assert!(summary.checked > 20.into(), "{summary:?}");
    });
    report.case("md: unreadable sectors of two disks of a mirror of three lose nothing", |_| {
        let (summary, findings) = cx.explore(&unreadable(cx, 3, array(1)));
        assert!(findings.is_empty(), "{findings:#?}");
        assert!(summary.checked > 20.into(), "{summary:?}");
        assert_eq!(summary.broken, 0.into(), "{summary:?}");
    });
    report.case(
        "md: the write hole of level 6 with unreadable sectors, and none with a journal",
        |_| {
            let level = || array(6).with("chunk", 4096_u64);
            let (summary, findings) = cx.explore(&unreadable(cx, 4, level()));
            assert_eq!(signatures(&findings), ["disk-blocks/lost/durable"].into(), "{summary:?}");
            assert!(findings.iter().all(|finding| finding.epoch == Some(Epoch::InBetween)));
            let journal = level().with("policy", "journal");
            let (summary, findings) = cx.explore(&unreadable(cx, 5, journal));
            assert!(findings.is_empty(), "{findings:#?}");
            assert!(summary.checked > 20.into(), "{summary:?}");
        },
    );
    report.case("md: the write hole of level 5 without a member", |_| {
        let (summary, findings) = cx.explore(&losing(cx, 3, "missing", array(5)));
        assert_eq!(signatures(&findings), ["disk-blocks/lost/durable"].into(), "{summary:?}");
        assert_eq!(summary.broken, 0.into(), "{summary:?}");
    });
    for fault in ["missing", "failed", "stale"] {
        report.case(&format!("md: a mirror with a {fault} member keeps what is flushed"), |_| {
            let counts = if fault == "missing" { [13, 68, 73, 0] } else { [13, 122, 87, 0] };
            let plan = losing(cx, 2, fault, array(1));
            is_clean(cx, &plan, counts, true);
        });
    }
    report.case("md: a mirror with a bitmap does not use a stale member", |_| {
        let plan = losing(cx, 2, "stale", array(1).with("policy", "bitmap"));
        is_clean(cx, &plan, [13, 248, 129, 0], true);
    });
    report.case("md: a stale member that is added again is rebuilt", |_| {
        let mut plan = losing(cx, 2, "stale", array(1).with("stale", "added"));
        (plan.settings.limit, plan.settings.samples) = (2, 2);
        (plan.settings.crash_depth, plan.settings.states) = (1, Some(5));
        plan.checker_options = Options::none().with("blocks", 1_u64);
        let (summary, findings) = cx.explore(&plan);
        assert!(findings.is_empty(), "{findings:#?}");
        // A recovery that adds no member writes nothing here.
        assert!(summary.crash_crash_disks > 20_u64.into(), "{summary:?}");
    });
    for (policy, disks) in [("ppl", 3), ("journal", 4)] {
        report.case(&format!("md: no write hole with the policy {policy}"), |_| {
            let mut plan = losing(cx, disks, "missing", array(5).with("policy", policy));
            if policy == "journal" {
                plan.stack.0[disks - 1].options = Options::none();
            }
            let (summary, findings) = cx.explore(&plan);
            assert!(findings.is_empty(), "{findings:#?}");
            assert!(summary.checked > 60_u64.into(), "{summary:?}");
            assert_eq!(summary.broken, 0.into(), "{summary:?}");
        });
    }
    report.case("md: a synced file survives on ext4 on a mirror, as on one disk", |_| {
        let mut plan = on_mirror(cx, "fs-basic", Options::none());
        (plan.settings.limit, plan.settings.samples) = (40, 10);
        let (summary, findings) = cx.explore(&plan);
        assert!(findings.is_empty(), "{findings:#?}");
        assert!(summary.checked > 1.into(), "{summary:?}");
        // The disks of a crash differ: each member has the superblock of md, and its own writes.
        let alone = StackSpec::default().plug("ramdisk", Options::none());
        plan.stack = alone.plug("ext4", Options::none());
        let (alone, findings) = cx.explore(&plan);
        assert!(findings.is_empty(), "{findings:#?}");
        let mirrored = on_mirror(cx, "fs-basic", Options::none());
        assert_eq!(states(cx, &plan), states(cx, &mirrored));
        let explored = |summary: &Summary| {
            [&summary.states, &summary.operations, &summary.choices].map(Clone::clone)
        };
        assert_eq!(explored(&summary), explored(&alone));
        assert_eq!(explored(&alone), [14, 13, 25].map(ExactCount::from));
    });
    report.case("md: a journal on a mirror has a commit record without its blocks", |_| {
        let mut plan = on_mirror(cx, "fs-workloads", Options::none().with("block_size", 1024_u64));
        (plan.settings.limit, plan.settings.samples) = (60, 20);
        (plan.settings.depth, plan.settings.states) = (2, Some(12));
        let (summary, findings) = cx.explore(&plan);
        let expected = ["fs-workloads/mount-failed/mount-failed"].into();
        assert_eq!(signatures(&findings), expected, "{summary:?}");
    });
    report.case("xfs with its log on a second disk keeps what is synced", |_| {
        is_clean(cx, &on_two(cx, "xfs"), [9, 5, 5, 0], true);
    });
    report.case("ext4 with its journal on a second disk loses what is synced", |_| {
        let mut plan = on_two(cx, "ext4");
        (plan.settings.limit, plan.settings.samples) = (6, 2);
        let (summary, findings) = cx.explore(&plan);
        let expected = ["fs-sync/lost/partly-synced-by-fdatasync", "fs-sync/lost/synced-by-fsync"];
        assert_eq!(signatures(&findings), expected.into(), "{summary:?}");
    });
    report.case("f2fs on two disks keeps what is synced, and needs the flush of each", |_| {
        // The first disk has room for the metadata only.
        let f2fs = |flushes: &str| {
            let mut plan = on_two(cx, "f2fs");
            plan.stack.0[0].options = Options::none().with("size", "20MiB");
            plan.stack.0[1].options =
                Options::none().with("size", "64MiB").with("flushes", flushes);
            plan
        };
        is_clean(cx, &f2fs("kept"), [9, 5, 5, 0], true);
        let (summary, findings) = cx.explore(&f2fs("dropped"));
        let expected = [
            "fs-sync/lost/partly-synced-by-fdatasync",
            "fs-sync/lost/synced-by-fsync",
            "fs-sync/lost/synced-directory",
        ];
        assert_eq!(signatures(&findings), expected.into(), "{summary:?}");
    });
    for (raid, disks) in [("raid1", 2), ("raid1c3", 3)] {
        report.case(&format!("btrfs: {raid} keeps what is synced, exact counts"), |_| {
            is_clean(cx, &on_copies(cx, raid, disks, ""), [9, 5, 5, 0], true);
        });
    }
    report.case("btrfs: raid1 keeps what is synced when its recovery crashes", |_| {
        let mut plan = on_copies(cx, "raid1", 2, "");
        (plan.settings.crash_depth, plan.settings.limit, plan.settings.samples) = (1, 4, 2);
        let (summary, findings) = cx.explore(&plan);
        assert!(findings.is_empty(), "{findings:#?}");
        assert!(summary.crash_crash_disks > 20_u64.into(), "{summary:?}");
        assert_eq!(summary.broken, 0.into(), "{summary:?}");
    });
    report.case("btrfs: raid1 needs the flush of each disk", |_| {
        let mut plan = on_copies(cx, "raid1", 2, "");
        for leaf in &mut plan.stack.0[..2] {
            leaf.options = leaf.options.clone().with("flushes", "dropped");
        }
        let (summary, findings) = cx.explore(&plan);
        assert!(!findings.is_empty(), "{summary:?}");
    });
    report.case("btrfs: raid1 without its first disk keeps what is synced", |_| {
        is_clean(cx, &on_copies(cx, "raid1", 2, "missing"), [17, 10, 10, 0], true);
    });
    report.case("btrfs: raid1 whose first disk comes back loses what is synced", |_| {
        let (summary, findings) = cx.explore(&on_copies(cx, "raid1", 2, "stale"));
        let expected = ["fs-sync/lost/synced-directory"].into();
        assert_eq!(signatures(&findings), expected, "{summary:?}");
    });
    report.case("md: says the same with skipping and without", |_| {
        skipping::compare(cx, &blocks(cx, 2, Options::none(), array(1)), 10);
    });
}

/// Workers that record the signatures of the states that they reach.
struct Reached<'a> {
    workers: InThreadWorkers<'a>,
    states: BTreeSet<u128>,
}

impl Workers for Reached<'_> {
    fn start(&mut self, keep_events: bool) -> Result<WorkerStarted, StartError> {
        self.workers.start(keep_events)
    }

    fn learn(&mut self, known: &KnownChecks) -> Result<(), WorkerDeath> {
        self.workers.learn(known)
    }

    fn run(
        &mut self,
        order: &UnitOrder,
        listener: &mut dyn UnitListener,
    ) -> Result<UnitResult, WorkerDeath> {
        let result = self.workers.run(order, listener)?;
        let arrivals = result.segments.iter().filter_map(|segment| segment.arrival.as_ref());
        self.states.extend(arrivals.map(|arrival| arrival.signature));
        Ok(result)
    }
}

/// Returns the signatures of all states of a plan, with few crash disks each.
fn states(cx: Cx<'_>, plan: &Plan) -> BTreeSet<u128> {
    let mut plan = plan.clone();
    (plan.settings.limit, plan.settings.samples) = (2, 2);
    let workers = InThreadWorkers::new(cx.registry, &plan, cx.backend);
    let mut reached = Reached { workers, states: BTreeSet::new() };
    let (mut confirm, mut sink) = (|_: &Path| Confirmation::Reproduced, |_: &Message| {});
    let mut sink = LocalSink::new(None, &mut confirm, &mut sink);
    Supervisor::new(&plan, &mut reached, &mut sink).run().expect("it runs");
    assert!(reached.states.len() > 1, "{:?}", reached.states);
    reached.states
}

/// Returns the signatures of findings. A finding that more checks show is listed again.
fn signatures(findings: &[Finding]) -> BTreeSet<&str> {
    findings.iter().map(|finding| finding.signature.as_str()).collect()
}

/// Returns the options of an array of this level.
fn array(level: u64) -> Options {
    Options::none().with("level", level)
}

/// Returns a plan of the block checker, one step deep, on an array of this number of disks. `first`
/// are the options of the first disk.
fn blocks(cx: Cx<'_>, disks: usize, first: Options, array: Options) -> Plan {
    let mut plan = plan(cx, "disk-blocks", stack(disks, first, array));
    plan.checker_options = Options::none().with("blocks", 2_u64);
    plan
}

/// Returns a plan of the block checker, one step deep, on an array with small chunks. Each disk may
/// fail in this way.
fn losing(cx: Cx<'_>, disks: usize, fault: &str, array: Options) -> Plan {
    let chunk = if array.int("level", 1) == Ok(1) { 65536 } else { 4096_u64 };
    let mut plan = blocks(cx, disks, Options::none(), array.with("chunk", chunk));
    let leaves = plan.stack.0.iter_mut().filter(|layer| layer.component == "ramdisk");
    leaves.for_each(|leaf| leaf.options = Options::none().with("faults", fault));
    (plan.settings.limit, plan.settings.samples) = if disks > 2 { (10, 3) } else { (60, 20) };
    plan
}

/// Returns a plan of the block checker, two steps deep, on an array of this number of disks. A sector
/// of the first and one of the second may become unreadable.
fn unreadable(cx: Cx<'_>, disks: usize, array: Options) -> Plan {
    let mut plan = blocks(cx, disks, Options::none(), array);
    for leaf in &mut plan.stack.0[..2] {
        leaf.options = Options::none().with("faults", "unreadable");
    }
    (plan.settings.depth, plan.settings.states) = (2, Some(40));
    (plan.settings.limit, plan.settings.samples) = (4, 2);
    plan
}

/// Returns a plan of a checker, one step deep, on ext4 with these options on a mirror.
fn on_mirror(cx: Cx<'_>, checker: &str, ext4: Options) -> Plan {
    plan(cx, checker, stack(2, Options::none(), array(1)).plug("ext4", ext4))
}

/// Returns a plan of the checker of synced files, one step deep, on a file system on two disks.
fn on_two(cx: Cx<'_>, system: &str) -> Plan {
    let mut stack = stack(2, Options::none(), array(1));
    let layer = stack.0.last_mut().expect("the array");
    (layer.name, layer.component) = (system.to_owned(), system.to_owned());
    layer.options = Options::none();
    plan(cx, "fs-sync", stack)
}

/// Returns a plan of the checker of synced files, one step deep, on btrfs with copies on this number
/// of disks. The first may fail in this way.
fn on_copies(cx: Cx<'_>, raid: &str, disks: usize, fault: &str) -> Plan {
    let size = || Options::none().with("size", "128MiB");
    let mut stack = stack(disks, size(), Options::none());
    stack.0[1..disks].iter_mut().for_each(|leaf| leaf.options = size());
    if !fault.is_empty() {
        stack.0[0].options = size().with("faults", fault);
    }
    let layer = stack.0.last_mut().expect("the array");
    (layer.name, layer.component) = ("btrfs".to_owned(), "btrfs".to_owned());
    layer.options = Options::none().with("raid", raid);
    plan(cx, "fs-sync", stack)
}

fn plan(cx: Cx<'_>, checker: &str, stack: StackSpec) -> Plan {
    let mut plan = Plan::of_parts(cx.registry, checker, stack).expect("they are registered");
    (plan.settings.depth, plan.settings.crash_depth) = (1, 0);
    without_files(plan)
}

/// Returns an array of this number of disks. `first` are the options of the first disk.
fn stack(disks: usize, first: Options, array: Options) -> StackSpec {
    let layer = |name: &str, component: &str, children: Vec<String>, options: Options| Layer {
        name: name.to_owned(),
        component: component.to_owned(),
        children,
        options,
    };
    let names: Vec<String> = (0..disks).map(|disk| format!("d{disk}")).collect();
    let mut stack = StackSpec::default();
    for (disk, name) in names.iter().enumerate() {
        let options = if disk == 0 { first.clone() } else { Options::none() };
        stack.0.push(layer(name, "ramdisk", Vec::new(), options));
    }
    stack.0.push(layer("md", "md", names, array));
    stack
}
