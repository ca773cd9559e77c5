//! Two disks with equal contents as one: a mirror with or without checksums, and one that does not
//! test its reads.

use std::rc::Rc;

use explode_ramdisk::{Flags, RamDisk};
use explode_runtime::base::{Mode, OptionDef, StepError};
use explode_runtime::faults::media::{MEDIA_OPTIONS, MediaFaults, MediaSite, MediaView};
use explode_runtime::stack::{
    Abilities, Below, Component, ComponentDef, Facts, Inspect, Recovery, Surface,
};
use nix::errno::Errno;

/// The bytes of a block.
pub const BLOCK: usize = 4096;
/// The number of blocks of the mirror.
pub const BLOCKS: u64 = 2;

/// Returns a disk of [`BLOCKS`] blocks that may go bad.
pub fn disk() -> ComponentDef {
    ComponentDef::new("disk", "a disk for tests", |options| {
        Ok(Box::new(Disk { media: MediaFaults::of(options)?, disk: None }))
    })
    .modes([Mode::Mem])
    .options(MEDIA_OPTIONS)
}

struct Disk {
    media: MediaFaults,
    disk: Option<RamDisk>,
}

impl Component for Disk {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.disk =
            Some(RamDisk::new(below.devices.storage()?.clone(), below.first_device, BLOCKS * 8));
        Ok(())
    }
    fn surface(&self) -> Surface {
        self.disk.clone().map_or(Surface::Child, Surface::Disk)
    }
    fn facts(&self) -> Facts {
        Facts::default().devices(1).media(self.media)
    }
    fn abilities(&self) -> Abilities<'_> {
        Abilities::default().inspect(self)
    }
}

impl Inspect for Disk {
    fn media_sites(&self, medium: &MediaView<'_>) -> Vec<MediaSite> {
        medium.disk(BLOCKS * 8)
    }
}

/// Returns the mirror over two disks.
pub fn mirror() -> ComponentDef {
    ComponentDef::new("mirror", "two disks as one, for tests", |options| {
        let words =
            [("plain", Kind::Plain), ("checksums", Kind::Checksums), ("careless", Kind::Careless)];
        Ok(Box::new(Component_ { kind: options.one_of("kind", &words)?, mirror: None }))
    })
    .modes([Mode::Mem])
    .options([OptionDef {
        name: "kind",
        about: "plain, checksums, careless",
        default: "plain",
    }])
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Checksums,
    /// Uses the buffer of a failed read.
    Careless,
}

/// Two disks as one.
pub struct Mirror {
    kind: Kind,
    disks: [RamDisk; 2],
}

impl Mirror {
    /// Fills a block durably: on the first disk, then on the second.
    pub fn write(&self, block: u64, letter: u8) {
        let mut bytes = vec![letter; BLOCK];
        if self.kind == Kind::Checksums {
            let sum = checksum(&bytes);
            bytes[BLOCK - 8..].copy_from_slice(&sum);
        }
        self.disks.iter().for_each(|disk| {
            disk.write(block * 8, &bytes, Flags::NONE);
            disk.flush();
        });
    }

    /// Returns the contents of the block; zeroes if it was never filled.
    pub fn read(&self, block: u64) -> Result<Vec<u8>, Errno> {
        let bytes = self.copy(0, block).or_else(|_| self.copy(1, block))?;
        Ok(bytes[..BLOCK - 8].to_vec())
    }

    /// Returns one of the copies, if it can be read and is sound.
    fn copy(&self, disk: usize, block: u64) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; BLOCK];
        let read = self.disks[disk].try_read(block * 8, &mut bytes);
        if self.kind != Kind::Careless {
            read?;
        }
        let (contents, sum) = bytes.split_at(BLOCK - 8);
        let empty = bytes.iter().all(|byte| *byte == 0);
        if self.kind == Kind::Checksums && !empty && checksum(contents) != sum {
            Err(Errno::EIO)
        } else {
            Ok(bytes)
        }
    }

    /// Makes both copies equal. The first wins if it is sound.
    fn resync(&self) -> Recovery {
        let mut found = Recovery::Clean;
        for block in 0..BLOCKS {
            let copies = [self.copy(0, block), self.copy(1, block)];
            let (bytes, to) = match &copies {
                [Ok(first), second] if second.as_ref() != Ok(first) => (first, 1),
                [Err(_), Ok(second)] => (second, 0),
                _ => continue,
            };
            self.disks[to].write(block * 8, bytes, Flags::NONE);
            self.disks[to].flush();
            found = Recovery::Repaired;
        }
        found
    }
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    xxhash_rust::xxh3::xxh3_64(&bytes[..BLOCK - 8]).to_le_bytes()
}

struct Component_ {
    kind: Kind,
    mirror: Option<Rc<Mirror>>,
}

impl Component_ {
    fn open(&mut self, below: &Below<'_>) -> Result<Rc<Mirror>, StepError> {
        let mirror = Mirror { kind: self.kind, disks: [below.disk(0)?, below.disk(1)?] };
        Ok(Rc::clone(self.mirror.insert(Rc::new(mirror))))
    }
}

impl Component for Component_ {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.open(below).map(drop)
    }
    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        Ok(self.open(below)?.resync())
    }
    fn surface(&self) -> Surface {
        self.mirror.clone().map_or(Surface::Child, |mirror| Surface::Engine(mirror))
    }
}
