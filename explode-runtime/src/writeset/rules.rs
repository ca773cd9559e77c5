//! The rules of the device that a crash interrupts.

use serde::{Deserialize, Serialize};

/// When is a completed write durable?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Completion {
    /// At its completion: EXPLODE's rule, corrected.
    Durable,
    /// At a later flush: a disk with a write cache.
    #[default]
    Volatile,
}

/// What does a crash keep or lose whole?
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

/// The rules of the device that a crash interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceRules {
    /// When a completed write is durable.
    pub completion: Completion,
    /// What is kept or lost whole.
    pub atom: Atom,
    /// Bytes of a block; a multiple of 512.
    pub block_bytes: u32,
    /// A new version hides the older ones of its range (FiSC's rule).
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
