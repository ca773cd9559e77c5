//! The calls beyond the eight (`calls=more`): exact counts where all is well, and which group of them finds which lie.

use explode_runtime::run::{Options, Plan};

use crate::{counts, plan, registry, run};

/// A checker on simulated files with this lie, with these calls, so many steps deep.
fn lying(target: &str, lie: &str, calls: &str, depth: u32) -> Plan {
    let mut plan = plan(&registry(), target, depth);
    plan.checker_options = plan.checker_options.with("calls", calls);
    plan.stack = plan.stack.plug("lying-sync", Options::none().with("lies", lie));
    plan
}

/// The lie, the checker, the group of calls that finds it, how deep; counts of the twin without the lie; what is found.
type Lie = (&'static str, &'static str, &'static str, u32, [u64; 4], &'static [&'static str]);

const LIES: [Lie; 13] = [
    ("attributes", "fs-ways-fsync", "chmod", 2, [0, 0, 0, 0], &["lost/synced-directory"]),
    ("attributes", "fs-ways-fsync", "xattr", 2, [0, 0, 0, 0], &["lost/synced-directory"]),
    ("modes", "fs-ways-sync", "chmod", 2, [0, 0, 0, 0], &["lost/synced-by-sync"]),
    ("xattrs", "fs-ways-sync", "xattr", 2, [0, 0, 0, 0], &["lost/synced-by-sync"]),
    ("targets", "fs-ways-sync", "symlink", 1, [0, 0, 0, 0], &["lost/synced-by-sync"]),
    ("exchanged", "fs-ways-sync", "exchange", 3, [0, 0, 0, 0], &["corrupt/synced-by-sync"]),
    ("held", "fs-ways-sync", "held", 2, [0, 0, 0, 0], &["resurrected/synced-by-sync"]),
    ("holes", "fs-ways-fsync", "contents,punch", 3, [0, 0, 0, 0], &["corrupt/synced-by-fsync"]),
    ("shifted", "fs-ways-fsync", "contents,shift", 3, [0, 0, 0, 0], &["corrupt/synced-by-fsync"]),
    ("unnamed", "fs-ways-fsync", "tmpfile", 1, [0, 0, 0, 0], &["lost/synced-by-fsync"]),
    ("clones", "fs-ways-fsync", "contents,reflink", 4, [0, 0, 0, 0], &["lost/synced-by-fsync"]),
    ("msync", "fs-reasonable", "contents,mmap", 3, [0, 0, 0, 0], &["lost/flushed-contents"]),
    ("targets", "fs-reasonable", "symlink", 2, [0, 0, 0, 0], &["lost/flushed-contents"]),
];

#[test]
fn a_lie_is_found_by_the_calls_that_it_is_about_alone() {
    let mut wrong = Vec::new();
    for (lie, target, calls, depth, expected, words) in LIES {
        let found = |lie: &str, calls: &str| {
            let ran = run(&registry(), &lying(target, lie, calls, depth));
            let summary = &ran.summary;
            let counted = [&summary.states, &summary.operations, &summary.crash_disks, &summary.distinct];
            let counted = counted.map(|count| u64::try_from(&count.0).expect("few enough"));
            (counted, ran.findings.into_keys().collect::<Vec<_>>())
        };
        let (counted, twin) = found("none", calls);
        assert_eq!(twin, [""; 0], "{target} {calls}, without a lie");
        let (_, told) = found(lie, calls);
        if counted != expected || told != words {
            wrong.push(format!("{target} {calls} {depth}, {lie}: {counted:?} {told:?}"));
        }
        // What finds it is that group of calls.
        let others = if calls.contains("contents") { "all" } else { "names" };
        assert_eq!(found(lie, others).1, [""; 0], "{target} {others}, {lie}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn with_all_calls_what_is_synced_is_there() {
    let ways =
        ["sync", "syncfs", "fsync", "fdatasync", "o-sync", "o-dsync", "msync", "fsync-dir", "mount-sync"];
    let mut wrong = Vec::new();
    for way in ways {
        let mut plan = plan(&registry(), &format!("fs-ways-{way}"), 2);
        plan.checker_options = plan.checker_options.with("calls", "more");
        let ran = run(&registry(), &plan);
        assert_eq!(ran.signatures(), [""; 0], "{way}");
        let summary = ran.summary;
        let counted = [summary.states, summary.operations, summary.crash_disks, summary.distinct];
        wrong.push(format!("{way} {counted:?}"));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn with_all_calls_what_simulated_files_leave_is_reasonable() {
    for (depth, expected) in [(1, [0, 0, 0, 0]), (2, [0, 0, 0, 0])] {
        let mut plan = plan(&registry(), "fs-reasonable", depth);
        plan.checker_options = plan.checker_options.with("calls", "more");
        counts(&plan, expected);
    }
}
