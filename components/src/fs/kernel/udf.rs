//! UDF on a hard disk. Debian has no fsck for it, so after a crash it is mounted as it is.

use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::stack::{ComponentDef, ComponentMaker};

use super::common::options;
use super::{KernelFs, KernelFsSpec, MODES, profiles};
use crate::tool::Tool;

/// The name in the registry.
pub const NAME: &str = "udf";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(NAME, "UDF on a hard disk; there is no fsck", build)
        .modes(MODES)
        .on("ramdisk")
        .options(options![
            OptionDef {
                name: "block_size",
                about: "block size in bytes: 512, 1024, 2048, 4096",
                default: "512"
            },
            OptionDef {
                name: "revision",
                about: "version of the format: 1.02, 1.50, 2.01",
                default: "2.01"
            },
        ])
}

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    let sizes = [("512", 512), ("1024", 1024), ("2048", 2048), ("4096", 4096)];
    let bytes = options.one_of("block_size", &sizes)?;
    let revisions = [("2.01", "2.01"), ("1.02", "1.02"), ("1.50", "1.50")];
    let revision = options.one_of("revision", &revisions)?;
    let make = format!("--media-type=hd --blocksize={bytes} --udfrev={revision}");
    Ok(KernelFs::maker(KernelFsSpec {
        lacks: Some("Debian 12 has no fsck for it"),
        ..KernelFsSpec::new(NAME, profiles::udf, options, move || {
            Tool::new("mkudffs", make.clone()).still()
        })?
    }))
}
