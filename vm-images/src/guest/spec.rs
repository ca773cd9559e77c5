//! The specification of a guest.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::accelerator::Accelerator;
use super::agent::Agent;
use crate::image::Userland;
use crate::kernel::BuiltKernel;
use crate::modules::Modules;

/// The parts and settings of a guest.
#[derive(Clone, Debug)]
pub struct GuestSpec {
    /// The kernel.
    pub kernel: BuiltKernel,
    /// The base image.
    pub image: PathBuf,
    /// Packages besides the image. `None` if there are none.
    pub userland: Option<Userland>,
    /// Explode's modules, loaded before the agent starts.
    pub modules: Option<Modules>,
    /// Modules of the kernel's source, loaded before explode's, in this order.
    pub drivers: Vec<PathBuf>,
    /// The guest's first process. `None` if the guest ends when it has started.
    pub agent: Option<Agent>,
    /// The caller's files in the guest.
    pub files: Vec<GuestFile>,
    /// The guest's memory in MiB. Image and agent are also stored in it.
    pub memory_mib: u32,
    /// The accelerator, hardware or emulation.
    pub accelerator: Accelerator,
    /// The time that the guest may take until the agent has written its first byte. Time in which
    /// other processes keep it from running does not count.
    pub boot_deadline: Duration,
    /// The folder of snapshots ([`Builder::snapshots`](crate::Builder::snapshots)). With it an
    /// emulated guest begins as an earlier one with the same parts was when its agent had answered.
    /// `None` if the guest always boots.
    pub snapshots: Option<PathBuf>,
    /// Arguments that are added to the kernel's command line.
    pub kernel_arguments: Vec<String>,
    /// The size of the memory that the guest shares with the host
    /// ([`open_shared`](super::open_shared)), in bytes: a power of two from 4096, or 0 for none.
    pub shared_bytes: u64,
}

impl GuestSpec {
    /// Makes a guest of this kernel and image only, with 1 GiB of memory, emulation, and a minute
    /// to boot.
    #[must_use]
    pub fn new(kernel: &BuiltKernel, image: &Path) -> Self {
        Self {
            kernel: kernel.clone(),
            image: image.to_owned(),
            userland: None,
            modules: None,
            drivers: Vec::new(),
            agent: None,
            files: Vec::new(),
            memory_mib: 1024,
            accelerator: Accelerator::Emulation,
            boot_deadline: Duration::from_secs(60),
            snapshots: None,
            kernel_arguments: Vec::new(),
            shared_bytes: 0,
        }
    }

    /// Adds packages. The guest gets memory for their archive and for their files.
    pub fn add_userland(&mut self, userland: Userland) {
        let mib = u32::try_from(userland.bytes.div_ceil(1 << 20)).unwrap_or(u32::MAX);
        self.memory_mib = self.memory_mib.saturating_add(mib.saturating_mul(2));
        self.userland = Some(userland);
    }
}

/// A file of the caller in the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    /// The absolute path in the guest.
    pub path: String,
    /// The permissions, for example 0o755.
    pub mode: u32,
    /// The contents of the file.
    pub contents: Vec<u8>,
}
