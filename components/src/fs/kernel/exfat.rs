//! exFAT, which has no journal. fsck.exfat repairs it.

use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::stack::{ComponentDef, ComponentMaker};

use super::common::options;
use super::{FSCK, KernelFs, KernelFsSpec, MODES, Repair, STRICT, profiles};
use crate::tool::Tool;

/// The name in the registry.
pub const NAME: &str = "exfat";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(NAME, "exFAT; fsck.exfat repairs it", build)
        .modes(MODES)
        .on("ramdisk")
        .options(options![
            OptionDef {
                name: "cluster",
                about: "cluster size in bytes: auto (by the size of the disk), 512, 4096, 32768",
                default: "auto",
            },
            FSCK,
            STRICT,
        ])
}

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    let sizes = [("auto", ""), ("512", "-c 512"), ("4096", "-c 4096"), ("32768", "-c 32768")];
    let cluster = options.one_of("cluster", &sizes)?;
    // 1: errors corrected (fsck.exfat(8)).
    let repair = || Repair { tool: Tool::new("fsck.exfat", "-a"), repaired: &[1] };
    Ok(KernelFs::maker(KernelFsSpec {
        options: "iocharset=utf8".to_owned(),
        repair: options.bool("fsck", true)?.then(repair),
        unrepaired: !options.bool("fsck", true)?,
        // fsck.exfat also ends with 0 if an option keeps it from repairing (exfatprogs 1.2.0).
        strict: options
            .bool("strict", false)?
            .then(|| Tool::new("fsck.exfat", "-n").finding("(y/N)?").without(&["exfatprogs "])),
        ..KernelFsSpec::new(NAME, profiles::exfat, options, move || {
            Tool::new("mkfs.exfat", cluster).still()
        })?
    }))
}
