//! Where a run takes place.

use serde::{Deserialize, Serialize};

/// Where a run takes place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Mode {
    /// In process, on simulated disks and files.
    #[default]
    Mem,
    /// In a guest of ours, on its kernel.
    Vm,
    /// On this machine's kernel, as root; only on RAM disks.
    Here,
}

impl Mode {
    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Mem => "mem",
            Mode::Vm => "vm",
            Mode::Here => "here",
        }
    }
}
