//! F2FS, which mounting recovers. It takes the last checkpoint and rolls forward over later syncs.
//!
//! On two disks it uses both as one. It stores the paths of its devices in the superblock
//! (`f2fs_scan_devices` of fs/f2fs/super.c).

use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::stack::{ComponentDef, ComponentMaker};

use super::common::options;
use super::{KernelFs, KernelFsSpec, MODES, STRICT, SecondDevice, profiles};
use crate::tool::Tool;

/// The name in the registry.
pub const NAME: &str = "f2fs";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(
        NAME,
        "F2FS, which mounting rolls forward; its disk has 64 MiB or more",
        build,
    )
    .modes(MODES)
    .on("ramdisk")
    .options(options![
        OptionDef {
            name: "fsync_mode",
            about: "fsync mode: posix, strict, nobarrier (no flush of the disk)",
            default: "posix",
        },
        STRICT,
    ])
}

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    let modes = [("posix", "posix"), ("strict", "strict"), ("nobarrier", "nobarrier")];
    let mode = options.one_of("fsync_mode", &modes)?;
    let promises = if mode == "nobarrier" { profiles::f2fs_without_flush } else { profiles::f2fs };
    let make =
        || Tool::new("mkfs.f2fs", "-q -f -t 0 -U 12345678-1234-1234-1234-123456789abc").still();
    Ok(KernelFs::maker(KernelFsSpec {
        // No garbage collection or discard happens because the disk is idle.
        options: format!("background_gc=off,nodiscard,fsync_mode={mode}"),
        strict: options.bool("strict", false)?.then(|| Tool::new("fsck.f2fs", "--dry-run")),
        starts_threads: true,
        second: Some(SecondDevice {
            prepare: None,
            of_make: "-c ",
            of_check: None,
            of_mount: None,
            is_stored: true,
        }),
        unobserved: Some("file data and nodes that were not submitted"),
        ..KernelFsSpec::new(NAME, promises, options, make)?
    }))
}
