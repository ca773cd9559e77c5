//! The record of the parts of an image that a reader has read.
//!
//! A [`ReadRange`] names a part of an image. Its [value](Values::of) represents the contents of
//! that part. If all parts that a reader has read have equal values in two images, the reader
//! cannot tell the images apart. Sectors that the reader wrote before it read them do not depend on
//! the image, so they do not count as reads.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

use crate::sector::ZERO_BLOCK;
use crate::{BLOCK_BYTES, Block, Disk, Image, SECTOR_BYTES, SECTORS_PER_BLOCK, ZERO_SECTOR};

/// The largest number of shared blocks whose values are cached.
const VALUES_MAX: usize = 1 << 12;
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
    /// The highest device of a range of devices that holds anything but zeroes.
    Highest {
        /// The first device of the range.
        first: u32,
        /// The last device of the range.
        last: u32,
    },
}

/// Computes the values of reads. Equal contents have equal values. Different contents have equal
/// values with a chance of 2^-128.
///
/// The images of one emission share most of their blocks, so the value of a shared block is cached.
/// The cache holds the block as well, so that its bytes cannot change.
#[derive(Debug, Default)]
pub struct Values(HashMap<usize, (Block, u128)>);

impl Values {
    /// Returns the value of a part of `image`.
    pub fn of(&mut self, read: ReadRange, image: &Image) -> u128 {
        match read {
            ReadRange::Sectors { dev, block, sectors: u8::MAX } => {
                let shared = image.disk(dev).and_then(|disk| disk.shared_block(block));
                shared.map_or(0, |shared| self.of_block(shared))
            }
            ReadRange::Sectors { dev, block, sectors } => {
                let disk = image.disk(dev);
                let bytes = disk.and_then(|disk| disk.shared_block(block));
                bytes.map_or(0, |bytes| of_sectors(bytes, sectors))
            }
            ReadRange::Device { dev } => image.disk(dev).map_or(0, |disk| disk.identity().0),
            ReadRange::Highest { first, last } => {
                let holds = |dev: &u32| image.disk(*dev).is_some_and(Disk::holds_something);
                let highest =
                    image.devices().filter(|dev| (first..=last).contains(dev) && holds(dev)).max();
                xxh3_128(&highest.map_or(0, |dev| u64::from(dev) + 1).to_le_bytes())
            }
        }
    }

    fn of_block(&mut self, block: &Block) -> u128 {
        let at = Arc::as_ptr(block) as usize;
        if let Some((_, value)) = self.0.get(&at) {
            return *value;
        }
        let value = of_sectors(block, u8::MAX);
        // The next image does not use a block that only this image has.
        if Arc::strong_count(block) > 1 {
            if self.0.len() >= VALUES_MAX {
                self.0.clear();
            }
            self.0.insert(at, (Arc::clone(block), value));
        }
        value
    }
}

/// Returns the value of sectors of a block. 0 for zeroes, as for a block that is not in the map.
fn of_sectors(block: &[u8; BLOCK_BYTES], sectors: u8) -> u128 {
    if sectors == u8::MAX {
        return if *block == ZERO_BLOCK { 0 } else { xxh3_128(block) };
    }
    let chosen =
        block.chunks_exact(SECTOR_BYTES).enumerate().filter(|(k, _)| sectors & 1 << k != 0);
    let value = |sum: u128, (k, bytes): (usize, &[u8])| {
        sum.wrapping_add(if *bytes == ZERO_SECTOR {
            0
        } else {
            xxh3_128_with_seed(bytes, k as u64)
        })
    };
    chosen.fold(0, value)
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

    #[test]
    fn values_tell_contents_apart_and_nothing_else() {
        let image = |fill: &[(u64, u8)]| {
            let mut disk = Disk::new();
            fill.iter().for_each(|(sector, byte)| disk.write(*sector, &[*byte; SECTOR_BYTES]));
            Image::from_iter([(0, disk)])
        };
        let mut values = Values::default();
        let (empty, one, two) = (Image::new(), image(&[(3, 1)]), image(&[(3, 1), (4, 1)]));
        let mut equal =
            |read: ReadRange, a: &Image, b: &Image| values.of(read, a) == values.of(read, b);
        assert!(equal(sectors(0, 0x08), &one, &two) && !equal(sectors(0, 0xff), &one, &two));
        assert!(!equal(sectors(0, 0x08), &one, &empty) && equal(sectors(0, 0x07), &one, &empty));
        assert!(equal(sectors(1, 0xff), &one, &empty));
        // Zeroes that were written are zeroes.
        assert!(equal(sectors(0, 0xff), &image(&[(3, 0)]), &empty));
        // The same bytes in another sector of the block.
        assert!(!equal(sectors(0, 0x18), &one, &image(&[(4, 1)])));
        assert!(
            !equal(ReadRange::Device { dev: 0 }, &one, &two)
                && equal(ReadRange::Device { dev: 1 }, &one, &two)
        );
        let highest = ReadRange::Highest { first: 0, last: 9 };
        assert!(equal(highest, &one, &two) && !equal(highest, &one, &empty));
        assert!(equal(highest, &image(&[(3, 0)]), &empty), "a disk of zeroes holds nothing");
    }

    #[test]
    fn a_remembered_value_goes_with_the_bytes() {
        let mut values = Values::default();
        let mut image = Image::from_iter([(0, Disk::from_bytes(&[7; BLOCK_BYTES]))]);
        let copy = image.clone();
        // Two images that share a disk share its blocks. A write to one does not change the other.
        let mut shared = copy.disk(0).unwrap().clone();
        let before = values.of(sectors(0, 0xff), &image);
        shared.write(0, &[8; SECTOR_BYTES]);
        *image.disk_mut(0) = shared;
        assert_ne!(values.of(sectors(0, 0xff), &image), before);
        assert_eq!(values.of(sectors(0, 0xff), &copy), before);
    }
}
