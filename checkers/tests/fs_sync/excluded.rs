//! Tests of profiles that exclude the structure, as those of file systems without a journal and
//! fsck do: damage to the structure is by design, and forced data must still be there. A run is
//! refused if the profile excludes everything that the check is about.

use explode_runtime::base::{Options, RunError};
use explode_runtime::devices::InProcess;
use explode_runtime::plan::Plan;
use explode_runtime::run::{Confirmation, LocalSink, explore};

use crate::broken_files::repair_def;
use crate::{plan, registry, run};

const STRUCTURE: &str =
    "readable,kind,created-name,one-sequence,link-count,unsynced-contents,unsynced-attributes";

/// Returns the signatures of the findings of a run on such files, each with true if it is by
/// design.
fn reported(mut plan: Plan, how: &str, lying: Options) -> Vec<(String, bool)> {
    let mut registry = registry();
    registry.components.push(repair_def());
    plan.stack =
        plan.stack.plug("repair", Options::none().with("how", how)).plug("lying-sync", lying);
    // The repair must break the files only once.
    plan.settings.crash_depth = 0;
    let ran = run(&registry, &plan);
    let reported =
        ran.findings.into_keys().map(|signature| (ran.by_design.contains(&signature), signature));
    reported.map(|(by_design, signature)| (signature, by_design)).collect()
}

/// Runs three steps deep on one file.
fn reasonable(how: &str, lying: Options) -> Vec<(String, bool)> {
    let mut plan = plan(&registry(), "fs-reasonable", 3);
    plan.checker_options = plan.checker_options.with("dirs", 0_u64).with("files", 1_u64);
    reported(plan, how, lying)
}

fn expected(reported: &[(&str, bool)]) -> Vec<(String, bool)> {
    reported.iter().map(|(signature, by_design)| ((*signature).to_owned(), *by_design)).collect()
}

fn excluding(words: &str) -> Options {
    Options::none().with("excludes", words)
}

#[test]
fn a_structure_that_is_broken_hides_nothing_that_was_forced() {
    for words in ["none", STRUCTURE] {
        assert_eq!(reasonable("nothing", excluding(words)), []);
    }
    // A name that no call has made.
    let adds = |words| reasonable("adds what nobody asked for", excluding(words));
    assert_eq!(adds("none"), expected(&[("resurrected/created-name", false)]));
    assert_eq!(adds(STRUCTURE), expected(&[("resurrected/created-name", true)]));
    // The same, and a forced file is empty.
    let both = |words| reasonable("adds a name and empties what is there", excluding(words));
    assert_eq!(both("none"), expected(&[("resurrected/created-name", false)]));
    assert_eq!(
        both(STRUCTURE),
        expected(&[("lost/flushed-contents", false), ("resurrected/created-name", true)])
    );
    // A file that cannot be read, forced or not.
    let unreadable = |words| reasonable("nothing", excluding(words).with("unreadable", "/a"));
    assert_eq!(unreadable("none"), expected(&[("corrupt/readable", false)]));
    assert_eq!(
        unreadable(STRUCTURE),
        expected(&[("corrupt/flushed-contents", false), ("corrupt/readable", true)])
    );
    // A name that was removed durably.
    let again = |words| reasonable("makes /a again", excluding(words));
    assert!(again(STRUCTURE).contains(&("resurrected/deleted-name".to_owned(), false)));
}

/// A file has a mode that no call has set, before or after it is forced.
#[test]
fn a_mode_is_held_to_once_it_is_forced() {
    let modes = |words: &str| {
        let mut plan = plan(&registry(), "fs-reasonable", 2);
        plan.checker_options =
            plan.checker_options.with("dirs", 0_u64).with("files", 1_u64).with("calls", "chmod");
        reported(plan, "changes the mode of /a", excluding(words))
    };
    let unsynced = "lost/unsynced-attributes";
    assert_eq!(modes("none"), expected(&[(unsynced, false)]));
    for words in ["unsynced-attributes", STRUCTURE] {
        let found = [("lost/flushed-attributes", false), (unsynced, true)];
        assert_eq!(modes(words), expected(&found), "{words}");
    }
}

/// Stored data that is msynced is stable only if the profile keeps the promise of msync. The
/// promise of fsync holds independently of that.
#[test]
fn an_msync_that_promises_nothing_makes_nothing_stable() {
    let lying = |lies: &str, words: &str| {
        let mut plan = plan(&registry(), "simfiles-more+msync-lies", 3);
        plan.stack.0[1].options = excluding(words).with("lies", lies);
        let ran = run(&registry(), &plan);
        assert!(ran.by_design.is_empty(), "{lies}, {words}: {:?}", ran.by_design);
        ran.findings.into_keys().collect::<Vec<_>>()
    };
    for words in ["none", "synced-by-fsync", "synced-by-sync,synced-directory"] {
        let found = lying("msync", words);
        assert_eq!(found, ["corrupt/flushed-contents", "lost/flushed-contents"], "{words}");
    }
    assert_eq!(lying("msync", "synced-by-msync"), [""; 0]);
    assert_eq!(lying("fsync", "synced-by-msync"), ["lost/flushed-contents"]);
    assert_eq!(lying("fsync", "synced-by-msync,synced-by-fsync"), [""; 0]);
}

/// With this profile a file may be unreadable while it is replaced, but not once it is forced.
#[test]
fn a_replacing_file_must_be_readable_once_it_is_forced() {
    let replaced = |words: &str| {
        let lying = excluding(words).with("unreadable", "/a");
        reported(plan(&registry(), "fs-replaced", 2), "nothing", lying)
    };
    assert_eq!(replaced("none"), expected(&[("corrupt/readable", false)]));
    let found = [("corrupt/flushed-contents", false), ("corrupt/readable", true)];
    assert_eq!(replaced(STRUCTURE), expected(&found));
}

/// Returns the error of a run that is refused. `None` if the run is not refused.
fn refused(target: &str, unsynced: Option<bool>, words: &str) -> Option<RunError> {
    let registry = registry();
    let mut plan = plan(&registry, target, 1);
    if let Some(unsynced) = unsynced {
        plan.checker_options = Options::none().with("unsynced", unsynced);
    }
    plan.stack = plan.stack.plug("lying-sync", excluding(words));
    let mut confirm = |_: &std::path::Path| Confirmation::Reproduced;
    let mut sink = |_: &_| {};
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("run");
    let mut audience = LocalSink::new(Some(&out), &mut confirm, &mut sink);
    explore(&registry, &plan, &InProcess, &mut audience).err()
}

#[test]
fn a_check_of_which_nothing_is_promised_is_refused() {
    let syncs = "synced-by-sync,synced-by-fsync,synced-by-fdatasync";
    let all = format!("{syncs},synced-directory");
    let names = "replaced-name";
    let both = "replaced-name,replaced-by-rename";
    for (target, unsynced, words, is_refused) in [
        ("fs-sync", None, syncs, false),
        ("fs-sync", None, &*all, true),
        ("fs-replaced", Some(true), names, false),
        ("fs-replaced", Some(true), both, true),
        ("fs-replaced", Some(false), names, true),
        ("fs-replaced", Some(false), "replaced-by-rename", false),
        // The promises about forced data remain.
        ("fs-reasonable", None, STRUCTURE, false),
    ] {
        let said = refused(target, unsynced, words);
        assert_eq!(said.is_some(), is_refused, "{target}, {words}: {said:?}");
        assert!(
            said.is_none_or(|error| matches!(error, RunError::NotPromised(_))),
            "{target}, {words}"
        );
    }
}
