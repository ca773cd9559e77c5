//! The devices of one running stack: the contents that the system sees, and the log of its changes.
//!
//! A [`Storage`] is a handle. Its clones refer to the same devices. Reads return the newest
//! contents, cached or not. No cache is simulated: the cache is the difference between the contents
//! here and the contents that are durable according to the log.
//!
//! [`note_reads`](Storage::note_reads) starts the record of all reads. The system reads through
//! `read`, through `peek` with a note of the parts that matter, or through `image`. After `image`
//! any part may have been read.
//!
//! After [`fence`](Storage::fence) writes are discarded and nothing is logged, so the destructors
//! of a crashed system repair nothing.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;
use nix::errno::Errno;

use crate::reads::ReadLog;
use crate::{
    Condition, Damage, Disk, DiskFault, Event, Flags, Image, Payload, ReadRange, SECTOR_BYTES,
};

/// The events that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// All events except the marks of operations.
    On,
    /// All events, and a mark after each operation ([`Storage::operation`]), for soft crashes.
    Operations,
    /// No events. Contents still change. For a stack whose crashes are not explored.
    Off,
}

/// The devices of one stack, shared by all clones of the handle.
#[derive(Clone, Debug)]
pub struct Storage(Rc<RefCell<Devices>>);

#[derive(Debug)]
struct Devices {
    seen: Image,
    /// The parts of the devices that only the log has, such as journals of simulated files.
    hidden: Image,
    log: Vec<Event>,
    /// The number of logged events, without marks.
    logged: u64,
    recording: Recording,
    fenced: bool,
    next_id: u64,
    /// The reads so far. `None` if they are not recorded.
    reads: Option<ReadLog>,
    /// True if a buffer was changed since the last mark of an operation.
    changed: bool,
    /// The devices that are pulled out.
    out: BTreeSet<u32>,
}

/// The id of a request to a device that is pulled out, or after the fence.
const NOWHERE: u64 = 0;

impl Storage {
    /// Returns devices that hold `image`, with an empty log.
    pub fn new(image: Image, recording: Recording) -> Storage {
        let devices = Devices {
            seen: image,
            hidden: Image::new(),
            log: Vec::new(),
            logged: 0,
            recording,
            fenced: false,
            next_id: 1,
            reads: None,
            changed: false,
            out: BTreeSet::new(),
        };
        Storage(Rc::new(RefCell::new(devices)))
    }

    /// Returns the contents of all devices that the system sees now. A copy costs nothing.
    pub fn image(&self) -> Image {
        let mut devices = self.0.borrow_mut();
        devices.reads.iter_mut().for_each(ReadLog::everything);
        devices.seen.clone()
    }

    /// Returns the same image for callers that record what they read ([`note`](Storage::note)).
    pub(crate) fn peek(&self) -> Image {
        self.0.borrow().seen.clone()
    }

    /// Starts to record the parts of the image that are read.
    pub fn note_reads(&self) {
        self.0.borrow_mut().reads = Some(ReadLog::default());
    }

    /// Ends the record and returns the reads in order of the first read. `None` if any part may
    /// have been read, or if reads were not recorded.
    pub fn take_reads(&self) -> Option<Vec<ReadRange>> {
        self.0.borrow_mut().reads.take()?.into_order()
    }

    /// Records that a part of the image was read.
    pub(crate) fn note(&self, read: ReadRange) {
        self.0.borrow_mut().reads.iter_mut().for_each(|reads| reads.note(read));
    }

    /// Records that a sector was read.
    pub(crate) fn note_sector(&self, dev: u32, sector: u64) {
        let start = sector * SECTOR_BYTES as u64;
        self.0.borrow_mut().noted(dev, start..start + 1);
    }

    /// Records that bytes of a device were read.
    pub(crate) fn note_bytes(&self, dev: u32, bytes: Range<u64>) {
        self.0.borrow_mut().noted(dev, bytes);
    }

    /// Fills `buf` from byte `offset` of a device on, including sectors that cannot be read.
    pub fn read(&self, dev: u32, offset: u64, buf: &mut [u8]) {
        let mut devices = self.0.borrow_mut();
        devices.noted(dev, offset..offset + buf.len() as u64);
        devices.seen.read(dev, offset, buf);
    }

    /// Fills `buf` from byte `offset` of a device on. Returns `EIO`, and leaves `buf` unchanged, if
    /// one of the bytes cannot be read or the device is pulled out.
    pub fn try_read(&self, dev: u32, offset: u64, buf: &mut [u8]) -> Result<(), Errno> {
        if !self.answers(dev) {
            return Err(Errno::EIO);
        }
        self.0.borrow().seen.disk(dev).map_or(Ok(()), |disk| disk.readable(offset, buf.len()))?;
        self.read(dev, offset, buf);
        Ok(())
    }

    /// Damages the medium of a device. No event is logged, because the system does not do this.
    pub fn damage(&self, dev: u32, damage: &Damage) {
        match damage {
            Damage::Disk(DiskFault::Missing) => {}
            Damage::Disk(DiskFault::Stale) => self.pull_out(dev),
            damage => self.0.borrow_mut().seen.disk_mut(dev).damage(damage),
        }
    }

    /// Returns false if the device is pulled out or has failed.
    pub fn answers(&self, dev: u32) -> bool {
        let devices = self.0.borrow();
        !devices.out.contains(&dev) && devices.seen.condition(dev) != Condition::Failed
    }

    /// Returns true if the image has a device that has failed as a whole, or was away.
    pub fn has_lost_disk(&self) -> bool {
        let devices = self.0.borrow();
        devices.seen.devices().any(|dev| devices.seen.condition(dev) != Condition::Sound)
    }

    /// Pulls a device out. Reads of it fail with `EIO` and writes to it are lost, until it is
    /// [put back](Storage::put_back) with its contents. No event is logged, because the system does
    /// not do this.
    pub fn pull_out(&self, dev: u32) {
        self.0.borrow_mut().out.insert(dev);
    }

    /// Puts back a device that was pulled out.
    pub fn put_back(&self, dev: u32) {
        self.0.borrow_mut().out.remove(&dev);
    }

    /// Returns true if the device, or a sector of it, has a fault.
    pub fn is_damaged(&self, dev: u32) -> bool {
        self.0.borrow().seen.disk(dev).is_some_and(Disk::is_damaged)
    }

    /// Returns the sectors of a device that cannot be read, in order.
    pub fn unreadable(&self, dev: u32) -> Vec<u64> {
        self.0.borrow().seen.disk(dev).map_or_else(Vec::new, |disk| disk.unreadable().collect())
    }

    /// Changes a cached buffer: whole sectors, the first at `sector`.
    ///
    /// # Panics
    /// If `data` is not whole sectors.
    pub fn dirty(&self, dev: u32, sector: u64, data: Bytes) {
        let Some(mut devices) = self.reached(dev) else { return };
        devices.written(dev, sector, data.len() as u64);
        devices.seen.disk_mut(dev).write(sector, &data);
        devices.changed = true;
        devices.record(Event::Dirty { dev, sector, data });
    }

    /// Changes the contents that the system sees, without an event. The journal of simulated files
    /// logs what a crash leaves of the change.
    pub(crate) fn remember(&self, dev: u32, sector: u64, data: &[u8]) {
        let Some(mut devices) = self.reached(dev) else { return };
        devices.written(dev, sector, data.len() as u64);
        devices.seen.disk_mut(dev).write(sector, data);
    }

    /// Changes a device as the system sees it, without an event.
    pub(crate) fn replace(&self, dev: u32, disk: Disk) {
        if let Some(mut devices) = self.reached(dev) {
            *devices.seen.disk_mut(dev) = disk;
        }
    }

    /// Logs the event that `make` returns, without a change of the contents that the system sees.
    /// `make` gets a new id of a request. Returns the id.
    pub(crate) fn log_hidden(&self, dev: u32, make: impl FnOnce(u64) -> Event) -> u64 {
        let Some(mut devices) = self.reached(dev) else { return NOWHERE };
        let id = devices.take_id();
        let event = make(id);
        if let Event::Append { dev, sector, data } | Event::Dirty { dev, sector, data } = &event {
            devices.hidden.disk_mut(*dev).write(*sector, data);
            devices.changed = true;
        }
        devices.record(event);
        id
    }

    /// Returns the parts of the devices that only the log has.
    pub(crate) fn hidden(&self) -> Image {
        self.0.borrow().hidden.clone()
    }

    /// Replaces the contents that the system sees, and those that only the log has, by the result
    /// of a replay. The log and the reads stay as they are.
    pub(crate) fn replay_done(&self, seen: Image, hidden: Image) {
        let mut devices = self.0.borrow_mut();
        devices.seen = seen;
        devices.hidden = hidden;
    }

    /// Forgets cached changes of `len` bytes. The system sees the contents until it writes again.
    pub fn clean(&self, dev: u32, sector: u64, len: u64) {
        let Some(mut devices) = self.reached(dev) else { return };
        devices.record(Event::Clean { dev, sector, len });
    }

    /// Submits a request to a device and returns its id. Its contents are visible at once.
    ///
    /// # Panics
    /// If the payload is not whole sectors.
    pub fn submit(&self, dev: u32, sector: u64, payload: Payload, flags: Flags) -> u64 {
        let len = payload.len();
        assert!(len.is_multiple_of(SECTOR_BYTES as u64), "{len} bytes are not whole sectors");
        let Some(mut devices) = self.reached(dev) else { return NOWHERE };
        devices.written(dev, sector, len);
        match &payload {
            Payload::Data(data) => devices.seen.disk_mut(dev).write(sector, data),
            Payload::Zeroes(len) | Payload::Discard(len) => {
                let behind = sector + len / SECTOR_BYTES as u64;
                devices.seen.disk_mut(dev).write_zeroes(sector..behind);
            }
        }
        let id = devices.take_id();
        devices.record(Event::Submit { id, dev, sector, payload, flags });
        id
    }

    /// Submits a flush to a device and returns its id.
    pub fn flush(&self, dev: u32) -> u64 {
        let Some(mut devices) = self.reached(dev) else { return NOWHERE };
        let id = devices.take_id();
        devices.record(Event::Flush { id, dev });
        id
    }

    /// Completes a request or a flush.
    pub fn complete(&self, id: u64, error: bool) {
        let Some(mut devices) = self.unfenced() else { return };
        if id != NOWHERE {
            devices.record(Event::Complete { id, error });
        }
    }

    /// Ends a call of the system that may have changed buffers. If it has changed any, and
    /// operations are recorded, an [`operation_mark`] is logged.
    pub fn operation(&self, name: &str) {
        let Some(mut devices) = self.unfenced() else { return };
        if std::mem::take(&mut devices.changed) {
            devices.mark(name);
        }
    }

    /// Logs the mark of an operation that is a single request.
    pub(crate) fn request_is_operation(&self, name: &str) {
        if let Some(mut devices) = self.unfenced() {
            devices.mark(name);
        }
    }

    /// Puts a mark into the log.
    pub fn put_mark(&self, name: &str) {
        if let Some(mut devices) = self.unfenced() {
            devices.record(Event::Mark { name: name.to_owned() });
        }
    }

    /// Discards all later writes and logs nothing more.
    pub fn fence(&self) {
        self.0.borrow_mut().fenced = true;
    }

    /// Returns the events since the last call, or since the beginning.
    pub fn take_log(&self) -> Vec<Event> {
        std::mem::take(&mut self.0.borrow_mut().log)
    }

    /// Returns the number of events logged since the beginning, without marks.
    pub fn logged(&self) -> u64 {
        self.0.borrow().logged
    }

    /// Returns the devices for a write to `dev`. `None` after the fence, or if `dev` is pulled out
    /// or has failed.
    fn reached(&self, dev: u32) -> Option<RefMut<'_, Devices>> {
        self.answers(dev).then(|| self.unfenced()).flatten()
    }

    fn unfenced(&self) -> Option<RefMut<'_, Devices>> {
        let devices = self.0.borrow_mut();
        (!devices.fenced).then_some(devices)
    }
}

impl Devices {
    fn record(&mut self, event: Event) {
        if self.recording != Recording::Off {
            self.logged += u64::from(!matches!(event, Event::Mark { .. }));
            self.log.push(event);
        }
    }

    fn noted(&mut self, dev: u32, bytes: Range<u64>) {
        if let Some(reads) = &mut self.reads {
            reads.read(dev, bytes);
        }
    }

    fn written(&mut self, dev: u32, sector: u64, len: u64) {
        if let Some(reads) = &mut self.reads {
            reads.written(dev, sector..sector + len / SECTOR_BYTES as u64);
        }
    }

    fn mark(&mut self, operation: &str) {
        if self.recording == Recording::Operations {
            self.log.push(operation_mark(operation));
        }
    }

    fn take_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }
}

/// Returns the mark after an operation. The changes of the operation are between the previous mark
/// and this one.
pub fn operation_mark(name: &str) -> Event {
    Event::Mark { name: format!("{OPERATION}{name}") }
}

/// Returns the name of the operation that ends with this event. `None` for any other event.
pub fn operation_of(event: &Event) -> Option<&str> {
    match event {
        Event::Mark { name } => name.strip_prefix(OPERATION),
        _ => None,
    }
}

const OPERATION: &str = "operation ";
