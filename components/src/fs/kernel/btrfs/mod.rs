//! btrfs, which mounting recovers. It takes the last tree that was written completely, and replays
//! the log of later syncs.
//!
//! Stacks on crash disks are mounted beside the live one, with the same UUID. The kernel can
//! distinguish such file systems if they have one device (`temp_fsid`, Linux 6.7): the second gets
//! another UUID in memory and keeps its own on the disk. With several devices the crash stack
//! changes a name in its [superblocks](devices).

mod devices;

use explode_kernel::yield_to_others;
use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::stack::{ComponentDef, ComponentMaker};

use super::common::options;
use super::{KernelFs, KernelFsSpec, MODES, STRICT, SeveralDevices, profiles};
use crate::tool::Tool;

/// The name in the registry.
pub const NAME: &str = "btrfs";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(
        NAME,
        "btrfs, whose log mounting replays; its disk has 128 MiB or more",
        build,
    )
    .modes(MODES)
    .on("ramdisk")
    .options(options![
        OptionDef { name: "metadata", about: "metadata profile: dup, single", default: "dup" },
        OptionDef {
            name: "raid",
            about: "copies of everything on the disks below: none (one disk), raid1, raid1c3",
            default: "none",
        },
        OptionDef {
            name: "compress",
            about: "compression of data: no, zlib, lzo, zstd",
            default: "no"
        },
        OptionDef {
            name: "datacow",
            about: "write data to new places only: true, false (without compression)",
            default: "true",
        },
        OptionDef {
            name: "flushoncommit",
            about: "wait in each commit for all data that was written before: true, false",
            default: "false",
        },
        STRICT,
    ])
}

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    let metadata = options.one_of("metadata", &[("dup", "dup"), ("single", "single")])?;
    let methods = [("no", "no"), ("zlib", "zlib"), ("lzo", "lzo"), ("zstd", "zstd")];
    let compress = options.one_of("compress", &methods)?;
    let (datacow, flush) = (options.bool("datacow", true)?, options.bool("flushoncommit", false)?);
    if !datacow && compress != "no" {
        return Err(UsageError(
            "without datacow nothing is compressed; set compress=no".to_owned(),
        ));
    }
    let promises = if datacow { profiles::btrfs } else { profiles::btrfs_in_place };
    let in_place = if datacow { "" } else { ",nodatacow" };
    let flush = if flush { ",flushoncommit" } else { "" };
    let copies = [("none", None), ("raid1", Some(("raid1", 2))), ("raid1c3", Some(("raid1c3", 3)))];
    let raid = options.one_of("raid", &copies)?;
    if raid.is_some() && options.contains("metadata") {
        let text = "'raid' decides how metadata is stored; omit 'metadata' or 'raid'";
        return Err(UsageError(text.to_owned()));
    }
    let (profile, degraded) = match raid {
        None => (format!("-m {metadata}"), ""),
        Some((copies, _)) => (format!("-m {copies} -d {copies}"), ",degraded"),
    };
    let make = format!("-q -K {profile} -U {}", devices::UUID);
    let several = raid.map(|(_, copies)| SeveralDevices {
        least: copies,
        can_lose: copies as u32 - 1,
        made: devices::give_second_uuid,
        before_mount: devices::make_known,
        after_unmount: devices::forget,
    });
    Ok(KernelFs::maker(KernelFsSpec {
        // No commit happens unless a call requests it.
        options: format!("commit=100000,compress={compress}{in_place}{flush}{degraded}"),
        strict: options.bool("strict", false)?.then(|| Tool::new("btrfs", "check --readonly")),
        starts_threads: true,
        // A rename over another file starts to write the file (`btrfs_rename` in fs/btrfs/inode.c),
        // as does the close of a truncated file. A work queue computes the checksums and submits
        // the writes.
        settle: Some(|_| drop(yield_to_others())),
        several,
        unobserved: Some(
            "file data that was not submitted, and metadata, which it has in memory of its own",
        ),
        ..KernelFsSpec::new(NAME, promises, options, move || {
            Tool::new("mkfs.btrfs", make.clone()).still()
        })?
    }))
}
