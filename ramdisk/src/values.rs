//! The values of the parts of an image that were read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

use crate::files::{journal_of, names_of_inodes, replayed};
use crate::sector::ZERO_BLOCK;
use crate::{BLOCK_BYTES, Block, Disk, Image, ReadRange, SECTOR_BYTES, ZERO_SECTOR};

/// The largest number of parts of shared blocks whose values are cached.
const VALUES_MAX: usize = 1 << 12;

/// An image as a reader sees it: journals of simulated files are replayed.
#[derive(Debug)]
pub struct ImageView<'i> {
    image: &'i Image,
    replayed: Cow<'i, Image>,
}

impl<'i> ImageView<'i> {
    /// Returns the view of an image.
    pub fn of(image: &'i Image) -> ImageView<'i> {
        ImageView { image, replayed: replayed(image) }
    }
}

/// Computes the values of reads. Equal contents have equal values. Different contents have equal
/// values with a chance of 2^-128.
///
/// The images of one emission share most of their blocks, so the values of the parts of a shared
/// block are cached, by its address and the sectors. The cache holds the block as well, so that its
/// bytes cannot change.
#[derive(Debug, Default)]
pub struct Values(HashMap<(usize, u8), (Block, u128)>);

impl Values {
    /// Returns the value of a part of an image.
    pub fn of(&mut self, read: ReadRange, view: &ImageView<'_>) -> u128 {
        let image = &*view.replayed;
        match read {
            ReadRange::Journal { base } => {
                journal_of(view.image, base).map_or(0, |journal| journal.identity().0)
            }
            ReadRange::Sectors { dev, block, sectors } => {
                let shared = image.disk(dev).and_then(|disk| disk.shared_block(block));
                shared.map_or(0, |shared| self.of_block(shared, sectors))
            }
            ReadRange::Device { dev } => image.disk(dev).map_or(0, |disk| disk.identity().0),
            ReadRange::Links { base } => {
                let links =
                    names_of_inodes(image, base).into_iter().filter(|(_, names)| *names > 1);
                let numbers = links.flat_map(|(inode, names)| [inode, names]);
                xxh3_128(&numbers.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
            }
            ReadRange::HighestName { base } => {
                let highest = names_of_inodes(image, base).into_keys().next_back();
                xxh3_128(&highest.unwrap_or(0).to_le_bytes())
            }
            ReadRange::Highest { first, last } => {
                let holds = |dev: &u32| image.disk(*dev).is_some_and(Disk::holds_something);
                let highest =
                    image.devices().filter(|dev| (first..=last).contains(dev) && holds(dev)).max();
                xxh3_128(&highest.map_or(0, |dev| u64::from(dev) + 1).to_le_bytes())
            }
        }
    }

    fn of_block(&mut self, block: &Block, sectors: u8) -> u128 {
        let at = (Arc::as_ptr(block) as usize, sectors);
        if let Some((_, value)) = self.0.get(&at) {
            return *value;
        }
        let value = of_sectors(block, sectors);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sectors(block: u64, sectors: u8) -> ReadRange {
        ReadRange::Sectors { dev: 0, block, sectors }
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
        let mut equal = |read: ReadRange, a: &Image, b: &Image| {
            values.of(read, &ImageView::of(a)) == values.of(read, &ImageView::of(b))
        };
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
        for part in [sectors(0, 0xff), sectors(0, 0x03)] {
            let mut values = Values::default();
            let mut image = Image::from_iter([(0, Disk::from_bytes(&[7; BLOCK_BYTES]))]);
            let copy = image.clone();
            // Two images that share a disk share its blocks. A write to one does not change the
            // other.
            let mut shared = copy.disk(0).unwrap().clone();
            let before = values.of(part, &ImageView::of(&image));
            shared.write(0, &[8; SECTOR_BYTES]);
            *image.disk_mut(0) = shared;
            assert_ne!(values.of(part, &ImageView::of(&image)), before);
            assert_eq!(values.of(part, &ImageView::of(&copy)), before);
        }
        // Of one block each part has its own value.
        let mut values = Values::default();
        let image = Image::from_iter([(0, Disk::from_bytes(&[7; BLOCK_BYTES]))]);
        let shared = image.clone();
        let mut of = |part: u8| values.of(sectors(0, part), &ImageView::of(&shared));
        assert!(of(0x01) != of(0x02) && of(0x03) != of(0xff));
    }
}
