//! VFAT: FAT with long names.

use explode_runtime::stack::ComponentDef;

use super::super::common::options;
use super::super::{BETWEEN, FSCK, MODES, MOST_BETWEEN, STRICT};
use super::{BITS, CLUSTER, FLUSH, fat};

/// The name in the registry.
pub const NAME: &str = "vfat";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(NAME, "FAT with long names; fsck.fat repairs it", |options| {
        fat("vfat", "codepage=437,iocharset=iso8859-1,tz=UTC", options)
    })
    .modes(MODES)
    .on("ramdisk")
    .options(options![BITS, CLUSTER, FLUSH, FSCK, STRICT, BETWEEN, MOST_BETWEEN])
}
