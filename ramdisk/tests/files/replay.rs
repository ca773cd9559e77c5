//! A simple replay of a log, sector by sector: the durable and the pending contents. It follows the
//! rule `volatile` of section 3 of the fault model, for the events that files cause.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::{Event, Flags, Image, Payload, SECTOR_BYTES};

use crate::script::SIZE_SECTOR;

/// The device of the journal of simulated files, from that of the root on.
const JOURNAL: u32 = (1 << 20) - 1;

type Sector = [u8; SECTOR_BYTES];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    OnlyDirty,
    InFlight(u64),
    Acknowledged,
}

/// The state after a replayed log.
pub struct Replay {
    base: u32,
    /// The size in bytes of the pieces that contents are cut into.
    granule: u64,
    durable: Image,
    /// The ranges of all pieces that were ever dirty: device, first sector, number of sectors.
    pieces: BTreeSet<(u32, u64, u64)>,
    /// The pending versions of each sector of a device, oldest first.
    pending: BTreeMap<(u32, u64), Vec<(Sector, Fate)>>,
    /// The device of each flush that is not completed.
    flushes: BTreeMap<u64, u32>,
}

impl Replay {
    /// Starts with a durable image whose root is device `base`.
    pub fn new(durable: Image, base: u32, granule: u32) -> Replay {
        let (granule, pieces) = (u64::from(granule), BTreeSet::new());
        Replay {
            base,
            granule,
            durable,
            pieces,
            pending: BTreeMap::new(),
            flushes: BTreeMap::new(),
        }
    }

    /// Returns the pieces of an event: the first sector and the number of sectors of each.
    fn cut(&self, first: u64, data: &[u8]) -> Vec<(u64, u64)> {
        let behind = first + (data.len() / SECTOR_BYTES) as u64;
        let sectors = self.granule / SECTOR_BYTES as u64;
        let starts = (first..behind).filter(|at| *at == first || at.is_multiple_of(sectors));
        starts.map(|at| (at, behind.min((at / sectors + 1) * sectors) - at)).collect()
    }

    /// Replays the next event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Dirty { dev, sector, data } => {
                let pieces = self.cut(*sector, data);
                self.pieces.extend(pieces.into_iter().map(|(at, sectors)| (*dev, at, sectors)));
                for (at, bytes) in sectors(*sector, data) {
                    let versions = self.pending.entry((*dev, at)).or_default();
                    if versions.last().is_none_or(|(newest, _)| *newest != bytes) {
                        versions.push((bytes, Fate::OnlyDirty));
                    }
                }
            }
            Event::Submit { id, dev, sector, payload: Payload::Data(data), flags: Flags::NONE } => {
                let is_journal = *dev == self.base + JOURNAL;
                for (at, sectors) in self.cut(*sector, data).into_iter().filter(|_| !is_journal) {
                    let known = self.pieces.contains(&(*dev, at, sectors));
                    assert!(
                        known,
                        "a sync made a piece of its own: device {dev} sectors {at} and {sectors} on"
                    );
                }
                for (at, bytes) in sectors(*sector, data) {
                    if is_journal {
                        // A sync writes an older version of the pointer, or a new one to log trees.
                        let versions = self.pending.entry((*dev, at)).or_default();
                        versions.push((bytes, Fate::InFlight(*id)));
                        continue;
                    }
                    let versions =
                        self.pending.get_mut(&(*dev, at)).expect("what is submitted was dirty");
                    let (newest, fate) = versions.last_mut().expect("no empty list stays");
                    assert!(
                        *newest == bytes,
                        "a sync made a version of its own: device {dev} sector {at}"
                    );
                    *fate = Fate::InFlight(*id);
                }
            }
            Event::Flush { id, dev } => assert_eq!(self.flushes.insert(*id, *dev), None),
            Event::Complete { id, error: false } => match self.flushes.remove(id) {
                Some(dev) => self.flushed(dev),
                None => self.written(*id),
            },
            Event::Clean { dev, sector, len } => self.clean(*dev, *sector, *len),
            Event::Append { dev, sector, data } => self.durable.disk_mut(*dev).write(*sector, data),
            other => panic!("files make no such event: {other:?}"),
        }
    }

    fn written(&mut self, id: u64) {
        for (_, fate) in self.pending.values_mut().flatten() {
            if *fate == Fate::InFlight(id) {
                *fate = Fate::Acknowledged;
            }
        }
    }

    fn flushed(&mut self, dev: u32) {
        for ((_, sector), versions) in self.pending.range_mut((dev, 0)..(dev + 1, 0)) {
            if let Some(newest) = versions.iter().rposition(|(_, fate)| *fate == Fate::Acknowledged)
            {
                self.durable.disk_mut(dev).write(*sector, &versions[newest].0);
                versions.drain(..=newest);
            }
        }
        self.pending.retain(|_, versions| !versions.is_empty());
    }

    fn clean(&mut self, dev: u32, sector: u64, len: u64) {
        let inode = dev - self.base;
        // The names of a journal are in its records.
        let has_journal = self.durable.disk(self.base + JOURNAL).is_some();
        assert!(
            has_journal || !self.reachable().contains(&inode),
            "inode {inode} is forgotten, and a crash can bring it back"
        );
        let behind = sector + len / SECTOR_BYTES as u64;
        for (_, versions) in self.pending.range_mut((dev, sector)..(dev, behind)) {
            versions.retain(|(_, fate)| *fate != Fate::OnlyDirty);
        }
        self.pending.retain(|_, versions| !versions.is_empty());
    }

    /// Returns the durable contents.
    pub fn durable(&self) -> Image {
        self.durable.clone()
    }

    /// Returns the inodes with pending contents.
    pub fn unsynced(&self) -> BTreeSet<u32> {
        self.pending.keys().map(|(dev, _)| dev - self.base).collect()
    }

    /// Returns the inodes that a name leads to on some crash disk.
    pub fn reachable(&self) -> BTreeSet<u32> {
        let mut reached = BTreeSet::from([0]);
        let mut unread = vec![0];
        while let Some(directory) = unread.pop() {
            for slot in self.possible_slots(self.base + directory) {
                let inode = u32::from_le_bytes([slot[2], slot[3], slot[4], slot[5]]);
                if slot[0] != 0 && reached.insert(inode) && slot[0] == 2 {
                    unread.push(inode);
                }
            }
        }
        reached
    }

    fn possible_slots(&self, dev: u32) -> Vec<Sector> {
        let pending =
            self.pending.range((dev, 0)..(dev, SIZE_SECTOR)).flat_map(|(_, versions)| versions);
        let pending = pending.map(|(bytes, _)| *bytes);
        let disk = self.durable.disk(dev);
        let used = disk
            .into_iter()
            .flat_map(|disk| disk.used_sectors(0..SIZE_SECTOR).map(|at| disk.sector(at)));
        used.map(|bytes| bytes.try_into().unwrap()).chain(pending).collect()
    }

    /// Returns a crash disk. Each sector is the durable one or one of its pending versions, chosen
    /// by `seed`.
    pub fn crash(&self, seed: u64) -> Image {
        let mut image = self.durable();
        let mut random = seed;
        for ((dev, sector), versions) in &self.pending {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let kept = (random >> 33) as usize % (versions.len() + 1);
            if kept > 0 {
                image.disk_mut(*dev).write(*sector, &versions[kept - 1].0);
            }
        }
        image
    }
}

fn sectors(first: u64, data: &[u8]) -> impl Iterator<Item = (u64, Sector)> + '_ {
    (first..).zip(data.chunks_exact(SECTOR_BYTES).map(|bytes| bytes.try_into().unwrap()))
}
