//! The checker on simulated files, and on such whose syncs lie.

use explode_runtime::base::{Bounds, Options};
use explode_runtime::plan::Target;
use explode_runtime::stack::StackSpec;
use std::borrow::Cow;

use super::NAME;

pub(crate) fn targets() -> Vec<Target> {
    let target = |name, about, stack, seeded, expect| Target {
        name: Cow::Borrowed(name),
        about: Cow::Borrowed(about),
        stack,
        checker: Cow::Borrowed(NAME),
        // Simulated files have no indirect blocks.
        checker_options: Options::none().with("hole", 16_384_u64),
        bounds: Bounds { depth: 4, limit: 10_000, samples: 2_000, crash_depth: 1 },
        seeded,
        expect: Cow::Borrowed(expect),
    };
    let files = || StackSpec::default().plug("simfiles", Options::none());
    let lying = |which: &str| files().plug("lying-sync", Options::none().with("lies", which));
    let seeded = |name, about, which| target(name, about, lying(which), true, "lost");
    vec![
        target("fs-sync", "what is synced survives, on simulated files", files(), false, "clean"),
        seeded("simfiles-sync+fsync-lies", "files whose fsync and fdatasync do nothing", "files"),
        seeded(
            "simfiles-sync+dirsync-lies",
            "files whose fsync of a directory does nothing",
            "directories",
        ),
        seeded(
            "simfiles-sync+fdatasync-forgets-growth",
            "files whose fdatasync does nothing if the file has grown",
            "growth",
        ),
        seeded(
            "simfiles-sync+sync-forgets-subdirectories",
            "files whose sync does not go below the root",
            "subdirectories",
        ),
    ]
}
