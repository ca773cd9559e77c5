//! Sets the times that mkfs.xfs writes. It takes them from the clock, to the microsecond, and has
//! no option for them.
//!
//! Three inodes have times: that of the root directory, and two of the realtime section. Numbers
//! are big endian except the checksum (XFS Algorithms and Data Structures, chapters "Superblocks"
//! and "On-disk Inode"; fs/xfs/libxfs/xfs_format.h).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The offset in the superblock of the three inode numbers, which are consecutive, and the offset
/// of the inode size.
const ROOT_INODE: u64 = 56;
const INODES: u64 = 3;
const INODE_SIZE: u64 = 104;

const MAGIC: &[u8] = b"IN";
/// The offsets in an inode of its times of eight bytes: access, modification, change and birth.
const TIMES: [usize; 4] = [32, 40, 48, 144];
/// The offset in an inode of its checksum: the CRC32C of the inode with zeroes here, little endian.
const CHECKSUM: usize = 100;

/// The time zero of timestamps in nanoseconds (bigtime), in seconds before 1970. It is the earliest
/// time that 32 bits can hold.
const FIRST_SECOND: u64 = 1 << 31;

/// Sets all times of a file system of one allocation group that mkfs.xfs has just made.
///
/// # Errors
/// The disk is not what mkfs.xfs makes; reading or writing fails.
pub(super) fn hold(node: &Path, seconds: u64) -> io::Result<()> {
    let disk = File::options().read(true).write(true).open(node)?;
    let mut size = [0; 2];
    disk.read_exact_at(&mut size, INODE_SIZE)?;
    let size = u64::from(u16::from_be_bytes(size));
    let time = ((seconds + FIRST_SECOND) * 1_000_000_000).to_be_bytes();
    for index in 0..INODES {
        let mut number = [0; 8];
        disk.read_exact_at(&mut number, ROOT_INODE + 8 * index)?;
        // In the first group, an inode's number is its index from the group's first byte.
        let at = u64::from_be_bytes(number).saturating_mul(size);
        let mut inode = vec![0; size as usize];
        disk.read_exact_at(&mut inode, at)?;
        if !inode.starts_with(MAGIC) {
            return Err(io::Error::other(format!("there is no inode of XFS at byte {at}")));
        }
        for field in TIMES {
            inode[field..field + 8].copy_from_slice(&time);
        }
        inode[CHECKSUM..CHECKSUM + 4].fill(0);
        let sum = crc32c(&inode).to_le_bytes();
        inode[CHECKSUM..CHECKSUM + 4].copy_from_slice(&sum);
        disk.write_all_at(&inode, at)?;
    }
    disk.sync_all()
}

/// Computes CRC32C bit by bit, which is fast enough for three inodes.
fn crc32c(bytes: &[u8]) -> u32 {
    let bit = |sum: u32| (sum >> 1) ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| bit(sum)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_crc32c() {
        // The check value of the catalogue of parametrised CRC algorithms, and RFC 3720, B.4.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }
}
