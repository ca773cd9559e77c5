//! Late completion: a system that does not wait for a write is found, and one that waits is not
//! accused.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use explode_ramdisk::Event;
use explode_runtime::base::{OptionDef, Options, TargetBounds};
use explode_runtime::check::{Checker, CheckerDef, Cx as Steps};
use explode_runtime::crash::Epoch;
use explode_runtime::plan::{Plan, Registry, Target};
use explode_runtime::report::Summary;
use explode_runtime::stack::{Stack, StackSpec, Surface};
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use libc::{O_DIRECT, O_DSYNC};

use crate::cases::Cx;
use crate::directed::go;
use crate::report::Report;

/// A page, aligned for direct requests.
#[repr(align(4096))]
struct Page([u8; 4096]);

/// The byte that is written, and its offset.
const BYTE: u8 = b'w';
const AT: u64 = 4096;

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    let mut registry = explode::registry();
    registry.checkers.push(
        CheckerDef::new("hasty", "writes to a bare disk, and may not wait for it", |options| {
            let (commits, waits) = (options.bool("commits", false)?, options.bool("waits", false)?);
            Ok(Box::new(Hasty { commits, waits }))
        })
        .options([
            OptionDef {
                name: "commits",
                about: "the write itself commits, not a flush",
                default: "false",
            },
            OptionDef { name: "waits", about: "waits for the write", default: "false" },
        ]),
    );
    let cx = Cx { registry: &registry, ..cx };
    for (commits, what) in [(false, "a flush"), (true, "a commit")] {
        report.case(
            &format!("late completion: {what} that does not wait is found, and only so"),
            |_| {
                // One write that may be lost, or that is certainly on the disk.
                for (waits, completes, disks) in
                    [(false, "late", 2), (false, "at-once", 1), (true, "late", 1)]
                {
                    let plan = plan(&registry, commits, waits, completes);
                    let (summary, findings) = cx.explore(&plan);
                    let found: Vec<_> =
                        findings.iter().map(|found| (found.verdict, found.replayed)).collect();
                    let expected = if disks == 2 { vec![(Verdict::Lost, true)] } else { vec![] };
                    assert_eq!(
                        (u64::try_from(&summary.crash_disks.0), found),
                        (Ok(disks), expected),
                        "waits: {waits}, completes {completes}: {findings:?}"
                    );
                }
            },
        );
    }
    for (target, expected) in [("fs-sync-ext4", EXT4), ("fs-sync-ext2", EXT2)] {
        report.case(&format!("late completion: {target} waits, with exact counts"), |_| {
            let mut plan = cx.shallow(target);
            let disk = &mut plan.stack.0[0];
            disk.options = disk.options.clone().with("completes", "late");
            let (summary, findings) = cx.explore(&plan);
            let Summary { states, crash_disks, distinct, .. } = &summary;
            let counted =
                [states, crash_disks, distinct].map(|count| u64::try_from(&count.0).unwrap());
            assert!(findings.is_empty() && summary.complete, "{findings:?} {summary:?}");
            assert_eq!(counted, expected, "{summary:?}");
            // Its writes did end late, and in the same order each time.
            let go = || go(cx.registry, &plan, cx.backend, &["write /a", "sync"]).events;
            let events = go();
            assert!(most_in_flight(&events) > 1, "{} events", events.len());
            assert!(events == go(), "the same way has another log");
        });
    }
}

/// Returns the largest number of writes that were in flight at once.
fn most_in_flight(events: &[Event]) -> usize {
    let mut now = BTreeSet::new();
    let counts = events.iter().map(|event| {
        match event {
            Event::Submit { id, .. } => _ = now.insert(*id),
            Event::Complete { id, .. } => _ = now.remove(id),
            _ => {}
        }
        now.len()
    });
    counts.max().unwrap_or(0)
}

/// The expected states, crash disks and distinct disks.
const EXT4: [u64; 3] = [9, 384, 384];
const EXT2: [u64; 3] = [9, 105, 105];

fn plan(registry: &Registry, commits: bool, waits: bool, completes: &str) -> Plan {
    let target = Target {
        name: "hasty".into(),
        about: "for tests".into(),
        stack: StackSpec::default().plug("ramdisk", Options::none().with("completes", completes)),
        checker: "hasty".into(),
        checker_options: Options::none().with("commits", commits).with("waits", waits),
        bounds: TargetBounds { depth: 1, limit: 100, samples: 10, crash_depth: 0 },
        seeded: true,
        expect: "lost".into(),
    };
    Plan {
        mode: explode_runtime::base::Mode::Vm,
        ..Plan::of(registry, &target).expect("its parts are there")
    }
}

/// A system that writes one block of a bare disk in another thread, and then reports that it is
/// durable.
struct Hasty {
    /// True to use a write that is durable when it ends (FUA). False to flush after a plain write.
    commits: bool,
    waits: bool,
}

impl Hasty {
    /// Begins the write. It is submitted when this returns.
    fn write(&self, node: &Path) -> JoinHandle<()> {
        let flags = if self.commits { O_DIRECT | O_DSYNC } else { O_DIRECT };
        let file =
            OpenOptions::new().write(true).custom_flags(flags).open(node).expect("it is there");
        let begins = Arc::new(AtomicBool::new(false));
        let begun = Arc::clone(&begins);
        let writer = thread::spawn(move || {
            begun.store(true, Ordering::Relaxed);
            // From here on the system goes on until it waits.
            file.write_all_at(&Page([BYTE; 4096]).0, AT).expect("there is room");
        });
        while !begins.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        writer
    }
}

impl Checker for Hasty {
    fn mutate(&mut self, cx: &mut Steps<'_>) -> Result<(), CheckError> {
        let node = node(cx.stack())?;
        let mut writer = Some(self.write(&node));
        let mut wait = || writer.take().map_or(Ok(()), JoinHandle::join).expect("it has written");
        if self.waits {
            wait();
        }
        if !self.commits {
            File::open(&node).and_then(|disk| disk.sync_all()).expect("it is flushed");
        }
        let asked = cx.check_crashes_now(self, &["durable".to_owned()]);
        wait();
        asked
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, args: &[String]) -> Result<(), CheckError> {
        let mut bytes = [0; 4096];
        let read = File::open(node(stack)?).and_then(|disk| disk.read_exact_at(&mut bytes, AT));
        read.map_err(CheckError::broken)?;
        if args.is_empty() || bytes == [BYTE; 4096] {
            return Ok(());
        }
        Err(Violation::new(Verdict::Lost, "durable", "the block is not there").into())
    }
}

/// Returns the block device at the top.
fn node(stack: &Stack) -> Result<std::path::PathBuf, CheckError> {
    match stack.top() {
        Surface::Block(node) => Ok(node),
        other => Err(CheckError::broken(format!("no block device: {other:?}"))),
    }
}
