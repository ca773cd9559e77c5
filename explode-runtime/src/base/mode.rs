//! The modes of a run.

use serde::{Deserialize, Serialize};

/// The place where the checked system runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Mode {
    /// In this process, on simulated disks and files.
    #[default]
    Mem,
    /// On the kernel of a guest that explode starts.
    Vm,
    /// On this machine's kernel, as root, and only on RAM disks.
    Here,
}

impl Mode {
    /// Returns its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Mem => "mem",
            Mode::Vm => "vm",
            Mode::Here => "here",
        }
    }
}
