//! The targets: our arrays of disks, and each of their bugs (`docs/seeded-bugs.md`).

use explode_runtime::recover::{Layer, StackSpec};
use explode_runtime::run::{Bounds, Options, Target};

use super::blocks;

/// The disks of an array, in sectors: room for the bitmap and seven rows.
const DISK_SECTORS: u64 = 64;

/// `mirror`, `parity`, and `<array>+<bug>`.
pub(crate) fn targets() -> Vec<Target> {
    let plain = Bounds { depth: 5, limit: 10_000, samples: 2_000, crash_depth: 1 };
    let seeded = Bounds { depth: 3, ..plain };
    let target = |name: &'static str, about, expect| {
        let (array, bug) = name.split_once('+').unwrap_or((name, "none"));
        Target {
            name,
            about,
            stack: array_of(array, Options::none().with("bug", bug), faults_for(bug)),
            checker: blocks::DEF.name,
            checker_options: Options::none(),
            bounds: if bug == "none" { plain } else { seeded },
            seeded: bug != "none",
            expect,
        }
    };
    vec![
        target("mirror", "two disks that hold the same", "clean"),
        target("mirror+no-resync", "recovery does not make the disks agree", "corrupt"),
        target("mirror+resync-clears-first", "recovery clears the bitmap before the disks agree", "corrupt"),
        target("mirror+intent-not-durable", "the bitmap may stay in the disks' caches", "corrupt"),
        target("mirror+clears-before-flush", "the bitmap is cleared before the disks are flushed", "corrupt"),
        target("mirror+flushes-one-disk", "a flush goes to one disk only", "corrupt"),
        target("mirror+evicts", "a disk with one bad sector is not used any more", "lost"),
        target("mirror+resync-ignores-errors", "recovery copies what it could not read", "lost"),
        target("parity", "three disks, any of which can be had from the others", "clean"),
        target("parity+no-resync", "recovery leaves a stale parity", "lost"),
        target("parity+resync-clears-first", "recovery clears the bitmap before the parity is right", "lost"),
        target("parity+intent-not-durable", "the bitmap may stay in the disks' caches", "lost"),
        target("parity+clears-before-flush", "the bitmap is cleared before the disks are flushed", "lost"),
        target("parity+flushes-data-only", "a flush leaves out the disk that has the parity", "lost"),
    ]
}

/// What a bug needs of its disks.
fn faults_for(bug: &str) -> &'static str {
    match bug {
        "evicts" | "resync-ignores-errors" => "unreadable",
        _ => "none",
    }
}

/// An array on disks of its own.
fn array_of(array: &str, options: Options, faults: &str) -> StackSpec {
    let names = if array == "mirror" { &["d0", "d1"][..] } else { &["d0", "d1", "d2"] };
    let disk = |name: &&str| Layer {
        name: (*name).to_owned(),
        component: "ramdisk".to_owned(),
        children: Vec::new(),
        options: Options::none().with("sectors", DISK_SECTORS).with("faults", faults),
    };
    let children = names.iter().map(|name| (*name).to_owned()).collect();
    let layer = Layer { name: array.to_owned(), component: array.to_owned(), children, options };
    StackSpec(names.iter().map(disk).chain([layer]).collect())
}
