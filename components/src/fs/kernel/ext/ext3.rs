//! ext3, for users who made their file system as ext3: its format and its block allocation, by
//! ext4's driver.

use explode_runtime::stack::ComponentDef;

use super::super::{MODES, profiles};
use super::{ext4, journal};

/// The name in the registry.
pub const NAME: &str = "ext3";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(
        NAME,
        "ext3 with its journal, by ext4's driver; mounting replays the journal",
        |options| {
            journal::journalled(
                "ext3",
                "buffers that the journal owns",
                profiles::ext3_ordered,
                options,
            )
        },
    )
    .modes(MODES)
    .on("ramdisk")
    .options(ext4::def().options)
}
