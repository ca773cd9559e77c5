//! A block device in this process. Every write is a request, unless the caller keeps a cache of
//! buffers above the device and reports their changes ([`RamDisk::dirty`]).
//!
//! The device advertises a volatile write cache, FUA, flush, discard and write-zeroes. A check
//! tests which of them a caller uses, and when. The device is backed by a device of a [`Storage`],
//! or by a [`RamDiskState`] that consists of other block devices.

use std::fmt;
use std::rc::Rc;

use bytes::Bytes;
use nix::errno::Errno;

use crate::{Flags, Payload, SECTOR_BYTES, Storage};

/// A block device. Its clones refer to the same device.
#[derive(Clone, Debug)]
pub struct RamDisk {
    on: On,
    sectors: u64,
    flushes: Flushes,
}

#[derive(Clone, Debug)]
enum On {
    Storage { storage: Storage, dev: u32 },
    Device(Rc<dyn RamDiskState>),
}

/// A block device that consists of others, such as a mirror or a stripe. All reads and writes are
/// whole sectors within its size.
///
/// Each call completes its requests before it returns. A crash can separate only the requests that
/// the device sends to its members.
pub trait RamDiskState: fmt::Debug {
    /// Fills `buf` from `sector` on.
    ///
    /// # Errors
    /// `EIO` if a sector cannot be read from any member.
    fn read(&self, sector: u64, buf: &mut [u8]) -> Result<(), Errno>;

    /// Writes from `sector` on.
    fn write(&self, sector: u64, data: Bytes, flags: Flags);

    /// Makes all earlier writes durable before it returns.
    fn flush(&self);
}

/// The behaviour of a disk on a request to flush its cache or to write through it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flushes {
    /// The disk flushes its cache.
    #[default]
    Kept,
    /// The disk reports success and does nothing: a seeded bug.
    Dropped,
}

/// A request in flight. [`RamDisk::complete`] ends it.
#[derive(Debug)]
#[must_use = "a request that is never completed stays in flight; call RamDisk::complete when the \
              device should answer"]
pub struct Request(Option<u64>);

impl RamDisk {
    /// Returns a device of `sectors` sectors that is device `dev` of `storage`.
    pub fn new(storage: Storage, dev: u32, sectors: u64) -> RamDisk {
        RamDisk { on: On::Storage { storage, dev }, sectors, flushes: Flushes::Kept }
    }

    /// Returns a device of `sectors` sectors that consists of other devices.
    pub fn made_of(device: Rc<dyn RamDiskState>, sectors: u64) -> RamDisk {
        RamDisk { on: On::Device(device), sectors, flushes: Flushes::Kept }
    }

    /// Returns the same disk with the given behaviour on flushes.
    #[must_use = "this returns the disk that lies"]
    pub fn with_flushes(self, flushes: Flushes) -> RamDisk {
        RamDisk { flushes, ..self }
    }

    /// Returns the size in sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Returns false if every request to the disk fails. Writes to such a disk are lost. A device
    /// that consists of others answers.
    pub fn answers(&self) -> bool {
        match &self.on {
            On::Storage { storage, dev } => storage.answers(*dev),
            On::Device(_) => true,
        }
    }

    /// Fills `buf` from `sector` on.
    ///
    /// # Panics
    /// If the range is beyond the end of the device, or a sector cannot be read.
    /// [`RamDisk::try_read`] returns an error instead.
    pub fn read(&self, sector: u64, buf: &mut [u8]) {
        let bytes = buf.len();
        let read = self.try_read(sector, buf);
        assert!(read.is_ok(), "sector {sector} and {bytes} bytes of {} cannot be read", self.on);
    }

    /// Fills `buf` from `sector` on. Returns `EIO` if a sector cannot be read.
    ///
    /// # Panics
    /// If the range is beyond the end of the device.
    pub fn try_read(&self, sector: u64, buf: &mut [u8]) -> Result<(), Errno> {
        self.bounds(sector, buf.len() as u64);
        match &self.on {
            On::Storage { storage, dev } => {
                storage.try_read(*dev, sector * SECTOR_BYTES as u64, buf)
            }
            On::Device(device) if buf.len().is_multiple_of(SECTOR_BYTES) => {
                device.read(sector, buf)
            }
            On::Device(device) => {
                let mut whole = vec![0; buf.len().next_multiple_of(SECTOR_BYTES)];
                device.read(sector, &mut whole)?;
                buf.copy_from_slice(&whole[..buf.len()]);
                Ok(())
            }
        }
    }

    /// Writes whole sectors and waits for completion.
    ///
    /// # Panics
    /// If the range is beyond the end of the device, or if `data` is not whole sectors.
    pub fn write(&self, sector: u64, data: &[u8], flags: Flags) {
        let request = self.submit(sector, Payload::Data(Bytes::copy_from_slice(data)), flags);
        self.complete(request);
    }

    /// Changes whole sectors in a cache above the device. From then on reads return them, and they
    /// may be written at any time. A device that consists of others writes them at once.
    ///
    /// # Panics
    /// If the range is beyond the end of the device, or if `data` is not whole sectors.
    pub fn dirty(&self, sector: u64, data: Bytes) {
        self.bounds(sector, data.len() as u64);
        match &self.on {
            On::Storage { storage, dev } => storage.dirty(*dev, sector, data),
            On::Device(_) => self.write(sector, &data, Flags::NONE),
        }
    }

    /// Forgets `len` bytes of changes in the cache above the device. Changes that are not yet
    /// written are never written.
    ///
    /// # Panics
    /// If the range is beyond the end of the device.
    pub fn forget(&self, sector: u64, len: u64) {
        self.bounds(sector, len);
        if let On::Storage { storage, dev } = &self.on {
            storage.clean(*dev, sector, len);
        }
    }

    /// Sends a flush and waits for completion.
    pub fn flush(&self) {
        let request = self.submit_flush();
        self.complete(request);
    }

    /// Submits a request to the device. A device that consists of others completes it at once.
    ///
    /// # Panics
    /// If the range is beyond the end of the device, or if the payload is not whole sectors.
    pub fn submit(&self, sector: u64, payload: Payload, flags: Flags) -> Request {
        self.bounds(sector, payload.len());
        let flags = if self.flushes == Flushes::Dropped { Flags::NONE } else { flags };
        let (storage, dev) = match &self.on {
            On::Storage { storage, dev } => (storage, *dev),
            On::Device(device) => {
                let data = match payload {
                    Payload::Data(data) => data,
                    Payload::Zeroes(len) | Payload::Discard(len) => vec![0; len as usize].into(),
                };
                assert!(
                    data.len().is_multiple_of(SECTOR_BYTES),
                    "{} bytes are not whole sectors",
                    data.len()
                );
                device.write(sector, data, flags);
                return Request(None);
            }
        };
        let operation = match &payload {
            _ if payload.is_empty() => None,
            Payload::Data(_) => Some("write"),
            Payload::Zeroes(_) => Some("write-zeroes"),
            Payload::Discard(_) => Some("discard"),
        };
        let request = storage.submit(dev, sector, payload, flags);
        operation.into_iter().for_each(|name| storage.request_is_operation(name));
        Request(Some(request))
    }

    /// Submits a flush to the device.
    pub fn submit_flush(&self) -> Request {
        match (self.flushes, &self.on) {
            (Flushes::Kept, On::Storage { storage, dev }) => Request(Some(storage.flush(*dev))),
            (Flushes::Kept, On::Device(device)) => {
                device.flush();
                Request(None)
            }
            (Flushes::Dropped, _) => Request(None),
        }
    }

    /// Completes a request.
    pub fn complete(&self, request: Request) {
        self.answer(&request, false);
    }

    /// Completes a request with an error.
    pub fn fail(&self, request: Request) {
        self.answer(&request, true);
    }

    fn answer(&self, request: &Request, error: bool) {
        if let (Some(id), On::Storage { storage, .. }) = (request.0, &self.on) {
            storage.complete(id, error);
        }
    }

    fn bounds(&self, sector: u64, len: u64) {
        let sectors = len.div_ceil(SECTOR_BYTES as u64);
        let fits = sector.checked_add(sectors).is_some_and(|end| end <= self.sectors);
        assert!(
            fits,
            "sector {sector} and {len} bytes are beyond a device of {} sectors ({})",
            self.sectors, self.on
        );
    }
}

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            On::Storage { dev, .. } => write!(f, "device {dev}"),
            On::Device(_) => f.write_str("a device that is made of others"),
        }
    }
}
