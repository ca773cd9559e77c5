//! The evidence about a crash that a script needs.

use explode_ramdisk::{BLOCK_BYTES, Disk, Image};
use serde::{Deserialize, Serialize};

use crate::events::LoggedCall;
use crate::stack::ShellFileSystem;
use crate::verdict::ShellDemand;

/// The data that a script needs, besides the trace and its story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The calls up to the crash.
    pub done: Vec<LoggedCall>,
    /// The size of the disk in bytes and the file system on it, or the reason why a shell cannot
    /// mount it.
    pub plain: Result<(u64, ShellFileSystem), String>,
    /// The demands of the check; `None` if a shell cannot test them.
    pub demands: Option<Vec<ShellDemand>>,
    /// The contents of the disks, or the reason why they are not available.
    pub disks: Result<DiskContents, String>,
    /// True if the crash disk has everything that was submitted before the crash, and nothing else.
    /// Dropping all writes from the crash on then leaves this disk. Always false for a crash during
    /// recovery.
    pub submitted: bool,
}

/// A block of 4096 bytes: its number, and its bytes.
pub type ChangedBlock = (u64, Vec<u8>);

/// The contents of the disks of a crash, each as the difference from another disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskContents {
    /// The blocks of the pristine disk that are not zeroes.
    pub pristine: Vec<ChangedBlock>,
    /// The blocks of the crash disk that differ from the pristine disk.
    pub crash: Vec<ChangedBlock>,
    /// The blocks of the disk to compare with that differ from the crash disk; `None` without such
    /// a disk.
    pub other: Option<Vec<ChangedBlock>>,
}

impl DiskContents {
    /// Returns the contents of these disks. The stack must be on one device.
    pub(crate) fn of(
        pristine: &Image,
        crash: Option<&Image>,
        other: Option<Image>,
    ) -> Result<DiskContents, String> {
        let crash = crash.ok_or("its crash disk is not there")?;
        if [pristine, crash].iter().any(|image| image.devices().any(|device| device != 0)) {
            return Err("its stack is on several devices".to_owned());
        }
        let disk = |image: &Image| image.disk(0).cloned().unwrap_or_default();
        let (pristine, crash) = (disk(pristine), disk(crash));
        Ok(DiskContents {
            pristine: changes(&Disk::new(), &pristine),
            crash: changes(&pristine, &crash),
            other: other.map(|other| changes(&crash, &disk(&other))),
        })
    }
}

/// Returns the blocks of a disk that differ from the disk before.
fn changes(before: &Disk, after: &Disk) -> Vec<ChangedBlock> {
    let mut numbers = after.changed_blocks(before);
    numbers.sort_unstable();
    let block = |number: u64| (number, after.block(number).to_vec());
    const { assert!(BLOCK_BYTES == 4096) };
    numbers
        .into_iter()
        .filter(|number| after.block(*number) != before.block(*number))
        .map(block)
        .collect()
}
