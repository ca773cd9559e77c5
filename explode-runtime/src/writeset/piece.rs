//! A piece: the unit that a crash keeps or loses whole.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use explode_ramdisk::{
    BLOCK_BYTES, Block, Disk, Identity, Payload, SECTOR_BYTES, SECTORS_PER_BLOCK, sector_identity,
};
use rangemap::RangeSet;

use super::rules::{Atom, DeviceRules};

/// A pending piece of a device, with its state.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The sectors that the piece still has: its range.
    pub sectors: Rc<RangeSet<u64>>,
    /// The sectors that the piece had when it was made.
    made_with: Range<u64>,
    contents: PieceContents,
    /// The share of each sector in the identity of a disk, computed on first use.
    identities: OnceCell<Box<[Identity]>>,
    /// The bytes as a block of a disk, if they are exactly one. Made on first use.
    block: OnceCell<Option<Block>>,
    /// True if no request has ever carried the piece.
    pub only_dirty: bool,
    /// True if a request that carried the piece has completed without an error.
    pub acknowledged: bool,
    /// True if a request that carried the piece has completed with an error.
    pub failed: bool,
    /// True if a newer version hides the piece for good (`--replace-versions`).
    pub replaced: bool,
    /// The requests that carry the piece now.
    pub carriers: Vec<u64>,
    /// The first instant at which the piece is visible in some world, if it is visible.
    pub since: u64,
    /// The instant of the first request that carried the piece. `None` without one.
    pub submitted: Option<u64>,
}

/// The contents of a piece. Zeroes take no memory, whatever their number of sectors.
#[derive(Clone, Debug)]
enum PieceContents {
    /// The bytes of all sectors that the piece had when it was made.
    Data(Bytes),
    Zeroes,
}

/// The bytes of some sectors of a piece.
#[derive(Clone, Copy, Debug)]
pub enum PieceBytes<'a> {
    /// The bytes themselves.
    Data(&'a [u8]),
    /// Zeroes in every sector.
    Zeroes,
}

impl Piece {
    fn new(made_with: Range<u64>, contents: PieceContents) -> Piece {
        Piece {
            sectors: Rc::new(RangeSet::from([made_with.clone()])),
            made_with,
            contents,
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

    /// Returns the bytes that the piece writes to some of its sectors.
    pub fn written(&self, sectors: &Range<u64>) -> PieceBytes<'_> {
        let at = |sector: u64| (sector - self.made_with.start) as usize * SECTOR_BYTES;
        match &self.contents {
            PieceContents::Data(data) => {
                PieceBytes::Data(&data[at(sectors.start)..at(sectors.end)])
            }
            PieceContents::Zeroes => PieceBytes::Zeroes,
        }
    }

    /// Writes the sectors that the piece still has to a disk.
    pub fn write_to(&self, disk: &mut Disk) {
        for range in self.sectors.iter() {
            match self.written(range) {
                PieceBytes::Data(data) => disk.write(range.start, data),
                PieceBytes::Zeroes => disk.write_zeroes(range.clone()),
            }
        }
    }

    /// Returns true if the piece writes zeroes.
    pub fn is_zeroes(&self) -> bool {
        matches!(self.contents, PieceContents::Zeroes)
    }

    /// Returns the number and the bytes of a block, if the piece is exactly one and still has all
    /// of it.
    pub fn block(&self) -> Option<(u64, &Block)> {
        let PieceContents::Data(data) = &self.contents else { return None };
        let block = self
            .block
            .get_or_init(|| Some(Arc::new(<[u8; BLOCK_BYTES]>::try_from(&data[..]).ok()?)));
        let whole = |range: &Range<u64>| *range == self.made_with;
        let first = self.made_with.start;
        let aligned =
            first.is_multiple_of(SECTORS_PER_BLOCK) && self.sectors.first().is_some_and(whole);
        Some((first / SECTORS_PER_BLOCK, block.as_ref().filter(|_| aligned)?))
    }

    /// Returns the share of one of its sectors in the identity of a disk.
    pub fn identity(&self, sector: u64) -> Identity {
        let PieceContents::Data(data) = &self.contents else { return Identity::default() };
        let first = self.made_with.start;
        let all = self.identities.get_or_init(|| {
            let chunks = data.chunks_exact(SECTOR_BYTES);
            (first..).zip(chunks).map(|(at, bytes)| sector_identity(at, bytes)).collect()
        });
        all[(sector - first) as usize]
    }

    /// Returns true if the piece has a sector of the range.
    pub fn overlaps(&self, range: &Range<u64>) -> bool {
        !range.is_empty() && self.sectors.overlaps(range)
    }

    /// Returns true if the other piece has the same sectors and the same bytes.
    pub fn same_as(&self, other: &Piece) -> bool {
        let all_zero = |data: &[u8]| data.iter().all(|byte| *byte == 0);
        let same = |range: &Range<u64>| match (self.written(range), other.written(range)) {
            (PieceBytes::Data(one), PieceBytes::Data(other)) => one == other,
            (PieceBytes::Data(data), PieceBytes::Zeroes)
            | (PieceBytes::Zeroes, PieceBytes::Data(data)) => all_zero(data),
            (PieceBytes::Zeroes, PieceBytes::Zeroes) => true,
        };
        self.sectors == other.sectors && self.sectors.iter().all(same)
    }

    /// Returns the sectors that the piece had when it was made. The range is never empty.
    pub fn made_with(&self) -> Range<u64> {
        self.made_with.clone()
    }

    /// Returns the smallest contiguous range around its sectors.
    pub fn span(&self) -> Range<u64> {
        let first = self.sectors.first().map_or(self.made_with.start, |range| range.start);
        first..self.sectors.last().map_or(first, |range| range.end)
    }
}

/// Cuts the bytes of an event into new pieces, in the order of sectors (fault-model.md, section 2).
pub(super) fn cut(
    sector: u64,
    payload: &Payload,
    rules: &DeviceRules,
) -> impl Iterator<Item = Piece> + use<> {
    let data = match payload {
        Payload::Data(data) => Some(data.clone()),
        Payload::Zeroes(_) | Payload::Discard(_) => None,
    };
    let unit = unit(rules);
    let end = sector + payload.len() / SECTOR_BYTES as u64;
    let mut start = sector;
    std::iter::from_fn(move || {
        let first = start;
        start = (first / unit + 1).saturating_mul(unit).min(end);
        let at = |s: u64| (s - sector) as usize * SECTOR_BYTES;
        let contents = || match &data {
            Some(data) => PieceContents::Data(data.slice(at(first)..at(start))),
            None => PieceContents::Zeroes,
        };
        (first < end).then(|| Piece::new(first..start, contents()))
    })
}

/// Returns the number of pieces that [`cut`] makes.
pub(super) fn pieces_of(sector: u64, len: u64, rules: &DeviceRules) -> u64 {
    let (unit, sectors) = (unit(rules), len / SECTOR_BYTES as u64);
    if sectors == 0 { 0 } else { (sector + sectors - 1) / unit - sector / unit + 1 }
}

/// Returns the number of sectors between two places at which pieces are cut.
fn unit(rules: &DeviceRules) -> u64 {
    match rules.atom {
        Atom::Block => u64::from(rules.block_bytes) / SECTOR_BYTES as u64,
        Atom::Sector => 1,
        Atom::Request => u64::MAX,
    }
}
