//! HFS. Debian has no fsck for it. After a crash the volume is mounted read-only, as its driver
//! does with a volume that was not unmounted (`hfs_mdb_get` in fs/hfs/mdb.c). The files can still
//! be read.

use explode_runtime::base::{Options, UsageError};
use explode_runtime::stack::{ComponentDef, ComponentMaker};

use super::common::options;
use super::{KernelFs, KernelFsSpec, MODES, profiles};
use crate::tool::Tool;

/// The name in the registry.
pub const NAME: &str = "hfs";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(
        NAME,
        "HFS; there is no fsck, and after a crash it is mounted for reading only",
        build,
    )
    .modes(MODES)
    .on("ramdisk")
    .options(options![])
}

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    Ok(KernelFs::maker(KernelFsSpec {
        lacks: Some(
            "Debian 12 has no fsck for it, and what was not unmounted is mounted for reading only",
        ),
        ..KernelFsSpec::new(NAME, profiles::hfs, options, || {
            Tool::new("hformat", "-l explode").still()
        })?
    }))
}
