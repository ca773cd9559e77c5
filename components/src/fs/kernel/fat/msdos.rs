//! MSDOS: FAT with names of 8 and 3 characters.

use explode_runtime::stack::ComponentDef;

use super::{fat, vfat};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "msdos",
    about: "FAT with names of 8 and 3 characters; fsck.fat repairs it",
    build: |options| fat("msdos", "codepage=437,tz=UTC", options),
    ..vfat::DEF
};
