//! ext2: the kernel's own driver of it, without a journal. After a crash e2fsck has to repair it.

use std::path::Path;
use std::sync::LazyLock;

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, OptionDef, Options, UsageError};

use super::common::options;
use super::profiles;
use super::tool::Tool;
use super::{BETWEEN, Between, FSCK, KernelFs, MODES, MOST_BETWEEN, OWN, Repair, STRICT, System};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "ext2",
    about: "ext2 by its own driver, or by that of ext4; e2fsck repairs it",
    modes: MODES,
    on: Some("ramdisk"),
    options: options![
        OptionDef { name: "driver", about: "who mounts it: ext2, ext4", default: "ext2" },
        BLOCK_SIZE,
        FSCK,
        E2FSCK,
        STRICT,
        BETWEEN,
        MOST_BETWEEN,
    ],
    build,
};

/// The option of the ext family.
pub(super) const BLOCK_SIZE: OptionDef =
    OptionDef { name: "block_size", about: "bytes of a block: 1024, 2048, 4096", default: "4096" };

/// Another one.
pub(super) const E2FSCK: OptionDef = OptionDef {
    name: "e2fsck",
    about: "which e2fsck: static, where there is one; shared",
    default: "static",
};

/// What is fixed in every file system of the family, so that making it twice gives the same disk.
pub(super) const SAME: &str = "-q -F -m 0 -U 12345678-1234-1234-1234-123456789abc \
     -E nodiscard,lazy_itable_init=0,lazy_journal_init=0,hash_seed=12345678-1234-1234-1234-123456789abc";

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let driver = options.one_of("driver", &[("ext2", "ext2"), ("ext4", "ext4")])?;
    let bytes = block_size(options)?;
    let make = move || Tool::new("mke2fs", format!("-t ext2 -b {bytes} {SAME}"));
    Ok(KernelFs::component(System {
        repair: e2fsck(options, true)?,
        unrepaired: !options.bool("fsck", true)?,
        strict: options.bool("strict", false)?.then(|| Tool::new("e2fsck", "-f -n")),
        hides: (driver == "ext4").then_some("file data that has no block yet (delayed allocation)"),
        title: if driver == "ext4" { "ext2 by ext4's driver" } else { driver },
        between: Between::of(options, OWN)?,
        ..System::new(driver, profiles::ext2, options, make)?
    }))
}

pub(super) fn block_size(options: &Options) -> Result<u64, UsageError> {
    match options.int("block_size", 4096)? {
        bytes @ (1024 | 2048 | 4096) => Ok(bytes),
        other => Err(UsageError(format!("a block_size of {other}; use 1024, 2048 or 4096"))),
    }
}

/// Checks even what looks clean, and repairs all it can; if wanted at all. The static one starts faster.
pub(super) fn e2fsck(options: &Options, wanted: bool) -> Result<Option<Repair>, UsageError> {
    static QUICK: LazyLock<&str> = LazyLock::new(|| {
        let quick = ["/sbin/e2fsck.static", "/usr/sbin/e2fsck.static"];
        quick.into_iter().find(|path| Path::new(path).exists()).unwrap_or("e2fsck")
    });
    let program = match options.one_of("e2fsck", &[("static", true), ("shared", false)])? {
        true => *QUICK,
        false => "e2fsck",
    };
    // 1: errors corrected; 2: corrected, and the system should be rebooted (e2fsck(8)).
    let repair = || Repair { tool: Tool::new(program, "-f -y"), repaired: &[1, 2, 3] };
    Ok(options.bool("fsck", wanted)?.then(repair))
}
