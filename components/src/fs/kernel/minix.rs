//! MINIX, version 3 of its format.

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, Options, UsageError};

use super::tool::Tool;
use super::{FSCK, KernelFs, MODES, Repair, System, posix_promises};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "minix",
    about: "the MINIX file system, version 3; fsck.minix repairs it",
    modes: MODES,
    on: Some("ramdisk"),
    options: &[FSCK],
    build,
};

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    // 3: errors were found and corrected (fsck.minix(8)).
    let repair = || Repair { tool: Tool::new("fsck.minix", "-a -f"), repaired: &[3] };
    Ok(KernelFs::component(System {
        driver: "minix",
        options: String::new(),
        make: Box::new(|| Tool::new("mkfs.minix", "-3")),
        repair: options.bool("fsck", true)?.then(repair),
        promises: posix_promises,
        hides: None,
    }))
}
