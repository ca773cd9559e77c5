//! Tests of the targets: exact counts if syncs keep their promises, and the findings if they lie.

use explode_runtime::base::Options;

use crate::{plan, registry, run};

/// Returns the numbers of states, operations, crash disks and distinct checks.
fn counts(target: &str, depth: u32) -> [u64; 4] {
    let registry = registry();
    let ran = run(&registry, &plan(&registry, target, depth));
    assert_eq!(ran.signatures(), [""; 0]);
    let summary = ran.summary;
    [summary.states, summary.operations, summary.crash_disks, summary.distinct]
        .map(|count| u64::try_from(&count.0).expect("few enough"))
}

#[test]
fn synced_data_survives_with_exact_counts() {
    // Eight steps change an empty tree. Four of them sync a file and its name, and leave one disk
    // each. One step syncs a file only. After it the name is there or not.
    assert_eq!(counts("fs-sync", 1), [1 + 8, 8, 4 + 2, 4 + 2]);
    assert_eq!(counts("fs-sync", 2), [98, 97, 385, 362]);
    assert_eq!(counts("fs-sync", 3), [1_165, 1_164, 14_069, 10_049]);
    assert_eq!(counts("fs-sync", 4), [14_192, 14_191, 346_909, 110_792]);
}

/// Without the lies the stack with lying syncs equals the stack below it.
#[test]
fn without_lies_the_stack_equals_the_one_below() {
    let registry = registry();
    let mut honest = plan(&registry, "simfiles-sync+fsync-lies", 3);
    honest.stack.0[1].options = Options::none().with("lies", "none");
    let ran = run(&registry, &honest);
    assert_eq!(ran.signatures(), [""; 0]);
    assert_eq!(ran.summary.distinct, 10_049.into());
}

#[test]
fn a_loss_is_reported_by_the_call_that_lied() {
    let registry = registry();
    let found = |bug: &str, expected: &[(&str, &str)]| {
        let ran = run(&registry, &plan(&registry, &format!("simfiles-sync+{bug}"), 2));
        let found: Vec<_> =
            ran.findings.iter().map(|(signature, text)| (&**signature, &**text)).collect();
        assert_eq!(found, expected, "{bug}");
    };
    found(
        "fsync-lies",
        &[
            ("lost/partly-synced-by-fdatasync", "/a has 0 bytes, not 4096"),
            ("lost/partly-synced-by-fsync", "/a has 0 bytes, not 4096"),
            ("lost/synced-by-fsync", "/a has 0 bytes, not 4096"),
        ],
    );
    found("dirsync-lies", &[("lost/synced-directory", "/a is gone")]);
    found(
        "fdatasync-forgets-growth",
        &[
            ("lost/partly-synced-by-fdatasync", "/a has 0 bytes, not 4096"),
            ("lost/synced-by-fdatasync", "/a has 4096 bytes, not 8192"),
        ],
    );
    found("sync-forgets-subdirectories", &[("lost/synced-by-sync", "/d/c is gone")]);
}

#[test]
fn a_hole_is_whole_blocks() {
    let registry = registry();
    let checker = registry.checker("fs-sync").expect("it is there");
    for hole in [0, 4097, 128 << 20] {
        let refused =
            checker.make(&Options::none().with("hole", hole as u64)).err().expect("no hole");
        assert!(refused.to_string().contains("multiple of 4096"), "{refused}");
    }
    // The default hole needs indirect blocks. It is explored like any other.
    let mut far = plan(&registry, "fs-sync", 2);
    far.checker_options = Options::none().with("start", "empty");
    assert_eq!(run(&registry, &far).summary.distinct, 362.into());
}
