//! exFAT, which has no journal: fsck.exfat repairs it.

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, Options, UsageError};

use super::tool::Tool;
use super::{FAIL, FSCK, Failures, KernelFs, MODES, MOST_FAILURES, Repair, System, posix_promises};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "exfat",
    about: "exFAT; fsck.exfat repairs it",
    modes: MODES,
    on: Some("ramdisk"),
    options: &[FSCK, FAIL, MOST_FAILURES],
    build,
};

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    // 1: errors corrected (fsck.exfat(8)).
    let repair = || Repair { tool: Tool::new("fsck.exfat", "-a"), repaired: &[1] };
    Ok(KernelFs::component(System {
        driver: DEF.name,
        options: "iocharset=utf8".to_owned(),
        make: Box::new(|| Tool::new("mkfs.exfat", "").still()),
        made: None,
        repair: options.bool("fsck", true)?.then(repair),
        strict: None,
        settles: false,
        promises: posix_promises,
        lacks: None,
        hides: None,
        failures: Failures::of(options)?,
    }))
}
