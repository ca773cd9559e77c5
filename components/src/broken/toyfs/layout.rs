//! Where things stand on the device.

use std::ops::Range;

use explode_ramdisk::SECTOR_BYTES;

use crate::broken::page_journal::{BLOCK, SECTORS};

/// Two or three transactions fit in, so that there are checkpoints soon.
pub const JOURNAL: Range<u64> = 0..14;
pub const INODES: Range<u64> = 14..15;
/// The journal, the inodes, and one block of contents.
pub const LEAST_SECTORS: u64 = (INODES.end + 1) * SECTORS;
/// Inodes of a block, side by side.
pub const PER_BLOCK: u32 = (BLOCK / INODE) as u32;
/// The root directory.
pub const ROOT: u32 = 0;
/// Bytes of an inode.
pub const INODE: usize = 64;
/// Bytes from one inode to the next where each has a sector of its own: a crash keeps or loses it
/// by itself.
pub const APART: usize = SECTOR_BYTES;
/// How many inodes there are then.
pub const COUNT_APART: u32 = PER_BLOCK / (APART / INODE) as u32;

/// Does a block hold inodes?
pub fn is_of_inodes(block: u64) -> bool {
    INODES.contains(&block)
}
