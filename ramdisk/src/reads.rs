//! The record of the parts of an image that a reader has read.
//!
//! A [`ReadRange`] names a part of an image. Its [value](crate::Values::of) represents the contents
//! of that part. If all parts that a reader has read have equal values in two images, the reader
//! cannot tell the images apart. Sectors that the reader wrote before it read them do not depend on
//! the image, so they do not count as reads.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::{SECTOR_BYTES, SECTORS_PER_BLOCK};

/// The largest number of sectors in a write that is recorded.
const WRITTEN_MAX: u64 = 1 << 16;

/// A part of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadRange {
    /// Some of the eight sectors of a block of 4096 bytes. Bit k is sector k of the block.
    Sectors {
        /// The device.
        dev: u32,
        /// The block's number.
        block: u64,
        /// A bit mask of the sectors; not 0.
        sectors: u8,
    },
    /// A whole device of any size, even an empty one.
    Device {
        /// The device.
        dev: u32,
    },
    /// The inodes of simulated files that more than one name leads to, and the number of names.
    Links {
        /// The first device of the files.
        base: u32,
    },
    /// The highest inode of simulated files that a name leads to.
    HighestName {
        /// The first device of the files.
        base: u32,
    },
    /// The end of the journal of simulated files, behind which a mount writes.
    Journal {
        /// The first device of the files.
        base: u32,
    },
    /// The highest device of a range of devices that holds anything but zeroes.
    Highest {
        /// The first device of the range.
        first: u32,
        /// The last device of the range.
        last: u32,
    },
}

/// The reads of one reader so far, in order of the first read.
#[derive(Debug, Default)]
pub(crate) struct ReadLog {
    order: Vec<ReadRange>,
    /// The sectors of each block that no longer count as reads, because they were read or written
    /// before.
    settled: HashMap<(u32, u64), u8>,
    /// The reads that are not of sectors.
    others: HashSet<ReadRange>,
    /// True if the whole image was given away, so that any part of it may have been read.
    everything: bool,
}

impl ReadLog {
    /// Records a read of bytes.
    pub fn read(&mut self, dev: u32, bytes: Range<u64>) {
        let sectors = bytes.start / SECTOR_BYTES as u64..bytes.end.div_ceil(SECTOR_BYTES as u64);
        for (block, sectors) in blocks(sectors) {
            let settled = self.settled.entry((dev, block)).or_default();
            let new = sectors & !*settled;
            *settled |= sectors;
            if new != 0 {
                self.order.push(ReadRange::Sectors { dev, block, sectors: new });
            }
        }
    }

    /// Records a write of whole sectors. A write of more than `WRITTEN_MAX` sectors, such as a
    /// discard, is not recorded: a later read of one of its sectors counts as a read.
    pub fn written(&mut self, dev: u32, sectors: Range<u64>) {
        if sectors.end - sectors.start > WRITTEN_MAX {
            return;
        }
        for (block, sectors) in blocks(sectors) {
            *self.settled.entry((dev, block)).or_default() |= sectors;
        }
    }

    /// Records a read that is not of sectors.
    pub fn note(&mut self, read: ReadRange) {
        if self.others.insert(read) {
            self.order.push(read);
        }
    }

    /// Records that any part of the image may have been read.
    pub fn everything(&mut self) {
        self.everything = true;
    }

    /// Returns the reads. `None` if any part of the image may have been read.
    pub fn into_order(self) -> Option<Vec<ReadRange>> {
        (!self.everything).then_some(self.order)
    }
}

/// Returns the blocks of a range of sectors, with a bit mask of the sectors of each.
fn blocks(sectors: Range<u64>) -> impl Iterator<Item = (u64, u8)> {
    let Range { start, end } = sectors;
    let last =
        if start < end { end.div_ceil(SECTORS_PER_BLOCK) } else { start / SECTORS_PER_BLOCK };
    (start / SECTORS_PER_BLOCK..last).map(move |block| {
        let first = start.saturating_sub(block * SECTORS_PER_BLOCK).min(SECTORS_PER_BLOCK);
        let behind = (end - block * SECTORS_PER_BLOCK).min(SECTORS_PER_BLOCK);
        (block, (u16::MAX << first & !(u16::MAX << behind)) as u8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sectors(block: u64, sectors: u8) -> ReadRange {
        ReadRange::Sectors { dev: 0, block, sectors }
    }

    #[test]
    fn ranges_are_cut_into_blocks() {
        assert_eq!(blocks(0..8).collect::<Vec<_>>(), [(0, 0xff)]);
        assert_eq!(blocks(7..18).collect::<Vec<_>>(), [(0, 0x80), (1, 0xff), (2, 0x03)]);
        assert_eq!(blocks(10..11).collect::<Vec<_>>(), [(1, 0x04)]);
        assert_eq!(blocks(5..5).collect::<Vec<_>>(), []);
    }

    #[test]
    fn a_sector_is_read_once_and_not_after_it_was_written() {
        let mut reads = ReadLog::default();
        reads.written(0, 1..3);
        reads.read(0, 100..700);
        reads.read(0, 0..4096);
        reads.read(0, 0..8192);
        assert_eq!(
            reads.into_order().unwrap(),
            [sectors(0, 0x01), sectors(0, 0xf8), sectors(1, 0xff)]
        );
    }

    #[test]
    fn taking_the_image_counts_as_reading_everything() {
        let mut reads = ReadLog::default();
        reads.read(0, 0..1);
        reads.everything();
        assert_eq!(reads.into_order(), None);
    }
}
