//! The times that mkfs.xfs writes, held still: it takes them from the clock, to the microsecond,
//! and has no option for that.
//!
//! Three inodes have them: of the root directory, and of two of the realtime section. Numbers are
//! big endian but for the checksum (XFS Algorithms and Data Structures, chapters "Superblocks" and
//! "On-disk Inode"; fs/xfs/libxfs/xfs_format.h).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Where a superblock has the numbers of the inodes, one after the other, and their size.
const ROOT_INODE: u64 = 56;
const INODES: u64 = 3;
const INODE_SIZE: u64 = 104;

const MAGIC: &[u8] = b"IN";
/// Where an inode has its times, of eight bytes: of access, of modification, of change, and of
/// birth.
const TIMES: [usize; 4] = [32, 40, 48, 144];
/// Where it has its checksum: CRC32C of all of it, with zeroes here; little endian.
const CHECKSUM: usize = 100;

/// The times that count nanoseconds (bigtime) count them from here: as many seconds before 1970 as
/// 32 bits can hold.
const FIRST_SECOND: u64 = 1 << 31;

/// Sets all times of a file system of one allocation group that mkfs.xfs has just made.
///
/// # Errors
/// It is not what mkfs.xfs makes; reading or writing fails.
pub(super) fn hold(node: &Path, seconds: u64) -> io::Result<()> {
    let disk = File::options().read(true).write(true).open(node)?;
    let mut size = [0; 2];
    disk.read_exact_at(&mut size, INODE_SIZE)?;
    let size = u64::from(u16::from_be_bytes(size));
    let time = ((seconds + FIRST_SECOND) * 1_000_000_000).to_be_bytes();
    for index in 0..INODES {
        let mut number = [0; 8];
        disk.read_exact_at(&mut number, ROOT_INODE + 8 * index)?;
        // In the first group inodes are counted from its first byte.
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

/// CRC32C, bit by bit: there are three inodes.
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
