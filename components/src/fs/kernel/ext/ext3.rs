//! What users have who have made it as ext3: its format, and its way to allocate blocks, by ext4's driver.

use explode_runtime::stack::ComponentDef;

use super::super::profiles;
use super::{ext4, journal};

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "ext3",
    about: "ext3 with its journal, by ext4's driver; mounting replays the journal",
    build: |options| {
        journal::journalled("ext3", "buffers that the journal owns", profiles::ext3_ordered, options)
    },
    ..ext4::DEF
};
