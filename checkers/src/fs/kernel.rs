//! The file-system checkers on file systems of the kernel, in a guest.
//!
//! A check costs a mount there, so bounds are small: what they leave out is said by each run.

use explode_runtime::base::{Bounds, Options};
use explode_runtime::plan::Target;
use explode_runtime::stack::StackSpec;
use std::borrow::Cow;

use super::{basic, sync, ways};

const BOUNDS: Bounds = Bounds { depth: 2, limit: 200, samples: 40, crash_depth: 1 };

/// A disk with a file system on it.
fn on_disk(component: &str, options: Options) -> StackSpec {
    StackSpec::default().plug("ramdisk", Options::none()).plug(component, options)
}

pub(crate) fn targets() -> Vec<Target> {
    let target = |name, about, checker, stack, seeded, expect| Target {
        name: Cow::Borrowed(name),
        about: Cow::Borrowed(about),
        stack,
        checker: Cow::Borrowed(checker),
        checker_options: Options::none(),
        bounds: BOUNDS,
        seeded,
        expect: Cow::Borrowed(expect),
    };
    let none = Options::none;
    let synced = |name, about, stack, expect| target(name, about, sync::NAME, stack, false, expect);
    let seeded = |name, about, stack| target(name, about, sync::NAME, stack, true, "lost");
    let deaf = || StackSpec::default().plug("ramdisk", none().with("flushes", "dropped"));
    let committing = || none().with("between", "commit");
    let lower = || none().with("lower", "files");
    let by_ext4 = || none().with("driver", "ext4");
    let mut targets = vec![
        target(
            "fs-basic-ext4",
            "Figure 2 on ext4",
            basic::NAME,
            on_disk("ext4", none()),
            false,
            "clean",
        ),
        synced(
            "fs-sync-ext4",
            "what is synced survives, on ext4",
            on_disk("ext4", none()),
            "clean",
        ),
        synced(
            "fs-sync-ext2",
            "the same on ext2, by its own driver",
            on_disk("ext2", none()),
            "lost",
        ),
        synced(
            "fs-sync-ext2-by-ext4",
            "the same on ext2, by ext4's driver",
            on_disk("ext2", by_ext4()),
            "clean",
        ),
        synced("fs-sync-vfat", "the same on VFAT", on_disk("vfat", none()), "lost"),
        synced("fs-sync-minix", "the same on MINIX", on_disk("minix", none()), "lost"),
        synced("fs-sync-xfs", "the same on XFS", on_disk("xfs", none()), "clean"),
        seeded(
            "ext4+flush-lies",
            "ext4 on a disk whose flushes do nothing",
            deaf().plug("ext4", none()),
        ),
        synced(
            "fs-sync-overlay",
            "the same on overlay on ext4",
            on_disk("ext4", none()).plug("overlay", none()),
            "clean",
        ),
        seeded(
            "overlay+flush-lies",
            "overlay on ext4 on a disk whose flushes do nothing",
            deaf().plug("ext4", none()).plug("overlay", none()),
        ),
        Target {
            checker_options: none().with("way", "fsync"),
            ..target(
                "fs-ways-overlay-lower",
                "what fsync makes durable is there, on overlay on ext4, files of the lower folder \
                 that were copied up among it",
                ways::NAME,
                on_disk("ext4", none()).plug("overlay", lower()),
                false,
                "clean",
            )
        },
        Target {
            checker_options: none().with("way", "fsync"),
            ..target(
                "overlay-lower+flush-lies",
                "overlay with files in its lower folder, on ext4 on a disk whose flushes do \
                 nothing",
                ways::NAME,
                deaf().plug("ext4", none()).plug("overlay", lower()),
                true,
                "lost",
            )
        },
        seeded(
            "xfs+flush-lies",
            "XFS on a disk whose flushes do nothing",
            deaf().plug("xfs", none()),
        ),
        seeded(
            "ext4+fsync-lies",
            "ext4 under files whose fsync does nothing",
            on_disk("ext4", none()).plug("lying-sync", none().with("lies", "files")),
        ),
        Target {
            bounds: Bounds { limit: 4, samples: 4, crash_depth: 0, ..BOUNDS },
            ..seeded(
                "ext4+cut-then-write",
                "ext4, which may commit between two calls, under files that are cut and written \
                 again",
                on_disk("ext4", committing()).plug("rewriting", none().with("cuts", true)),
            )
        },
    ];
    for System { component, size, expect, synced: name, deaf, about } in BREADTH {
        let on = |disk: Options| {
            StackSpec::default().plug("ramdisk", disk.with("size", *size)).plug(component, none())
        };
        targets.push(synced(name, about[0], on(none()), expect));
        targets.push(seeded(deaf, about[1], on(none().with("flushes", "dropped"))));
    }
    targets
}

/// A file system that is looked at by one target, and on a disk that lies.
struct System {
    component: &'static str,
    /// As small as its mkfs takes it, and a little more.
    size: &'static str,
    expect: &'static str,
    synced: &'static str,
    deaf: &'static str,
    about: [&'static str; 2],
}

macro_rules! breadth {
    ($($component:literal, $name:literal, $size:literal, $expect:literal;)*) => {
        &[$(System {
            component: $component,
            size: $size,
            expect: $expect,
            synced: concat!("fs-sync-", $component),
            deaf: concat!($component, "+flush-lies"),
            about: [concat!("the same on ", $name), concat!($name, " on a disk whose flushes do \
                nothing")],
        }),*]
    };
}

const BREADTH: &[System] = breadth! {
    "ext3", "ext3", "16MiB", "clean";
    "msdos", "MSDOS", "16MiB", "lost";
    "btrfs", "btrfs", "160MiB", "clean";
    "f2fs", "F2FS", "160MiB", "clean";
    "exfat", "exFAT", "16MiB", "clean";
    "udf", "UDF", "16MiB", "lost";
    "reiserfs", "ReiserFS", "160MiB", "clean";
    "nilfs2", "NILFS2", "160MiB", "clean";
    "ntfs3", "NTFS", "32MiB", "lost";
    "jfs", "JFS", "16MiB", "lost";
    "hfs", "HFS", "16MiB", "lost";
};
