//! The FAT family, made by mkfs.fat and repaired by fsck.fat. This file has the parts that VFAT and
//! MSDOS share. Each has a file for the rest.

pub mod msdos;
pub mod vfat;

use explode_runtime::base::{OptionDef, Options, UsageError};
use explode_runtime::stack::ComponentMaker;

use super::{BackgroundWork, FSCK, KernelFs, KernelFsSpec, OWN, Repair, STRICT, profiles};
use crate::tool::Tool;

const BITS: OptionDef = OptionDef {
    name: "fat",
    about: "size of a FAT entry in bits: auto (by the size of the disk), 12, 16, 32",
    default: "auto",
};

const CLUSTER: OptionDef = OptionDef {
    name: "cluster",
    about: "cluster size in sectors, a power of two up to 128; 0: by the size of the disk",
    default: "0",
};

const FLUSH: OptionDef =
    OptionDef { name: "flush", about: "mount with -o flush: true, false", default: "false" };

/// The beginnings of the lines in which fsck.fat reports its progress, and no findings. The last
/// one is the device.
const PROGRESS: &[&str] = &["fsck.fat ", "Leaving filesystem unchanged", "/dev/"];

/// Makes VFAT or MSDOS with these mount options.
fn fat(driver: &'static str, mount: &str, options: &Options) -> Result<ComponentMaker, UsageError> {
    let bits = options
        .one_of(BITS.name, &[("auto", ""), ("12", " -F 12"), ("16", " -F 16"), ("32", " -F 32")])?;
    let sectors = match options.int(CLUSTER.name, 0)? {
        0 => String::new(),
        sectors if sectors.is_power_of_two() && sectors <= 128 => format!(" -s {sectors}"),
        other => {
            let text = format!("a cluster of {other} sectors; use 1, 2, 4 and so on, up to 128");
            return Err(UsageError(text));
        }
    };
    let make = move || Tool::new("mkfs.fat", format!("--invariant{bits}{sectors}"));
    let flush = if options.bool(FLUSH.name, false)? { ",flush" } else { "" };
    let fsck = options.bool(FSCK.name, true)?;
    // 1: recoverable errors, which -a has repaired (fsck.fat(8)).
    let repair = || Repair { tool: Tool::new("fsck.fat", "-a"), repaired: &[1] };
    Ok(KernelFs::maker(KernelFsSpec {
        options: format!("{mount}{flush}"),
        repair: fsck.then(repair),
        unrepaired: !fsck,
        // fsck.fat ends with 1 if it would change anything, even if that is only the mark of an
        // unclean unmount.
        strict: options
            .bool(STRICT.name, false)?
            .then(|| Tool::new("fsck.fat", "-n").without(PROGRESS)),
        between: BackgroundWork::of(options, OWN)?,
        ..KernelFsSpec::new(driver, profiles::fat, options, make)?
    }))
}
