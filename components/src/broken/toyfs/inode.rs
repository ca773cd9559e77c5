//! Inodes: 64 bytes each.
//!
//! | bytes | meaning |
//! | --- | --- |
//! | 0 | 0 if it is free, 1 for a file, 2 for a directory |
//! | 2, 3 | the number of names that lead to it |
//! | 4 - 7 | its version, in the design with versions: the number of changes of this inode number |
//! | 8 - 15 | bytes of contents |
//! | 16 - 47 | its first 8 blocks; 0 for a hole |
//! | 48 - 51 | its indirect block, which has the numbers of the next 1024 blocks |

use explode_ramdisk::files::{FileKind, Result};

use super::layout::{INODE, is_of_inodes};
use crate::broken::page_journal::{BLOCK, Page};

/// The number of blocks that an inode names itself.
pub(super) const DIRECT: u64 = 8;
/// The number of blocks that an indirect block names.
pub(super) const INDIRECT: u64 = (BLOCK / 4) as u64;
/// The largest number of blocks of an inode's contents.
pub const MOST: u64 = DIRECT + INDIRECT;

/// An inode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToyInode {
    /// The kind of the inode. `None` if it is free.
    pub kind: Option<FileKind>,
    pub links: u16,
    pub version: u32,
    pub size: u64,
    pub direct: [u32; DIRECT as usize],
    pub indirect: u32,
}

/// Decodes a block number from 4 bytes.
pub fn block_number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("4 bytes"))
}

impl ToyInode {
    /// Makes an inode without a name.
    pub fn new(kind: FileKind) -> ToyInode {
        ToyInode { kind: Some(kind), ..ToyInode::default() }
    }

    pub fn decode(bytes: &[u8]) -> ToyInode {
        let kind = [None, Some(FileKind::File), Some(FileKind::Directory)];
        let mut direct = [0; DIRECT as usize];
        direct
            .iter_mut()
            .zip(bytes[16..48].chunks(4))
            .for_each(|(block, bytes)| *block = block_number(bytes));
        ToyInode {
            kind: kind.get(usize::from(bytes[0])).copied().flatten(),
            links: u16::from_le_bytes([bytes[2], bytes[3]]),
            version: block_number(&bytes[4..8]),
            size: u64::from_le_bytes(bytes[8..16].try_into().expect("8 bytes")),
            direct,
            indirect: block_number(&bytes[48..52]),
        }
    }

    pub fn encode(&self) -> [u8; INODE] {
        let mut bytes = [0; INODE];
        bytes[0] = match self.kind {
            None => 0,
            Some(FileKind::File) => 1,
            Some(FileKind::Directory) => 2,
            Some(FileKind::Symlink) => unreachable!("nothing makes one"),
        };
        bytes[2..4].copy_from_slice(&self.links.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.version.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.size.to_le_bytes());
        for (block, bytes) in self.direct.iter().zip(bytes[16..48].chunks_mut(4)) {
            bytes.copy_from_slice(&block.to_le_bytes());
        }
        bytes[48..52].copy_from_slice(&self.indirect.to_le_bytes());
        bytes
    }

    /// Returns every block of the device that the inode has, its indirect block included. The
    /// numbers are not checked.
    ///
    /// # Errors
    /// `EIO`: the indirect block cannot be read.
    pub fn blocks(&self, read: impl FnOnce(u64) -> Result<Page>) -> Result<Vec<u64>> {
        let mut blocks: Vec<u64> = self.direct.iter().map(|block| u64::from(*block)).collect();
        if self.indirect != 0 {
            blocks.push(self.indirect.into());
            let page = read(self.indirect.into())?;
            let used = page.chunks(4).filter(|bytes| **bytes != [0; 4]);
            blocks.extend(used.map(|bytes| u64::from(block_number(bytes))));
        }
        blocks.retain(|block| *block != 0);
        Ok(blocks)
    }
}

/// Merges a block of the journal with the block on disk during replay. Of each inode the newer
/// version is kept.
pub fn newer_inodes(block: u64, before: &Page, page: &mut Page) {
    if !is_of_inodes(block) {
        return;
    }
    for (before, now) in before.chunks(INODE).zip(page.chunks_mut(INODE)) {
        if ToyInode::decode(before).version > ToyInode::decode(now).version {
            now.copy_from_slice(before);
        }
    }
}
