//! Makes the pages of a new log deterministic. jfs_mkfs builds them on its stack, which it does not
//! clear (`jfs_logform` in libfs/logform.c of jfsutils). So the bytes after the last record of a
//! page are old contents of the stack, times among them.
//!
//! Numbers are little endian (`struct jfs_superblock` in fs/jfs/jfs_superblock.h, `struct logpage`
//! in fs/jfs/jfs_logmgr.h).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The offset of the superblock, and the offsets in it of the block size and of the log's length
/// and place, in blocks.
const SUPERBLOCK: u64 = 0x8000;
const BLOCK_SIZE: usize = 16;
const LOG: usize = 72;
const MAGIC: &[u8] = b"JFS1";

const PAGE: usize = 4096;
/// The first page of the records. Page 0 is not used, and page 1 is the log's superblock.
const FIRST: usize = 2;
/// The size of the head and the tail of a page: its number, two unused bytes, and the end of its
/// last record.
const FRAME: usize = 8;
const END: usize = 6;

/// Clears the bytes after the last record of each page of the log.
///
/// # Errors
/// The disk is not what jfs_mkfs makes; reading or writing fails.
pub(super) fn clear(node: &Path) -> io::Result<()> {
    let disk = File::options().read(true).write(true).open(node)?;
    let mut superblock = [0; LOG + 8];
    disk.read_exact_at(&mut superblock, SUPERBLOCK)?;
    if !superblock.starts_with(MAGIC) {
        return Err(io::Error::other("there is no superblock of JFS"));
    }
    let block = u64::from(number(&superblock, BLOCK_SIZE));
    // The high byte of the length belongs to the place.
    let (length, place) = (number(&superblock, LOG), number(&superblock, LOG + 4));
    let place = u64::from(length >> 24) << 32 | u64::from(place);
    let bytes = u64::from(length & 0x00ff_ffff) * block;
    let mut log = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
    disk.read_exact_at(&mut log, place * block)?;
    log.chunks_exact_mut(PAGE).skip(FIRST).for_each(clear_page);
    disk.write_all_at(&log, place * block)?;
    disk.sync_all()
}

/// Clears the bytes after the last record of a page. A page that was never written is skipped.
fn clear_page(page: &mut [u8]) {
    let (head, tail) = (&page[..FRAME], &page[PAGE - FRAME..]);
    let end = usize::from(u16::from_le_bytes([head[END], head[END + 1]]));
    if head == tail && (FRAME..=PAGE - FRAME).contains(&end) {
        page[end..PAGE - FRAME].fill(0);
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_log_after_its_last_record_is_cleared() {
        let (block, place, pages) = (4096_u32, 20_u32, 4);
        let mut image = vec![7; (place as usize + pages) * PAGE];
        let superblock = SUPERBLOCK as usize;
        image[superblock..][..4].copy_from_slice(MAGIC);
        for (at, number) in [(BLOCK_SIZE, block), (LOG, pages as u32), (LOG + 4, place)] {
            image[superblock + at..][..4].copy_from_slice(&number.to_le_bytes());
        }
        // The third page has a record that ends at byte 44. Head and tail of the last page differ.
        let third = (place as usize + 2) * PAGE;
        for frame in [third, third + PAGE - FRAME] {
            image[frame..][..FRAME].copy_from_slice(&[2, 0, 0, 0, 0, 0, 44, 0]);
        }
        image[third + PAGE] = 9;
        let disk = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(disk.path(), &image).expect("it is ours");
        clear(disk.path()).expect("it is one of JFS");
        image[third + 44..third + PAGE - FRAME].fill(0);
        assert!(std::fs::read(disk.path()).expect("it is ours") == image);
        std::fs::write(disk.path(), vec![0; image.len()]).expect("it is ours");
        assert!(clear(disk.path()).is_err());
    }
}
