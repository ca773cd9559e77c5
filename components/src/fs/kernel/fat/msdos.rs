//! MSDOS: FAT with names of 8 and 3 characters.

use explode_runtime::stack::ComponentDef;

use super::super::MODES;
use super::{fat, vfat};

/// The name in the registry.
pub const NAME: &str = "msdos";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(
        NAME,
        "FAT with names of 8 and 3 characters; fsck.fat repairs it",
        |options| fat("msdos", "codepage=437,tz=UTC", options),
    )
    .modes(MODES)
    .on("ramdisk")
    .options(vfat::def().options)
}
