//! After a recovery the file system's own program checks the disk (`strict`). A fault that it finds
//! is a failed recovery. It runs only then. Each system is damaged in a place that only its program
//! checks.

mod damages;
mod spoilt;

use explode_runtime::plan::Plan;
use explode_runtime::verdict::{Verdict, Violation};

use crate::cases::{Cx, is_clean, sampled};
use crate::directed::{Seen, go_on};
use crate::report::Report;

/// Each system, words of its program, and a block that goes bad before the first step.
const BAD_BLOCKS: [(&str, &str, &str); 4] = [
    // The last of the eight blocks of inodes that mkfs.xfs makes. These inodes are not in use.
    ("xfs", "after the recovery xfs_repair ended with 1", "ramdisk block 1391 garbage"),
    // The directory lost+found.
    ("ext4", "after the recovery e2fsck ended with 12", "ramdisk block 5 garbage"),
    ("ext3", "after the recovery e2fsck ended with 12", "ramdisk block 261 garbage"),
    // The bitmap of the first half of the disk. The file is in the second.
    ("reiserfs", "after the recovery reiserfsck ended with", "ramdisk block 17 garbage"),
];

/// The systems of which a few bytes are changed, and words of their programs. A mount reads every
/// block that they use, or the block has a checksum.
const SPOILT: [(&str, &str); 2] = [
    ("btrfs", "after the recovery btrfs ended with 1"),
    ("f2fs", "after the recovery fsck.f2fs ended with"),
];

/// Words of jfs_fsck.
const JFS: &str = "after the recovery jfs_fsck ended with 4";

/// The systems whose repair mends the damage, and words of their programs if the repair was not
/// run. The programs find more then: the effects of the crash, and on FAT the mark of a missing
/// unmount, which a mount does not change.
const MENDED: [(&str, &str); 5] = [
    ("ext2", "after the recovery e2fsck ended with 12"),
    ("vfat", "Reclaimed 1 unused cluster"),
    ("msdos", "Reclaimed 1 unused cluster"),
    ("exfat", "unknown entry type 0xc2"),
    ("minix", "Zone 16383: marked in use, no file uses it"),
];

/// Runs one synced file and checks eight of its disks.
fn go(cx: Cx<'_>, plan: &Plan, before: &[&str]) -> Seen {
    let mut plan = plan.clone();
    (plan.settings.limit, plan.settings.samples) = (8, 8);
    go_on(cx.registry, &plan, cx.backend, &[before, &["write /a; fsync /a, /"]].concat(), 1)
}

/// Returns the number of disks that are refused with these words.
fn refused(seen: &Seen, words: &str) -> u64 {
    let with = |error: &Violation| {
        error.verdict == Verdict::RecoverFailed && error.message.contains(words)
    };
    seen.errors.iter().filter(|(error, _)| with(error)).count() as u64
}

/// Checks that all disks are refused.
fn is_refused(seen: &Seen, words: &str) {
    assert!(seen.checked > 0 && refused(seen, words) == seen.checked, "{:?}", seen.errors);
}

fn is_silent(seen: &Seen) {
    assert!(seen.checked > 0 && seen.errors.is_empty(), "{:?}", seen.errors);
}

/// Runs every case.
pub fn all(cx: Cx<'_>, report: &mut Report) {
    report.case("ext4, strict: exact counts, and a sample that is clean one step deep", |_| {
        let mut plan = sampled(cx.shallow("fs-sync-ext4"));
        let ext4 = &mut plan.stack.0[1];
        ext4.options = ext4.options.clone().with("strict", true);
        plan.settings.crash_depth = 0;
        is_clean(cx, &plan, [9, 384, 20, 0], false);
    });
    for (system, words, block) in BAD_BLOCKS {
        report.case(&name(system), |_| {
            let seen = |strict: bool, fault: &str| {
                let mut plan = cx.plan(&format!("fs-sync-{system}"));
                let [disk, fs] = &mut plan.stack.0[..] else { panic!("two layers") };
                disk.options = disk.options.clone().with("faults", "garbage");
                fs.options = fs.options.clone().with("strict", strict);
                go(cx, &plan, &[fault])
            };
            is_refused(&seen(true, block), words);
            is_silent(&seen(false, block));
            is_silent(&seen(true, "none"));
        });
    }
    for (system, words) in SPOILT {
        report.case(&name(system), |_| {
            let seen =
                |strict: bool, spoil: bool| spoilt::seen(cx, system, &[("strict", strict)], spoil);
            is_refused(&seen(true, true), words);
            is_silent(&seen(false, true));
            is_silent(&seen(true, false));
        });
    }
    report.case(&name("jfs"), |_| {
        let seen =
            |strict: bool, spoil: bool| spoilt::seen(cx, "jfs", &[("strict", strict)], spoil);
        // If there is a log to replay, jfs_fsck -a mends the rest as well. On JFS that file is lost
        // (docs/results/file-systems.md).
        assert!(refused(&seen(true, true), JFS) > 0);
        for other in [seen(false, true), seen(true, false)] {
            assert!(other.checked > 0 && refused(&other, "") == 0, "{:?}", other.errors);
        }
    });
    for (system, words) in MENDED {
        report.case(&format!("{system}, strict: what no fsck has mended is found"), |_| {
            let seen = |strict: bool, fsck: bool, spoil: bool| {
                spoilt::seen(cx, system, &[("strict", strict), ("fsck", fsck)], spoil)
            };
            let unspoilt = seen(true, false, false);
            assert!(
                unspoilt.checked > 0 && refused(&unspoilt, words) == 0,
                "{:?}",
                unspoilt.errors
            );
            is_refused(&seen(true, false, true), words);
            is_silent(&seen(false, false, true));
            is_silent(&seen(true, true, true));
        });
    }
}

fn name(system: &str) -> String {
    format!("{system}, strict: what nobody reads is found to be spoilt, and only then")
}
