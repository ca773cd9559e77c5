//! The targets: SQLite at each synchronous setting, with a rollback journal and with a WAL.
//!
//! Their bounds are such that the settings with syncs are explored completely: over a thousand
//! states, every crash disk of each checked. (A state is a path: no two ways to a database are
//! taken for the same.) What keeps the counts within that:
//!
//! - pages are small, so that a transaction touches few blocks, and several pages share a block of
//!   4096 bytes: they are kept or lost together. `--block 512` takes them apart, and then is
//!   sampled; NORMAL's documented risk shows only there;
//! - with a rollback journal that is deleted without a sync of the directory (NORMAL, FULL), the
//!   journal of a transaction that was rolled back as a whole stays possible next to the next
//!   one's, and their pieces multiply; there the step takes back to a savepoint instead
//!   (`--depth 2` with `rollback = "whole"` still is complete);
//! - a WAL without syncs at commits (NORMAL) is checkpointed after a few frames.

use explode_runtime::base::{Bounds, Options};
use explode_runtime::plan::Target;
use explode_runtime::stack::StackSpec;
use std::borrow::Cow;

use super::contents::SCHEMA;
use super::transactions;

/// Frames after which the WAL targets run a checkpoint by themselves.
const CHECKPOINT_FRAMES: u64 = 6;

/// `sqlite-off` ... `sqlite-extra`, each also `-wal`; and the checker's canaries: safe settings on
/// files whose syncs lie.
pub(crate) fn sqlite() -> Vec<Target> {
    let delete = |synchronous| {
        Options::none()
            .with("journal", "delete")
            .with("synchronous", synchronous)
            .with("page_bytes", 1024u32)
    };
    let wal = |synchronous| {
        let options = Options::none().with("journal", "wal").with("synchronous", synchronous);
        options.with("page_bytes", 512u32).with("wal_autocheckpoint", CHECKPOINT_FRAMES)
    };
    let target = |name, about, sqlite: Options, rollback, expect| Target {
        name: Cow::Borrowed(name),
        about: Cow::Borrowed(about),
        stack: StackSpec::default()
            .plug("simfiles", Options::none())
            .plug("sqlite", sqlite.with("schema", SCHEMA)),
        checker: transactions::NAME.into(),
        checker_options: Options::none().with("rollback", rollback),
        bounds: Bounds { depth: 4, limit: 20_000, samples: 2_000, crash_depth: 1 },
        seeded: false,
        expect: Cow::Borrowed(expect),
    };
    let seeded = |name, about, lies: &str, sqlite: Options| {
        let files = StackSpec::default().plug("simfiles", Options::none());
        let stack = files.plug("lying-sync", Options::none().with("lies", lies));
        Target {
            stack: stack.plug("sqlite", sqlite.with("schema", SCHEMA)),
            seeded: true,
            ..target(name, about, Options::none(), "whole", "lost")
        }
    };
    vec![
        target("sqlite-off", "SQLite without syncs", delete("off"), "whole", "lost"),
        target(
            "sqlite-normal",
            "SQLite that syncs when it must",
            delete("normal"),
            "savepoint",
            "clean",
        ),
        target(
            "sqlite-full",
            "SQLite that syncs at each commit, its default",
            delete("full"),
            "savepoint",
            "clean",
        ),
        target(
            "sqlite-extra",
            "SQLite that syncs the directory too",
            delete("extra"),
            "whole",
            "clean",
        ),
        target("sqlite-off-wal", "SQLite with a WAL, without syncs", wal("off"), "whole", "lost"),
        target(
            "sqlite-normal-wal",
            "SQLite with a WAL, synced at checkpoints",
            wal("normal"),
            "whole",
            "clean",
        ),
        target(
            "sqlite-full-wal",
            "SQLite with a WAL, synced at commits",
            wal("full"),
            "whole",
            "clean",
        ),
        target(
            "sqlite-extra-wal",
            "SQLite with a WAL; the same as full there",
            wal("extra"),
            "whole",
            "clean",
        ),
        seeded(
            "sqlite+fsync-lies",
            "sqlite-extra on files whose fsync does nothing",
            "files",
            delete("extra"),
        ),
        seeded(
            "sqlite+dirsync-lies",
            "sqlite-extra, fsync of a directory does nothing",
            "directories",
            delete("extra"),
        ),
        seeded(
            "sqlite-wal+fsync-lies",
            "sqlite-full-wal on files whose fsync does nothing",
            "files",
            wal("full"),
        ),
    ]
}
