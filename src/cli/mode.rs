//! The place of a run, on the command line.

use clap::ValueEnum;

/// The place of a run.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ModeArg {
    /// In process, on simulated disks and files.
    Mem,
    /// In a guest of explode's, on the guest's kernel.
    Vm,
    /// On this machine's kernel, as root, with the modules loaded. Uses only RAM disks.
    Here,
}
