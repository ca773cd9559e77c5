//! ext2, by the kernel's own driver or by ext4's, without a journal. After a crash e2fsck has to
//! repair it.

use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::stack::{ComponentDef, ComponentMaker};

use super::super::common::options;
use super::super::{
    BETWEEN, BackgroundWork, FSCK, KernelFs, KernelFsSpec, MODES, MOST_BETWEEN, OWN, STRICT,
    profiles,
};
use super::{BLOCK_SIZE, E2FSCK, block_size, mke2fs};

/// The name in the registry.
pub const NAME: &str = "ext2";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(
        NAME,
        "ext2 by its own driver, or by that of ext4; e2fsck repairs it",
        build,
    )
    .modes(MODES)
    .on("ramdisk")
    .options(options![
        OptionDef { name: "driver", about: "driver that mounts it: ext2, ext4", default: "ext2" },
        BLOCK_SIZE,
        FSCK,
        E2FSCK,
        STRICT,
        BETWEEN,
        MOST_BETWEEN,
    ])
}

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    let driver = options.one_of("driver", &[("ext2", "ext2"), ("ext4", "ext4")])?;
    let (bytes, fsck) = (block_size(options)?, options.bool(FSCK.name, true)?);
    let make = move || mke2fs(&format!("-t ext2 -b {bytes}"));
    let system = KernelFsSpec {
        unrepaired: !fsck,
        unobserved: (driver == "ext4")
            .then_some("file data that has no block yet (delayed allocation)"),
        title: if driver == "ext4" { "ext2 by ext4's driver" } else { driver },
        between: BackgroundWork::of(options, OWN)?,
        ..KernelFsSpec::new(driver, profiles::ext2, options, make)?
    };
    Ok(KernelFs::maker(system.checked(options, fsck)?))
}
