//! The file systems that are looked at in breadth, each in a few disks: what fsync and sync(2) keep, on a disk that flushes when it is
//! asked to, and on one that does not.

use explode_ramdisk::Event;
use explode_runtime::check::Verdict;
use explode_runtime::writeset::Completion;

use crate::cases::Cx;
use crate::directed::{Seen, go};
use crate::report::Report;

/// Each, and whether its sync(2) asks the disk to flush.
const SYSTEMS: [(&str, bool); 8] = [
    ("ext3", true),
    ("msdos", false),
    ("btrfs", true),
    ("f2fs", true),
    ("nilfs2", true),
    ("exfat", true),
    ("udf", true),
    ("reiserfs", true),
];

pub fn all(cx: Cx<'_>, report: &mut Report) {
    for (system, flushes) in SYSTEMS {
        report.case(&format!("{system}: found where flushes do nothing, and only there"), |_| {
            let fsync = ["write /a; fsync /a, /"];
            assert!(is_lost(&some(cx, &format!("{system}+flush-lies"), &fsync)));
            let kept = some(cx, &format!("fs-sync-{system}"), &fsync);
            assert!(kept.checked > 0 && kept.errors.is_empty(), "{:?}", kept.errors);
        });
        report.case(&format!("{system}: what sync(2) keeps"), |_| {
            let seen = some(cx, &format!("fs-sync-{system}"), &["write /a", "sync"]);
            let flushed = seen.events.iter().any(|event| matches!(event, Event::Flush { .. }))
                || seen.events.iter().any(preflushes);
            assert_eq!((flushed, seen.errors.is_empty()), (flushes, flushes), "{:?}", seen.errors);
        });
    }
    report.case("jfs: nothing asks the disk to flush", |report| {
        let mut plan = cx.plan("fs-sync-jfs");
        let seen = go(cx.registry, &plan, cx.lab, &["write /a; fsync /a, /"]);
        assert!(is_lost(&seen) && !seen.events.iter().any(|event| matches!(event, Event::Flush { .. })));
        crate::cases::keep(report, "jfs-no-flush", &seen);
        // On a disk without a cache nothing is lost.
        plan.settings.rules.completion = Completion::Durable;
        let seen = go(cx.registry, &plan, cx.lab, &["write /a; fsync /a, /"]);
        assert!(seen.checked > 0 && seen.errors.is_empty(), "{:?}", seen.errors);
    });
}

/// Goes this way, and looks at eight disks of its end.
fn some(cx: Cx<'_>, target: &str, steps: &[&str]) -> Seen {
    let mut plan = cx.plan(target);
    (plan.settings.limit, plan.settings.samples) = (8, 8);
    go(cx.registry, &plan, cx.lab, steps)
}

fn is_lost(seen: &Seen) -> bool {
    seen.errors.iter().any(|(error, _)| error.verdict == Verdict::Lost)
}

fn preflushes(event: &Event) -> bool {
    matches!(event, Event::Submit { flags, .. } if flags.preflush)
}
