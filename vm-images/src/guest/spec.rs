//! What a guest is made of.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::accelerator::Accelerator;
use super::agent::Agent;
use crate::kernel::BuiltKernel;
use crate::modules::Modules;

/// What a guest is made of.
#[derive(Clone, Debug)]
pub struct GuestSpec {
    /// The kernel.
    pub kernel: BuiltKernel,
    /// The base image.
    pub image: PathBuf,
    /// Our modules, loaded before the agent starts.
    pub modules: Option<Modules>,
    /// Modules of the kernel, loaded before ours, in this order.
    pub drivers: Vec<PathBuf>,
    /// The guest's first process; without one the guest ends when it has started.
    pub agent: Option<Agent>,
    /// Files that are put into the guest.
    pub files: Vec<GuestFile>,
    /// The guest's memory in MiB. Image and agent are in it too.
    pub memory_mib: u32,
    /// Hardware or emulation.
    pub accelerator: Accelerator,
    /// How long the guest may take until the agent has written its first byte, but for the time in
    /// which others keep it from running.
    pub boot_deadline: Duration,
    /// Added to the kernel's command line.
    pub kernel_arguments: Vec<String>,
}

impl GuestSpec {
    /// A guest of this kernel and image, and of nothing else: 1 GiB of memory, emulated, with a
    /// minute to boot.
    #[must_use]
    pub fn new(kernel: &BuiltKernel, image: &Path) -> Self {
        Self {
            kernel: kernel.clone(),
            image: image.to_owned(),
            modules: None,
            drivers: Vec::new(),
            agent: None,
            files: Vec::new(),
            memory_mib: 1024,
            accelerator: Accelerator::Emulation,
            boot_deadline: Duration::from_secs(60),
            kernel_arguments: Vec::new(),
        }
    }
}

/// A file that the caller puts into the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    /// The absolute path in the guest.
    pub path: String,
    /// Its permissions, for example 0o755.
    pub mode: u32,
    /// What is in it.
    pub contents: Vec<u8>,
}
