//! ext4 with its journal, which mounting replays.

use explode_runtime::stack::ComponentDef;

use super::super::common::options;
use super::super::{BETWEEN, MODES, MOST_BETWEEN, STRICT, profiles};
use super::{BLOCK_SIZE, E2FSCK, journal};

/// The name in the registry.
pub const NAME: &str = "ext4";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(NAME, "ext4 with its journal, which mounting replays", |options| {
        let unobserved = "file data that has no block yet (delayed allocation), and buffers that \
                          the journal owns";
        journal::journalled("ext4", unobserved, profiles::ext4_ordered, options)
    })
    .modes(MODES)
    .on("ramdisk")
    .options(options![
        journal::DATA,
        BLOCK_SIZE,
        journal::FSCK,
        E2FSCK,
        STRICT,
        BETWEEN,
        MOST_BETWEEN
    ])
}
