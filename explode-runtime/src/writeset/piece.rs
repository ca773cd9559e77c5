//! A piece: the unit that a crash keeps or loses whole.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use explode_ramdisk::{
    BLOCK_BYTES, Block, Identity, Payload, SECTOR_BYTES, SECTORS_PER_BLOCK, sector_identity,
};
use rangemap::RangeSet;

use super::{Atom, Rules};

/// One pending piece of a device, and what has happened to it.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The sectors that it still has: its range.
    pub sectors: RangeSet<u64>,
    /// The first sector that it ever had; `data` begins there.
    first: u64,
    data: Bytes,
    /// Each sector's share of an identity, computed when first asked for.
    identities: OnceCell<Box<[Identity]>>,
    /// The bytes as a block of a disk, if they are just one; made when first asked for.
    block: OnceCell<Option<Block>>,
    /// No request has ever carried it.
    pub only_dirty: bool,
    /// A request that carried it has completed without an error.
    pub acknowledged: bool,
    /// A request that carried it has completed with an error.
    pub failed: bool,
    /// A newer version hides it for good (`--replace-versions`).
    pub replaced: bool,
    /// The requests that carry it now.
    pub carriers: Vec<u64>,
    /// The instant from which on it has been visible in some world, if it is.
    pub since: u64,
    /// The instant of the first request that carried it, if there was one.
    pub submitted: Option<u64>,
}

impl Piece {
    fn new(first: u64, data: Bytes) -> Piece {
        let sectors = first..first + (data.len() / SECTOR_BYTES) as u64;
        Piece {
            sectors: RangeSet::from([sectors]),
            first,
            data,
            identities: OnceCell::new(),
            block: OnceCell::new(),
            only_dirty: true,
            acknowledged: false,
            failed: false,
            replaced: false,
            carriers: Vec::new(),
            since: 0,
            submitted: None,
        }
    }

    /// The bytes of some of its sectors.
    pub fn bytes(&self, sectors: &Range<u64>) -> &[u8] {
        let at = |sector: u64| (sector - self.first) as usize * SECTOR_BYTES;
        &self.data[at(sectors.start)..at(sectors.end)]
    }

    /// The number and the bytes of the block that it is, if it still has all of one and no more.
    pub fn block(&self) -> Option<(u64, &Block)> {
        let block =
            self.block.get_or_init(|| Some(Arc::new(<[u8; BLOCK_BYTES]>::try_from(&self.data[..]).ok()?)));
        let whole = |range: &Range<u64>| *range == self.made_with();
        let aligned = self.first.is_multiple_of(SECTORS_PER_BLOCK) && self.sectors.first().is_some_and(whole);
        Some((self.first / SECTORS_PER_BLOCK, block.as_ref().filter(|_| aligned)?))
    }

    /// The share of one of its sectors in the identity of a disk.
    pub fn identity(&self, sector: u64) -> Identity {
        let all = self.identities.get_or_init(|| {
            let chunks = self.data.chunks_exact(SECTOR_BYTES);
            (self.first..).zip(chunks).map(|(at, bytes)| sector_identity(at, bytes)).collect()
        });
        all[(sector - self.first) as usize]
    }

    /// Does it have any of these sectors?
    pub fn overlaps(&self, range: &Range<u64>) -> bool {
        !range.is_empty() && self.sectors.overlaps(range)
    }

    /// The same sectors with the same bytes?
    pub fn same_as(&self, other: &Piece) -> bool {
        self.sectors == other.sectors && self.sectors.iter().all(|r| self.bytes(r) == other.bytes(r))
    }

    /// The sectors that it had at first; never none.
    pub fn made_with(&self) -> Range<u64> {
        self.first..self.first + (self.data.len() / SECTOR_BYTES) as u64
    }

    /// The smallest contiguous range around its sectors.
    pub fn span(&self) -> Range<u64> {
        let first = self.sectors.first().map_or(self.first, |range| range.start);
        first..self.sectors.last().map_or(first, |range| range.end)
    }
}

/// Cuts the bytes of an event into new pieces, in order of sectors (fault-model.md, section 2).
pub(super) fn cut(sector: u64, payload: &Payload, rules: &Rules) -> impl Iterator<Item = Piece> + use<> {
    let data = match payload {
        Payload::Data(data) => data.clone(),
        Payload::Zeroes(len) | Payload::Discard(len) => Bytes::from(vec![0; *len as usize]),
    };
    let unit = match rules.atom {
        Atom::Block => u64::from(rules.block_bytes) / SECTOR_BYTES as u64,
        Atom::Sector => 1,
        Atom::Request => u64::MAX,
    };
    let end = sector + (data.len() / SECTOR_BYTES) as u64;
    let mut start = sector;
    std::iter::from_fn(move || {
        let first = start;
        start = (first / unit + 1).saturating_mul(unit).min(end);
        let at = |s: u64| (s - sector) as usize * SECTOR_BYTES;
        (first < end).then(|| Piece::new(first, data.slice(at(first)..at(start))))
    })
}
