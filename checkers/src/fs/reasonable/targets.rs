//! The checker on simulated files, and on such whose syncs lie.

use explode_runtime::base::{Bounds, Options};
use explode_runtime::plan::Target;
use explode_runtime::stack::StackSpec;
use std::borrow::Cow;

use super::NAME;

pub(crate) fn targets() -> Vec<Target> {
    let target = |name, about, stack, expect| Target {
        name: Cow::Borrowed(name),
        about: Cow::Borrowed(about),
        stack,
        checker: Cow::Borrowed(NAME),
        // Simulated files have no indirect blocks.
        checker_options: Options::none().with("far", 16_384_u64),
        bounds: Bounds { depth: 4, limit: 10_000, samples: 2_000, crash_depth: 1 },
        seeded: expect != "clean",
        expect: Cow::Borrowed(expect),
    };
    let files = || StackSpec::default().plug("simfiles", Options::none());
    let lying = |which: &str| files().plug("lying-sync", Options::none().with("lies", which));
    let toyfs = |bug: &str| {
        let disk = StackSpec::default().plug("ramdisk", Options::none());
        disk.plug("toyfs", Options::none().with("bug", bug))
    };
    let rename_loop = Target {
        bounds: Bounds { depth: 4, limit: 100, samples: 10, crash_depth: 0 },
        ..target(
            "toyfs-reasonable+rename-loop",
            "a directory that is moved into another one is entered as that one, which then \
             contains itself",
            toyfs("rename-loop"),
            "corrupt",
        )
    };
    vec![
        rename_loop,
        target(NAME, "what a crash leaves is reasonable, on simulated files", files(), "clean"),
        target(
            "simfiles-reasonable+sync-forgets-removals",
            "files whose sync leaves the names of a directory that has lost one",
            lying("removals"),
            "resurrected",
        ),
        target(
            "simfiles-reasonable+fsync-lies",
            "files whose fsync does nothing",
            lying("fsync"),
            "lost",
        ),
        target(
            "simfiles-reasonable+dirsync-lies",
            "files whose fsync of a directory does nothing",
            lying("directories"),
            "lost",
        ),
    ]
}
