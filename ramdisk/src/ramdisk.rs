//! A block device in process: every write is a request, unless its user keeps a cache of buffers above it and says so.
//!
//! It advertises a volatile write cache, FUA, flush, discard and write-zeroes; which of them a caller uses, and when, is what
//! is being checked.

use bytes::Bytes;
use nix::errno::Errno;

use crate::{Flags, Payload, SECTOR_BYTES, Storage};

/// A block device of a [`Storage`].
#[derive(Clone, Debug)]
pub struct RamDisk {
    storage: Storage,
    dev: u32,
    sectors: u64,
    flushes: Flushes,
}

/// What a disk does when it is told to flush its cache, or to write through it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flushes {
    /// It does so.
    #[default]
    Kept,
    /// It says that it has, and does nothing: a disk with a seeded bug.
    Dropped,
}

/// A request on its way; [`RamDisk::complete`] answers it.
#[derive(Debug)]
#[must_use = "a request that is never completed stays in flight; call RamDisk::complete when the device should answer"]
pub struct Request(Option<u64>);

impl RamDisk {
    /// Device `dev` of `storage`, `sectors` sectors large.
    pub fn new(storage: Storage, dev: u32, sectors: u64) -> RamDisk {
        RamDisk { storage, dev, sectors, flushes: Flushes::Kept }
    }

    /// The same disk, which may lie about flushes.
    #[must_use = "this returns the disk that lies"]
    pub fn with_flushes(self, flushes: Flushes) -> RamDisk {
        RamDisk { flushes, ..self }
    }

    /// Size in sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Fills `buf` from `sector` on.
    ///
    /// # Panics
    /// Beyond the end of the device, or where a sector cannot be read: who allows for that calls [`RamDisk::try_read`].
    pub fn read(&self, sector: u64, buf: &mut [u8]) {
        let (bytes, dev) = (buf.len(), self.dev);
        let read = self.try_read(sector, buf);
        assert!(read.is_ok(), "sector {sector} and {bytes} bytes of device {dev} cannot be read");
    }

    /// The same, unless a sector of these cannot be read (`EIO`).
    ///
    /// # Panics
    /// Beyond the end of the device.
    pub fn try_read(&self, sector: u64, buf: &mut [u8]) -> Result<(), Errno> {
        self.bounds(sector, buf.len() as u64);
        self.storage.try_read(self.dev, sector * SECTOR_BYTES as u64, buf)
    }

    /// Writes whole sectors and waits for the answer.
    ///
    /// # Panics
    /// Beyond the end of the device, or if `data` is not whole sectors.
    pub fn write(&self, sector: u64, data: &[u8], flags: Flags) {
        let request = self.submit(sector, Payload::Data(Bytes::copy_from_slice(data)), flags);
        self.complete(request);
    }

    /// Changes whole sectors in a cache above the device: from now on they are what is read, and may be written at any time.
    ///
    /// # Panics
    /// Beyond the end of the device, or if `data` is not whole sectors.
    pub fn dirty(&self, sector: u64, data: Bytes) {
        self.bounds(sector, data.len() as u64);
        self.storage.dirty(self.dev, sector, data);
    }

    /// Forgets `len` bytes of changes in the cache above the device: they will not be written any more.
    ///
    /// # Panics
    /// Beyond the end of the device.
    pub fn forget(&self, sector: u64, len: u64) {
        self.bounds(sector, len);
        self.storage.clean(self.dev, sector, len);
    }

    /// Sends a flush and waits for the answer.
    pub fn flush(&self) {
        let request = self.submit_flush();
        self.complete(request);
    }

    /// Hands a request to the device.
    ///
    /// # Panics
    /// Beyond the end of the device, or if the payload is not whole sectors.
    pub fn submit(&self, sector: u64, payload: Payload, flags: Flags) -> Request {
        self.bounds(sector, payload.len());
        let flags = if self.flushes == Flushes::Dropped { Flags::NONE } else { flags };
        let operation = match &payload {
            _ if payload.is_empty() => None,
            Payload::Data(_) => Some("write"),
            Payload::Zeroes(_) => Some("write-zeroes"),
            Payload::Discard(_) => Some("discard"),
        };
        let request = self.storage.submit(self.dev, sector, payload, flags);
        operation.into_iter().for_each(|name| self.storage.request_is_operation(name));
        Request(Some(request))
    }

    /// Hands a flush to the device.
    pub fn submit_flush(&self) -> Request {
        match self.flushes {
            Flushes::Kept => Request(Some(self.storage.flush(self.dev))),
            Flushes::Dropped => Request(None),
        }
    }

    /// Lets the device answer a request.
    pub fn complete(&self, request: Request) {
        self.answer(&request, false);
    }

    /// Lets the device answer a request with an error.
    pub fn fail(&self, request: Request) {
        self.answer(&request, true);
    }

    fn answer(&self, request: &Request, error: bool) {
        if let Some(id) = request.0 {
            self.storage.complete(id, error);
        }
    }

    fn bounds(&self, sector: u64, len: u64) {
        let sectors = len.div_ceil(SECTOR_BYTES as u64);
        let fits = sector.checked_add(sectors).is_some_and(|end| end <= self.sectors);
        assert!(
            fits,
            "sector {sector} and {len} bytes are beyond a device of {} sectors (device {})",
            self.sectors, self.dev
        );
    }
}
