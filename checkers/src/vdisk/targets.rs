//! The targets: our arrays of disks, and each of their bugs (`docs/results/seeded-bugs.md`); and
//! other systems of ours on them.

use explode_runtime::base::{Bounds, Options};
use explode_runtime::plan::Target;
use explode_runtime::stack::{Layer, StackSpec};
use std::borrow::Cow;

use super::blocks;
use crate::{fs, kv};

/// The disks of an array, in sectors: room for the bitmap and seven rows.
const DISK_SECTORS: u64 = 64;
/// The same where another system stands on the array.
const LARGE_SECTORS: u64 = 2048;

/// How many blocks are written: in an array with parity these are one row.
const BLOCKS: u64 = 2;

/// `mirror`, `parity`, `parity-journal`, and `<array>+<bug>`.
pub(crate) fn targets() -> Vec<Target> {
    // An array with parity has three disks that can fail, a mirror two.
    let plain = |array| Bounds {
        depth: if array == "mirror" { 5 } else { 4 },
        limit: 10_000,
        samples: 2_000,
        crash_depth: 1,
    };
    let target = |name: &'static str, about, expect| {
        let (array, bug) = name.split_once('+').unwrap_or((name, "none"));
        Target {
            name: Cow::Borrowed(name),
            about: Cow::Borrowed(about),
            stack: array_of(array, bug, DISK_SECTORS),
            checker: blocks::NAME.into(),
            checker_options: Options::none().with("blocks", BLOCKS),
            bounds: if bug == "none" { plain(array) } else { Bounds { depth: 2, ..plain(array) } },
            seeded: bug != "none",
            expect: Cow::Borrowed(expect),
        }
    };
    vec![
        target("mirror", "two disks that hold the same", "clean"),
        target("mirror+no-resync", "recovery does not make the disks agree", "corrupt"),
        target(
            "mirror+resync-clears-first",
            "recovery clears the bitmap before the disks agree",
            "corrupt",
        ),
        target("mirror+intent-not-durable", "the bitmap may stay in the disks' caches", "corrupt"),
        target(
            "mirror+clears-before-flush",
            "the bitmap is cleared before the disks are flushed",
            "corrupt",
        ),
        target("mirror+flushes-one-disk", "a flush goes to one disk only", "corrupt"),
        target("mirror+evicts", "a disk with one bad sector is not used any more", "lost"),
        target("mirror+resync-ignores-errors", "recovery copies what it could not read", "lost"),
        target("parity", "three disks, any of which can be had from the others", "clean"),
        target("parity+no-resync", "recovery leaves a stale parity", "lost"),
        target(
            "parity+resync-clears-first",
            "recovery clears the bitmap before the parity is right",
            "lost",
        ),
        target("parity+intent-not-durable", "the bitmap may stay in the disks' caches", "lost"),
        target(
            "parity+clears-before-flush",
            "the bitmap is cleared before the disks are flushed",
            "lost",
        ),
        target(
            "parity+flushes-data-only",
            "a flush leaves out the disk that has the parity",
            "lost",
        ),
        target("parity-journal", "the same with a journal that closes the write hole", "clean"),
        target(
            "parity-journal+no-resync",
            "recovery does not make the write again that a crash has divided",
            "lost",
        ),
        target("parity-journal+torn-record", "a record that a crash has divided counts", "lost"),
    ]
}

/// Systems that stand on one disk, on an array under the checker that they have there (EX-109).
pub(crate) fn systems() -> Vec<Target> {
    let target = |name: &'static str, about, array, system: &str, checker, crash_depth| Target {
        name: Cow::Borrowed(name),
        about: Cow::Borrowed(about),
        stack: array_of(array, "none", LARGE_SECTORS).plug(system, Options::none()),
        checker: Cow::Borrowed(checker),
        checker_options: Options::none(),
        bounds: Bounds { depth: 2, limit: 10_000, samples: 2_000, crash_depth },
        seeded: false,
        expect: "clean".into(),
    };
    let store = "a key-value store on two disks that hold the same";
    let files = "a file system on three disks, any of which can be had from the others";
    vec![
        target("journal-kv-mirror", store, "mirror", "journal-kv", kv::commits::NAME, 1),
        // Its recovery writes much, and is crashed often enough elsewhere.
        target("toyfs-parity", files, "parity", "toyfs", fs::sync::NAME, 0),
    ]
}

/// An array on disks of its own, of so many sectors; with the faults that its bug needs.
fn array_of(array: &str, bug: &str, sectors: u64) -> StackSpec {
    let (component, journal) =
        array.split_once('-').map_or((array, false), |(array, _)| (array, true));
    let names = if component == "mirror" { &["d0", "d1"][..] } else { &["d0", "d1", "d2"] };
    let faults = match bug {
        "evicts" | "resync-ignores-errors" => "unreadable",
        _ => "none",
    };
    let options = Options::none().with("bug", bug);
    let disk = |name: &&str| Layer {
        name: (*name).to_owned(),
        component: "ramdisk".to_owned(),
        children: Vec::new(),
        options: Options::none().with("sectors", sectors).with("faults", faults),
    };
    let layer = Layer {
        name: component.to_owned(),
        component: component.to_owned(),
        children: names.iter().map(|name| (*name).to_owned()).collect(),
        options: if journal { options.with("writes", "journal") } else { options },
    };
    StackSpec(names.iter().map(disk).chain([layer]).collect())
}
