//! NTFS by ntfs3. It replays the log of other drivers when it is mounted, and writes no log itself.
//! Debian has no fsck for it. A volume that a crash has left marked as dirty is mounted only with
//! `force` ("not recommended for use", kernel, filesystems/ntfs3.rst).

use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::stack::{ComponentDef, ComponentMaker};

use super::common::options;
use super::{KernelFs, KernelFsSpec, MODES, profiles};
use crate::tool::Tool;

/// The name in the registry.
pub const NAME: &str = "ntfs3";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(
        NAME,
        "NTFS by ntfs3; there is no fsck, and after a crash it is mounted with force",
        build,
    )
    .modes(MODES)
    .on("ramdisk")
    .options(options![OptionDef {
        name: "cluster",
        about: "cluster size in bytes: 512, 1024, 4096, 65536",
        default: "4096",
    }])
}

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    let sizes = [("4096", 4096), ("512", 512), ("1024", 1024), ("65536", 65536)];
    let cluster = options.one_of("cluster", &sizes)?;
    let make =
        move || Tool::new("mkntfs", format!("-Q -F -q -T -p 0 -H 0 -S 0 -c {cluster}")).still();
    Ok(KernelFs::maker(KernelFsSpec {
        options: "iocharset=utf8,force".to_owned(),
        lacks: Some("Debian 12 has no fsck for it"),
        ..KernelFsSpec::new(NAME, profiles::ntfs3, options, make)?
    }))
}
