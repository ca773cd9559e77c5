//! The events of the systems of `docs/results/seeded-bugs.md` while they are explored without a
//! bug. A twin's silence is significant only if crashes choose between versions of a range, and the
//! twin uses its disks in every possible way.
//!
//! The test counts the events of the units (`--events`) at each request for disks: each instant of
//! an interval, and each `check_crashes_now`. Only a few disks of each emission are checked here.
//! `seeded_bugs.rs` asserts that all are correct, and their number, with the same states.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use explode::ramdisk::{Event, Flags, Image, Payload};
use explode::runtime::base::{ExactCount, RunError};
use explode::runtime::devices::InProcess;
use explode::runtime::judge::{BEGIN_MARK, END_MARK, NOW_MARK};
use explode::runtime::plan::Plan;
use explode::runtime::report::{Message, Summary};
use explode::runtime::run::{Confirmation, LocalSink, RunSink, explore};
use explode::runtime::trace::Trace;
use explode::runtime::writeset::{DeviceRules, WriteSet};

const PAGE: &str = include_str!("../docs/results/seeded-bugs.md");

/// The events before or at the instants with requests for disks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Met {
    /// The kinds of events.
    kinds: BTreeSet<&'static str>,
    /// The most versions of one range, of which a crash keeps one.
    versions: usize,
}

impl Met {
    /// Adds the events of one unit, from the pristine disks on.
    fn unit(&mut self, events: &[Event], rules: DeviceRules) {
        // The earlier contents of the disks do not matter, because they are not a version.
        let mut write_set = WriteSet::new(Image::new(), rules);
        let mut before = BTreeSet::new();
        let mut in_interval = false;
        for event in events {
            write_set.apply(event).unwrap();
            let asked = match event {
                Event::Mark { name } => {
                    in_interval = name == BEGIN_MARK || in_interval && name != END_MARK;
                    in_interval || name == END_MARK || name == NOW_MARK
                }
                event => {
                    before.insert(kind(event));
                    in_interval
                }
            };
            if asked {
                let worlds = write_set.worlds();
                let ranges = worlds.iter().flat_map(|world| &world.ranges);
                let most = ranges.map(|range| range.versions.len()).max().unwrap_or(0);
                self.versions = self.versions.max(most);
                self.kinds.extend(&before);
            }
        }
    }
}

fn kind(event: &Event) -> &'static str {
    match event {
        Event::Dirty { .. } => "dirty",
        Event::Clean { .. } => "clean",
        Event::Append { .. } => "append",
        Event::Lock { .. } => "lock",
        Event::Unlock { .. } => "unlock",
        Event::Submit { payload: Payload::Data(_), flags, .. } => match *flags {
            Flags::NONE => "write",
            Flags::FUA => "write, FUA",
            Flags::PREFLUSH => "write, PREFLUSH",
            Flags::PREFLUSH_FUA => "write, PREFLUSH FUA",
        },
        Event::Submit { payload: Payload::Zeroes(_), .. } => "zeroes",
        Event::Submit { payload: Payload::Discard(_), .. } => "discard",
        Event::Complete { error: false, .. } => "complete",
        Event::Complete { error: true, .. } => "complete with an error",
        Event::Flush { .. } => "flush",
        Event::Mark { .. } => "mark",
    }
}

/// Reads the messages of a run and the events of its units.
struct Observer<'a> {
    local: LocalSink<'a>,
    rules: DeviceRules,
    met: Met,
}

impl RunSink for Observer<'_> {
    fn open(&mut self, target: &str) -> Result<PathBuf, RunError> {
        self.local.open(target)
    }
    fn emit(&mut self, message: &Message) -> Result<(), RunError> {
        self.local.emit(message)
    }
    fn keep(&mut self, id: &str, trace: &Trace) -> Result<PathBuf, RunError> {
        self.local.keep(id, trace)
    }
    fn confirm(&mut self, trace: &Path) -> Confirmation {
        self.local.confirm(trace)
    }
    fn wants_events(&self) -> bool {
        true
    }
    fn events(&mut self, events: &[Event]) -> Result<(), RunError> {
        self.met.unit(events, self.rules);
        Ok(())
    }
}

/// Explores a target within its bounds. Checks the number of states, the kinds of events, and the
/// most versions of one range.
fn meets(target: &str, states: u64, kinds: &[&'static str], versions: usize) {
    let registry = explode::registry();
    let mut plan = Plan::of(&registry, registry.target(target).unwrap()).unwrap();
    (plan.settings.limit, plan.settings.samples, plan.settings.crash_depth) = (2, 2, 0);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let (mut confirm, mut sink) = (|_: &Path| Confirmation::Reproduced, |_: &Message| {});
    let local = LocalSink::new(Some(&out), &mut confirm, &mut sink);
    let mut observer = Observer { local, rules: plan.settings.rules, met: Met::default() };
    let Summary { states: reached, findings, broken, pending, .. } =
        explore(&registry, &plan, &InProcess, &mut observer).unwrap();
    assert_eq!(
        [reached, findings, broken, pending],
        [states, 0, 0, 0].map(ExactCount::from),
        "{target}"
    );
    let expected = Met { kinds: kinds.iter().copied().collect(), versions };
    assert_eq!(observer.met, expected, "{target}");
    let row = format!("| `{target}` | {versions} | ");
    assert!(PAGE.contains(&row), "docs/results/seeded-bugs.md has no row {row}");
}

// The kinds are all that the code of these systems and of the layers below can cause: no device of
// explode fails a request by itself, none of these systems discards, and locks are the kernel's.

/// A log with unsynced data is removed, so its buffers are cleaned.
#[test]
fn the_store_with_a_log_has_its_events() {
    meets("wal-kv", 3906, &["clean", "complete", "dirty", "flush", "write"], 5);
}

/// The store syncs each file that it creates before the file may be removed, so nothing can be
/// cleaned.
#[test]
fn the_store_that_renames_has_its_events() {
    meets("rename-kv", 3906, &["complete", "dirty", "flush", "write"], 10);
}

#[test]
fn the_store_with_a_journal_has_its_events() {
    let flagged = ["write, FUA", "write, PREFLUSH", "write, PREFLUSH FUA"];
    meets(
        "journal-kv",
        3906,
        &[&["complete", "dirty", "flush", "write"], &flagged[..]].concat(),
        5,
    );
}

/// Every commit of its journal is synced, and none has PREFLUSH alone.
#[test]
fn the_file_system_has_its_events() {
    let flagged = ["write, FUA", "write, PREFLUSH FUA"];
    meets(
        "toyfs",
        1485,
        &[&["clean", "complete", "dirty", "flush", "write"], &flagged[..]].concat(),
        2,
    );
}

/// An fsync writes an inode with FUA.
#[test]
fn the_file_system_with_versions_has_its_events() {
    let flagged = ["write, FUA", "write, PREFLUSH FUA"];
    meets(
        "toyfs-versions",
        1485,
        &[&["clean", "complete", "dirty", "flush", "write"], &flagged[..]].concat(),
        2,
    );
}

/// Without a journal no write has a flag. The block of the root directory gets a version with each
/// name: `/a` created (two), renamed (two), and `/d`.
#[test]
fn the_file_system_without_a_journal_has_its_events() {
    meets("toyfs-in-place", 1485, &["clean", "complete", "dirty", "flush", "write"], 5);
}

/// The arrays pass each write on at once and cache nothing.
#[test]
fn the_arrays_have_their_events() {
    let kinds = ["complete", "flush", "write", "write, FUA"];
    meets("mirror", 2729, &kinds, 5);
    meets("parity", 1021, &kinds, 4);
    // Each of its writes goes through the caches and is waited for, so a range never has more than
    // one version.
    meets("parity-journal", 1021, &["complete", "flush", "write, FUA"], 1);
}
