//! The checker on simulated files, and on such where one way lies.

use explode_runtime::base::{Bounds, Options};
use explode_runtime::plan::Target;
use explode_runtime::stack::StackSpec;
use std::borrow::Cow;

use super::NAME;

pub(crate) fn targets() -> Vec<Target> {
    let target = |name, about, way: &str, stack, seeded| Target {
        name: Cow::Borrowed(name),
        about: Cow::Borrowed(about),
        stack,
        checker: Cow::Borrowed(NAME),
        // Simulated files have no indirect blocks.
        checker_options: Options::none().with("way", way).with("far", 16_384_u64),
        bounds: Bounds { depth: 4, limit: 10_000, samples: 2_000, crash_depth: 1 },
        seeded,
        expect: Cow::Borrowed(if seeded { "lost" } else { "clean" }),
    };
    let files = || StackSpec::default().plug("simfiles", Options::none());
    let synchronous = || StackSpec::default().plug("simfiles", Options::none().with("sync", true));
    let honest = |name, about, way| target(name, about, way, files(), false);
    let seeded = |name, about, way, lie: &str| {
        target(
            name,
            about,
            way,
            files().plug("lying-sync", Options::none().with("lies", lie)),
            true,
        )
    };
    vec![
        honest("fs-ways-sync", "what sync makes durable is there, on simulated files", "sync"),
        honest("fs-ways-syncfs", "the same of syncfs", "syncfs"),
        honest("fs-ways-fsync", "the same of fsync of a file and of its directories", "fsync"),
        honest("fs-ways-fdatasync", "the same of fdatasync", "fdatasync"),
        honest("fs-ways-o-sync", "the same of O_SYNC", "o-sync"),
        honest("fs-ways-o-dsync", "the same of O_DSYNC", "o-dsync"),
        honest("fs-ways-msync", "the same of msync", "msync"),
        honest("fs-ways-fsync-dir", "the same of fsync of a directory", "fsync-dir"),
        target(
            "fs-ways-mount-sync",
            "the same of a synchronous mount",
            "mount-sync",
            synchronous(),
            false,
        ),
        seeded("simfiles-ways+sync-lies", "files whose sync does nothing", "sync", "sync"),
        seeded("simfiles-ways+syncfs-lies", "files whose syncfs does nothing", "syncfs", "syncfs"),
        seeded("simfiles-ways+fsync-lies", "files whose fsync does nothing", "fsync", "fsync"),
        seeded(
            "simfiles-ways+fdatasync-lies",
            "files whose fdatasync does nothing",
            "fdatasync",
            "fdatasync",
        ),
        seeded(
            "simfiles-ways+o-sync-ignored",
            "files that take O_SYNC for nothing",
            "o-sync",
            "o-sync",
        ),
        seeded(
            "simfiles-ways+o-dsync-ignored",
            "files that take O_DSYNC for nothing",
            "o-dsync",
            "o-dsync",
        ),
        seeded("simfiles-ways+msync-lies", "files whose msync does nothing", "msync", "msync"),
        seeded(
            "simfiles-ways+dirsync-waits-for-moved",
            "files whose fsync of a directory does nothing while what has got another name is not \
             synced itself",
            "fsync-dir",
            "moved",
        ),
        seeded(
            "simfiles-ways+mount-sync-ignored",
            "files that look mounted with -o sync, and are not",
            "mount-sync",
            "mount-sync",
        ),
    ]
}
