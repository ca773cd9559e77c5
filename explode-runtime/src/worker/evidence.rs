//! What a worker that stands still says for a script.

use explode_ramdisk::{BLOCK_BYTES, Disk, Image};
use serde::{Deserialize, Serialize};

use crate::events::LoggedCall;
use crate::stack::ShellFileSystem;
use crate::verdict::ShellDemand;

/// Everything that a script needs, besides the trace and its story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What was done, up to the crash.
    pub done: Vec<LoggedCall>,
    /// The bytes of the disk, and the file system on it; or why no shell can do it.
    pub plain: Result<(u64, ShellFileSystem), String>,
    /// What the check demands, if a shell can test it.
    pub demands: Option<Vec<ShellDemand>>,
    /// The disks.
    pub disks: Result<DiskContents, String>,
    /// The crash disk is what is there if all writes are dropped from the crash on, and those
    /// before it are not: it has everything that was submitted by then, and nothing else. Never so
    /// of a crash during recovery.
    pub submitted: bool,
}

/// A block of 4096 bytes: its number, and its bytes.
pub type ChangedBlock = (u64, Vec<u8>);

/// The disks of a crash, as what makes each of them different.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskContents {
    /// The blocks of the pristine disk that are not zeroes.
    pub pristine: Vec<ChangedBlock>,
    /// Those that the crash disk has, and the pristine one does not.
    pub crash: Vec<ChangedBlock>,
    /// Those that the disk to compare with has, and the crash disk does not; none without such a
    /// disk.
    pub other: Option<Vec<ChangedBlock>>,
}

impl DiskContents {
    /// Of a stack on one device.
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

/// The blocks in which a disk differs from the one before.
fn changes(before: &Disk, after: &Disk) -> Vec<ChangedBlock> {
    let mut numbers = after.changed_blocks(before);
    numbers.sort_unstable();
    let block = |number: u64| (number, after.block(number).to_vec());
    debug_assert_eq!(BLOCK_BYTES, 4096);
    numbers
        .into_iter()
        .filter(|number| after.block(*number) != before.block(*number))
        .map(block)
        .collect()
}
