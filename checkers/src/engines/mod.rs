//! The targets on storage engines of others (`docs/results/engines.md`).

mod redb;

use explode_runtime::base::{Bounds, Options};
use explode_runtime::plan::Target;
use explode_runtime::stack::StackSpec;
use std::borrow::Cow;

use crate::fs::{atomic, sync};
use crate::kv::commits;

const BOUNDS: Bounds = Bounds { depth: 4, limit: 10_000, samples: 2_000, crash_depth: 1 };
/// Where a step has more crash disks, or there are more steps.
const SHORT: Bounds = Bounds { depth: 3, ..BOUNDS };
/// Seeded bugs show themselves soon.
const SEEDED: Bounds = Bounds { depth: 2, ..BOUNDS };

fn none() -> Options {
    Options::none()
}

/// A disk that keeps its promises, or does nothing when it is asked to flush or to write through.
fn disk(flushes: &str) -> StackSpec {
    StackSpec::default().plug("ramdisk", none().with("flushes", flushes))
}

/// Flash with so many blocks, words of 4 bytes, and operations that are durable when they return.
fn flash(flushes: &str, blocks: u64) -> StackSpec {
    disk(flushes).plug("flash", none().with("blocks", blocks).with("tear", 4_u64))
}

/// A device that caches writes until a sync; with `erase=none` a disk.
fn cached(erase: &str) -> StackSpec {
    disk("kept").plug("flash", none().with("cache", "volatile").with("erase", erase))
}

pub(crate) fn targets() -> Vec<Target> {
    let target =
        |name: &'static str, about, stack, checked: &(&'static str, Options), bounds, expect| {
            Target {
                name: Cow::Borrowed(name),
                about: Cow::Borrowed(about),
                stack,
                checker: checked.0.into(),
                checker_options: checked.1.clone(),
                bounds,
                seeded: name.contains('+'),
                expect: Cow::Borrowed(expect),
            }
        };
    [littlefs(&target), fatfs(&target), key_values(&target), redb::targets()].concat()
}

/// Makes a target: name, what it is about, stack, checker with options, bounds, verdict.
type Make<'a> = &'a dyn Fn(
    &'static str,
    &'static str,
    StackSpec,
    &(&'static str, Options),
    Bounds,
    &'static str,
) -> Target;

fn littlefs(target: Make<'_>) -> Vec<Target> {
    let calls = (atomic::NAME, none());
    let synced = (sync::NAME, none().with("hole", 8192_u64));
    // Programs of littlefs have 16 bytes at least.
    let on = |flushes: &str| disk(flushes).plug("flash", none());
    let plain = || none();
    let consistent = || none().with("mkconsistent", true);
    let sectors = || none().with("prog", 512_u64);
    vec![
        target(
            "littlefs",
            "littlefs on raw flash: its calls are atomic",
            on("kept").plug("littlefs", plain()),
            &calls,
            BOUNDS,
            "corrupt",
        ),
        target(
            "littlefs-consistent",
            "the same, made consistent after each mount",
            on("kept").plug("littlefs", consistent()),
            &calls,
            BOUNDS,
            "clean",
        ),
        target(
            "littlefs-cached",
            "littlefs made consistent, on a disk with a write cache",
            cached("none").plug("littlefs", consistent().with("prog", 512_u64)),
            &calls,
            BOUNDS,
            "clean",
        ),
        target(
            "littlefs-cached-erase",
            "the same, on a device that caches erases, too",
            cached("any").plug("littlefs", consistent().with("prog", 512_u64)),
            &calls,
            BOUNDS,
            "corrupt",
        ),
        target(
            "littlefs-sync",
            "littlefs on such a disk: what is synced survives",
            cached("none").plug("littlefs", sectors()),
            &synced,
            SHORT,
            "clean",
        ),
        target(
            "littlefs+sync-ignored",
            "littlefs on such a disk, by a port that forgets its syncs",
            cached("none").plug("littlefs", sectors().with("sync", "ignored")),
            &calls,
            SEEDED,
            "lost",
        ),
        target(
            "littlefs+flush-lies",
            "littlefs on flash that keeps no order",
            on("dropped").plug("littlefs", plain()),
            &calls,
            SEEDED,
            "lost",
        ),
    ]
}

fn fatfs(target: Make<'_>) -> Vec<Target> {
    let calls = (atomic::NAME, none());
    let at_rest = (sync::NAME, none().with("hole", 8192_u64).with("when", "synced"));
    let plain = || disk("kept").plug("fatfs", none());
    let held = |flushes| disk(flushes).plug("fatfs", none().with("promises", "flushed"));
    vec![
        target(
            "fatfs",
            "FAT by the crate fatfs: its calls are not atomic",
            plain(),
            &calls,
            SHORT,
            "clean",
        ),
        target(
            "fatfs-flushed",
            "FAT by the crate fatfs, held to what was flushed when nothing else was under way",
            held("kept"),
            &at_rest,
            SHORT,
            "clean",
        ),
        target(
            "fatfs+flush-lies",
            "the same on a disk whose flushes do nothing",
            held("dropped"),
            &at_rest,
            SEEDED,
            "lost",
        ),
    ]
}

fn key_values(target: Make<'_>) -> Vec<Target> {
    let commits = (commits::NAME, none().with("large", 900_u64));
    let changes = (commits::NAME, none().with("large", 500_u64).with("changes", "one"));
    let ekv = |flushes| flash(flushes, 16).plug("ekv", none());
    let whole = || disk("kept").plug("flash", none().with("blocks", 16_u64).with("tear", 512_u64));
    // So few blocks that old ones are used again; `erase` says how an erase may be interrupted.
    let map = |flushes, erase: &str, fetch_first: bool| {
        let options = none().with("blocks", 3_u64).with("tear", 4_u64).with("erase", erase);
        disk(flushes)
            .plug("flash", options)
            .plug("sequential-storage", none().with("fetch_first", fetch_first))
    };
    vec![
        target(
            "ekv",
            "an ekv database on raw flash",
            ekv("kept"),
            &commits,
            BOUNDS,
            "mount-failed",
        ),
        target(
            "ekv-whole",
            "the same on flash that programs 512 bytes at once",
            whole().plug("ekv", none()),
            &commits,
            BOUNDS,
            "clean",
        ),
        target(
            "ekv+flush-lies",
            "the same on flash that keeps no order",
            ekv("dropped"),
            &commits,
            SEEDED,
            "lost",
        ),
        target(
            "sequential-storage",
            "a map of sequential-storage on raw flash that erases blocks from the beginning",
            map("kept", "ascending", false),
            &changes,
            SHORT,
            "mount-failed",
        ),
        target(
            "sequential-storage-fetch",
            "the same, where an item is fetched before all are listed",
            map("kept", "ascending", true),
            &changes,
            SHORT,
            "clean",
        ),
        target(
            "sequential-storage-any",
            "the same on flash that erases a block's sectors in any order",
            map("kept", "any", true),
            &changes,
            SHORT,
            "lost",
        ),
        target(
            "sequential-storage+flush-lies",
            "the same on flash that keeps no order",
            map("dropped", "ascending", true),
            &changes,
            SEEDED,
            "lost",
        ),
    ]
}
