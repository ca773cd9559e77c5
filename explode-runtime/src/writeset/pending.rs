//! The pending pieces of one device, oldest first, with an index by place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use rangemap::RangeSet;

use super::piece::Piece;

/// The pieces by serial number. A larger number is a newer piece. No piece in this map is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingPieces {
    pub pieces: BTreeMap<u64, Rc<Piece>>,
    /// The sectors that are locked. Pieces on them that are only dirty are hidden.
    pub locked: RangeSet<u64>,
    /// The pieces that touch each chunk of the device, by [`level`] and number of the chunk. An
    /// entry may name a piece that has lost its sectors there. A piece is in at most two chunks,
    /// those of its own level.
    index: BTreeMap<u32, BTreeMap<u64, BTreeSet<u64>>>,
}

/// The lowest level. The chunks of level n have 2^n sectors.
const LOWEST: u32 = 3;

impl PendingPieces {
    /// Returns the newest piece that shares a sector with `new`, if it is equal to `new`.
    pub fn find(&self, new: &Piece) -> Option<u64> {
        let span = new.span();
        let newest = self.chunks(&span).filter_map(|touching| {
            touching.iter().rev().copied().find(|serial| self.pieces[serial].overlaps(&span))
        });
        newest.max().filter(|serial| self.pieces[serial].same_as(new))
    }

    /// Returns the pieces that have a sector of the range, oldest first.
    pub fn overlapping(&self, range: &Range<u64>) -> Vec<u64> {
        let touching: BTreeSet<u64> = self.chunks(range).flatten().copied().collect();
        touching.into_iter().filter(|serial| self.pieces[serial].overlaps(range)).collect()
    }

    /// Returns the pieces that had a sector of the range when they were made, oldest first.
    pub fn made_with(&self, range: &Range<u64>) -> Vec<u64> {
        let touches = |piece: &Piece| {
            piece.made_with().start < range.end && range.start < piece.made_with().end
        };
        self.pieces.iter().filter(|(_, piece)| touches(piece)).map(|(serial, _)| *serial).collect()
    }

    /// Removes the pieces that are only dirty, and all locks.
    pub fn forget_dirty(&mut self) {
        let dirty = self.pieces.iter().filter(|(_, piece)| piece.only_dirty);
        let dirty: Vec<u64> = dirty.map(|(serial, _)| *serial).collect();
        dirty.into_iter().for_each(|serial| drop(self.remove(serial)));
        self.locked = RangeSet::new();
    }

    /// Returns the pieces that a flush submitted now makes durable, oldest first.
    pub fn acknowledged(&self) -> Vec<u64> {
        self.pieces
            .iter()
            .filter(|(_, piece)| piece.acknowledged)
            .map(|(serial, _)| *serial)
            .collect()
    }

    /// Returns true if the piece had a locked sector when it was made, because a buffer is locked
    /// as a whole.
    pub fn is_locked(&self, piece: &Piece) -> bool {
        self.locked.overlaps(&piece.made_with())
    }

    /// Returns a piece that is known to be pending.
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

    /// Removes the sectors of the range from a piece. A piece that becomes empty is removed.
    pub fn take(&mut self, serial: u64, range: &Range<u64>) {
        let piece = self.piece(serial);
        let before = piece.span();
        Rc::make_mut(&mut piece.sectors).remove(range.clone());
        let after = piece.span();
        if piece.sectors.is_empty() {
            self.pieces.remove(&serial);
            self.unindex(serial, &before);
        } else {
            self.unindex(serial, &before);
            self.note(serial, &after);
        }
    }

    /// Removes the sectors of the range from all pieces older than `serial`.
    pub fn take_from_older(&mut self, serial: u64, range: &Range<u64>) {
        for older in self.overlapping(range).into_iter().take_while(|other| *other < serial) {
            self.take(older, range);
        }
    }

    /// Marks the pieces with the same sectors as `new` as replaced, which hides them for good.
    pub fn replace_older(&mut self, new: &Piece) {
        for serial in self.overlapping(&new.span()) {
            let piece = self.piece(serial);
            piece.replaced |= piece.sectors == new.sectors;
        }
    }

    /// Returns the chunks of the index that a range touches. The cost depends on the number of
    /// entries, not on the length of the range.
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

/// Returns the level whose chunks are as long as a range, or up to twice as long. The range then
/// touches at most two of them.
fn level(span: &Range<u64>) -> u32 {
    let sectors = (span.end - span.start).max(1);
    sectors.next_power_of_two().trailing_zeros().max(LOWEST)
}

/// Returns the numbers of the chunks of a level that a range of sectors touches.
fn numbers(range: &Range<u64>, level: u32) -> Range<u64> {
    if range.is_empty() { 0..0 } else { range.start >> level..((range.end - 1) >> level) + 1 }
}
