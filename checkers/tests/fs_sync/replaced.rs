//! Tests of `fs-replaced`: exact counts if a rename is atomic and the new file was forced, and the
//! findings otherwise.

use explode_runtime::base::Options;

use crate::{Ran, counts, plan, registry, run};

fn found(target: &str, depth: u32) -> Vec<(String, String)> {
    let Ran { findings, .. } = run(&registry(), &plan(&registry(), target, depth));
    findings.into_iter().collect()
}

#[test]
fn a_replaced_file_is_whole_with_exact_counts() {
    for (depth, expected) in [(1, [3, 2, 52, 54]), (2, [9, 8, 446, 376]), (3, [25, 24, 2278, 1752])]
    {
        counts(&plan(&registry(), "fs-replaced", depth), expected);
    }
    // The rename forces a file that the writer has not forced.
    for (depth, expected) in [(1, [5, 4, 104, 108]), (2, [25, 24, 1652, 1360])] {
        counts(&plan(&registry(), "simfiles-replaced", depth), expected);
    }
}

#[test]
fn losses_of_a_replaced_file_are_reported() {
    let reported = |target: &str, expected: &[(&str, &str)]| {
        let found = found(target, 2);
        let found: Vec<_> = found.iter().map(|(signature, text)| (&**signature, &**text)).collect();
        assert_eq!(found, expected, "{target}");
    };
    reported(
        "simfiles-replaced+not-forced",
        &[(
            "lost/replaced-by-rename",
            "/a has 0 bytes of one version, and versions have 12288, 1000",
        )],
    );
    reported(
        "simfiles-replaced+rename-in-steps",
        &[("lost/replaced-name", "/a was replaced, and is gone")],
    );
}

/// No other checker demands that a rename is atomic, so the others find nothing if it takes steps.
#[test]
fn no_other_check_finds_a_rename_in_steps() {
    for (target, depth) in
        [("fs-sync", 3), ("fs-ways-sync", 3), ("fs-ways-fsync", 3), ("fs-reasonable", 3)]
    {
        let mut plan = plan(&registry(), target, depth);
        plan.stack = plan.stack.plug("rename-in-steps", Options::none().with("steps", true));
        assert_eq!(run(&registry(), &plan).signatures(), [""; 0], "{target}");
    }
}

/// While a file is replaced, rename promises its contents. Once it is forced, fsync does.
#[test]
fn a_lie_of_fsync_is_reported() {
    let lying = |lies: &str| {
        let mut plan = plan(&registry(), "fs-replaced", 2);
        plan.stack = plan.stack.plug("lying-sync", Options::none().with("lies", lies));
        run(&registry(), &plan).findings.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(lying("none"), [""; 0]);
    assert_eq!(lying("fsync"), ["lost/replaced-name"]);
}

/// If no directory can be fsynced, sync(2) forces the names. Nothing is lost, and a sync(2) that
/// lies is found.
#[test]
fn names_are_forced_where_a_directory_cannot_be_fsynced() {
    let refusing = |lies: &str| {
        let mut plan = plan(&registry(), "fs-replaced", 2);
        plan.stack =
            plan.stack.plug("lying-sync", Options::none().with("refuses", true).with("lies", lies));
        plan
    };
    counts(&refusing("none"), [9, 8, 446, 376]);
    let found = run(&registry(), &refusing("sync")).findings;
    let found: Vec<_> = found.iter().map(|(signature, text)| (&**signature, &**text)).collect();
    assert_eq!(found, [("lost/replaced-name", "/a was replaced, and is gone")]);
}
