//! A file system that stores its contents on several devices.

use std::io;
use std::path::PathBuf;

use explode_kernel::KernelDisks;
use explode_runtime::base::{Blame, StepError};
use explode_runtime::devices::Side;
use explode_runtime::stack::Below;

/// The use of several devices, all in the order of the children.
#[derive(Clone, Copy)]
pub(super) struct SeveralDevices {
    /// The least number of devices.
    pub least: usize,
    /// The number of devices that the file system can do without.
    pub can_lose: u32,
    /// Called after the file system is made.
    pub made: fn(&[PathBuf]) -> io::Result<()>,
    /// Called before each mount. Returns the device to mount. On a crash stack it may change names
    /// in the contents.
    pub before_mount: fn(&[PathBuf], Side) -> io::Result<PathBuf>,
    /// Called after each unmount, and after a mount that failed.
    pub after_unmount: fn(&[PathBuf]),
}

impl SeveralDevices {
    /// Makes the devices known to the kernel, and returns the one to mount.
    ///
    /// # Errors
    /// None of them can be mounted.
    pub fn known(&self, below: &Below<'_>, nodes: &[PathBuf]) -> Result<PathBuf, StepError> {
        let disks = below.devices.of_type::<KernelDisks>();
        let side = disks.map_or(Side::Live, KernelDisks::side);
        let node = (self.before_mount)(nodes, side)
            .map_err(|error| StepError::new(format!("no device has the file system: {error}")))?;
        if side == Side::Crash {
            // Changed names are no events of a recovery: the next recovery changes them again.
            below.devices.take_log()?;
        }
        Ok(node)
    }

    /// Returns the nodes of all children.
    ///
    /// # Errors
    /// There are too few, or one is no RAM disk. Names are changed on a crash stack before anything
    /// else happens there, so nothing may be below them that has written before.
    pub fn nodes(&self, below: &Below<'_>) -> Result<Vec<PathBuf>, StepError> {
        let wrong = |text: String| StepError::new(text).blame(Blame::Tool);
        let count = below.children.len();
        let nodes = (0..count).map(|child| below.block(child)).collect::<Result<Vec<_>, _>>()?;
        if count < self.least {
            let text = format!("has {count} children; this 'raid' needs {} or more", self.least);
            return Err(wrong(text));
        }
        let is_disk = |node: &PathBuf| node.to_string_lossy().starts_with("/dev/rdd");
        match nodes.iter().find(|node| !is_disk(node)) {
            None => Ok(nodes),
            Some(node) => Err(wrong(format!(
                "with 'raid' stands on RAM disks only, and {} is none; put 'ramdisk' below it",
                node.display()
            ))),
        }
    }
}
