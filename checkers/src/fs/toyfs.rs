//! The small file system of ours, and each of its bugs (`docs/results/seeded-bugs.md`).

use explode_runtime::base::{Bounds, Options};
use explode_runtime::plan::Target;
use explode_runtime::stack::StackSpec;
use std::borrow::Cow;

use super::sync;

/// `toyfs`, its other designs, and `<design>+<bug>`, under the checker of synced files.
pub(crate) fn targets() -> Vec<Target> {
    let plain = Bounds { depth: 3, limit: 10_000, samples: 2_000, crash_depth: 1 };
    // A block must be given back, that must be committed, and the block be used again.
    let deeper = Bounds { depth: 4, crash_depth: 0, ..plain };
    let target = |name: &'static str, about, bounds, expect| {
        let (design, bug) = name.split_once('+').unwrap_or((name, "none"));
        let metadata = design.strip_prefix("toyfs-").unwrap_or("journal");
        let stack = StackSpec::default().plug("ramdisk", Options::none());
        Target {
            name: Cow::Borrowed(name),
            about: Cow::Borrowed(about),
            stack: stack.plug("toyfs", Options::none().with("metadata", metadata).with("bug", bug)),
            checker: sync::NAME.into(),
            // An inode has 8 blocks without an indirect one.
            checker_options: Options::none().with("hole", 40_960_u64),
            bounds,
            seeded: bug != "none",
            expect: Cow::Borrowed(expect),
        }
    };
    vec![
        target("toyfs", "a small journaling file system", plain, "clean"),
        target(
            "toyfs+early-reuse",
            "a block that was given back is used again at once",
            plain,
            "corrupt",
        ),
        target(
            "toyfs+no-revoke",
            "the journal writes over a block that is somebody else's now",
            deeper,
            "corrupt",
        ),
        target(
            "toyfs+data-after-commit",
            "contents are written after the commit that makes them reachable",
            plain,
            "lost",
        ),
        target("toyfs+fsync-in-place", "fsync writes an inode past the journal", plain, "lost"),
        target(
            "toyfs+no-preflush",
            "the journal's commit block may be durable before its pages",
            plain,
            "lost",
        ),
        target(
            "toyfs-versions",
            "a small file system whose fsync writes an inode past the journal",
            plain,
            "clean",
        ),
        target(
            "toyfs-versions+inode-reuse",
            "the journal brings back the directory that had a new file's inode",
            plain,
            "corrupt",
        ),
        target(
            "toyfs-in-place",
            "a small file system without a journal, but with an fsck",
            plain,
            "clean",
        ),
        target(
            "toyfs-in-place+block-reuse",
            "the fsck mends the indirect block that a synced file's block once was",
            plain,
            "lost",
        ),
    ]
}
