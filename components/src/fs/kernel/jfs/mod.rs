//! JFS, which journals metadata. jfs_fsck replays its log, not mounting. A volume that was not
//! unmounted is mounted for writing only after that. The threads of JFS work for all mounted
//! volumes. Their intervals cannot be set.

mod log;

use explode_runtime::base::{Options, UsageError};
use explode_runtime::stack::{ComponentDef, ComponentMaker};

use super::common::options;
use super::{KernelFs, KernelFsSpec, MODES, Repair, STRICT, profiles};
use crate::tool::Tool;

/// The name in the registry.
pub const NAME: &str = "jfs";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(NAME, "JFS, whose log jfs_fsck replays", build)
        .modes(MODES)
        .on("ramdisk")
        .options(options![STRICT])
}

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    Ok(KernelFs::maker(KernelFsSpec {
        made: Some(log::clear),
        // 1: errors corrected, or the log replayed (jfs_fsck(8)). jfs_fsck writes the time into its
        // own log and draws no random numbers.
        repair: Some(Repair {
            tool: Tool::new("jfs_fsck", "-a").still_with_free_opens(),
            repaired: &[1],
        }),
        strict: options.bool("strict", false)?.then(|| Tool::new("jfs_fsck", "-n")),
        unobserved: Some("metadata that was not submitted, which it has in a cache of its own"),
        ..KernelFsSpec::new(NAME, profiles::jfs, options, || Tool::new("jfs_mkfs", "-q").still())?
    }))
}
