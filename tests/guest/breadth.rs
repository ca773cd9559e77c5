//! The file systems of which only a few disks are checked: the data that fsync and sync(2) keep on
//! a disk that flushes, and on one that ignores flushes.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use explode_ramdisk::Event;
use explode_runtime::plan::Plan;
use explode_runtime::verdict::Verdict;
use explode_runtime::writeset::Completion;

use crate::cases::Cx;
use crate::directed::{Seen, go};
use crate::report::{Line, Report};

/// Each system, and whether its sync(2) flushes the disk.
const SYSTEMS: &[(&str, bool)] = &[
    ("ext3", true),
    ("msdos", false),
    ("btrfs", true),
    ("f2fs", true),
    ("exfat", true),
    ("udf", false),
    ("reiserfs", true),
    ("overlay", true),
    ("nilfs2", true),
    ("ntfs3", false),
    ("jfs", false),
    ("hfs", false),
];

/// The systems whose drivers never flush, so that an fsync keeps nothing on a disk with a cache.
/// sync(2) keeps data only if a completed write is durable.
const NEVER_FLUSH: [&str; 2] = ["jfs", "hfs"];

/// The writes of JFS depend on earlier work of the guest (docs/results/file-systems.md).
const NOT_COMPARED: [&str; 1] = ["jfs"];

/// Returns the systems whose log is the same in every guest.
pub fn same_everywhere() -> impl Iterator<Item = &'static str> {
    SYSTEMS.iter().map(|(system, _)| *system).filter(|system| !NOT_COMPARED.contains(system))
}

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    logs(cx, report);
    for &(system, flushes) in SYSTEMS {
        report.case(&format!("{system}: found where flushes do nothing, and only there"), |_| {
            if NEVER_FLUSH.contains(&system) {
                return without_flushes(cx, system);
            }
            let fsync = ["write /a; fsync /a, /"];
            // A ReiserFS disk without flushes ends the guest, so the host tests that (`host.rs`).
            if system != "reiserfs" {
                assert!(is_lost(&some(cx, &format!("{system}+flush-lies"), &fsync)));
            }
            let kept = some(cx, &format!("fs-sync-{system}"), &fsync);
            assert!(kept.checked > 0 && kept.errors.is_empty(), "{:?}", kept.errors);
        });
        report.case(&format!("{system}: what sync(2) keeps"), |_| {
            let seen = some(cx, &format!("fs-sync-{system}"), &["write /a", "sync"]);
            let flushed = seen.events.iter().any(|event| matches!(event, Event::Flush { .. }))
                || seen.events.iter().any(preflushes);
            assert_eq!((flushed, seen.errors.is_empty()), (flushes, flushes), "{:?}", seen.errors);
        });
    }
}

/// Runs one workload on each system. The host compares the logs with those of another guest.
fn logs(cx: Cx<'_>, report: &mut Report) {
    report.case(LOGS, |report| {
        for system in same_everywhere() {
            let way = ["write /a behind a hole; fsync /a, /", "mkdir /d; write /d/c", "sync"];
            let seen = some(cx, &format!("fs-sync-{system}"), &way);
            let mut hasher = DefaultHasher::new();
            seen.events.iter().for_each(|event| format!("{event:?}").hash(&mut hasher));
            report.say(&Line::Log(system.to_owned(), seen.events.len() as u64, hasher.finish()));
        }
    });
}

/// The name of the case in which a guest reports its logs.
pub const LOGS: &str = "in breadth: one workload on each";

/// The canary of a driver that never flushes, and its twin, on another disk.
fn without_flushes(cx: Cx<'_>, system: &str) {
    let sync = ["write /a", "sync"];
    let lies = some(cx, &format!("{system}+flush-lies"), &sync);
    assert!(
        is_lost(&lies) && !lies.events.iter().any(|event| matches!(event, Event::Flush { .. }))
    );
    let mut plan = cx.plan(&format!("fs-sync-{system}"));
    plan.settings.rules.completion = Completion::Durable;
    let kept = some_of(cx, plan, &sync);
    assert!(kept.checked > 0 && kept.errors.is_empty(), "{:?}", kept.errors);
}

/// Runs these steps and checks eight disks of their end.
fn some(cx: Cx<'_>, target: &str, steps: &[&str]) -> Seen {
    some_of(cx, cx.plan(target), steps)
}

fn some_of(cx: Cx<'_>, mut plan: Plan, steps: &[&str]) -> Seen {
    (plan.settings.limit, plan.settings.samples) = (8, 8);
    go(cx.registry, &plan, cx.backend, steps)
}

fn is_lost(seen: &Seen) -> bool {
    seen.errors.iter().any(|(error, _)| error.verdict == Verdict::Lost)
}

fn preflushes(event: &Event) -> bool {
    matches!(event, Event::Submit { flags, .. } if flags.preflush)
}
