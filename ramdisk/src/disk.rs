//! Disks whose copies share their blocks.
//!
//! A persistent map holds blocks of 4096 bytes. A snapshot (`clone`) copies a pointer, a restore is
//! an assignment, and a write copies one block and a few map nodes. The cost of each is independent
//! of the size of the disk. A block that is not in the map is all zeroes.

mod faults;

use std::ops::{Add as _, Range};
use std::sync::Arc;

use imbl::OrdMap;

use crate::fault::{Condition, Unreadable};
use crate::sector::ZERO_BLOCK;
use crate::{
    BLOCK_BYTES, Block, Identity, SECTOR_BYTES, SECTORS_PER_BLOCK, ZERO_SECTOR, sector_identity,
};

/// A sparse copy-on-write disk of any size, with an incremental [`Identity`].
#[derive(Clone, Debug, Default)]
pub struct Disk {
    blocks: OrdMap<u64, Block>,
    identity: Identity,
    unreadable: Unreadable,
    condition: Condition,
}

impl Disk {
    /// Returns a disk of zeroes.
    pub fn new() -> Disk {
        Disk::default()
    }

    /// Returns a disk with the contents `bytes` from byte 0 on.
    ///
    /// # Panics
    /// If `bytes` is not whole sectors.
    pub fn from_bytes(bytes: &[u8]) -> Disk {
        let mut disk = Disk::new();
        disk.write(0, bytes);
        disk
    }

    /// Returns the identity of the contents. Equal contents have equal identities.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Fills `buf` from byte `offset` on.
    pub fn read(&self, offset: u64, buf: &mut [u8]) {
        let mut done = 0;
        while done < buf.len() {
            let (block, within) = locate(offset + done as u64);
            let take = (BLOCK_BYTES - within).min(buf.len() - done);
            let into = &mut buf[done..done + take];
            match self.blocks.get(&block) {
                Some(bytes) => into.copy_from_slice(&bytes[within..within + take]),
                None => into.fill(0),
            }
            done += take;
        }
    }

    /// Returns the bytes of a sector.
    pub fn sector(&self, sector: u64) -> &[u8] {
        let (block, within) = locate(sector * SECTOR_BYTES as u64);
        match self.blocks.get(&block) {
            Some(bytes) => &bytes[within..within + SECTOR_BYTES],
            None => &ZERO_SECTOR,
        }
    }

    /// Returns the bytes of a block.
    pub fn block(&self, block: u64) -> &[u8; BLOCK_BYTES] {
        self.blocks.get(&block).map_or(&ZERO_BLOCK, |bytes| &**bytes)
    }

    /// Returns the block for sharing. `None` if the block was never written and is all zeroes.
    pub fn shared_block(&self, block: u64) -> Option<&Block> {
        self.blocks.get(&block)
    }

    /// Returns true if any byte is not zero, any sector is unreadable or the disk has a fault.
    pub fn holds_something(&self) -> bool {
        self.identity != Identity::default()
    }

    /// Writes whole sectors, the first at `sector`.
    ///
    /// # Panics
    /// If `data` is not whole sectors.
    pub fn write(&mut self, sector: u64, data: &[u8]) {
        let healed = self.heal(sectors_of(sector, data));
        self.identity -= healed;
        each_block(sector, data, |block, within, new| {
            let old = &self.block(block)[within..within + new.len()];
            let first = block * SECTORS_PER_BLOCK + (within / SECTOR_BYTES) as u64;
            let sectors = old.chunks_exact(SECTOR_BYTES).zip(new.chunks_exact(SECTOR_BYTES));
            let changes = (first..).zip(sectors).filter(|(_, (old, new))| old != new);
            let difference =
                |(sector, (old, new))| sector_identity(sector, new) - sector_identity(sector, old);
            self.identity += changes.map(difference).fold(Identity::default(), Identity::add);
            self.put(block, within, new);
        });
    }

    /// Writes whole sectors like [`write`](Disk::write), and adds `difference` to the identity. The
    /// caller knows the difference, which saves the hashing: hashing takes longer than writing.
    ///
    /// # Panics
    /// If `data` is not whole sectors.
    pub fn write_known(&mut self, sector: u64, data: &[u8], difference: Identity) {
        self.heal(sectors_of(sector, data));
        each_block(sector, data, |block, within, new| self.put(block, within, new));
        self.identity += difference;
    }

    /// Inserts a whole block, which stays shared with its other owners, and adds `difference` to
    /// the identity.
    pub fn share_known(&mut self, block: u64, bytes: &Block, difference: Identity) {
        self.heal(block * SECTORS_PER_BLOCK..(block + 1) * SECTORS_PER_BLOCK);
        self.blocks.insert(block, Arc::clone(bytes));
        self.identity += difference;
    }

    /// Writes zeroes to a range of sectors. The cost depends on the blocks that are present, not on
    /// the length of the range.
    pub fn write_zeroes(&mut self, sectors: Range<u64>) {
        let healed = self.heal(sectors.clone());
        self.identity -= healed;
        for sector in self.used_sectors(sectors).collect::<Vec<_>>() {
            self.write(sector, &ZERO_SECTOR);
        }
    }

    /// Writes zeroes to a range of sectors, and adds `difference` to the identity.
    pub fn write_zeroes_known(&mut self, sectors: Range<u64>, difference: Identity) {
        self.heal(sectors.clone());
        for sector in self.used_sectors(sectors).collect::<Vec<_>>() {
            let (block, within) = locate(sector * SECTOR_BYTES as u64);
            self.put(block, within, &ZERO_SECTOR);
        }
        self.identity += difference;
    }

    /// Writes sectors of one block. A write that changes nothing copies nothing.
    fn put(&mut self, block: u64, within: usize, new: &[u8]) {
        let range = within..within + new.len();
        if self.block(block)[range.clone()] != *new {
            let bytes = self.blocks.entry(block).or_insert_with(|| Arc::new(ZERO_BLOCK));
            Arc::make_mut(bytes)[range].copy_from_slice(new);
        }
    }

    /// Returns the numbers of the blocks that were ever written, in order. All other blocks are
    /// zeroes.
    pub fn blocks(&self) -> impl Iterator<Item = u64> + '_ {
        self.blocks.keys().copied()
    }

    /// Returns the sectors of a range that hold anything but zeroes, in order. The cost depends on
    /// the blocks that are present, not on the length of the range.
    pub fn used_sectors(&self, range: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        let blocks = range.start / SECTORS_PER_BLOCK..range.end.div_ceil(SECTORS_PER_BLOCK);
        self.blocks
            .range(blocks)
            .flat_map(move |(block, bytes)| {
                (block * SECTORS_PER_BLOCK..).zip(bytes.chunks_exact(SECTOR_BYTES))
            })
            .filter(move |(sector, bytes)| range.contains(sector) && **bytes != ZERO_SECTOR)
            .map(|(sector, _)| sector)
    }

    /// Returns the numbers of the blocks in which two disks may differ, in order. The cost depends
    /// on the number of those blocks, not on the number of all blocks.
    pub fn changed_blocks(&self, other: &Disk) -> Vec<u64> {
        use imbl::ordmap::DiffItem;
        let number = |item: DiffItem<'_, '_, u64, Block>| match item {
            DiffItem::Add(block, _) | DiffItem::Remove(block, _) => *block,
            DiffItem::Update { old: (block, _), .. } => *block,
        };
        self.blocks.diff(&other.blocks).map(number).collect()
    }
}

/// Disks are equal if their contents are, whether or not blocks of zeroes are in their maps.
impl PartialEq for Disk {
    fn eq(&self, other: &Disk) -> bool {
        self.identity == other.identity
    }
}

/// Returns the sectors that `data` fills, the first at `sector`.
fn sectors_of(sector: u64, data: &[u8]) -> Range<u64> {
    sector..sector + (data.len() / SECTOR_BYTES) as u64
}

/// Calls `each` for the part of `data` in each block, with the block, the byte offset in the block,
/// and the bytes.
fn each_block(sector: u64, data: &[u8], mut each: impl FnMut(u64, usize, &[u8])) {
    assert!(data.len().is_multiple_of(SECTOR_BYTES), "{} bytes are not whole sectors", data.len());
    let mut data = data;
    let mut at = sector;
    while !data.is_empty() {
        let (block, within) = locate(at * SECTOR_BYTES as u64);
        let (now, rest) = data.split_at((BLOCK_BYTES - within).min(data.len()));
        each(block, within, now);
        at += (now.len() / SECTOR_BYTES) as u64;
        data = rest;
    }
}

fn locate(byte: u64) -> (u64, usize) {
    (byte / BLOCK_BYTES as u64, (byte % BLOCK_BYTES as u64) as usize)
}
