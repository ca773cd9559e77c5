//! The expected events of a test, and a log to compare them with.

use std::collections::BTreeMap;

use bytes::Bytes;
use explode_ramdisk::files::{Fd, FileKind, Granule, OpenFlags};
use explode_ramdisk::{
    Event, Files, Flags, Image, Payload, Recording, SECTOR_BYTES, SimFiles, Storage,
};

pub const SIZE_SECTOR: u64 = 1 << 40;
pub const BLOCK: usize = 4096;

/// Returns an empty file system on the devices from 0 on.
pub fn fresh() -> SimFiles {
    on(Image::new())
}

/// Returns the file system that an image holds from device 0 on.
pub fn on(image: Image) -> SimFiles {
    SimFiles::mount(Storage::new(image, Recording::On), 0, Granule::default()).unwrap()
}

/// Makes a file with these contents and leaves it open.
pub fn make(files: &SimFiles, path: &str, data: &[u8]) -> Fd {
    let fd = files.open(path, OpenFlags::CREATE).unwrap();
    files.pwrite(fd, 0, data).unwrap();
    fd
}

/// Returns the slot of a name.
pub fn slot(kind: FileKind, inode: u32, name: &str) -> Bytes {
    let mut bytes = vec![if kind == FileKind::File { 1 } else { 2 }, name.len() as u8];
    bytes.extend(inode.to_le_bytes());
    bytes.extend(name.as_bytes());
    padded(&bytes, SECTOR_BYTES)
}

/// Returns the bytes, filled up with zeroes.
pub fn padded(bytes: &[u8], len: usize) -> Bytes {
    let mut all = bytes.to_vec();
    all.resize(len, 0);
    all.into()
}

/// The expected events, in order.
#[derive(Default)]
pub struct Script {
    events: Vec<Event>,
    requests: u64,
}

impl Script {
    pub fn new() -> Script {
        Script::default()
    }

    pub fn dirty(mut self, dev: u32, sector: u64, data: Bytes) -> Script {
        self.events.push(Event::Dirty { dev, sector, data });
        self
    }

    pub fn name(self, directory: u32, at: u64, kind: FileKind, inode: u32, name: &str) -> Script {
        self.dirty(directory, at, slot(kind, inode, name))
    }

    pub fn no_name(self, directory: u32, at: u64) -> Script {
        self.dirty(directory, at, padded(&[], SECTOR_BYTES))
    }

    pub fn size(self, dev: u32, size: u64) -> Script {
        self.dirty(dev, SIZE_SECTOR, padded(&size.to_le_bytes(), SECTOR_BYTES))
    }

    pub fn clean(mut self, dev: u32, sector: u64, len: u64) -> Script {
        self.events.push(Event::Clean { dev, sector, len });
        self
    }

    pub fn written(mut self, dev: u32, sector: u64, data: Bytes) -> Script {
        self.requests += 1;
        let (id, payload, flags) = (self.requests, Payload::Data(data), Flags::NONE);
        self.events.push(Event::Submit { id, dev, sector, payload, flags });
        self.events.push(Event::Complete { id, error: false });
        self
    }

    pub fn size_written(self, dev: u32, size: u64) -> Script {
        self.written(dev, SIZE_SECTOR, padded(&size.to_le_bytes(), SECTOR_BYTES))
    }

    pub fn flushed(mut self, dev: u32) -> Script {
        self.requests += 1;
        let id = self.requests;
        self.events.push(Event::Flush { id, dev });
        self.events.push(Event::Complete { id, error: false });
        self
    }

    /// Asserts that the new events of the log are exactly these.
    #[track_caller]
    pub fn expect(self, files: &SimFiles) {
        assert_eq!(renumbered(files.storage().take_log()), self.events);
    }
}

/// Returns the same log with ids counted from 1.
fn renumbered(mut log: Vec<Event>) -> Vec<Event> {
    let mut ids = BTreeMap::new();
    for event in &mut log {
        if let Event::Submit { id, .. } | Event::Flush { id, .. } | Event::Complete { id, .. } =
            event
        {
            let next = ids.len() as u64 + 1;
            *id = *ids.entry(*id).or_insert(next);
        }
    }
    log
}
