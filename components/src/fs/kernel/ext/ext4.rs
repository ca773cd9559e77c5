//! ext4 with its journal, which mounting replays.

use explode_runtime::stack::ComponentDef;

use super::super::common::options;
use super::super::{BETWEEN, MODES, MOST_BETWEEN, STRICT, profiles};
use super::{BLOCK_SIZE, E2FSCK, journal};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "ext4",
    about: "ext4 with its journal, which mounting replays",
    modes: MODES,
    on: Some("ramdisk"),
    options: options![journal::DATA, BLOCK_SIZE, journal::FSCK, E2FSCK, STRICT, BETWEEN, MOST_BETWEEN],
    build: |options| {
        let hides = "file data that has no block yet (delayed allocation), and buffers that the journal owns";
        journal::journalled("ext4", hides, profiles::ext4_ordered, options)
    },
    ..ComponentDef::BASE
};
