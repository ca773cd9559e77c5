//! NILFS2, which mounting rolls forward from the newest checkpoint in its superblock over the logs
//! that were written completely since. Debian's nilfs-tools have no fsck.
//!
//! The number of a file's buffer is assigned by the map of virtual blocks and is not a place on the
//! disk. So dirty buffers do not count. `nilfs_cleanerd`, which mount(8) would start and mount(2)
//! does not, does not run, so there is no garbage collection.

use std::io;
use std::path::Path;

use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::stack::{ComponentDef, ComponentMaker};

use super::common::options;
use super::{KernelFs, KernelFsSpec, MODES, profiles};
use crate::tool::Tool;

/// The name in the registry.
pub const NAME: &str = "nilfs2";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(
        NAME,
        "NILFS2, which mounting rolls forward; there is no fsck, and its disk has 160 MiB or more",
        build,
    )
    .modes(MODES)
    .on("ramdisk")
    .options(options![OptionDef {
        name: "order",
        about: "order of file data: relaxed, strict (each checkpoint is a past state)",
        default: "relaxed",
    }])
}

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    let order = options.one_of("order", &[("relaxed", "relaxed"), ("strict", "strict")])?;
    let promises = if order == "strict" { profiles::nilfs2_strict } else { profiles::nilfs2 };
    Ok(KernelFs::maker(KernelFsSpec {
        options: format!("order={order}"),
        made: Some(rarely_on_its_own),
        buffers_are_places: false,
        starts_threads: true,
        lacks: Some("Debian 12 has no fsck for it"),
        unobserved: Some(
            "whatever was not submitted: its buffers have numbers of virtual blocks, which are no \
             places",
        ),
        ..KernelFsSpec::new(NAME, promises, options, || Tool::new("mkfs.nilfs2", "-q").still())?
    }))
}

/// Sets the interval between logs, which is 5 seconds by default, so high that no log is written
/// unless a call requests it.
fn rarely_on_its_own(node: &Path) -> io::Result<()> {
    match Tool::new("nilfs-tune", "-f -i 100000").still().run(node) {
        Ok((0, _)) => Ok(()),
        Ok((code, output)) => {
            Err(io::Error::other(format!("nilfs-tune ended with {code}: {output}")))
        }
        Err(fault) => Err(io::Error::other(fault.to_string())),
    }
}
