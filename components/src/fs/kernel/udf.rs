//! UDF on a hard disk. Debian has no fsck for it: it is mounted as a crash has left it.

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, Options, UsageError};

use super::common::options;
use super::profiles;
use super::tool::Tool;
use super::{KernelFs, MODES, System};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "udf",
    about: "UDF on a hard disk; there is no fsck",
    modes: MODES,
    on: Some("ramdisk"),
    options: options![],
    build,
};

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    Ok(KernelFs::component(System {
        lacks: Some("Debian 12 has no fsck for it"),
        ..System::new(DEF.name, profiles::udf, options, || Tool::new("mkudffs", "--media-type=hd").still())?
    }))
}
