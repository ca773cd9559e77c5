//! One state of the storage, and the effect of each event of `docs/model/fault-model.md`, section
//! 3, on it.
//!
//! All devices are in one [`Machine`]. A [`Place`] names a sector. No event spans two devices, so
//! nothing else has to keep them apart. The contents of a sector are one [`Token`], the byte that
//! fills it.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::{Event, Flags, Payload};

use super::{Atom, Disk, Rules, SECTOR, Token, tokens};

/// A device and a sector of it.
pub type Place = (u32, u64);
/// The number of a piece in the order of age: a newer piece has a larger one. A number is never
/// used twice.
pub type PieceId = usize;

/// Bytes that a crash keeps or loses whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// The sectors that the piece still has. Their places are its range.
    pub sectors: BTreeMap<Place, Token>,
    /// The places that the piece had at first. A lock on one of them locks the piece.
    pub made_with: BTreeSet<Place>,
    /// True if a request has ever carried the piece; otherwise it is "only dirty".
    pub carried: bool,
    /// The number of the first request that carried the piece.
    pub first_request: Option<usize>,
    /// The requests that carry the piece now.
    pub in_flight: BTreeSet<u64>,
    /// True if a request that carried the piece has completed without an error.
    pub acknowledged: bool,
    /// True if a request that carried the piece has completed with an error.
    pub failed: bool,
    /// True if a newer version hides the piece (`replace_versions`).
    pub replaced: bool,
}

/// A write, a flush (which has no pieces), or both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// The number of the request, in the order of submits.
    pub number: usize,
    pub pieces: Vec<PieceId>,
    pub fua: bool,
    /// True if the request has data, and a flush that comes first.
    pub preflush: bool,
    /// The pieces that the flush of the request makes durable.
    pub remembered: Vec<PieceId>,
    /// True if the request is PREFLUSH and its flush has not ended.
    pub waits: bool,
}

/// The state that decides which disks a crash can leave.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machine {
    pub rules: Rules,
    pub durable: Disk,
    pub pieces: BTreeMap<PieceId, Piece>,
    pub locked: BTreeSet<Place>,
    pub requests: BTreeMap<u64, Request>,
    next_piece: PieceId,
    next_request: usize,
}

impl Machine {
    pub fn new(durable: Disk, rules: Rules) -> Machine {
        Machine {
            rules,
            durable,
            pieces: BTreeMap::new(),
            locked: BTreeSet::new(),
            requests: BTreeMap::new(),
            next_piece: 0,
            next_request: 0,
        }
    }

    /// Applies an event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Dirty { dev, sector, data } => {
                self.write(*dev, *sector, &tokens(data));
            }
            Event::Clean { dev, sector, len } => {
                for place in places(*dev, *sector, *len) {
                    for piece in self.pieces.values_mut().filter(|piece| !piece.carried) {
                        piece.sectors.remove(&place);
                    }
                }
                self.forget_empty_pieces();
            }
            Event::Append { dev, sector, data } => {
                let places = places(*dev, *sector, data.len() as u64);
                for ((dev, sector), token) in places.zip(tokens(data)) {
                    self.durable[dev as usize][sector as usize] = token;
                }
            }
            Event::Lock { dev, sector, len } => self.locked.extend(places(*dev, *sector, *len)),
            Event::Unlock { dev, sector, len } => {
                for place in places(*dev, *sector, *len) {
                    self.locked.remove(&place);
                }
            }
            Event::Submit { id, dev, sector, payload, flags } => {
                self.submit(*id, *dev, *sector, payload, *flags);
            }
            Event::Flush { id, dev } => {
                let remembered = self.acknowledged(*dev);
                self.start(*id, vec![], Flags::NONE, remembered);
            }
            Event::Complete { id, error } => self.complete(*id, *error),
            Event::Mark { .. } => {}
        }
    }

    fn submit(&mut self, id: u64, dev: u32, sector: u64, payload: &Payload, flags: Flags) {
        let remembered = if flags.preflush { self.acknowledged(dev) } else { vec![] };
        let contents = match payload {
            Payload::Data(data) => tokens(data),
            Payload::Zeroes(len) | Payload::Discard(len) => vec![0; (len / SECTOR) as usize],
        };
        let pieces = self.write(dev, sector, &contents);
        let number = self.next_request;
        for piece in &pieces {
            let piece = self.pieces.get_mut(piece).expect("found or appended just now");
            piece.carried = true;
            piece.first_request.get_or_insert(number);
            piece.in_flight.insert(id);
        }
        self.start(id, pieces, flags, remembered);
    }

    fn start(&mut self, id: u64, pieces: Vec<PieceId>, flags: Flags, remembered: Vec<PieceId>) {
        let preflush = flags.preflush && !pieces.is_empty();
        let number = self.next_request;
        self.next_request += 1;
        let request =
            Request { number, pieces, fua: flags.fua, preflush, remembered, waits: preflush };
        let other = self.requests.insert(id, request);
        assert!(other.is_none(), "id {id} is in use");
    }

    fn complete(&mut self, id: u64, error: bool) {
        let request = self.requests.remove(&id).expect("a request that is in flight");
        for piece in &request.pieces {
            if let Some(piece) = self.pieces.get_mut(piece) {
                piece.in_flight.remove(&id);
                piece.failed |= error;
            }
        }
        if error {
            return;
        }
        self.make_durable(&request.remembered);
        if self.rules.durable || request.fua {
            self.make_durable(&request.pieces);
        } else {
            for piece in &request.pieces {
                if let Some(piece) = self.pieces.get_mut(piece) {
                    piece.acknowledged = true;
                }
            }
        }
    }

    /// Ends the flush of a PREFLUSH write. The write then starts.
    pub fn end_flush(&mut self, id: u64) {
        let remembered = self.requests[&id].remembered.clone();
        self.make_durable(&remembered);
        self.requests.get_mut(&id).expect("looked up above").waits = false;
    }

    /// Cuts the bytes into pieces, and finds or appends each piece.
    fn write(&mut self, dev: u32, sector: u64, contents: &[Token]) -> Vec<PieceId> {
        let mut cut: BTreeMap<u64, BTreeMap<Place, Token>> = BTreeMap::new();
        for (at, token) in (sector..).zip(contents) {
            let piece = match self.rules.atom {
                Atom::Sector => at,
                Atom::Block => at * SECTOR / self.rules.block_bytes,
                Atom::Request => 0,
            };
            cut.entry(piece).or_default().insert((dev, at), *token);
        }
        cut.into_values().map(|sectors| self.find_or_append(sectors)).collect()
    }

    fn find_or_append(&mut self, sectors: BTreeMap<Place, Token>) -> PieceId {
        let shares = |piece: &Piece| piece.sectors.keys().any(|place| sectors.contains_key(place));
        let newest = self.pieces.iter().rev().find(|(_, piece)| shares(piece));
        if let Some((id, piece)) = newest
            && piece.sectors == sectors
        {
            return *id;
        }
        if self.rules.replace_versions {
            for older in
                self.pieces.values_mut().filter(|older| older.sectors.keys().eq(sectors.keys()))
            {
                older.replaced = true;
            }
        }
        let id = self.next_piece;
        self.next_piece += 1;
        let piece = Piece {
            made_with: sectors.keys().copied().collect(),
            sectors,
            carried: false,
            first_request: None,
            in_flight: BTreeSet::new(),
            acknowledged: false,
            failed: false,
            replaced: false,
        };
        self.pieces.insert(id, piece);
        id
    }

    /// Makes pieces durable, oldest first. D takes the sectors of each piece that still exists, and
    /// older pieces lose them.
    fn make_durable(&mut self, pieces: &[PieceId]) {
        for id in BTreeSet::from_iter(pieces) {
            let Some(piece) = self.pieces.remove(id) else { continue };
            for (place, token) in &piece.sectors {
                self.durable[place.0 as usize][place.1 as usize] = *token;
                for (_, older) in self.pieces.range_mut(..id) {
                    older.sectors.remove(place);
                }
            }
            self.forget_empty_pieces();
        }
    }

    fn forget_empty_pieces(&mut self) {
        self.pieces.retain(|_, piece| !piece.sectors.is_empty());
    }

    fn acknowledged(&self, dev: u32) -> Vec<PieceId> {
        let on_device = |piece: &Piece| piece.sectors.keys().all(|place| place.0 == dev);
        let remembered =
            self.pieces.iter().filter(|(_, piece)| piece.acknowledged && on_device(piece));
        remembered.map(|(id, _)| *id).collect()
    }
}

fn places(dev: u32, sector: u64, len: u64) -> impl Iterator<Item = Place> {
    (sector..sector + len / SECTOR).map(move |sector| (dev, sector))
}
