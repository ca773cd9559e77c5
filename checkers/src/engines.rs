//! The targets on storage engines of others (`docs/engines.md`).

use explode_runtime::recover::StackSpec;
use explode_runtime::run::{Bounds, Options, Target};

use crate::fs::{atomic, sync};
use crate::kv::commits;

const BOUNDS: Bounds = Bounds { depth: 4, limit: 10_000, samples: 2_000, crash_depth: 1 };

fn none() -> Options {
    Options::none()
}

/// A disk that keeps its promises, or does nothing when it is asked to flush or to write through.
fn disk(flushes: &str) -> StackSpec {
    StackSpec::default().plug("ramdisk", none().with("flushes", flushes))
}

/// Flash whose operations are durable when they return.
fn flash(flushes: &str) -> StackSpec {
    disk(flushes).plug("flash", none())
}

/// A device that caches writes until a sync.
fn cached(flushes: &str) -> StackSpec {
    disk(flushes).plug("flash", none().with("cache", "volatile"))
}

pub(crate) fn targets() -> Vec<Target> {
    let target = |name: &'static str, about, stack, (checker, checker_options), expect| Target {
        name,
        about,
        stack,
        checker,
        checker_options,
        bounds: BOUNDS,
        seeded: name.contains('+'),
        expect,
    };
    let calls = || (atomic::DEF.name, none());
    let synced = || (sync::DEF.name, none().with("hole", 8192_u64));
    let at_rest = || (sync::DEF.name, none().with("hole", 8192_u64).with("when", "synced"));
    let commits = || (commits::DEF.name, none().with("large", 900_u64));
    let changes = || (commits::DEF.name, none().with("large", 900_u64).with("changes", "one"));
    let littlefs = |below: StackSpec| below.plug("littlefs", none());
    let deaf = || cached("kept").plug("littlefs", none().with("sync", "ignored"));
    let fatfs = |flushes| disk(flushes).plug("fatfs", none());
    let held = |flushes| disk(flushes).plug("fatfs", none().with("promises", "flushed"));
    let ekv = |flushes| flash(flushes).plug("ekv", none());
    let map = |flushes| flash(flushes).plug("sequential-storage", none());
    vec![
        target("littlefs", "littlefs on raw flash: its calls are atomic", littlefs(flash("kept")), calls(), "clean"),
        target("littlefs-cached", "the same on a device that caches writes", littlefs(cached("kept")), calls(), "clean"),
        target("littlefs-sync", "the same, what is synced survives", littlefs(cached("kept")), synced(), "clean"),
        target("littlefs+sync-ignored", "a port whose sync does nothing", deaf(), calls(), "lost"),
        target("littlefs+flush-lies", "flash that keeps no order", littlefs(flash("dropped")), calls(), "lost"),
        target("fatfs", "what FAT loses by the crate fatfs", fatfs("kept"), synced(), "clean"),
        target("fatfs-flushed", "what was flushed is there, if nothing else is under way", held("kept"), at_rest(), "clean"),
        target("fatfs+flush-lies", "the same on a disk whose flushes do nothing", held("dropped"), at_rest(), "lost"),
        target("ekv", "an ekv database on raw flash", ekv("kept"), commits(), "clean"),
        target("ekv+flush-lies", "the same on flash that keeps no order", ekv("dropped"), commits(), "lost"),
        target("sequential-storage", "a map of sequential-storage on raw flash", map("kept"), changes(), "clean"),
        target("sequential-storage+flush-lies", "the same on flash that keeps no order", map("dropped"), changes(), "lost"),
    ]
}
