//! What a recovery leaves is looked at by the file system's own program: XFS and ext4 with `strict`.

use explode_runtime::check::Verdict;

use crate::cases::{Cx, is_clean, sampled};
use crate::directed::{Seen, go_on};
use crate::report::Report;

/// Each, its program's words, and a block that nobody reads but that program.
const SYSTEMS: [(&str, &str, &str); 2] = [
    // The last of the eight blocks of inodes that mkfs.xfs makes: nobody uses these inodes.
    ("xfs", "after the recovery xfs_repair ended with 1", "ramdisk block 1391 garbage"),
    // The directory lost+found.
    ("ext4", "after the recovery e2fsck ended with 12", "ramdisk block 5 garbage"),
];

/// Every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    report.case("ext4, strict: exact counts, and a sample that is clean one step deep", |_| {
        let mut plan = sampled(cx.shallow("fs-sync-ext4"));
        let ext4 = &mut plan.stack.0[1];
        ext4.options = ext4.options.clone().with("strict", true);
        plan.settings.crash_depth = 0;
        is_clean(cx, &plan, [9, 384, 20, 0], false);
    });
    for (system, words, unread) in SYSTEMS {
        let go = |strict: bool, fault: &str| -> Seen {
            let mut plan = cx.plan(&format!("fs-sync-{system}"));
            (plan.settings.limit, plan.settings.samples) = (8, 8);
            let [disk, fs] = &mut plan.stack.0[..] else { panic!("two layers") };
            disk.options = disk.options.clone().with("faults", "garbage");
            fs.options = fs.options.clone().with("strict", strict);
            go_on(cx.registry, &plan, cx.lab, &[fault, "write /a; fsync /a, /"], 1)
        };
        report.case(
            &format!("{system}, strict: what nobody reads is found to be spoilt, and only then"),
            |_| {
                let strict = go(true, unread);
                let found = strict.errors.iter().filter(|(error, _)| {
                    error.verdict == Verdict::RecoverFailed && error.message.contains(words)
                });
                assert!(strict.checked > 0 && found.count() as u64 == strict.checked, "{:?}", strict.errors);
                for silent in [go(false, unread), go(true, "none")] {
                    assert!(silent.checked > 0 && silent.errors.is_empty(), "{:?}", silent.errors);
                }
            },
        );
    }
}
