//! VFAT: FAT with long names.

use explode_runtime::stack::ComponentDef;

use super::super::common::options;
use super::super::{BETWEEN, FSCK, MODES, MOST_BETWEEN, STRICT};
use super::{BITS, CLUSTER, FLUSH, fat};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "vfat",
    about: "FAT with long names; fsck.fat repairs it",
    modes: MODES,
    on: Some("ramdisk"),
    options: options![BITS, CLUSTER, FLUSH, FSCK, STRICT, BETWEEN, MOST_BETWEEN],
    build: |options| fat("vfat", "codepage=437,iocharset=iso8859-1,tz=UTC", options),
    ..ComponentDef::BASE
};
