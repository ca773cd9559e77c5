//! The pending pieces of one device, oldest first, with an index by place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use rangemap::RangeSet;

use super::piece::Piece;

/// Pieces by serial number: a larger number is a newer piece. No piece here is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingPieces {
    pub pieces: BTreeMap<u64, Rc<Piece>>,
    /// Sectors whose only-dirty pieces are hidden.
    pub locked: RangeSet<u64>,
    /// Which pieces touch a chunk of the device; may name pieces that have lost their sectors
    /// there. A piece stands in few chunks, those of its own [`level`].
    index: BTreeMap<u32, BTreeMap<u64, BTreeSet<u64>>>,
}

/// The chunks of level n have 2^n sectors; those of the lowest level have eight.
const LOWEST: u32 = 3;

impl PendingPieces {
    /// The newest piece that shares a sector with `new`, if it is the same.
    pub fn find(&self, new: &Piece) -> Option<u64> {
        let span = new.span();
        let newest = self.chunks(&span).filter_map(|touching| {
            touching.iter().rev().copied().find(|serial| self.pieces[serial].overlaps(&span))
        });
        newest.max().filter(|serial| self.pieces[serial].same_as(new))
    }

    /// The pieces that have a sector of the range, oldest first.
    pub fn overlapping(&self, range: &Range<u64>) -> Vec<u64> {
        let touching: BTreeSet<u64> = self.chunks(range).flatten().copied().collect();
        touching.into_iter().filter(|serial| self.pieces[serial].overlaps(range)).collect()
    }

    /// The pieces that were made with a sector of the range, oldest first.
    pub fn made_with(&self, range: &Range<u64>) -> Vec<u64> {
        let touches = |piece: &Piece| {
            piece.made_with().start < range.end && range.start < piece.made_with().end
        };
        self.pieces.iter().filter(|(_, piece)| touches(piece)).map(|(serial, _)| *serial).collect()
    }

    /// The pieces that a flush submitted now makes durable, oldest first.
    pub fn acknowledged(&self) -> Vec<u64> {
        self.pieces
            .iter()
            .filter(|(_, piece)| piece.acknowledged)
            .map(|(serial, _)| *serial)
            .collect()
    }

    /// Does the piece touch a locked sector? It does if it was made with it: a buffer is locked as
    /// a whole.
    pub fn is_locked(&self, piece: &Piece) -> bool {
        self.locked.overlaps(&piece.made_with())
    }

    /// A piece that is known to be there.
    pub fn piece(&mut self, serial: u64) -> &mut Piece {
        Rc::make_mut(self.pieces.get_mut(&serial).expect("the piece is pending"))
    }

    pub fn insert(&mut self, serial: u64, piece: Piece) {
        self.note(serial, &piece.span());
        self.pieces.insert(serial, Rc::new(piece));
    }

    pub fn remove(&mut self, serial: u64) -> Option<Rc<Piece>> {
        let piece = self.pieces.remove(&serial)?;
        self.unindex(serial, &piece.span());
        Some(piece)
    }

    /// Takes the range's sectors out of a piece; an empty piece goes.
    pub fn take(&mut self, serial: u64, range: &Range<u64>) {
        let piece = self.piece(serial);
        let before = piece.span();
        piece.sectors.remove(range.clone());
        let after = piece.span();
        if piece.sectors.is_empty() {
            self.pieces.remove(&serial);
            self.unindex(serial, &before);
        } else {
            self.unindex(serial, &before);
            self.note(serial, &after);
        }
    }

    /// Takes the range's sectors out of all pieces older than `serial`.
    pub fn take_from_older(&mut self, serial: u64, range: &Range<u64>) {
        for older in self.overlapping(range).into_iter().take_while(|other| *other < serial) {
            self.take(older, range);
        }
    }

    /// Hides the pieces of the same range as `new` for good.
    pub fn replace_older(&mut self, new: &Piece) {
        for serial in self.overlapping(&new.span()) {
            let piece = self.piece(serial);
            piece.replaced |= piece.sectors == new.sectors;
        }
    }

    /// The chunks of the index that a range touches; costs what is there, not the length of the
    /// range.
    fn chunks(&self, range: &Range<u64>) -> impl Iterator<Item = &BTreeSet<u64>> {
        let range = range.clone();
        self.index
            .iter()
            .flat_map(move |(level, chunks)| chunks.range(numbers(&range, *level)))
            .map(|(_, touching)| touching)
    }

    fn note(&mut self, serial: u64, span: &Range<u64>) {
        let level = level(span);
        let chunks = self.index.entry(level).or_default();
        for chunk in numbers(span, level) {
            chunks.entry(chunk).or_default().insert(serial);
        }
    }

    fn unindex(&mut self, serial: u64, span: &Range<u64>) {
        let level = level(span);
        let Some(chunks) = self.index.get_mut(&level) else { return };
        for chunk in numbers(span, level) {
            if let Some(touching) = chunks.get_mut(&chunk) {
                touching.remove(&serial);
                if touching.is_empty() {
                    chunks.remove(&chunk);
                }
            }
        }
        if chunks.is_empty() {
            self.index.remove(&level);
        }
    }
}

/// The level whose chunks are as long as a range, or up to twice as long, so that the range touches
/// two of them at most.
fn level(span: &Range<u64>) -> u32 {
    let sectors = (span.end - span.start).max(1);
    sectors.next_power_of_two().trailing_zeros().max(LOWEST)
}

/// The chunks of a level that a range of sectors touches.
fn numbers(range: &Range<u64>, level: u32) -> Range<u64> {
    if range.is_empty() { 0..0 } else { range.start >> level..((range.end - 1) >> level) + 1 }
}
