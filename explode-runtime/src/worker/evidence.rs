//! The evidence about a crash that a script needs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
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
#[serde(into = "PackedContents", try_from = "PackedContents")]
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

/// The [`DiskContents`] in a message. JSON would otherwise have a number for each byte, which an
/// emulated guest takes seconds to write.
#[derive(Clone, Serialize, Deserialize)]
struct PackedContents {
    pristine: PackedBlocks,
    crash: PackedBlocks,
    other: Option<PackedBlocks>,
}

/// The numbers of blocks, and their bytes as base64.
#[derive(Clone, Serialize, Deserialize)]
struct PackedBlocks(Vec<u64>, String);

impl From<DiskContents> for PackedContents {
    fn from(contents: DiskContents) -> PackedContents {
        let pack = |blocks: Vec<ChangedBlock>| {
            let (numbers, bytes): (Vec<u64>, Vec<Vec<u8>>) = blocks.into_iter().unzip();
            PackedBlocks(numbers, BASE64.encode(bytes.concat()))
        };
        let DiskContents { pristine, crash, other } = contents;
        PackedContents { pristine: pack(pristine), crash: pack(crash), other: other.map(pack) }
    }
}

impl TryFrom<PackedContents> for DiskContents {
    type Error = String;

    fn try_from(packed: PackedContents) -> Result<DiskContents, String> {
        let unpack = |PackedBlocks(numbers, text): PackedBlocks| {
            let bytes = BASE64.decode(text).map_err(|error| error.to_string())?;
            if bytes.len() != numbers.len() * BLOCK_BYTES {
                return Err(format!("{} blocks have {} bytes", numbers.len(), bytes.len()));
            }
            let bytes = bytes.chunks_exact(BLOCK_BYTES).map(<[u8]>::to_vec);
            Ok(numbers.into_iter().zip(bytes).collect())
        };
        let PackedContents { pristine, crash, other } = packed;
        Ok(DiskContents {
            pristine: unpack(pristine)?,
            crash: unpack(crash)?,
            other: other.map(unpack).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents() -> DiskContents {
        let block = |number: u64, byte: u8| (number, vec![byte; BLOCK_BYTES]);
        DiskContents {
            pristine: vec![block(0, 1), block(7, 2)],
            crash: Vec::new(),
            other: Some(vec![block(3, 255)]),
        }
    }

    #[test]
    fn contents_survive_a_message() {
        for contents in [contents(), DiskContents { other: None, ..contents() }] {
            let text = serde_json::to_string(&contents).unwrap();
            assert_eq!(serde_json::from_str::<DiskContents>(&text).unwrap(), contents);
        }
    }

    #[test]
    fn a_block_without_bytes_is_refused() {
        let mut packed = PackedContents::from(contents());
        packed.crash.0.push(5);
        assert_eq!(DiskContents::try_from(packed).unwrap_err(), "1 blocks have 0 bytes");
    }
}
