//! Tests that the profile of each system of the matrix has a line for every promise that a check of
//! the matrix can report. Without the line a finding would be reported as a bug although no
//! document promises anything.

use std::collections::BTreeSet;

use explode_ramdisk::{Image, Recording};
use explode_runtime::base::Options;
use explode_runtime::devices::{Backend as _, HostId, InProcess, Side};
use explode_runtime::plan::{MatrixColumn, Registry};
use explode_runtime::stack::{Stack, StackSpec};
use explode_runtime::verdict::Profile;
use explode_runtime::writeset::DeviceRules;

use super::model::SyncCall;
use super::reasonable::words::{EXCLUDABLE, STRUCTURE, all};
use super::{failures, matrix_columns, moved, reasonable, replaced, sync, sync_methods, workloads};

const WITHOUT_A_CRASH: &str = "call-has-its-effect";

fn every_sync() -> impl Iterator<Item = &'static str> {
    SyncCall::words(&SyncCall::ALL).into_iter()
}

/// Returns the words of a checker.
fn words(checker: &str) -> Vec<String> {
    let owned = |words: &mut dyn Iterator<Item = &'static str>| words.map(str::to_owned).collect();
    match checker {
        name if name == sync::NAME => owned(&mut every_sync()),
        name if name == sync_methods::NAME => owned(&mut every_sync().chain([WITHOUT_A_CRASH])),
        name if name == reasonable::NAME => owned(&mut all().chain([WITHOUT_A_CRASH])),
        name if name == workloads::NAME => owned(&mut all().chain(["moved-name"])),
        name if name == replaced::NAME => owned(&mut replaced::words()),
        name if name == moved::NAME => owned(&mut moved::WORDS.into_iter()),
        name if name == failures::NAME => failures::words(),
        name => panic!("what are the words of {name}?"),
    }
}

fn registry() -> Registry {
    let mut registry = Registry::default();
    explode_components::register(&mut registry);
    crate::register(&mut registry);
    registry
}

/// Returns the rows of the matrix, the same systems with options that change their promises, and
/// overlay on each.
fn systems(registry: &Registry) -> Vec<(String, Profile)> {
    let rows = registry.rows.iter().map(|row| (row.name.to_owned(), row.stack.clone()));
    let others = [
        ("ext3", "data", "journal"),
        ("ext3", "data", "writeback"),
        ("ext4", "data", "journal"),
        ("ext4", "data", "writeback"),
        ("nilfs2", "order", "strict"),
        ("f2fs", "fsync_mode", "nobarrier"),
    ];
    let others = others.map(|(system, option, value)| {
        let stack = StackSpec::default().plug(system, Options::none().with(option, value));
        (format!("{system} with {option}={value}"), stack)
    });
    let unrepaired = ["ext2", "exfat", "minix", "msdos", "vfat"].map(|system| {
        let stack = StackSpec::default().plug(system, Options::none().with("fsck", false));
        (format!("{system} without fsck"), stack)
    });
    let stack = StackSpec::default().plug("btrfs", Options::none().with("datacow", false));
    let in_place = [("btrfs without datacow".to_owned(), stack)];
    let alone = rows.chain(others).chain(unrepaired).chain(in_place);
    let both = alone.flat_map(|(name, stack)| {
        let overlay = stack.clone().plug("overlay", Options::none());
        let has_one = stack.components().contains(&"overlay");
        let on = (!has_one).then(|| (format!("overlay on {name}"), overlay));
        [(name, stack)].into_iter().chain(on)
    });
    let profile = |(name, stack): (String, StackSpec)| {
        let profile = registry.components.profile_of(&stack).unwrap();
        (name, profile.expect("it has a profile"))
    };
    both.map(profile).collect()
}

/// Returns one line of text for each word of a check that has no line in a profile.
fn missing(systems: &[(String, Profile)]) -> Vec<String> {
    let mut missing = Vec::new();
    for column in matrix_columns::columns() {
        let words = words(column.checker);
        for (name, profile) in systems {
            let has = |word: &String| profile.promises.iter().any(|line| line.name == *word);
            let without = words.iter().filter(|word| !has(word));
            missing.extend(
                without.map(|word| format!("{name}: no line for {word} ({})", column.name)),
            );
        }
    }
    missing
}

#[test]
fn each_system_has_a_line_for_each_word() {
    let registry = registry();
    let mut systems = systems(&registry);
    assert_eq!(missing(&systems), [""; 0]);
    // The test detects a missing line.
    let (name, profile) = &mut systems[0];
    profile.promises.retain(|line| line.name != "readable");
    let expected = format!("{name}: no line for readable (reasonable)");
    let missing = missing(&systems);
    assert!(
        missing.contains(&expected) && missing.iter().all(|line| line.contains("readable")),
        "{missing:?}"
    );
}

/// The promises that a check is about are words that it can report.
#[test]
fn the_promises_of_a_column_are_those_of_its_checker() {
    let registry = registry();
    // The file system is mounted synchronously, because one of the checks needs that.
    let spec = StackSpec::default().plug("simfiles", Options::none().with("sync", true));
    let disks = InProcess.disks(HostId::default(), Side::Live, Image::new(), Recording::Off, 0);
    let mut stack =
        Stack::build(&spec, &registry.components, disks, DeviceRules::default(), 0).unwrap();
    stack.start_first().unwrap();
    for column in matrix_columns::columns() {
        let def = registry.checkers.iter().find(|def| def.name == column.checker).unwrap();
        let words = words(&def.name);
        let about = (def.build)(&column.options).unwrap().facts(&stack).unwrap().promises;
        assert!(
            about.iter().all(|word| words.iter().any(|known| known == word)),
            "{}: {about:?}",
            column.name
        );
        // `fs-failures` chooses the failing call while it runs, so it names no promise.
        assert_eq!(about.is_empty(), def.name == failures::NAME, "{}", column.name);
    }
}

/// A column has the histories of its promises, and of no others.
#[test]
fn the_histories_of_a_column_are_of_promises_of_its_checker() {
    for column in matrix_columns::columns() {
        let words = words(column.checker);
        assert!(!column.histories.is_empty(), "{}", column.name);
        for promise in column.histories.iter().flat_map(|histories| &histories.promises) {
            assert!(words.contains(promise), "{}: {promise}", column.name);
        }
    }
}

/// Each promise is tried on files that were there when the file system was mounted.
#[test]
fn each_promise_is_tried_on_committed_files() {
    let on_committed = |column: &MatrixColumn| {
        column.checker == workloads::NAME
            || column.options.get("start").is_some_and(|start| start.to_string() != "empty")
    };
    let promises = |columns: &[MatrixColumn]| -> BTreeSet<String> {
        let histories = columns.iter().flat_map(|column| column.histories.clone());
        histories.flat_map(|histories| histories.promises).collect()
    };
    let all = matrix_columns::columns();
    let committed: Vec<MatrixColumn> = all.iter().filter(|it| on_committed(it)).cloned().collect();
    assert_eq!(promises(&committed), promises(&all));
}

#[test]
fn no_profile_keeps_and_excludes_one_promise() {
    for (name, profile) in systems(&registry()) {
        let of = |kept: bool| -> BTreeSet<&str> {
            profile.promises.iter().filter(|line| line.kept == kept).map(|line| line.name).collect()
        };
        let both: Vec<&str> = of(true).intersection(&of(false)).copied().collect();
        assert_eq!(both, [""; 0], "{name}");
    }
}

/// A profile promises all structure words or none. If none, it promises nothing about unsynced
/// changes either. `fs-reasonable` finds what else is wrong only under this condition.
#[test]
fn excluded_promises_hide_no_other_violation() {
    let mut without = BTreeSet::new();
    for (name, profile) in systems(&registry()) {
        let excluded = STRUCTURE.iter().filter(|word| profile.excludes(word).is_some()).count();
        assert!(excluded == 0 || excluded == STRUCTURE.len(), "{name}");
        let unsynced = EXCLUDABLE.iter().all(|word| profile.excludes(word).is_some());
        assert!(excluded == 0 || unsynced, "{name}");
        let others = all().filter(|word| !STRUCTURE.contains(word) && !EXCLUDABLE.contains(word));
        let hidden: Vec<&str> = others.filter(|word| profile.excludes(word).is_some()).collect();
        assert_eq!(hidden, [""; 0], "{name}");
        without.extend((excluded > 0).then_some(name));
    }
    let unrepaired =
        ["ext2", "exfat", "minix", "msdos", "vfat"].map(|system| format!("{system} without fsck"));
    let alone = ["hfs", "ntfs3", "udf"].map(str::to_owned).into_iter().chain(unrepaired);
    assert_eq!(without, alone.flat_map(|name| [format!("overlay on {name}"), name]).collect());
}
