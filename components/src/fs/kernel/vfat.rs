//! VFAT.

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, Options, UsageError};

use super::common::{Common, options};
use super::tool::Tool;
use super::{
    BETWEEN, Between, FSCK, KernelFs, MODES, MOST_BETWEEN, OWN, Repair, System, no_threads, posix_promises,
};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "vfat",
    about: "FAT with long names; fsck.fat repairs it",
    modes: MODES,
    on: Some("ramdisk"),
    options: options![FSCK, BETWEEN, MOST_BETWEEN],
    build,
};

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    // 1: recoverable errors, which -a has repaired (fsck.fat(8)).
    let repair = || Repair { tool: Tool::new("fsck.fat", "-a"), repaired: &[1] };
    Ok(KernelFs::component(System {
        driver: "vfat",
        options: "codepage=437,iocharset=iso8859-1,tz=UTC".to_owned(),
        make: Box::new(|| Tool::new("mkfs.fat", "--invariant")),
        made: None,
        repair: options.bool("fsck", true)?.then(repair),
        strict: None,
        settle: None,
        promises: posix_promises,
        hides: None,
        common: Common::of(options)?,
        between: Between::of(options, OWN)?,
        threads: no_threads,
    }))
}
