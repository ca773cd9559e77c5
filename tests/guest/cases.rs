//! The cases that run in the guest, all in one boot.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use explode_kernel::AllBackends;
use explode_ramdisk::{Event, Payload};
use explode_runtime::base::Mode;
use explode_runtime::devices::{Backend, Backends as _};
use explode_runtime::plan::{Plan, Registry};
use explode_runtime::report::{Finding, Message, Summary};
use explode_runtime::run::{Confirmation, LocalSink, explore};
use explode_runtime::trace::{ReplayResult, Trace};
use explode_runtime::verdict::{Verdict, Violation};
use explode_runtime::worker::replay;

use crate::directed::{LAST, Seen, go, go_on};
use crate::report::{Line, Report};
use crate::{kernel_asks, kernel_choices, kernel_sites, log_writes};

/// Runs the cases and reports to the host.
pub fn all(port: &str) {
    let only = std::fs::read_to_string("/only").unwrap_or_default();
    let mut report = Report::to(port, only);
    // The first case, because it loads and unloads the modules.
    report.case("modules: the selftest", |_| selftest());
    kernel_sites::without_ekm(&mut report);
    let registry = explode::registry();
    let backend = AllBackends.open(Mode::Vm).expect("the modules are loaded");
    let cx = Cx { registry: &registry, backend: &*backend };
    crate::held_still::all(&*backend, &mut report);
    crate::late::all(cx, &mut report);
    crate::threads::all(cx, &mut report);
    crate::late_choice::all(cx, &mut report);
    crate::walks::all(cx, &mut report);
    counts(cx, &mut report);
    crate::skipping::all(cx, &mut report);
    crate::arrays::all(cx, &mut report);
    crate::strict::all(cx, &mut report);
    crate::overlay::all(cx, &mut report);
    crate::options::all(cx, &mut report);
    on_committed(cx, &mut report);
    two_deep(cx, &mut report);
    minix_3(cx, &mut report);
    canaries(cx, &mut report);
    crate::ways::all(cx, &mut report);
    losses(cx, &mut report);
    media(cx, &mut report);
    log_writes::logs(&*backend, &mut report);
    kernel_choices::all(cx, &mut report);
    kernel_sites::all(cx, &mut report);
    kernel_asks::all(cx, &mut report);
    crate::breadth::all(cx, &mut report);
    crate::bugs::all(cx, &mut report);
    crate::soft::all(cx, &mut report);
    report.case("the same way gives the same events", |_| {
        let way = ["write /a behind a hole; fsync /a, /", "mkdir /d; write /d/c", "sync"];
        let mut plan = cx.plan("fs-sync-ext4");
        (plan.settings.limit, plan.settings.samples) = (2, 2);
        let events = || go(cx.registry, &plan, cx.backend, &way).events;
        let first = events();
        assert!(first.len() > 40, "{} events", first.len());
        for _ in 0..40 {
            let again = events();
            assert!(first == again, "{}", differences(&first, &again));
        }
    });
    report.say(&Line::End);
    // The last case, because it ends the guest. The host must notice.
    std::fs::write("/proc/sysrq-trigger", "c").expect("sysrq is there");
}

/// The data that every case gets.
#[derive(Clone, Copy)]
pub struct Cx<'a> {
    pub registry: &'a Registry,
    pub backend: &'a dyn Backend,
}

impl Cx<'_> {
    /// Returns the plan of a target that begins without files, with its own bounds.
    pub fn plan(self, target: &str) -> Plan {
        without_files(self.target(target))
    }

    /// Returns the plan of a target, with its own bounds.
    pub fn target(self, target: &str) -> Plan {
        let target = self.registry.target(target).expect("the target is there");
        Plan::of(self.registry, target).expect("so are its components")
    }

    /// Returns the same plan, one step deep.
    pub fn shallow(self, target: &str) -> Plan {
        let mut plan = self.plan(target);
        plan.settings.depth = 1;
        plan
    }

    /// Explores a plan. Findings are replayed in this guest.
    pub fn explore(self, plan: &Plan) -> (Summary, Vec<Finding>) {
        let out = tempfile::tempdir().expect("a folder in memory");
        let mut findings = Vec::new();
        let mut sink = |message: &Message| match message {
            Message::Finding(finding) => findings.push(finding.clone()),
            Message::Broken { message, .. } => panic!("broken: {message}"),
            _ => {}
        };
        let mut confirm = |path: &Path| {
            let trace = std::fs::read(path).expect("the trace was kept");
            match replay(
                self.registry,
                &Trace::from_json(&trace).expect("a sound trace"),
                self.backend,
            ) {
                Ok(ReplayResult::Reproduced { by_search: false, .. }) => Confirmation::Reproduced,
                other => Confirmation::Not(format!("{other:?}")),
            }
        };
        let out = out.path().join("run");
        let mut audience = LocalSink::new(Some(&out), &mut confirm, &mut sink);
        let summary = explore(self.registry, plan, self.backend, &mut audience).expect("it runs");
        (summary, findings)
    }
}

/// Runs the modules' own test.
fn selftest() {
    let loader = "/agent/ld-linux-x86-64.so.2";
    let ran = Command::new(loader)
        .args(["--library-path", "/agent/lib", "/selftest"])
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let last = said.lines().last().unwrap_or_default();
    let why = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && last.ends_with(" 0 skipped, 0 failed"), "{said}{why}");
}

/// Checks exact counts of every file system, one step deep: states, crash disks, distinct,
/// crash-crash disks. Recovery is the kernel's journal replay for ext4 and XFS, and fsck for the
/// others. fsck.minix and XFS write so much that their crash-crash disks are sampled.
fn counts(cx: Cx<'_>, report: &mut Report) {
    let expected = [
        ("fs-basic-ext4", [14, 128, 64, 66], true),
        ("fs-sync-ext4", [9, 384, 384, 394], true),
        ("fs-sync-ext2", [9, 105, 105, 102], true),
        ("fs-sync-ext2-by-ext4", [9, 210, 210, 204], true),
        ("fs-sync-vfat", [9, 5, 5, 5], true),
        ("fs-sync-minix", [9, 144, 144, 77], false),
        ("fs-sync-xfs", [9, 5, 5, 195], false),
        ("fs-sync-msdos", [9, 5, 5, 5], true),
        ("fs-sync-btrfs", [9, 5, 5, 171], false),
        ("fs-sync-f2fs", [9, 5, 5, 128], true),
        ("fs-sync-exfat", [9, 5, 5, 5], true),
        ("fs-sync-udf", [9, 27, 27, 0], true),
        ("fs-sync-reiserfs", [9, 64, 64, 64], true),
        ("fs-sync-nilfs2", [9, 5, 5, 15], true),
    ];
    for (target, expected, complete) in expected {
        report.case(&format!("{target}: exact counts, clean one step deep"), |_| {
            is_clean(cx, &cx.shallow(target), expected, complete);
        });
    }
    for (target, expected, depth) in
        [("fs-sync-ext3", [9, 448, 20, 38], 1), ("fs-sync-overlay", [9, 3072, 20, 0], 0)]
    {
        report.case(
            &format!("{target}: exact counts, and a sample that is clean one step deep"),
            |_| {
                let mut plan = sampled(cx.shallow(target));
                // overlay's folders differ between guests (docs/results/file-systems.md).
                plan.settings.crash_depth = depth;
                is_clean(cx, &plan, expected, false);
            },
        );
    }
}

/// Without an option a run also begins on committed files, one step less deep. On ReiserFS the first
/// fdatasync after a mount then forces nothing (`bugs/reiserfs-first-commit`).
fn on_committed(cx: Cx<'_>, report: &mut Report) {
    let plan = |target: &str| {
        let mut plan = sampled(cx.target(target));
        plan.settings.crash_depth = 0;
        plan
    };
    report.case(
        "fs-sync-ext4: also on committed files, exact counts, clean two steps deep",
        |_| {
            is_clean(cx, &plan("fs-sync-ext4"), [124, 6708, 328, 0], false);
        },
    );
    report.case("fs-sync-reiserfs: the first fdatasync after a mount forces nothing", |_| {
        let (_, findings) = cx.explore(&plan("fs-sync-reiserfs"));
        let [finding] = &findings[..] else { panic!("{findings:#?}") };
        assert_eq!(finding.signature, "fs-sync/lost/synced-by-fdatasync");
    });
}

/// Returns the plan without committed files. Those of `fs-workloads` say themselves how they begin.
pub fn without_files(mut plan: Plan) -> Plan {
    if plan.checker.starts_with("fs-") && plan.checker != "fs-workloads" {
        plan.checker_options = plan.checker_options.with("start", "empty");
    }
    plan
}

/// Returns the plan with four sampled disks per emission.
pub fn sampled(mut plan: Plan) -> Plan {
    (plan.settings.limit, plan.settings.samples) = (4, 4);
    plan
}

/// Checks that nothing is found, with these counts: states, crash disks, distinct disks checked,
/// and crash-crash disks.
pub fn is_clean(cx: Cx<'_>, plan: &Plan, expected: [u64; 4], complete: bool) {
    let mut plan = plan.clone();
    plan.settings.skip = false;
    let (summary, findings) = cx.explore(&plan);
    let Summary { states, crash_disks, distinct, crash_crash_disks, .. } = &summary;
    let counted = [states, crash_disks, distinct, crash_crash_disks]
        .map(|count| u64::try_from(&count.0).unwrap());
    assert_eq!(counted, expected);
    assert!(
        summary.complete == complete && summary.checked == summary.distinct && findings.is_empty(),
        "{summary:?}"
    );
}

/// Crashes during the recovery from a crash during recovery: the disks at one level, and those at
/// the next.
fn two_deep(cx: Cx<'_>, report: &mut Report) {
    report.case("fs-sync-ext4: exact counts of crashes during recovery, two deep", |_| {
        let explore = |crash_depth: u32| {
            let mut plan = cx.shallow("fs-sync-ext4");
            (plan.settings.limit, plan.settings.samples) = (TWO_DEEP.0, TWO_DEEP.0);
            plan.settings.crash_depth = crash_depth;
            plan.settings.skip = false;
            let (summary, findings) = cx.explore(&plan);
            assert!(findings.is_empty(), "{findings:?}");
            let Summary { distinct, crash_crash_disks, .. } = &summary;
            [distinct, crash_crash_disks].map(|count| u64::try_from(&count.0).unwrap())
        };
        assert_eq!([explore(0), explore(1), explore(2)], TWO_DEEP.1);
    });
}

/// The limit of an emission, which is also its sample, and for each depth the distinct crash disks
/// and crash-crash disks.
const TWO_DEEP: (u64, [[u64; 2]; 3]) = (4, [[20, 0], [20, 39], [20, 104]]);

/// Describes how two logs differ: their lengths, and the first eight events that are not equal,
/// each with its sectors and the first bytes that differ.
pub fn differences(one: &[Event], other: &[Event]) -> String {
    let unequal = one.iter().zip(other).enumerate().filter(|(_, (one, other))| one != other);
    let lines = unequal.take(8).map(|(index, (one, other))| {
        let ((sector, one_data), (moved, other_data)) = (data_of(one), data_of(other));
        let at = one_data.iter().zip(other_data).position(|(one, other)| one != other);
        let bytes = |data: &[u8]| at.map(|at| data[at..data.len().min(at + 16)].to_vec());
        format!(
            "\nevent {index}, sectors {sector:?} and {moved:?}, offset {at:?}: {:02x?} and {:02x?}",
            bytes(one_data),
            bytes(other_data)
        )
    });
    format!("{} and {} events{}", one.len(), other.len(), lines.collect::<String>())
}

/// Returns the first sector and the data of an event that carries data.
fn data_of(event: &Event) -> (Option<u64>, &[u8]) {
    match event {
        Event::Dirty { sector, data, .. }
        | Event::Submit { sector, payload: Payload::Data(data), .. } => (Some(*sector), data),
        _ => (None, &[]),
    }
}

/// fsck.minix overwrites synced data of version 3. Without fsck there is no error.
fn minix_3(cx: Cx<'_>, report: &mut Report) {
    report.case("MINIX 3: fsck.minix ruins synced data, and nothing else does", |_| {
        let explore = |fsck: bool| {
            let mut plan = cx.shallow("fs-sync-minix");
            let minix = &mut plan.stack.0[1];
            minix.options = minix.options.clone().with("version", 3_u32).with("fsck", fsck);
            cx.explore(&plan).1
        };
        let found = explore(true);
        assert!(
            found.iter().any(|found| found.verdict == Verdict::Corrupt && found.replayed),
            "{found:?}"
        );
        assert!(explore(false).is_empty());
    });
}

/// A seeded bug is found, and replays by its log.
fn canaries(cx: Cx<'_>, report: &mut Report) {
    for target in ["ext4+flush-lies", "ext4+fsync-lies", "xfs+flush-lies"] {
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

/// The losses of real file systems. The host replays each trace in a fresh guest.
fn losses(cx: Cx<'_>, report: &mut Report) {
    let reuse = ["write /a behind a hole; fsync /a, /", "truncate /a", "write /b; fsync /b, /"];
    report.case("ext2: blocks that are used again take synced data with them", |report| {
        let seen = go(cx.registry, &cx.plan("fs-sync-ext2"), cx.backend, &reuse);
        keep(report, "ext2-reuse", &seen);
    });
    report.case(
        "minix: blocks that are used again take synced data with them, on every disk",
        |report| {
            let seen = go(cx.registry, &cx.plan("fs-sync-minix"), cx.backend, &reuse);
            let all_lost = seen.errors.iter().all(|(error, _)| error.verdict == Verdict::Lost);
            assert!(all_lost && seen.errors.len() as u64 == seen.checked, "{:?}", seen.errors);
            keep(report, "minix-reuse", &seen);
        },
    );
    let resize =
        ["write /a; fsync /a, /", "write /a behind a hole; fsync /a, /", "resize /a", "write /b"];
    never_submitted(cx, report, "ext2", &resize, "/a is gone");
    never_submitted(
        cx,
        report,
        "vfat",
        &["write /a; fsync /a, /", "rename /a /b"],
        "/b has 0 bytes, not 4096",
    );
    for target in ["fs-sync-ext2", "fs-sync-vfat"] {
        report.case(&format!("{target}: sync(2) leaves the disk's cache unflushed"), |_| {
            let seen = go(cx.registry, &cx.plan(target), cx.backend, &["write /a", "sync"]);
            assert!(!seen.events.iter().any(|event| matches!(event, Event::Flush { .. })));
            let lost = |error: &&Violation| {
                error.verdict == Verdict::Lost && error.promise == "synced-by-sync"
            };
            assert!(
                seen.errors.iter().map(|(error, _)| error).any(|error| lost(&error)),
                "{:?}",
                seen.errors
            );
        });
    }
}

/// A block goes bad after a file was synced into it. On every crash disk it cannot be read, or
/// holds something else, until the file is written again. The last block with contents is the
/// file's.
fn media(cx: Cx<'_>, report: &mut Report) {
    let go = |faults: &str, then: &str| {
        let mut plan = cx.plan("fs-sync-ext2");
        let disk = &mut plan.stack.0[0];
        disk.options = disk.options.clone().with("faults", faults);
        go_on(cx.registry, &plan, cx.backend, &["none", "write /a; fsync /a, /", LAST, then], 2)
    };
    let messages = |seen: &Seen| -> BTreeSet<String> {
        seen.errors.iter().map(|(error, _)| error.message.chars().take(33).collect()).collect()
    };
    for (faults, message) in
        [("unreadable", "/a cannot be read: EIO: I/O error"), ("garbage", "/a has at byte 0 \"")]
    {
        report.case(&format!("ext2: a block that goes bad, {faults}"), |report| {
            let seen = go(faults, "write /b; fsync /b, /");
            assert_eq!(seen.errors.len() as u64, seen.checked);
            assert!(
                messages(&seen).iter().all(|found| found.starts_with(message)),
                "{:?}",
                messages(&seen)
            );
            let choice = &seen.traces[0].choices[2];
            assert_eq!((choice.options, choice.value), (MEDIA_OPTIONS, MEDIA_OPTIONS - 1));
            assert!(choice.name.as_ref().is_some_and(|name| name.ends_with(faults)), "{choice:?}");
            keep(report, &format!("ext2-{faults}"), &seen);
            let healed = go(faults, "write /a; fsync /a, /");
            assert!(healed.checked > 0 && healed.errors.is_empty(), "{:?}", messages(&healed));
        });
    }
}

/// The number of options: no fault, or one of the nonzero blocks without pending writes.
const MEDIA_OPTIONS: u32 = 9;

/// Synced data is lost on disks with a version that was dirty and never submitted, and only on
/// those.
fn never_submitted(cx: Cx<'_>, report: &mut Report, system: &str, steps: &[&str], message: &str) {
    report.case(&format!("{system}: lost by versions that were never submitted"), |report| {
        let mut plan = cx.plan(&format!("fs-sync-{system}"));
        let seen = go(cx.registry, &plan, cx.backend, steps);
        keep(report, &format!("{system}-never-submitted"), &seen);
        for (error, kept) in &seen.errors {
            assert_eq!((error.verdict, error.message.as_str()), (Verdict::Lost, message));
            assert!(kept.iter().any(|kept| seen.is_only_dirty(kept)), "{kept:?}");
        }
        let disk = &mut plan.stack.0[0];
        disk.options = disk.options.clone().with("buffers", false);
        let without = go(cx.registry, &plan, cx.backend, steps);
        assert!(without.checked > 0 && without.errors.is_empty(), "{:?}", without.errors);
    });
}

/// Sends the first error's trace to the host.
pub fn keep(report: &mut Report, name: &str, seen: &Seen) {
    let first = seen.traces.first();
    let trace = first.unwrap_or_else(|| panic!("nothing found on {} disks", seen.checked));
    report.say(&Line::Trace(name.to_owned(), trace.to_json()));
}
