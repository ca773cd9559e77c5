//! The rules of the devices in a crash.

use serde::{Deserialize, Serialize};

/// The time at which a completed write becomes durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Completion {
    /// A write is durable at its completion: EXPLODE's rule, corrected.
    Durable,
    /// A write is durable at a later flush: the rule of a disk with a write cache.
    #[default]
    Volatile,
}

/// The unit that a crash keeps or loses whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Atom {
    /// A block of the device.
    #[default]
    Block,
    /// A sector: requests can tear.
    Sector,
    /// A whole request.
    Request,
}

/// The rules of the devices in a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceRules {
    /// The time at which a completed write becomes durable.
    pub completion: Completion,
    /// The unit that a crash keeps or loses whole.
    pub atom: Atom,
    /// The size of a block in bytes, a multiple of 512.
    pub block_bytes: u32,
    /// True if a new version hides the older ones of its range (FiSC's rule).
    pub replace_versions: bool,
}

impl Default for DeviceRules {
    fn default() -> DeviceRules {
        DeviceRules {
            completion: Completion::Volatile,
            atom: Atom::Block,
            block_bytes: 4096,
            replace_versions: false,
        }
    }
}
