//! Tests of `fs-ways`: exact counts if each method keeps its promise, and the method that finds
//! each lie.

use std::collections::BTreeSet;

use explode_runtime::base::{Exit, Options};
use explode_runtime::devices::InProcess;
use explode_runtime::plan::Plan;
use explode_runtime::report::Message;
use explode_runtime::run::{Confirmation, LocalSink, explore};
use explode_runtime::stack::StackSpec;

use crate::{counts, plan, registry, run};

const WAYS: [&str; 9] = [
    "sync",
    "syncfs",
    "fsync",
    "fdatasync",
    "o-sync",
    "o-dsync",
    "msync",
    "fsync-dir",
    "mount-sync",
];

#[test]
fn each_way_keeps_its_promise_with_exact_counts() {
    let expected = |way: &str| match way {
        // If everything is forced, one disk is left after each call, and equal trees are one state.
        "sync" | "syncfs" | "fsync" | "mount-sync" => [108, 479, 479, 360],
        "fdatasync" => [1626, 1625, 1429, 607],
        "o-sync" => [1626, 1625, 1707, 731],
        "o-dsync" => [1626, 1625, 1707, 735],
        "msync" => [1626, 1625, 1707, 773],
        _ => [40, 201, 201, 176],
    };
    for way in WAYS {
        counts(&plan(&registry(), &format!("fs-ways-{way}"), 4), expected(way));
    }
}

/// Returns the plan of a method on files with this lie, two calls deep.
fn lying(way: &str, lie: &str) -> Plan {
    let mut plan = plan(&registry(), &format!("fs-ways-{way}"), 2);
    let synchronous = way == "mount-sync" && lie != "mount-sync";
    plan.stack = StackSpec::default()
        .plug("simfiles", Options::none().with("sync", synchronous))
        .plug("lying-sync", Options::none().with("lies", lie));
    plan
}

#[test]
fn each_lie_is_found_by_its_way_alone() {
    let found = |lie: &str| -> Vec<&str> {
        let finds = |way: &&str| !run(&registry(), &lying(way, lie)).findings.is_empty();
        WAYS.into_iter().filter(finds).collect()
    };
    assert_eq!(found("none"), [""; 0]);
    for lie in ["sync", "syncfs", "fsync", "fdatasync", "o-sync", "o-dsync", "msync", "mount-sync"]
    {
        assert_eq!(found(lie), [lie]);
    }
    assert_eq!(found("moved"), ["fsync-dir"]);
    assert_eq!(found("removals"), ["sync"]);
    assert_eq!(found("subdirectories"), ["sync"]);
    assert_eq!(found("growth"), ["fdatasync"]);
    assert_eq!(found("files"), ["fsync", "fdatasync"]);
    // Data needs a name, so this lie is found by every method that forces names by fsync of
    // directories.
    assert_eq!(
        found("directories"),
        ["fsync", "fdatasync", "o-sync", "o-dsync", "msync", "fsync-dir"]
    );
}

#[test]
fn a_lie_is_reported_by_its_promise() {
    let reported = |way: &str, lie: &str| -> BTreeSet<String> {
        run(&registry(), &lying(way, lie)).findings.into_keys().collect()
    };
    let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(reported("sync", "sync"), set(&["lost/synced-by-sync"]));
    assert_eq!(
        reported("sync", "removals"),
        set(&["lost/synced-by-sync", "resurrected/synced-by-sync"])
    );
    assert_eq!(reported("o-sync", "o-sync"), set(&["lost/synced-by-o-sync"]));
    assert_eq!(reported("o-sync", "directories"), set(&["lost/synced-directory"]));
    // Nothing is promised about the bytes before those that were stored, so the file as a whole is
    // not promised.
    assert_eq!(
        reported("msync", "msync"),
        set(&["lost/partly-synced-by-msync", "lost/synced-by-msync"])
    );
    assert_eq!(reported("mount-sync", "mount-sync"), set(&["lost/metadata-synced-by-mount-sync"]));
    assert_eq!(
        reported("fsync-dir", "moved"),
        set(&["lost/synced-directory", "resurrected/synced-directory"])
    );
}

/// A method that the files do not support does not count as a pass.
#[test]
fn a_way_that_is_missing_is_refused() {
    let refused = |plan: &Plan, words: &str| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().join("run");
        let (mut confirm, mut sink) = (|_: &_| Confirmation::Reproduced, |_: &Message| {});
        let mut audience = LocalSink::new(Some(&out), &mut confirm, &mut sink);
        let error =
            explore(&registry(), plan, &InProcess, &mut audience).expect_err("it is refused");
        assert_eq!(error.exit(), Exit::Unsupported);
        assert!(error.to_string().contains(words), "{error}");
    };
    let mut on_simfiles = plan(&registry(), "fs-ways-mount-sync", 1);
    on_simfiles.stack = StackSpec::default().plug("simfiles", Options::none());
    refused(
        &on_simfiles,
        "unsupported: way 'mount-sync' is about a file system that is mounted with -o sync",
    );
    for way in ["syncfs", "o-sync", "o-dsync", "msync"] {
        let mut on_toyfs = plan(&registry(), &format!("fs-ways-{way}"), 1);
        on_toyfs.stack =
            StackSpec::default().plug("ramdisk", Options::none()).plug("toyfs", Options::none());
        refused(&on_toyfs, &format!("unsupported: these files have no way '{way}'"));
    }
}

#[test]
fn topologies_have_limits() {
    let registry = registry();
    let checker = registry.checker("fs-ways").expect("it is there");
    let refused = |key: &str, value: u64, words: &str| {
        let options = Options::none().with(key, value).with("dirs", 0_u64);
        let error = checker.make(&options).err().expect("it is refused");
        assert!(error.to_string().contains(words), "{error}");
    };
    refused("files", 0, "up to 20 of each, and not none of both");
    refused("files", 21, "up to 20 of each");
    refused("far", 4097, "a multiple of 4096");
}
