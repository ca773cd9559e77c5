//! The pending pieces of one device, oldest first, with an index by place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use rangemap::RangeSet;

use super::piece::Piece;

/// Pieces by serial number: a larger number is a newer piece. No piece here is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    pub pieces: BTreeMap<u64, Rc<Piece>>,
    /// Sectors whose only-dirty pieces are hidden.
    pub locked: RangeSet<u64>,
    /// Which pieces touch a chunk of the device; may name pieces that have lost their sectors there.
    index: BTreeMap<u64, BTreeSet<u64>>,
}

/// Sectors of a chunk of the index.
const CHUNK: u64 = 8;

impl Pending {
    /// The newest piece that shares a sector with `new`, if it is the same.
    pub fn find(&self, new: &Piece) -> Option<u64> {
        let span = new.span();
        let newest = chunks(&span).filter_map(|chunk| {
            let touching = self.index.get(&chunk)?.iter().rev();
            touching.copied().find(|serial| self.pieces[serial].overlaps(&span))
        });
        newest.max().filter(|serial| self.pieces[serial].same_as(new))
    }

    /// The pieces that have a sector of the range, oldest first.
    pub fn overlapping(&self, range: &Range<u64>) -> Vec<u64> {
        let touching: BTreeSet<u64> =
            chunks(range).filter_map(|chunk| self.index.get(&chunk)).flatten().copied().collect();
        touching.into_iter().filter(|serial| self.pieces[serial].overlaps(range)).collect()
    }

    /// The pieces that were made with a sector of the range, oldest first.
    pub fn made_with(&self, range: &Range<u64>) -> Vec<u64> {
        let touches =
            |piece: &Piece| piece.made_with().start < range.end && range.start < piece.made_with().end;
        self.pieces.iter().filter(|(_, piece)| touches(piece)).map(|(serial, _)| *serial).collect()
    }

    /// The pieces that a flush submitted now makes durable, oldest first.
    pub fn acknowledged(&self) -> Vec<u64> {
        self.pieces.iter().filter(|(_, piece)| piece.acknowledged).map(|(serial, _)| *serial).collect()
    }

    /// Does the piece touch a locked sector? It does if it was made with it: a buffer is locked as a whole.
    pub fn is_locked(&self, piece: &Piece) -> bool {
        self.locked.overlaps(&piece.made_with())
    }

    /// A piece that is known to be there.
    pub fn piece(&mut self, serial: u64) -> &mut Piece {
        Rc::make_mut(self.pieces.get_mut(&serial).expect("the piece is pending"))
    }

    pub fn insert(&mut self, serial: u64, piece: Piece) {
        for chunk in chunks(&piece.span()) {
            self.index.entry(chunk).or_default().insert(serial);
        }
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
            for chunk in chunks(&after) {
                self.index.entry(chunk).or_default().insert(serial);
            }
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

    fn unindex(&mut self, serial: u64, span: &Range<u64>) {
        for chunk in chunks(span) {
            if let Some(touching) = self.index.get_mut(&chunk) {
                touching.remove(&serial);
                if touching.is_empty() {
                    self.index.remove(&chunk);
                }
            }
        }
    }
}

/// The chunks that a range of sectors touches.
fn chunks(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() { 0..0 } else { range.start / CHUNK..(range.end - 1) / CHUNK + 1 }
}
