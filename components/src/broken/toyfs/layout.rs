//! The layout of the device.

use std::ops::Range;

use explode_ramdisk::SECTOR_BYTES;

use crate::broken::page_journal::{BLOCK, SECTORS};

/// The blocks of the journal. They hold two or three transactions, so that checkpoints are
/// frequent.
pub const JOURNAL: Range<u64> = 0..14;
pub const INODES: Range<u64> = 14..15;
/// The smallest device: the journal, the inodes, and one block of contents.
pub const LEAST_SECTORS: u64 = (INODES.end + 1) * SECTORS;
/// The number of inodes of a block without gaps.
pub const PER_BLOCK: u32 = (BLOCK / INODE) as u32;
/// The inode of the root directory.
pub const ROOT: u32 = 0;
/// The size of an inode in bytes.
pub const INODE: usize = 64;
/// The distance between inodes in bytes if each has a sector of its own. A crash then keeps or
/// loses each separately.
pub const APART: usize = SECTOR_BYTES;
/// The number of inodes at this distance.
pub const COUNT_APART: u32 = PER_BLOCK / (APART / INODE) as u32;

/// Returns true if a block holds inodes.
pub fn is_of_inodes(block: u64) -> bool {
    INODES.contains(&block)
}
