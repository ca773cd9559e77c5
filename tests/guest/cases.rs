//! The cases that run in the guest, all in one boot.

use std::path::Path;
use std::process::Command;

use explode_ramdisk::Event;
use explode_runtime::check::{Verdict, Violation};
use explode_runtime::devices::Lab;
use explode_runtime::report::{Finding, Message, Summary};
use explode_runtime::run::{Confirmation, Local, Mode, Plan, Registry, explore};
use explode_runtime::trace::{Replay, Trace, replay};

use crate::directed::{Seen, go};
use crate::report::{Line, Report};

/// Goes through the cases, and tells the host.
pub fn all(port: &str) {
    let only = std::fs::read_to_string("/only").unwrap_or_default();
    let mut report = Report::to(port, only);
    // First, for it wants the modules for itself.
    report.case("modules: the selftest", |_| selftest());
    let registry = explode::registry();
    let lab = Lab::open(Mode::Vm).expect("the modules are loaded");
    let cx = Cx { registry: &registry, lab: &lab };
    counts(cx, &mut report);
    canaries(cx, &mut report);
    losses(cx, &mut report);
    report.case("the same way gives the same events", |_| {
        let way = ["write /a behind a hole; fsync /a, /", "mkdir /d; write /d/c", "sync"];
        let events = || go(cx.registry, &cx.plan("fs-sync-ext4"), cx.lab, &way).events;
        let first = events();
        assert!(first.len() > 40, "{} events", first.len());
        assert!(first == events());
    });
    report.say(&Line::End);
    // Last, for it ends the guest: the host must notice.
    std::fs::write("/proc/sysrq-trigger", "c").expect("sysrq is there");
}

#[derive(Clone, Copy)]
struct Cx<'a> {
    registry: &'a Registry,
    lab: &'a Lab,
}

impl Cx<'_> {
    fn plan(self, target: &str) -> Plan {
        let target = self.registry.target(target).expect("the target is there");
        Plan::of(self.registry, target).expect("so are its components")
    }

    /// The target, one step deep.
    fn shallow(self, target: &str) -> Plan {
        let mut plan = self.plan(target);
        plan.settings.depth = 1;
        plan
    }

    /// Explores a plan; findings are replayed in this guest.
    fn explore(self, plan: &Plan) -> (Summary, Vec<Finding>) {
        let out = tempfile::tempdir().expect("a folder in memory");
        let mut findings = Vec::new();
        let mut sink = |message: &Message| match message {
            Message::Finding(finding) => findings.push(finding.clone()),
            Message::Broken { message } => panic!("broken: {message}"),
            _ => {}
        };
        let mut confirm = |path: &Path| {
            let trace = std::fs::read(path).expect("the trace was kept");
            match replay(self.registry, &Trace::from_json(&trace).expect("a sound trace"), self.lab) {
                Ok(Replay::Reproduced { by_search: false, .. }) => Confirmation::Reproduced,
                other => Confirmation::Not(format!("{other:?}")),
            }
        };
        let out = out.path().join("run");
        let mut audience = Local::new(Some(&out), &mut confirm, &mut sink);
        let summary = explore(self.registry, plan, self.lab, &mut audience).expect("it runs");
        (summary, findings)
    }
}

/// What the modules promise, by their own test.
fn selftest() {
    let loader = "/agent/ld-linux-x86-64.so.2";
    let ran =
        Command::new(loader).args(["--library-path", "/agent/lib", "/selftest"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let last = said.lines().last().unwrap_or_default();
    assert!(ran.status.success() && last.ends_with(" 0 skipped, 0 failed"), "{said}");
}

/// Exact counts of every file system, one step deep: states, crash disks, distinct, and those of crashes during recovery.
fn counts(cx: Cx<'_>, report: &mut Report) {
    let expected = [
        ("fs-basic-ext4", [14, 128, 64, 66]),
        ("fs-sync-ext4", [9, 384, 384, 394]),
        ("fs-sync-ext2", [9, 105, 105, 102]),
        ("fs-sync-ext2-by-ext4", [9, 210, 210, 204]),
        ("fs-sync-vfat", [9, 5, 5, 5]),
    ];
    for (target, expected) in expected {
        report.case(&format!("{target}: exact counts, clean one step deep"), |_| {
            let (summary, findings) = cx.explore(&cx.shallow(target));
            let Summary { states, crash_disks, distinct, crash_crash_disks, .. } = &summary;
            let counted = [states, crash_disks, distinct, crash_crash_disks]
                .map(|count| u64::try_from(&count.0).unwrap());
            assert_eq!(counted, expected);
            assert!(
                summary.complete && summary.checked == summary.distinct && findings.is_empty(),
                "{summary:?}"
            );
        });
    }
}

/// A seeded bug is found, and replays by its log.
fn canaries(cx: Cx<'_>, report: &mut Report) {
    for target in ["ext4+flush-lies", "ext4+fsync-lies"] {
        report.case(&format!("{target}: found, and replayed"), |_| {
            let mut plan = cx.shallow(target);
            plan.settings.limit = 40;
            plan.settings.samples = 20;
            let (_, findings) = cx.explore(&plan);
            let found = findings.iter().find(|finding| finding.verdict == Verdict::Lost);
            assert!(found.is_some_and(|found| found.replayed && !found.by_design), "{findings:?}");
        });
    }
}

/// What real file systems lose; each trace is replayed in a fresh guest by the host.
fn losses(cx: Cx<'_>, report: &mut Report) {
    let reuse = ["write /a behind a hole; fsync /a, /", "truncate /a", "write /b; fsync /b, /"];
    report.case("ext2: blocks that are used again take synced data with them", |report| {
        let seen = go(cx.registry, &cx.plan("fs-sync-ext2"), cx.lab, &reuse);
        keep(report, "ext2-reuse", &seen);
    });
    for target in ["fs-sync-ext2", "fs-sync-vfat"] {
        report.case(&format!("{target}: sync(2) leaves the disk's cache unflushed"), |_| {
            let seen = go(cx.registry, &cx.plan(target), cx.lab, &["write /a", "sync"]);
            assert!(!seen.events.iter().any(|event| matches!(event, Event::Flush { .. })));
            let lost =
                |error: &&Violation| error.verdict == Verdict::Lost && error.promise == "synced-by-sync";
            assert!(
                seen.errors.iter().map(|(error, _)| error).any(|error| lost(&error)),
                "{:?}",
                seen.errors
            );
        });
    }
}

/// Gives the first error's trace to the host.
fn keep(report: &mut Report, name: &str, seen: &Seen) {
    let first = seen.traces.first();
    let trace = first.unwrap_or_else(|| panic!("nothing found on {} disks", seen.checked));
    report.say(&Line::Trace(name.to_owned(), trace.to_json()));
}
