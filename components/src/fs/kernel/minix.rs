//! The MINIX file system.
//!
//! fsck.minix (util-linux 2.38.1) writes the repaired tables of a version 3 over files
//! (`bugs/fsck-minix-version-3`), so version 2 is the default.

use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::stack::{ComponentDef, ComponentMaker};

use super::common::options;
use super::{
    BETWEEN, BackgroundWork, FSCK, KernelFs, KernelFsSpec, MODES, MOST_BETWEEN, OWN, Repair,
    STRICT, profiles,
};
use crate::tool::Tool;

/// The name in the registry.
pub const NAME: &str = "minix";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(NAME, "the MINIX file system; fsck.minix repairs it", build)
        .modes(MODES)
        .on("ramdisk")
        .options(options![
            OptionDef { name: "version", about: "version of the format: 1, 2, 3", default: "2" },
            FSCK,
            STRICT,
            BETWEEN,
            MOST_BETWEEN,
        ])
}

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    let make = match options.int("version", 2)? {
        1 => "-1",
        2 => "-2",
        3 => "-3",
        other => return Err(UsageError(format!("a MINIX of version {other}; use 1, 2 or 3"))),
    };
    // 3: errors were found and corrected (fsck.minix(8)).
    let repair = || Repair { tool: Tool::new("fsck.minix", "-a -f"), repaired: &[3] };
    Ok(KernelFs::maker(KernelFsSpec {
        repair: options.bool("fsck", true)?.then(repair),
        unrepaired: !options.bool("fsck", true)?,
        // Without -a or -r fsck.minix changes nothing, and ends with 4 if it has found errors
        // (fsck.minix(8)).
        strict: options.bool("strict", false)?.then(|| Tool::new("fsck.minix", "-f")),
        between: BackgroundWork::of(options, OWN)?,
        ..KernelFsSpec::new(NAME, profiles::minix, options, move || Tool::new("mkfs.minix", make))?
    }))
}
