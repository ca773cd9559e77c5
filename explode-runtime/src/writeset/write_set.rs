//! The durable contents and the pending pieces of all devices, as the events of a log change them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use explode_ramdisk::{Condition, Damage, DiskFault, Event, Flags, Image, Payload, SECTOR_BYTES};

use super::event_error::Contradiction;
use super::limits::{MOST_IN_FLIGHT, MOST_IN_WORLDS, MOST_PIECES, MOST_UNSTARTED};
use super::pending::PendingPieces;
use super::piece::{Piece, cut, pieces_of};
use super::request::InFlight;
use super::rules::{Completion, DeviceRules};

/// The state of all devices. See the documentation of [`writeset`](super).
#[derive(Clone, Debug)]
pub struct WriteSet {
    rules: DeviceRules,
    pub(super) durable: Image,
    pub(super) devices: BTreeMap<u32, PendingPieces>,
    pub(super) requests: BTreeMap<u64, InFlight>,
    next_serial: u64,
    instant: u64,
    most_pieces: u64,
    /// The sum of [`InFlight::size`] over all requests.
    in_flight: u64,
    /// The devices that have failed as a whole. A request to them changes nothing that a crash
    /// leaves.
    failed: BTreeSet<u32>,
}

impl WriteSet {
    /// Returns the write set of devices that durably hold `base`, with nothing pending.
    pub fn new(base: Image, rules: DeviceRules) -> WriteSet {
        WriteSet {
            rules,
            durable: base,
            devices: BTreeMap::new(),
            requests: BTreeMap::new(),
            next_serial: 0,
            instant: 0,
            most_pieces: MOST_PIECES,
            in_flight: 0,
            failed: BTreeSet::new(),
        }
    }

    /// Limits the number of pending pieces. An event that would exceed it, or the general limit, is
    /// refused.
    #[must_use = "this returns the write set with the limit"]
    pub fn at_most(self, pieces: u64) -> WriteSet {
        WriteSet { most_pieces: pieces.min(MOST_PIECES), ..self }
    }

    /// Returns a write set at the same instant, with `image` durable and nothing pending.
    pub(crate) fn settled(&self, image: Image) -> WriteSet {
        let (most_pieces, failed) = (self.most_pieces, self.failed.clone());
        WriteSet { instant: self.instant, most_pieces, failed, ..WriteSet::new(image, self.rules) }
    }

    /// Returns the number of events applied so far, without marks. It identifies this instant.
    pub fn instant(&self) -> u64 {
        self.instant
    }

    /// Applies one event. An error leaves the write set unchanged.
    pub fn apply(&mut self, event: &Event) -> Result<(), Contradiction> {
        self.may_apply(event)?;
        if !matches!(event, Event::Mark { .. }) {
            self.instant += 1;
        }
        if self.is_out_of_reach(event) {
            if let Event::Submit { id, dev, .. } | Event::Flush { id, dev } = event {
                self.start(*id, *dev, Vec::new(), Flags::NONE);
            }
            return Ok(());
        }
        match event {
            Event::Dirty { dev, sector, data } => {
                self.found_or_appended(*dev, *sector, &Payload::Data(data.clone()));
            }
            Event::Clean { dev, sector, len } => self.clean(*dev, &sectors(*sector, *len)),
            Event::Append { dev, sector, data } => {
                self.durable.disk_mut(*dev).write(*sector, data);
            }
            Event::Lock { dev, sector, len } => self.lock(*dev, sectors(*sector, *len)),
            Event::Unlock { dev, sector, len } => self.unlock(*dev, sectors(*sector, *len)),
            Event::Submit { id, dev, sector, payload, flags } => {
                self.submit(*id, *dev, *sector, payload, *flags);
            }
            Event::Flush { id, dev } => self.start(*id, *dev, Vec::new(), Flags::PREFLUSH),
            Event::Complete { id, error } => self.complete(*id, *error),
            Event::Mark { .. } => {}
        }
        Ok(())
    }

    /// Returns the durable contents D.
    pub fn durable(&self) -> &Image {
        &self.durable
    }

    /// Returns the contents of the devices if nothing more is written and no power fails:
    /// everything that was submitted, including requests in flight, and nothing that is only dirty.
    /// A crash may be unable to leave this image.
    pub fn submitted(&self) -> Image {
        let mut image = self.durable.clone();
        for (dev, pending) in &self.devices {
            let is_submitted =
                |piece: &&Rc<Piece>| piece.acknowledged || !piece.carriers.is_empty();
            for piece in pending.pieces.values().filter(is_submitted) {
                piece.write_to(image.disk_mut(*dev));
            }
        }
        image
    }

    /// Returns true if no piece of these sectors is pending.
    pub fn is_settled(&self, dev: u32, sectors: &Range<u64>) -> bool {
        self.devices.get(&dev).is_none_or(|pending| pending.overlapping(sectors).is_empty())
    }

    /// Damages the medium of a device (fault-model.md, section 11). A piece that is written to bad
    /// sectors makes them good again. Nothing reaches a device that has failed as a whole.
    pub fn damage(&mut self, dev: u32, damage: &Damage) {
        self.durable.disk_mut(dev).damage(damage);
        let Damage::Disk(fault) = damage else { return };
        self.failed.insert(dev);
        match fault {
            // What was submitted is in the disk's cache or on its medium.
            DiskFault::Stale => self.device(dev).forget_dirty(),
            DiskFault::Failed | DiskFault::Missing => {
                self.devices.remove(&dev);
                let requests = self.requests.values_mut().filter(|request| request.dev == dev);
                for request in requests {
                    self.in_flight -= request.size;
                    *request = InFlight::of_nothing(dev, request.submitted);
                }
            }
        }
    }

    /// Returns true if the event is a request to a device that does not answer, or changes buffers
    /// that can never be written.
    fn is_out_of_reach(&self, event: &Event) -> bool {
        let (Event::Dirty { dev, .. }
        | Event::Clean { dev, .. }
        | Event::Append { dev, .. }
        | Event::Lock { dev, .. }
        | Event::Unlock { dev, .. }
        | Event::Submit { dev, .. }
        | Event::Flush { dev, .. }) = event
        else {
            return false;
        };
        self.failed.contains(dev) || self.durable.condition(*dev) == Condition::Failed
    }

    fn may_apply(&self, event: &Event) -> Result<(), Contradiction> {
        match event {
            Event::Submit { id, .. } | Event::Flush { id, .. }
                if self.requests.contains_key(id) =>
            {
                Err(Contradiction::IdInFlight(*id))
            }
            Event::Complete { id, .. } if !self.requests.contains_key(id) => {
                Err(Contradiction::UnknownId(*id))
            }
            Event::Submit { payload, flags, .. }
                if flags.preflush
                    && !payload.is_empty()
                    && self.requests.values().filter(|request| !request.started).count()
                        == MOST_UNSTARTED =>
            {
                Err(Contradiction::TooManyWorlds)
            }
            Event::Submit { dev, sector, payload, flags, .. } => {
                self.may_hold(*dev, *sector, payload)?;
                self.may_carry(*dev, pieces_of(*sector, payload.len(), &self.rules), *flags)
            }
            Event::Dirty { dev, sector, data } => {
                self.may_hold(*dev, *sector, &Payload::Data(data.clone()))
            }
            Event::Flush { dev, .. } => self.may_carry(*dev, 0, Flags::PREFLUSH),
            _ => Ok(()),
        }
    }

    /// Checks that the pieces of this payload do not exceed the limits of pending pieces.
    fn may_hold(&self, dev: u32, sector: u64, payload: &Payload) -> Result<(), Contradiction> {
        let present: u64 = self.devices.values().map(|pending| pending.pieces.len() as u64).sum();
        let cut_in = pieces_of(sector, payload.len(), &self.rules);
        let mut pieces = present + cut_in;
        if pieces > self.most_pieces && cut_in <= self.most_pieces {
            // Only now it is worth the time to find the pieces that are pending already.
            let pending = self.devices.get(&dev);
            let found = |new: &Piece| pending.is_some_and(|pending| pending.find(new).is_some());
            pieces -= cut(sector, payload, &self.rules).filter(found).count() as u64;
        }
        if pieces > self.most_pieces {
            return Err(Contradiction::TooManyPieces { pieces, most: self.most_pieces });
        }
        let unstarted = self.requests.values().filter(|request| !request.started).count();
        let worlds = 1 << unstarted;
        if pieces * worlds > MOST_IN_WORLDS {
            return Err(Contradiction::TooManyInWorlds { pieces, worlds });
        }
        Ok(())
    }

    /// Checks that a request for `pieces` pieces does not exceed the limit of pieces in flight.
    fn may_carry(&self, dev: u32, pieces: u64, flags: Flags) -> Result<(), Contradiction> {
        let pending = self.devices.get(&dev).filter(|_| flags.preflush);
        let most =
            self.in_flight + pieces + pending.map_or(0, |pending| pending.pieces.len() as u64);
        if most <= MOST_IN_FLIGHT {
            return Ok(());
        }
        let flushes = pending.map_or(0, |pending| pending.acknowledged().len() as u64);
        match self.in_flight + pieces + flushes {
            in_flight if in_flight > MOST_IN_FLIGHT => {
                Err(Contradiction::TooManyInFlight(in_flight))
            }
            _ => Ok(()),
        }
    }

    /// Returns true if this event removes or hides a visible version, or changes D. The disks of
    /// the instant before it are then due.
    ///
    /// The test needs only the world in which no flush has ended. Anything more that another world
    /// shows is carried by a request, and only completions remove it.
    pub fn shrinks(&self, event: &Event) -> bool {
        let dirty_visible = |pending: &PendingPieces, serial: &u64| {
            let piece = &pending.pieces[serial];
            piece.only_dirty && self.visible(pending, piece)
        };
        match event {
            Event::Clean { dev, sector, len } => self.devices.get(dev).is_some_and(|pending| {
                pending
                    .overlapping(&sectors(*sector, *len))
                    .iter()
                    .any(|serial| dirty_visible(pending, serial))
            }),
            Event::Lock { dev, sector, len } => self.devices.get(dev).is_some_and(|pending| {
                pending
                    .made_with(&sectors(*sector, *len))
                    .iter()
                    .any(|serial| dirty_visible(pending, serial))
            }),
            Event::Submit { dev, sector, payload, flags, .. } if flags.preflush => {
                // A piece that was visible as dirty is hidden until the flush ends.
                let Some(pending) = self.devices.get(dev) else { return false };
                if pieces_of(*sector, payload.len(), &self.rules) > self.most_pieces {
                    // The event will be refused.
                    return false;
                }
                let mut found =
                    cut(*sector, payload, &self.rules).filter_map(|new| pending.find(&new));
                found.any(|serial| dirty_visible(pending, &serial))
            }
            Event::Complete { id, error: false } => self.requests.get(id).is_some_and(|request| {
                let written =
                    self.durable_at_completion(request) && self.still(request.dev, &request.pieces);
                written || self.still(request.dev, &request.flushes)
            }),
            _ => false,
        }
    }

    /// Returns true if this event merges one world into another and all its disks remain possible.
    /// The failure of a write with PREFLUSH does this: the pieces of its flush may be durable or
    /// not, as before the flush. No disk is lost, so no emission is due. But the epochs of that
    /// world's disks must be recorded now.
    pub fn merges(&self, event: &Event) -> bool {
        let Event::Complete { id, error: true } = event else { return false };
        let undone =
            |request: &InFlight| !request.started && self.still(request.dev, &request.flushes);
        self.requests.get(id).is_some_and(undone)
    }

    /// Hides the pieces that a later state no longer has, or has hidden for good.
    pub fn hide_replaced(&mut self, later: &WriteSet) {
        for (dev, pending) in &mut self.devices {
            let others = later.devices.get(dev);
            for (serial, piece) in &mut pending.pieces {
                let now = others.and_then(|pending| pending.pieces.get(serial));
                if now.is_none_or(|now| now.replaced) {
                    Rc::make_mut(piece).replaced = true;
                }
            }
        }
    }

    fn submit(&mut self, id: u64, dev: u32, sector: u64, payload: &Payload, flags: Flags) {
        let serials = self.found_or_appended(dev, sector, payload);
        if !flags.preflush {
            self.show(dev, &serials, self.instant);
        }
        let instant = self.instant;
        for serial in &serials {
            let piece = self.device(dev).piece(*serial);
            piece.only_dirty = false;
            piece.submitted.get_or_insert(instant);
            piece.carriers.push(id);
        }
        self.start(id, dev, serials, flags);
    }

    /// Records that these pieces are visible from `instant` on. It is called before they become
    /// visible.
    pub(super) fn show(&mut self, dev: u32, serials: &[u64], instant: u64) {
        let Some(pending) = self.devices.get(&dev) else { return };
        let pieces =
            serials.iter().filter_map(|serial| Some((*serial, pending.pieces.get(serial)?)));
        let since: Vec<(u64, u64)> = pieces
            .map(|(serial, piece)| {
                let already = self.visible(pending, piece);
                (serial, if already { piece.since.min(instant) } else { instant })
            })
            .collect();
        for (serial, since) in since {
            self.device(dev).piece(serial).since = since;
        }
    }

    fn start(&mut self, id: u64, dev: u32, pieces: Vec<u64>, flags: Flags) {
        let flushes = if flags.preflush { self.device(dev).acknowledged() } else { Vec::new() };
        let started = !flags.preflush || pieces.is_empty();
        let size = (pieces.len() + flushes.len()) as u64;
        self.in_flight += size;
        let request = InFlight {
            dev,
            submitted: self.instant,
            pieces,
            fua: flags.fua,
            flushes,
            started,
            size,
        };
        self.requests.insert(id, request);
    }

    fn complete(&mut self, id: u64, error: bool) {
        let request = self.requests[&id].clone();
        let durable = self.durable_at_completion(&request);
        // In the world that remains, the pieces have been visible since the submit. After a failure
        // this holds only if the flush, which now has no effect, had nothing to make durable.
        let undone = error && self.still(request.dev, &request.flushes);
        self.show(
            request.dev,
            &request.pieces,
            if undone { self.instant } else { request.submitted },
        );
        self.requests.remove(&id);
        self.in_flight -= request.size;
        if !error {
            self.make_durable(request.dev, &request.flushes);
        }
        let pending = self.device(request.dev);
        for serial in &request.pieces {
            let Some(piece) = pending.pieces.get_mut(serial).map(Rc::make_mut) else { continue };
            piece.carriers.retain(|carrier| *carrier != id);
            piece.failed |= error;
            piece.acknowledged |= !error;
        }
        if !error && durable {
            self.make_durable(request.dev, &request.pieces);
        }
    }

    /// Returns true if any of these pieces is still pending.
    fn still(&self, dev: u32, serials: &[u64]) -> bool {
        let pending = self.devices.get(&dev);
        pending
            .is_some_and(|pending| serials.iter().any(|serial| pending.pieces.contains_key(serial)))
    }

    fn durable_at_completion(&self, request: &InFlight) -> bool {
        request.fua || self.rules.completion == Completion::Durable
    }

    /// Writes the pieces to D, in order, and removes their sectors from older pieces. Pieces that
    /// are no longer pending are skipped.
    pub(super) fn make_durable(&mut self, dev: u32, serials: &[u64]) {
        let pending = self.devices.entry(dev).or_default();
        for serial in serials {
            if let Some(piece) = pending.remove(*serial) {
                piece.write_to(self.durable.disk_mut(dev));
                for range in piece.sectors.iter() {
                    pending.take_from_older(*serial, range);
                }
            }
        }
    }

    fn clean(&mut self, dev: u32, range: &Range<u64>) {
        let pending = self.device(dev);
        for serial in pending.overlapping(range) {
            if pending.pieces[&serial].only_dirty {
                pending.take(serial, range);
            }
        }
    }

    fn lock(&mut self, dev: u32, range: Range<u64>) {
        if !range.is_empty() {
            self.device(dev).locked.insert(range);
        }
    }

    /// Unlocks a range and shows the pieces that touch no locked sector any more.
    fn unlock(&mut self, dev: u32, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let instant = self.instant;
        let pending = self.device(dev);
        let mut hidden = pending.made_with(&range);
        hidden.retain(|serial| pending.is_locked(&pending.pieces[serial]));
        pending.locked.remove(range);
        for serial in hidden {
            let piece = &pending.pieces[&serial];
            if piece.only_dirty && !pending.is_locked(piece) {
                pending.piece(serial).since = instant;
            }
        }
    }

    /// Returns the serial numbers of the event's pieces. A piece that is not pending yet is
    /// appended.
    fn found_or_appended(&mut self, dev: u32, sector: u64, payload: &Payload) -> Vec<u64> {
        let (rules, instant) = (self.rules, self.instant);
        let mut serials = Vec::new();
        for mut new in cut(sector, payload, &rules) {
            let pending = self.devices.entry(dev).or_default();
            serials.push(pending.find(&new).unwrap_or_else(|| {
                if rules.replace_versions {
                    pending.replace_older(&new);
                }
                new.since = instant;
                let serial = self.next_serial;
                self.next_serial += 1;
                pending.insert(serial, new);
                serial
            }));
        }
        serials
    }

    /// Returns true if a crash can leave the piece on the disk, in the world that `requests`
    /// describe (fault-model.md, section 4).
    pub(super) fn visible(&self, pending: &PendingPieces, piece: &Piece) -> bool {
        let reached = if piece.only_dirty {
            !pending.is_locked(piece)
        } else {
            piece.acknowledged
                || piece.failed
                || piece.carriers.iter().any(|id| self.requests[id].started)
        };
        reached && !piece.replaced
    }

    fn device(&mut self, dev: u32) -> &mut PendingPieces {
        self.devices.entry(dev).or_default()
    }
}

fn sectors(sector: u64, len: u64) -> Range<u64> {
    sector..sector + len / SECTOR_BYTES as u64
}
