//! JFS, whose log jfs_fsck replays: what was not unmounted cannot be mounted before.

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, Options, UsageError};

use super::tool::Tool;
use super::{FAIL, FSCK, Failures, KernelFs, MODES, MOST_FAILURES, Repair, System, posix_promises};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "jfs",
    about: "JFS, whose log jfs_fsck replays",
    modes: MODES,
    on: Some("ramdisk"),
    options: &[FSCK, FAIL, MOST_FAILURES],
    build,
};

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    // 1: errors corrected (jfs_fsck(8)). It takes the time for its own superblock.
    let repair = || Repair { tool: Tool::new("jfs_fsck", "-a").still(), repaired: &[1] };
    Ok(KernelFs::component(System {
        driver: DEF.name,
        options: String::new(),
        make: Box::new(|| Tool::new("jfs_mkfs", "-q").still()),
        made: None,
        repair: options.bool("fsck", true)?.then(repair),
        strict: None,
        settles: false,
        promises: posix_promises,
        lacks: None,
        hides: Some("file data that was not submitted, and metadata, which it has in memory of its own"),
        failures: Failures::of(options)?,
    }))
}
