//! The places of a medium that can go bad: blocks in use, and whole disks.

use std::ops::Range;

use explode_ramdisk::{Condition, Image, SECTOR_BYTES};

use super::kinds::MediaFaults;

/// A block or a disk that may go bad.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaSite {
    /// The device.
    pub dev: u32,
    /// The sectors.
    pub sectors: Range<u64>,
    /// The name, the same in every run.
    pub name: String,
}

/// The durable contents of the devices of a stack, for a leaf whose blocks may go bad.
#[derive(Clone, Copy, Debug)]
pub struct MediaView<'a> {
    /// The name of the leaf.
    pub layer: &'a str,
    /// The first device of the leaf.
    pub first_device: u32,
    /// The faults that are possible.
    pub faults: MediaFaults,
    /// The durable contents of all devices.
    pub durable: &'a Image,
    /// The size of a block, in bytes.
    pub block_bytes: u32,
}

impl MediaView<'_> {
    /// Returns the leaf's first device, of `sectors` sectors, if whole disks can fail and it has
    /// not. Otherwise its blocks that are readable and not all zeroes.
    pub fn disk(&self, sectors: u64) -> Vec<MediaSite> {
        if self.faults.is_of_disk() {
            let (dev, name) = (self.first_device, self.layer.to_owned());
            let site = MediaSite { dev, sectors: 0..sectors, name };
            let is_sound = self.durable.condition(dev) == Condition::Sound;
            return is_sound.then_some(site).into_iter().collect();
        }
        let name = |block| format!("{} block {block}", self.layer);
        self.sites(self.first_device, 0..sectors, &name)
    }

    /// Returns such blocks of a file, whose contents are the first `bytes` bytes of a device.
    pub fn file(&self, path: &str, dev: u32, bytes: u64) -> Vec<MediaSite> {
        let name =
            |block| format!("{} {path} byte {}", self.layer, block * u64::from(self.block_bytes));
        self.sites(dev, 0..bytes.div_ceil(SECTOR_BYTES as u64), &name)
    }

    fn sites(&self, dev: u32, range: Range<u64>, name: &dyn Fn(u64) -> String) -> Vec<MediaSite> {
        let Some(disk) = self.durable.disk(dev) else { return Vec::new() };
        let per_block = u64::from(self.block_bytes) / SECTOR_BYTES as u64;
        let end = range.end;
        let mut blocks: Vec<u64> =
            disk.used_sectors(range).map(|sector| sector / per_block).collect();
        blocks.dedup();
        let readable = |sectors: &Range<u64>| {
            let bytes = (sectors.end - sectors.start) as usize * SECTOR_BYTES;
            disk.readable(sectors.start * SECTOR_BYTES as u64, bytes).is_ok()
        };
        let sites = blocks.into_iter().map(|block| {
            let sectors = block * per_block..((block + 1) * per_block).min(end);
            MediaSite { dev, sectors, name: name(block) }
        });
        sites.filter(|site| readable(&site.sectors)).collect()
    }
}
