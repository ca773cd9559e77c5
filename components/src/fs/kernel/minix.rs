//! MINIX.
//!
//! fsck.minix (util-linux 2.38.1) writes the tables that it has repaired of a version 3 over files
//! (`bugs/fsck-minix-version-3`), so version 2 is the default.

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, OptionDef, Options, UsageError};

use super::tool::Tool;
use super::{FAIL, FSCK, Failures, KernelFs, MODES, MOST_FAILURES, Repair, System, posix_promises};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "minix",
    about: "the MINIX file system; fsck.minix repairs it",
    modes: MODES,
    on: Some("ramdisk"),
    options: &[
        OptionDef { name: "version", about: "of the format: 1, 2, 3", default: "2" },
        FSCK,
        FAIL,
        MOST_FAILURES,
    ],
    build,
};

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let make = match options.int("version", 2)? {
        1 => "-1",
        2 => "-2",
        3 => "-3",
        other => return Err(UsageError(format!("a MINIX of version {other}; use 1, 2 or 3"))),
    };
    // 3: errors were found and corrected (fsck.minix(8)).
    let repair = || Repair { tool: Tool::new("fsck.minix", "-a -f"), repaired: &[3] };
    Ok(KernelFs::component(System {
        driver: "minix",
        options: String::new(),
        make: Box::new(move || Tool::new("mkfs.minix", make)),
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
