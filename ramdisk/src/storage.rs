//! The devices of one running stack: what the system sees, and the log of what it did.
//!
//! A [`Storage`] is a handle; its clones are the same devices. What a reader sees is the newest
//! contents, cached or not: a cache is not simulated, it is the difference between what is seen
//! here and what the log says has become durable.
//!
//! [`note_reads`](Storage::note_reads) records all that is looked at: what the system gets to see
//! comes by `read`, by `peek` with a note of what mattered, or by `image`, after which it is
//! unknown what was looked at.
//!
//! After [`fence`](Storage::fence) writes are discarded and nothing is logged: a crashed system's
//! destructors repair nothing.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;
use nix::errno::Errno;

use crate::reads::ReadLog;
use crate::{Event, Flags, Image, Payload, ReadFault, ReadRange, SECTOR_BYTES};

/// Shall events be kept?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// Every event goes to the log.
    On,
    /// So does a mark after each operation ([`Storage::operation`]): for soft crashes.
    Operations,
    /// Contents change, and nothing is logged: for a stack whose crashes are not explored.
    Off,
}

/// The devices of one stack, shared by all clones of the handle.
#[derive(Clone, Debug)]
pub struct Storage(Rc<RefCell<Devices>>);

#[derive(Debug)]
struct Devices {
    seen: Image,
    log: Vec<Event>,
    /// How many events were logged, marks not counted.
    logged: u64,
    recording: Recording,
    fenced: bool,
    next_id: u64,
    /// What was read, if that is recorded.
    reads: Option<ReadLog>,
    /// Was a buffer changed since the last mark of an operation?
    changed: bool,
    /// Devices that were pulled out.
    out: BTreeSet<u32>,
}

/// The id of a request that went nowhere.
const NOWHERE: u64 = 0;

impl Storage {
    /// Devices that hold `image`, with an empty log.
    pub fn new(image: Image, recording: Recording) -> Storage {
        let devices = Devices {
            seen: image,
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

    /// What the system sees now, on all devices; costs nothing.
    pub fn image(&self) -> Image {
        let mut devices = self.0.borrow_mut();
        devices.reads.iter_mut().for_each(ReadLog::everything);
        devices.seen.clone()
    }

    /// The same for those who say what they look at ([`note`](Storage::note)).
    pub(crate) fn peek(&self) -> Image {
        self.0.borrow().seen.clone()
    }

    /// From now on it is noted what of the image is looked at.
    pub fn note_reads(&self) {
        self.0.borrow_mut().reads = Some(ReadLog::default());
    }

    /// What was looked at since, in order of first reads; it is not noted any more. None if that
    /// may have been anything, or was not noted.
    pub fn take_reads(&self) -> Option<Vec<ReadRange>> {
        self.0.borrow_mut().reads.take()?.into_order()
    }

    /// A part of the image has decided something.
    pub(crate) fn note(&self, read: ReadRange) {
        self.0.borrow_mut().reads.iter_mut().for_each(|reads| reads.note(read));
    }

    /// A sector has.
    pub(crate) fn note_sector(&self, dev: u32, sector: u64) {
        let start = sector * SECTOR_BYTES as u64;
        self.0.borrow_mut().noted(dev, start..start + 1);
    }

    /// Fills `buf` from byte `offset` of a device on, with what is there, readable or not.
    pub fn read(&self, dev: u32, offset: u64, buf: &mut [u8]) {
        let mut devices = self.0.borrow_mut();
        devices.noted(dev, offset..offset + buf.len() as u64);
        devices.seen.read(dev, offset, buf);
    }

    /// The same, unless one of the bytes cannot be read, or the device was pulled out (`EIO`);
    /// `buf` is as it was then.
    pub fn try_read(&self, dev: u32, offset: u64, buf: &mut [u8]) -> Result<(), Errno> {
        if self.0.borrow().out.contains(&dev) {
            return Err(Errno::EIO);
        }
        self.0.borrow().seen.disk(dev).map_or(Ok(()), |disk| disk.readable(offset, buf.len()))?;
        self.read(dev, offset, buf);
        Ok(())
    }

    /// Sectors of the medium go bad. No event: what happens to a medium is nothing that the system
    /// does.
    pub fn damage(&self, dev: u32, sectors: Range<u64>, fault: ReadFault) {
        self.0.borrow_mut().seen.disk_mut(dev).damage(sectors, fault);
    }

    /// Pulls a device out: reads of it fail with `EIO`, and writes to it go nowhere, until it is
    /// [put back](Storage::put_back) with what it held. No event: it is nothing that the system
    /// does.
    pub fn pull_out(&self, dev: u32) {
        self.0.borrow_mut().out.insert(dev);
    }

    /// Puts back a device that was pulled out.
    pub fn put_back(&self, dev: u32) {
        self.0.borrow_mut().out.remove(&dev);
    }

    /// The sectors of a device that cannot be read, in order.
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

    /// Forgets cached changes of `len` bytes; what the system sees stays until it writes again.
    pub fn clean(&self, dev: u32, sector: u64, len: u64) {
        let Some(mut devices) = self.reached(dev) else { return };
        devices.record(Event::Clean { dev, sector, len });
    }

    /// Hands a request to a device and returns its id. Its contents are seen at once.
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

    /// Hands a flush to a device and returns its id.
    pub fn flush(&self, dev: u32) -> u64 {
        let Some(mut devices) = self.reached(dev) else { return NOWHERE };
        let id = devices.take_id();
        devices.record(Event::Flush { id, dev });
        id
    }

    /// The device answers a request or a flush.
    pub fn complete(&self, id: u64, error: bool) {
        let Some(mut devices) = self.unfenced() else { return };
        if id != NOWHERE {
            devices.record(Event::Complete { id, error });
        }
    }

    /// Ends a call of the system that may have changed buffers. If it has, a mark is logged
    /// ([`operation_mark`]).
    pub fn operation(&self, name: &str) {
        let Some(mut devices) = self.unfenced() else { return };
        if std::mem::take(&mut devices.changed) {
            devices.mark(name);
        }
    }

    /// A request was an operation of its own.
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

    /// From now on writes are discarded and nothing is logged.
    pub fn fence(&self) {
        self.0.borrow_mut().fenced = true;
    }

    /// The events since the last call, or since the beginning.
    pub fn take_log(&self) -> Vec<Event> {
        std::mem::take(&mut self.0.borrow_mut().log)
    }

    /// How many events were logged since the beginning. Marks are not counted.
    pub fn logged(&self) -> u64 {
        self.0.borrow().logged
    }

    /// What is written to this device is written.
    fn reached(&self, dev: u32) -> Option<RefMut<'_, Devices>> {
        self.unfenced().filter(|devices| !devices.out.contains(&dev))
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

/// The mark after an operation: what it has changed stands between the mark before and this one.
pub fn operation_mark(name: &str) -> Event {
    Event::Mark { name: format!("{OPERATION}{name}") }
}

/// The name of the operation that ends with this event.
pub fn operation_of(event: &Event) -> Option<&str> {
    match event {
        Event::Mark { name } => name.strip_prefix(OPERATION),
        _ => None,
    }
}

const OPERATION: &str = "operation ";
