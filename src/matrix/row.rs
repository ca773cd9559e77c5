//! A row of the matrix.

use explode_runtime::base::UsageError;
use explode_runtime::plan::{GuestPackages, Registry};
use explode_runtime::stack::StackSpec;
use explode_runtime::verdict::Profile;
use serde::{Deserialize, Serialize};

/// A row: a system.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The name, also of a folder.
    pub name: String,
    /// The driver that implements the system. Attribution counts rows of one driver as one system.
    #[serde(default)]
    pub driver: String,
    /// The stack, bottom first.
    pub stack: StackSpec,
    /// The packages of its guests, or the archive in which its commands run.
    #[serde(default, skip_serializing_if = "GuestPackages::is_empty")]
    pub guest: GuestPackages,
}

impl Row {
    /// Returns the driver. A stack file, or a row of a grid without drivers, counts as a driver.
    pub fn driver(&self) -> &str {
        if self.driver.is_empty() { &self.name } else { &self.driver }
    }

    /// Returns the profile of the system. `None` if it has none.
    pub fn profile(&self, registry: &Registry) -> Result<Option<Profile>, UsageError> {
        registry.components.profile_of(&self.stack)
    }
}
