//! Tests of the calls beyond the eight of the paper (`calls=more`): exact counts on files without
//! lies, and the group of calls that finds each lie.

use explode_runtime::base::Options;
use explode_runtime::check::CheckerDef;
use explode_runtime::plan::Plan;
use explode_runtime::stack::StackSpec;

use crate::{counts, plan, registry, run};

/// Returns the plan of a target on simulated files with this lie, these calls and this depth.
fn lying(target: &str, lie: &str, calls: &str, depth: u32) -> Plan {
    let mut plan = plan(&registry(), target, depth);
    plan.checker_options = plan.checker_options.with("calls", calls);
    plan.stack = plan.stack.plug("lying-sync", Options::none().with("lies", lie));
    plan
}

/// The lie, the target, the group of calls that finds it, the depth, the counts without the lie,
/// and the findings.
type Lie = (&'static str, &'static str, &'static str, u32, [u64; 4], &'static [&'static str]);

const LIES: [Lie; 13] = [
    ("attributes", "fs-ways-fsync", "chmod", 2, [11, 15, 15, 14], &["lost/synced-by-fsync"]),
    ("attributes", "fs-ways-fsync", "xattr", 2, [13, 17, 17, 16], &["lost/synced-by-fsync"]),
    ("modes", "fs-ways-sync", "chmod", 2, [11, 15, 15, 14], &["lost/synced-by-sync"]),
    ("xattrs", "fs-ways-sync", "xattr", 2, [13, 17, 17, 16], &["lost/synced-by-sync"]),
    ("targets", "fs-ways-sync", "symlink", 1, [5, 4, 4, 4], &["lost/synced-by-sync"]),
    ("exchanged", "fs-ways-sync", "exchange", 3, [20, 67, 67, 59], &["corrupt/synced-by-sync"]),
    ("held", "fs-ways-sync", "held", 2, [9, 14, 14, 12], &["resurrected/synced-by-sync"]),
    (
        "holes",
        "fs-ways-fsync",
        "contents,punch",
        3,
        [38, 112, 112, 89],
        &["corrupt/synced-by-fsync"],
    ),
    (
        "shifted",
        "fs-ways-fsync",
        "contents,shift",
        3,
        [40, 114, 114, 91],
        &["corrupt/synced-by-fsync", "lost/synced-by-fsync"],
    ),
    ("unnamed", "fs-ways-fsync", "tmpfile", 1, [4, 3, 3, 3], &["lost/synced-by-fsync"]),
    (
        "clones",
        "fs-ways-fsync",
        "contents,reflink",
        4,
        [108, 482, 482, 362],
        &["lost/synced-by-fsync"],
    ),
    (
        "msync",
        "fs-reasonable",
        "contents,mmap",
        3,
        [139, 226, 1753, 2435],
        &["corrupt/flushed-contents", "lost/flushed-contents"],
    ),
    ("targets", "fs-reasonable", "symlink", 2, [37, 45, 296, 484], &["lost/flushed-contents"]),
];

#[test]
fn each_lie_is_found_by_its_calls_alone() {
    let mut wrong = Vec::new();
    for (lie, target, calls, depth, expected, words) in LIES {
        let found = |lie: &str, calls: &str| {
            let ran = run(&registry(), &lying(target, lie, calls, depth));
            let summary = &ran.summary;
            let counted =
                [&summary.states, &summary.operations, &summary.crash_disks, &summary.distinct];
            let counted = counted.map(|count| u64::try_from(&count.0).expect("few enough"));
            (counted, ran.findings.into_keys().collect::<Vec<_>>())
        };
        let (counted, twin) = found("none", calls);
        assert_eq!(twin, [""; 0], "{target} {calls}, without a lie");
        let (_, findings) = found(lie, calls);
        if counted != expected || findings != words {
            wrong.push(format!("{target} {calls} {depth}, {lie}: {counted:?} {findings:?}"));
        }
        // Only that group of calls finds the lie.
        let others = if calls.contains("contents") { "all" } else { "names" };
        assert_eq!(found(lie, others).1, [""; 0], "{target} {others}, {lie}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Runs two calls deep, with all calls to which the method applies.
#[test]
fn with_all_calls_synced_data_survives() {
    let expected = [
        ("sync", [45, 80, 80, 65]),
        ("syncfs", [45, 80, 80, 65]),
        // Symbolic links are not forced, so states with equal trees can differ.
        ("fsync", [81, 80, 90, 63]),
        ("fdatasync", [72, 71, 49, 37]),
        ("o-sync", [64, 63, 44, 38]),
        ("o-dsync", [64, 63, 44, 38]),
        ("msync", [64, 63, 44, 38]),
        ("fsync-dir", [41, 40, 46, 30]),
        ("mount-sync", [45, 80, 80, 66]),
    ];
    for (way, expected) in expected {
        let mut plan = plan(&registry(), &format!("fs-ways-{way}"), 2);
        plan.checker_options = plan.checker_options.with("calls", "more");
        counts(&plan, expected);
    }
}

#[test]
fn with_all_calls_simulated_files_are_reasonable() {
    for (depth, expected) in [(1, [6, 5, 20, 33]), (2, [68, 93, 1001, 1450])] {
        let mut plan = plan(&registry(), "fs-reasonable", depth);
        plan.checker_options = plan.checker_options.with("calls", "more");
        counts(&plan, expected);
    }
}

/// Every call of `full` on two committed trees that were or were not mounted again: 4 starts, and 442
/// or 1628 workloads on each. A store through a mapping is stable only when its msync has returned.
#[test]
fn with_all_calls_workloads_of_one_call_are_clean() {
    let mut plan = plan(&registry(), "fs-workloads", 2);
    let options = plan.checker_options.with("alphabet", "full").with("start", "committed");
    plan.checker_options = options.with("descriptors", "closed");
    counts(&plan, [4_145, 4 + 2 * (442 + 1_628), 15_580, 3_237]);
}

/// Simulated files may leave half of an exchange. Only a journal promises not to.
#[test]
fn half_an_exchange_is_reported_if_exchanges_must_be_whole() {
    let found = |exchange: &str| {
        let mut plan = plan(&registry(), "fs-reasonable", 4);
        let options =
            plan.checker_options.with("calls", "exchange").with("files", 1_u64).with("dirs", 1_u64);
        plan.checker_options = options.with("exchange", exchange);
        run(&registry(), &plan).findings.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(found("half"), [""; 0]);
    assert_eq!(found("whole"), ["corrupt/one-sequence"]);
}

/// Calls that a file system does not support are left out, and reported as left out.
#[test]
fn calls_that_are_missing_are_left_out_and_named() {
    let mut plan = plan(&registry(), "fs-reasonable", 2);
    plan.stack =
        StackSpec::default().plug("ramdisk", Options::none()).plug("toyfs", Options::none());
    plan.checker_options =
        Options::none().with("calls", "contents,xattr,exchange,held").with("far", 16_384_u64);
    assert_eq!(run(&registry(), &plan).left_out, ["xattr", "exchange"]);
    plan.checker_options = Options::none().with("far", 16_384_u64);
    assert_eq!(run(&registry(), &plan).left_out, [""; 0]);
}

/// By default the first mutate chooses one of five starts: the files of the stack, from which it
/// goes on at once, or one of two committed trees, mounted again or not. A lie about files that
/// were there at the mount is found on these trees alone.
#[test]
fn checkers_begin_on_committed_trees() {
    for (target, expected) in
        [("fs-ways-fsync", [109, 160, 156, 145]), ("fs-reasonable", [151, 166, 482, 443])]
    {
        let mut started = plan(&registry(), target, 2);
        started.checker_options = started.checker_options.with("start", "both");
        counts(&started, expected);
        let found = |start: &str| {
            let mut plan = lying(target, "old", "all", 3);
            plan.checker_options = plan.checker_options.with("start", start);
            run(&registry(), &plan).findings.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(found("empty"), [""; 0], "{target}");
        let word = if target == "fs-reasonable" { "flushed-contents" } else { "synced-by-fsync" };
        assert!(
            found("committed").contains(&format!("lost/{word}")),
            "{target}: {:?}",
            found("committed")
        );
    }
}

#[test]
fn every_checker_begins_on_committed_files_by_default() {
    let registry = registry();
    let start = |checker: &CheckerDef| {
        let start = checker.options.iter().find(|option| option.name == "start")?;
        Some((checker.name.clone().into_owned(), start.default))
    };
    let starts: Vec<_> = registry.checkers.iter().filter_map(start).collect();
    assert!(starts.iter().all(|(_, default)| *default == "both"), "{starts:?}");
    assert_eq!(starts.len(), 9, "{starts:?}");
    let target = registry.target("fs-sync").expect("it is there");
    let mut plan = Plan::of(&registry, target).expect("so are its components");
    plan.settings.depth = 2;
    counts(&plan, [124, 123, 435, 387]);
}

/// The checkers of steps begin on files of their own that are synced, also mounted again. A lie
/// about files that were there at the mount is found on the second of these starts alone.
#[test]
fn checkers_of_steps_begin_on_committed_files() {
    let with = |plan: &Plan, start: &str| {
        let checker_options = plan.checker_options.clone().with("start", start);
        Plan { checker_options, ..plan.clone() }
    };
    let replaced = |mut plan: Plan| {
        plan.checker_options = plan.checker_options.with("unsynced", false);
        plan
    };
    let plan = |target: &str| plan(&registry(), target, 2);
    counts(&with(&plan("fs-sync"), "both"), [124, 123, 435, 387]);
    counts(&with(&plan("fs-moved"), "both"), [43, 42, 424, 408]);
    counts(&with(&replaced(plan("fs-replaced")), "both"), [15, 14, 550, 376]);
    counts(&with(&plan("fs-basic"), "both"), [211, 210, 32, 6]);
    let failures = Plan { checker: "fs-failures".to_owned(), ..plan("fs-basic") };
    counts(&with(&failures, "both"), [85, 84, 83, 67]);

    let mut lying = plan("fs-sync");
    lying.stack = lying.stack.plug("lying-sync", Options::none().with("lies", "old"));
    let found = |start: &str| run(&registry(), &with(&lying, start)).findings;
    assert_eq!(found("empty").into_keys().collect::<Vec<_>>(), [""; 0]);
    let words = ["lost/synced-by-fsync"];
    for start in ["committed", "mounted"] {
        assert_eq!(found(start).into_keys().collect::<Vec<_>>(), words, "{start}");
    }
    counts(&with(&plan("fs-sync"), "mounted"), [14, 13, 25, 25]);
}

/// Without a promise of sync the files are committed by the unmount, so they are always mounted
/// again.
#[test]
fn without_a_promise_of_sync_files_are_committed_by_the_unmount() {
    for (excluded, starts) in [("none", 2), ("synced-by-sync", 1)] {
        let mut plan = plan(&registry(), "fs-sync", 1);
        plan.checker_options = plan.checker_options.with("start", "committed");
        plan.stack = plan.stack.plug("lying-sync", Options::none().with("excludes", excluded));
        counts(&plan, [1 + starts, starts, 0, 0]);
    }
}

/// If sync(2) loses what the start has made, another method is not accused of it. The mounted trees
/// do not depend on sync(2).
#[test]
fn a_loss_of_the_start_is_due_to_sync() {
    for way in ["fsync", "fdatasync", "o-sync", "o-dsync", "msync", "fsync-dir"] {
        let found = |start: &str| {
            let mut plan = lying(&format!("fs-ways-{way}"), "sync", "all", 2);
            plan.checker_options = plan.checker_options.with("start", start);
            run(&registry(), &plan).findings.into_keys().collect::<Vec<_>>()
        };
        let mut committed = found("committed");
        // A directory whose inode sync(2) has lost was renamed, and its new name was forced.
        committed.retain(|word| way != "fsync-dir" || word != "lost/synced-directory");
        assert!(committed.contains(&"lost/synced-by-sync".to_owned()), "{way}: {committed:?}");
        assert!(committed.iter().all(|word| word.ends_with("by-sync")), "{way}: {committed:?}");
        assert_eq!(found("mounted"), [""; 0], "{way}");
    }
}
