//! Damages of each file system's disk in places that neither its kernel nor a checker reads.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Damages the disk of a file system. Returns the number of places that it has changed.
pub type Damage = fn(&File) -> io::Result<usize>;

/// Each system, with its damage.
pub const DAMAGES: [(&str, Damage); 8] = [
    ("btrfs", bytes_used),
    ("f2fs", links_of_the_root),
    ("ext2", lost_and_found),
    ("vfat", lost_cluster),
    ("msdos", lost_cluster),
    ("exfat", stray_entry),
    ("minix", lost_zone),
    ("jfs", map_of_inodes),
];

/// Returns the number at this offset of a disk.
fn u16_at(disk: &File, at: u64) -> io::Result<u64> {
    let mut bytes = [0; 2];
    disk.read_exact_at(&mut bytes, at)?;
    Ok(u16::from_le_bytes(bytes).into())
}

fn u32_at(disk: &File, at: u64) -> io::Result<u64> {
    let mut bytes = [0; 4];
    disk.read_exact_at(&mut bytes, at)?;
    Ok(u32::from_le_bytes(bytes).into())
}

/// Calls `change` for each block of 4096 bytes of a disk. Returns the number of blocks that it has
/// changed.
fn in_blocks(
    disk: &File,
    mut change: impl FnMut(&[u8], u64) -> io::Result<bool>,
) -> io::Result<usize> {
    let mut changed = 0;
    let mut block = [0; 4096];
    for at in (0..).step_by(block.len()) {
        if disk.read_at(&mut block, at)? == 0 {
            break;
        }
        changed += usize::from(change(&block, at)?);
    }
    Ok(changed)
}

/// ext2: the directory `lost+found`, which has the inode 11 (e2fsck(8), `struct ext2_dir_entry_2`
/// in fs/ext2/ext2.h).
fn lost_and_found(disk: &File) -> io::Result<usize> {
    const ITSELF: [u8; 9] = [11, 0, 0, 0, 12, 0, 1, 2, b'.'];
    in_blocks(disk, |block, at| {
        let found = block.starts_with(&ITSELF);
        if found {
            disk.write_all_at(&[0xa5; 4096], at)?;
        }
        Ok(found)
    })
}

/// FAT of 16 bits: the last cluster is in use, but in no file (`struct fat_boot_sector` in
/// include/uapi/linux/msdos_fs.h).
fn lost_cluster(disk: &File) -> io::Result<usize> {
    let mut kind = [0; 5];
    disk.read_exact_at(&mut kind, 54)?;
    if &kind != b"FAT16" {
        return Ok(0);
    }
    let (sector, reserved, length) = (u16_at(disk, 11)?, u16_at(disk, 14)?, u16_at(disk, 22)?);
    let (roots, in_cluster) = (u16_at(disk, 17)?, u16_at(disk, 13)? & 0xff);
    let small = u16_at(disk, 19)?;
    let sectors = if small == 0 { u32_at(disk, 32)? } else { small };
    let first = reserved + 2 * length + (roots * 32).div_ceil(sector);
    let last = (sectors - first) / in_cluster + 1;
    for copy in 0..2 {
        disk.write_all_at(&[0xff; 2], (reserved + copy * length) * sector + last * 2)?;
    }
    Ok(1)
}

/// exFAT: the entry after the last one of the root directory has an unknown type (exFAT
/// specification, 3.1 and 6.2).
fn stray_entry(disk: &File) -> io::Result<usize> {
    const ENTRY: u64 = 32;
    const NO_KIND: [u8; 1] = [0xc2];
    let mut shifts = [0; 2];
    disk.read_exact_at(&mut shifts, 108)?;
    let [sector, cluster] = shifts;
    let (heap, root) = (u32_at(disk, 88)?, u32_at(disk, 96)?);
    let root = (heap << sector) + ((root - 2) << (sector + cluster));
    for at in (root..root + (1 << (sector + cluster))).step_by(ENTRY as usize) {
        let mut kind = [0];
        disk.read_exact_at(&mut kind, at)?;
        if kind == [0] {
            disk.write_all_at(&NO_KIND, at)?;
            return Ok(1);
        }
    }
    Ok(0)
}

/// MINIX of version 2: the last zone is in use, but in no file (`struct minix_super_block` in
/// include/uapi/linux/minix_fs.h).
fn lost_zone(disk: &File) -> io::Result<usize> {
    const BLOCK: u64 = 1024;
    let (inodes, first) = (u16_at(disk, BLOCK + 4)?, u16_at(disk, BLOCK + 8)?);
    let bit = u32_at(disk, BLOCK + 20)? - first;
    let at = (2 + inodes) * BLOCK + bit / 8;
    let mut byte = [0];
    disk.read_exact_at(&mut byte, at)?;
    let with = [byte[0] | 1 << (bit % 8)];
    disk.write_all_at(&with, at)?;
    Ok(usize::from(with != byte))
}

/// JFS: one of the two maps of its own inodes (`AIMAP_OFF` in fs/jfs/jfs_filsys.h; the page after
/// it has the map itself). The kernel knows these inodes without the map. jfs_fsck -a checks it
/// only if it could not replay the log.
fn map_of_inodes(disk: &File) -> io::Result<usize> {
    const AT: u64 = 40 << 10;
    disk.write_all_at(&[0xa5; 4096], AT)?;
    Ok(1)
}

/// btrfs: the number of bytes in use in the superblock (`struct btrfs_super_block` in
/// include/uapi/linux/btrfs_tree.h), whose checksum is corrected. The kernel adds to the number and
/// subtracts from it, but never recounts.
fn bytes_used(disk: &File) -> io::Result<usize> {
    const AT: u64 = 64 << 10;
    const SUM: usize = 32;
    const USED: std::ops::Range<usize> = 120..128;
    let mut superblock = [0; 4096];
    disk.read_exact_at(&mut superblock, AT)?;
    let sum = crc32c(&superblock[SUM..]).to_le_bytes();
    if superblock[..sum.len()] != sum {
        return Ok(0);
    }
    let used = u64::from_le_bytes(superblock[USED].try_into().expect("eight bytes"));
    superblock[USED].copy_from_slice(&(used + 4096).to_le_bytes());
    let sum = crc32c(&superblock[SUM..]).to_le_bytes();
    superblock[..sum.len()].copy_from_slice(&sum);
    disk.write_all_at(&superblock, AT)?;
    Ok(1)
}

/// F2FS: the number of links of the root directory (`struct f2fs_node` in include/linux/f2fs_fs.h),
/// in all versions of its inode. Without the feature `inode_checksum` an inode has no checksum.
fn links_of_the_root(disk: &File) -> io::Result<usize> {
    const LINKS: u64 = 12;
    const FOOTER: usize = 4096 - 24;
    /// The number of the root. Its inode is the node of the same number.
    const ROOT: [u8; 8] = [3, 0, 0, 0, 3, 0, 0, 0];
    in_blocks(disk, |block, at| {
        let found = block[FOOTER..].starts_with(&ROOT);
        if found {
            disk.write_all_at(&7_u32.to_le_bytes(), at + LINKS)?;
        }
        Ok(found)
    })
}

/// Returns the CRC-32C, computed bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let bit = |sum: u32, _| (sum >> 1) ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), bit))
}
