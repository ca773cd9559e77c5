//! The targets: our key-value stores, and each of their bugs (`docs/results/seeded-bugs.md`).

use explode_runtime::base::{Bounds, Options};
use explode_runtime::plan::Target;
use explode_runtime::stack::StackSpec;
use std::borrow::Cow;

use super::commits;

/// `wal-kv`, `rename-kv`, `journal-kv`, and `<store>+<bug>`.
pub(crate) fn targets() -> Vec<Target> {
    let plain = Bounds { depth: 5, limit: 10_000, samples: 2_000, crash_depth: 1 };
    let seeded = Bounds { depth: 3, ..plain };
    let target = |name: &'static str, about, expect| {
        let (store, bug) = name.split_once('+').unwrap_or((name, "none"));
        let leaf = if store == "journal-kv" { "ramdisk" } else { "simfiles" };
        let stack = StackSpec::default().plug(leaf, Options::none());
        Target {
            name: Cow::Borrowed(name),
            about: Cow::Borrowed(about),
            stack: stack.plug(store, Options::none().with("bug", bug)),
            checker: commits::NAME.into(),
            checker_options: Options::none(),
            bounds: if bug == "none" { plain } else { seeded },
            seeded: bug != "none",
            expect: Cow::Borrowed(expect),
        }
    };
    vec![
        target("wal-kv", "a key-value store with a write-ahead log", "clean"),
        target("wal-kv+no-log-sync", "a commit does not sync the log", "lost"),
        target("wal-kv+no-checksum", "the end of the log is not told by a checksum", "corrupt"),
        target(
            "wal-kv+no-table-sync",
            "a new table is renamed before it is synced",
            "mount-failed",
        ),
        target(
            "wal-kv+no-dir-sync",
            "the folder is not synced after a new table is renamed",
            "lost",
        ),
        target(
            "wal-kv+early-unlink",
            "the old log is removed before the new table is durable",
            "lost",
        ),
        target("wal-kv+table-in-place", "a new table is written over the old one", "mount-failed"),
        target(
            "wal-kv+log-reused",
            "frames of before a checkpoint are not told from those after",
            "corrupt",
        ),
        target(
            "wal-kv+recovery-not-idempotent",
            "recovery empties the log before its table is durable",
            "lost",
        ),
        // A large value makes a frame of sixteen blocks.
        Target {
            checker_options: Options::none().with("large", 64_000_u32),
            bounds: Bounds { depth: 1, ..plain },
            ..target("wal-kv+checksum-gap", "a checksum leaves out one block of sixteen", "corrupt")
        },
        target("rename-kv", "a key-value store in a file that each commit replaces", "clean"),
        target(
            "rename-kv+no-file-sync",
            "the new file is renamed before it is synced",
            "mount-failed",
        ),
        target("rename-kv+no-dir-sync", "the folder is not synced after the rename", "lost"),
        target("rename-kv+in-place", "the file is written over", "mount-failed"),
        target("journal-kv", "a key-value store on a disk, with a journal of pages", "clean"),
        target(
            "journal-kv+no-preflush",
            "a commit block may be durable before its pages",
            "mount-failed",
        ),
        target("journal-kv+no-fua", "a commit block may stay in the disk's cache", "lost"),
        target(
            "journal-kv+no-wait",
            "the flush is sent before the writes have completed",
            "mount-failed",
        ),
        target("journal-kv+stale-commit", "a commit block of an earlier lap counts", "corrupt"),
        target(
            "journal-kv+torn-header",
            "the header takes two blocks, and can tear",
            "mount-failed",
        ),
        target(
            "journal-kv+checkpoint-no-flush",
            "the header may be durable before the pages",
            "mount-failed",
        ),
        target(
            "journal-kv+recovery-not-idempotent",
            "recovery writes the header before the pages",
            "mount-failed",
        ),
    ]
}
