//! The targets: redb at its durability levels, and on files whose syncs lie
//! (`docs/results/redb.md`).

use explode_runtime::base::{Bounds, Options};
use explode_runtime::plan::Target;
use explode_runtime::stack::StackSpec;
use std::borrow::Cow;

use crate::kv::commits;

/// `redb`, `redb-none`, ...; and the canaries `redb+<lie>`.
///
/// Bounds are such that all of them are explored completely. With quick-repair a commit writes so
/// many blocks that the third step has emissions of 10^6 disks.
pub(crate) fn targets() -> Vec<Target> {
    let target = |name, about, expect, depth, options: Options| Target {
        name: Cow::Borrowed(name),
        about: Cow::Borrowed(about),
        stack: StackSpec::default().plug("simfiles", Options::none()).plug("redb", options),
        checker: commits::NAME.into(),
        checker_options: Options::none(),
        bounds: Bounds { depth, limit: 300_000, samples: 2_000, crash_depth: 1 },
        seeded: false,
        expect: Cow::Borrowed(expect),
    };
    let seeded = |name, about, expect, lies: &str| {
        let files = StackSpec::default().plug("simfiles", Options::none());
        let stack = files.plug("lying-sync", Options::none().with("lies", lies));
        Target {
            stack: stack.plug("redb", Options::none()),
            seeded: true,
            ..target(name, about, expect, 1, Options::none())
        }
    };
    let none = Options::none;
    vec![
        target("redb", "redb, its defaults", "clean", 3, none()),
        target(
            "redb-2pc",
            "redb with two syncs a commit",
            "clean",
            2,
            none().with("two_phase_commit", true),
        ),
        target(
            "redb-quick",
            "redb that need not repair",
            "clean",
            2,
            none().with("quick_repair", true),
        ),
        target(
            "redb-none",
            "redb without durable commits",
            "clean",
            3,
            none().with("durability", "none"),
        ),
        seeded("redb+sync-lies", "redb on files whose fdatasync does nothing", "lost", "files"),
        seeded(
            "redb+growth-lies",
            "redb on files that sync no size that has grown",
            "recover-failed",
            "growth",
        ),
    ]
}
