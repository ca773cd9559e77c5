//! Tests of `fs-moved`: exact counts if a rename is one change, and the findings if it is two.

use explode_runtime::base::Options;

use crate::{counts, plan, registry, run};

#[test]
fn a_journal_keeps_moved_files_under_one_name() {
    // Each of two nodes can move to two other directories. Then the moved node can be forced, and
    // so can both of its directories.
    for (depth, expected) in [(1, [5, 4, 4, 8]), (2, [33, 32, 416, 400])] {
        counts(&plan(&registry(), "fs-moved", depth), expected);
    }
}

/// The new name is written first, then the old one. A crash leaves both names or, once the old
/// directory is forced, neither.
#[test]
fn a_move_in_two_writes_is_reported() {
    let found = run(&registry(), &plan(&registry(), "simfiles-moved+two-names", 2)).findings;
    let findings: Vec<_> = found.into_iter().collect();
    let expected = [
        ("corrupt/moved-name", "one thing was moved, and both /x and /a/x are there"),
        ("lost/moved-name", "neither /a/x nor /x is there"),
    ];
    assert_eq!(findings, expected.map(|(signature, text)| (signature.to_owned(), text.to_owned())));
}

/// A sync that lies is reported by the promise that it breaks.
#[test]
fn lies_of_syncs_are_reported() {
    let lying = |lies: &str| {
        let mut plan = plan(&registry(), "fs-moved", 2);
        plan.stack = plan.stack.plug("lying-sync", Options::none().with("lies", lies));
        run(&registry(), &plan).findings.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(lying("none"), [""; 0]);
    // fsync of a directory commits the journal, with all data written to files before.
    assert_eq!(lying("fsync"), [""; 0]);
    assert_eq!(lying("directories"), ["lost/flushed-name", "resurrected/deleted-name"]);
}
