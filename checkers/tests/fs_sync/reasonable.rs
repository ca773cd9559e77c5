//! `fs-reasonable`: exact counts where all is well, and what is told where something is not.

use explode_runtime::run::Options;

use crate::broken_files::REPAIR;
use crate::{Ran, counts, plan, registry, run};

#[test]
fn what_simulated_files_leave_is_reasonable() {
    let expected = [[3, 2, 4, 6], [23, 22, 86, 142], [246, 245, 1887, 2650]];
    for (depth, expected) in (1..).zip(expected) {
        counts(&plan(&registry(), "fs-reasonable", depth), expected);
    }
    // More names, and no contents.
    let mut names = plan(&registry(), "fs-reasonable", 4);
    names.checker_options = Options::none().with("calls", "names").with("files", 3_u64);
    counts(&names, [2119, 2118, 23_885, 29_620]);
}

#[track_caller]
fn told(ran: &Ran, expected: &[(&str, &str)]) {
    let found: Vec<_> = ran.findings.iter().map(|(signature, text)| (&**signature, &**text)).collect();
    assert_eq!(found, expected);
}

#[test]
fn lies_are_told() {
    let run = |bug: &str| {
        let registry = registry();
        run(&registry, &plan(&registry, &format!("simfiles-reasonable+{bug}"), 3))
    };
    told(
        &run("sync-forgets-removals"),
        &[
            ("lost/flushed-name", "/b was forced, and is gone"),
            ("resurrected/deleted-name", "/a was deleted for good, and is there"),
        ],
    );
    told(&run("fsync-lies"), &[("lost/flushed-contents", "/a has 0 bytes, not 1000")]);
    let not_at_once = "each name can be as it is, and not all at once: names of one file lead to two, names of two to one, or \
                       one is missing whose file is there by another";
    told(
        &run("dirsync-lies"),
        &[
            ("corrupt/one-sequence", not_at_once),
            ("lost/flushed-name", "/a was forced, and is gone"),
            ("resurrected/deleted-name", "/a was deleted for good, and is there"),
        ],
    );
}

/// A file that a crash has left under two names as two is told where that is not allowed.
#[test]
fn copies_are_told_unless_they_are_allowed() {
    let not_at_once = |copies: bool| {
        let ran = broken("makes /a again", Options::none().with("copies", copies));
        ran.findings.contains_key("corrupt/one-sequence")
    };
    assert_eq!([false, true].map(not_at_once), [true, false]);
}

/// What is told of a repair that breaks files after each crash, three steps deep.
fn broken(how: &str, options: Options) -> Ran {
    let mut registry = registry();
    registry.components.push(REPAIR);
    let mut plan = plan(&registry, "fs-reasonable", 3);
    plan.stack = plan.stack.plug("repair", Options::none().with("how", how));
    plan.checker_options = options.with("far", 16_384_u64).with("dirs", 0_u64).with("files", 1_u64);
    // It is to break them once.
    plan.settings.crash_depth = 0;
    run(&registry, &plan)
}

#[test]
fn repairs_that_break_files_are_told() {
    let broken = |how| broken(how, Options::none().with("copies", false));
    told(&broken("nothing"), &[]);
    // What is set aside in lost+found is no name of anybody's.
    told(
        &broken("adds what nobody asked for"),
        &[("resurrected/created-name", "/other was never created, and is there")],
    );
    told(&broken("empties /a"), &[("lost/flushed-contents", "/a has 0 bytes, not 1000")]);
    told(&broken("makes /a a directory"), &[("corrupt/kind", "/a is a directory")]);
    let not_at_once = "each name can be as it is, and not all at once: names of one file lead to two, names of two to one, or \
                       one is missing whose file is there by another";
    // Beside the file that was renamed, in its place, and when it was deleted.
    told(
        &broken("makes /a again"),
        &[
            ("corrupt/one-sequence", not_at_once),
            ("lost/flushed-contents", "/a has 0 bytes, not 1000"),
            ("resurrected/deleted-name", "/a was deleted for good, and is there"),
        ],
    );
}

/// Contents that nobody has written are told unless they may be anything; what was forced never may.
#[test]
fn garbage_in_unsynced_contents_is_told_unless_it_is_allowed() {
    let garbage =
        |unsynced: &str| broken("puts the first /a back", Options::none().with("unsynced", unsynced));
    let unsynced = "/a has byte 97 at 0, which was never written there";
    told(&garbage("own"), &[("corrupt/unsynced-contents", unsynced)]);
    told(&garbage("any"), &[("corrupt/flushed-contents", "/a has byte 97 at 0, and 0 was forced")]);
}
