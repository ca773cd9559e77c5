//! Tests of `fs-reasonable`: exact counts on correct files, and the findings on incorrect ones.

use explode_runtime::base::Options;
use explode_runtime::plan::Plan;
use explode_runtime::report::Summary;

use crate::broken_files::repair_def;
use crate::{Ran, plan, registry, run};

/// Returns the numbers of states, topologies, operations, crash disks and distinct checks of a run
/// without findings.
fn counted(plan: &Plan) -> [u64; 5] {
    let ran = run(&registry(), plan);
    assert_eq!(ran.signatures(), [""; 0]);
    let Summary { states, topologies, operations, crash_disks, distinct, .. } = ran.summary;
    let topologies = topologies.expect("it says its topologies");
    [states, topologies, operations, crash_disks, distinct]
        .map(|count| u64::try_from(&count.0).expect("few enough"))
}

#[test]
fn simulated_files_are_reasonable_with_exact_counts() {
    let at = |depth| counted(&plan(&registry(), "fs-reasonable", depth));
    // One step deep there are an empty tree, a file and a directory. Two steps deep a file and a
    // directory are one state in either order, and so is the empty tree after a file or a directory
    // was removed.
    assert_eq!(
        [1, 2, 3].map(at),
        [[3, 3, 2, 4, 6], [21, 12, 22, 86, 142], [137, 37, 224, 1721, 2387]]
    );
    // More names, without contents.
    let mut names = plan(&registry(), "fs-reasonable", 4);
    let more = Options::none().with("calls", "names").with("files", 3_u64);
    names.checker_options = more.with("start", "empty");
    assert_eq!(counted(&names), [584, 57, 1205, 12_654, 17_263]);
}

/// A complete run visits every topology. With one file and one directory these are neither of them,
/// either one alone, both side by side, and one in the other. `fs-ways` has no other states.
#[test]
fn all_topologies_are_counted_once() {
    let of = |target: &str, depth| {
        let mut plan = plan(&registry(), target, depth);
        plan.checker_options =
            plan.checker_options.with("calls", "names").with("files", 1_u64).with("dirs", 1_u64);
        let [states, topologies, ..] = counted(&plan);
        (states, topologies)
    };
    assert_eq!([2, 3, 4].map(|depth| of("fs-ways-sync", depth)), [(5, 5); 3]);
    assert_eq!([2, 3, 4].map(|depth| of("fs-reasonable", depth)), [(14, 5), (49, 5), (155, 5)]);
}

#[track_caller]
fn expect_findings(ran: &Ran, expected: &[(&str, &str)]) {
    let found: Vec<_> =
        ran.findings.iter().map(|(signature, text)| (&**signature, &**text)).collect();
    assert_eq!(found, expected);
}

#[test]
fn lies_are_reported() {
    let run = |bug: &str| {
        let registry = registry();
        run(&registry, &plan(&registry, &format!("simfiles-reasonable+{bug}"), 3))
    };
    expect_findings(
        &run("sync-forgets-removals"),
        &[
            ("lost/flushed-name", "/b was forced, and is gone"),
            ("resurrected/deleted-name", "/a was deleted for good, and is there"),
        ],
    );
    expect_findings(&run("fsync-lies"), &[("lost/flushed-contents", "/a has 0 bytes, not 1000")]);
    let not_at_once = "each name can be as it is, and not all at once: names of one file lead to \
                       two, names of two to one, or \
                       one is missing whose file is there by another";
    expect_findings(
        &run("dirsync-lies"),
        &[
            ("corrupt/one-sequence", not_at_once),
            ("lost/flushed-name", "/a was forced, and is gone"),
            ("resurrected/deleted-name", "/a was deleted for good, and is there"),
        ],
    );
}

/// A file is fsynced by each of its names. Four steps deep, no other step finds an fsync that has
/// no effect by the second name.
#[test]
fn a_file_is_forced_by_each_of_its_names() {
    let lying = |lies: &str| {
        let mut plan = plan(&registry(), "simfiles-reasonable+fsync-lies", 4);
        plan.stack.0[1].options = Options::none().with("lies", lies);
        plan.checker_options = plan.checker_options.with("dirs", 0_u64);
        run(&registry(), &plan)
    };
    expect_findings(&lying("none"), &[]);
    expect_findings(&lying("linked"), &[("lost/flushed-contents", "/b has 0 bytes, not 1000")]);
}

/// One file that a crash has left as two files under two names is reported if that is not allowed.
#[test]
fn copies_are_reported_unless_allowed() {
    let not_at_once = |copies: bool| {
        let ran = broken("makes /a again", Options::none().with("copies", copies));
        ran.findings.contains_key("corrupt/one-sequence")
    };
    assert_eq!([false, true].map(not_at_once), [true, false]);
}

/// Runs three steps deep with a repair that breaks files after each crash.
fn broken(how: &str, options: Options) -> Ran {
    let mut registry = registry();
    registry.components.push(repair_def());
    let mut plan = plan(&registry, "fs-reasonable", 3);
    plan.stack = plan.stack.plug("repair", Options::none().with("how", how));
    let options = options.with("far", 16_384_u64).with("dirs", 0_u64).with("files", 1_u64);
    plan.checker_options = options.with("start", "empty");
    // The repair must break the files only once.
    plan.settings.crash_depth = 0;
    run(&registry, &plan)
}

#[test]
fn repairs_that_break_files_are_reported() {
    let broken = |how| broken(how, Options::none().with("copies", false));
    expect_findings(&broken("nothing"), &[]);
    // Files in lost+found are not reported.
    expect_findings(
        &broken("adds what nobody asked for"),
        &[("resurrected/created-name", "/other was never created, and is there")],
    );
    expect_findings(
        &broken("empties /a"),
        &[("lost/flushed-contents", "/a has 0 bytes, not 1000")],
    );
    expect_findings(&broken("makes /a a directory"), &[("corrupt/kind", "/a is a directory")]);
    let not_at_once = "each name can be as it is, and not all at once: names of one file lead to \
                       two, names of two to one, or \
                       one is missing whose file is there by another";
    // The file appears beside the renamed one, in its place, and after it was deleted.
    expect_findings(
        &broken("makes /a again"),
        &[
            ("corrupt/one-sequence", not_at_once),
            ("lost/flushed-contents", "/a has 0 bytes, not 1000"),
            ("resurrected/deleted-name", "/a was deleted for good, and is there"),
        ],
    );
}

/// Contents that were never written are reported unless unsynced contents may be anything. Forced
/// contents may never be anything else.
#[test]
fn garbage_in_unsynced_contents_is_reported_unless_allowed() {
    let garbage = |unsynced: &str| {
        broken("puts the first /a back", Options::none().with("unsynced", unsynced))
    };
    let unsynced = "/a has byte 97 at 0, which was never written there";
    expect_findings(&garbage("own"), &[("corrupt/unsynced-contents", unsynced)]);
    expect_findings(
        &garbage("any"),
        &[("corrupt/flushed-contents", "/a has byte 97 at 0, and 0 was forced")],
    );
}
