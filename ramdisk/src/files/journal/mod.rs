//! A journal that makes changes of simulated files durable in the order of a file system.
//!
//! Names, modes, attributes and truncations are changes of the journal. A crash leaves the first k
//! of them, for any k from the number that is durable on: the pointer says how many, and each of
//! its versions is a k. The contents of files are noted in the journal as well, but count only if
//! their tag is on the device, and each tag is a piece of its own. So the write set of the engine
//! needs no rules for file systems: a crash disk has one version of the pointer, and any set
//! of tags. [`replayed`] returns the files that such a disk has.
//!
//! Under btrfs the sync of one inode appends a [log tree](tree_log), and the pointer says also how
//! many of them count. Contents need all changes before them, or a log tree of their file.
//!
//! The records are [appended](Event::Append): they are on the device from the start, and nothing
//! refers to them before the pointer or a tag does.

mod layout;
mod places;
mod record;
mod replay;
mod tree_log;

use std::collections::BTreeMap;

use bytes::Bytes;
use nix::errno::Errno;

use self::layout::{
    FIRST_RECORD, LOG_POINTER, POINTER, Pointer, log_pointer, pointer, tag, tag_sector,
};
pub use self::layout::{JOURNAL, SIZE_TAG, TAGS, granule_of};
pub use self::record::Cut;
use self::record::{JournalChange, Note, Record, SectorChange};
pub use self::replay::replayed;
use self::replay::{Tail, cut_out};
use self::tree_log::NameChanges;
pub use self::tree_log::{NameChange, NameSlot, NamesOfInodes};
use super::Result;
use super::granule::Granule;
use super::inode::InodeNumber;
use super::model::FileModel;
use crate::{Disk, Event, Flags, Image, Payload, ReadRange, SECTOR_BYTES, Storage};

/// Returns the device with the journal of the files from `base` on. `None` if there is none.
pub fn journal_of(image: &Image, base: u32) -> Option<&Disk> {
    image.disk(base + JOURNAL)
}

/// The journal of mounted files.
#[derive(Debug)]
pub struct FileJournal {
    storage: Storage,
    base: u32,
    granule: Granule,
    pub model: FileModel,
    tail: Tail,
    /// The number of changes that no crash loses.
    durable: u64,
    /// The change of the call that runs now.
    change: JournalChange,
    /// The inodes that the call changes.
    touches: BTreeMap<InodeNumber, Touch>,
    /// For each inode the changes that its sync makes durable: the first n of the journal.
    synced_by: BTreeMap<InodeNumber, SyncedBy>,
    /// The tags that are not durable, by file and sector.
    tags: BTreeMap<InodeNumber, BTreeMap<u64, Bytes>>,
    /// True if a log tree has names that btrfs may leave out, and not all changes are durable.
    may_leave_out: bool,
    /// The changes of names that are not durable, for log trees.
    names: NameChanges,
    /// For each file the first note that is not durable.
    unsynced: BTreeMap<InodeNumber, u64>,
    /// True once this mount has logged something.
    is_used: bool,
}

/// The part of an inode that a call changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// Names or attributes. fdatasync(2) need not make them durable.
    Attributes,
    /// The existence of the inode, its size or its blocks.
    Data,
}

#[derive(Clone, Copy, Debug, Default)]
struct SyncedBy {
    fsync: u64,
    fdatasync: u64,
}

impl FileJournal {
    /// Replays the journal of the files from `base` on, and continues it.
    pub fn open(storage: &Storage, base: u32, granule: Granule, model: FileModel) -> FileJournal {
        let hidden = storage.hidden();
        let continued = hidden.disk(base + JOURNAL).is_some();
        // After an unmount the contents are there, and the journal goes on behind them.
        let found = if continued { hidden } else { storage.peek() };
        let (seen, tail) = replay::replay(&found, base);
        if !continued && let Some(journal) = found.disk(base + JOURNAL) {
            let journal = Image::from_iter([(base + JOURNAL, journal.clone())]);
            storage.replay_done(seen, journal);
        }
        FileJournal {
            storage: storage.clone(),
            base,
            granule,
            model,
            durable: tail.changes,
            tail,
            change: JournalChange::default(),
            touches: BTreeMap::new(),
            synced_by: BTreeMap::new(),
            tags: BTreeMap::new(),
            may_leave_out: false,
            names: NameChanges::default(),
            unsynced: BTreeMap::new(),
            is_used: false,
        }
    }

    fn device(&self) -> u32 {
        self.base + JOURNAL
    }

    /// Records that the call that runs now changes a name.
    pub fn name(&mut self, change: NameChange) {
        if self.model.has_log_trees() {
            self.names.add(self.tail.changes + 1, change);
        }
    }

    /// Records that the call that runs now makes an inode.
    pub fn make(&mut self, inode: InodeNumber) {
        if self.model.has_log_trees() {
            self.names.made(self.tail.changes + 1, inode);
        }
    }

    /// Changes sectors of an inode's device, as part of the call that runs now.
    pub fn change(&mut self, inode: InodeNumber, sector: u64, bytes: Bytes) {
        self.touch(inode, Touch::Attributes);
        self.change.sectors.push(SectorChange { inode, sector, bytes });
    }

    /// Makes a range of a file zeroes, as part of the call that runs now. A block that is only in
    /// part in the range is written in place, and a crash keeps or loses that write separately
    /// (`ext4_block_truncate_page`, `iomap_truncate_page`).
    pub fn cut(&mut self, cut: Cut) {
        let dev = self.base + cut.file;
        let unit = u64::from(self.granule.0);
        if let Some(before) = self.storage.peek().disk(dev).cloned() {
            let mut disk = before.clone();
            cut_out(&mut disk, &cut);
            self.storage.replace(dev, disk.clone());
            let ends = [cut.start, cut.end].into_iter().filter(|end| !end.is_multiple_of(unit));
            let mut ends: Vec<u64> = ends.map(|end| end / unit * unit).collect();
            ends.dedup();
            for start in ends {
                let (mut old, mut new) = (vec![0; unit as usize], vec![0; unit as usize]);
                self.storage.note_bytes(dev, start..start + unit);
                before.read(start, &mut old);
                disk.read(start, &mut new);
                if old != new {
                    self.write(cut.file, start, &new.into(), 0, false);
                }
            }
        }
        self.touch(cut.file, Touch::Data);
        self.change.cuts.push(cut);
    }

    /// Records that the call that runs now changes an inode.
    pub fn touch(&mut self, inode: InodeNumber, what: Touch) {
        let touched = self.touches.entry(inode).or_insert(what);
        *touched = what.max(*touched);
    }

    /// Ends a call. Its changes are one record.
    pub fn commit(&mut self) {
        let change = std::mem::take(&mut self.change);
        let touches = std::mem::take(&mut self.touches);
        if !change.sectors.is_empty() || !change.cuts.is_empty() {
            let generation = self.tail.changes + 1;
            for cut in &change.cuts {
                let places = self.tail.places.entry(cut.file).or_default();
                places.cut(cut, self.granule, generation);
            }
            self.append(&Record::Change(change));
            self.tail.changes = generation;
            self.point_to(generation);
        }
        for (inode, what) in touches {
            self.touched(inode, what);
        }
    }

    /// Records that an inode was changed now. Its sync makes all changes up to now durable.
    fn touched(&mut self, inode: InodeNumber, what: Touch) {
        let now = self.tail.changes;
        let synced_by = self.synced_by.entry(inode).or_default();
        synced_by.fsync = now;
        if what == Touch::Data {
            synced_by.fdatasync = now;
        }
    }

    /// Checks that contents of a file up to a byte have places. `EFBIG` if not: the byte is too far
    /// behind, or the journal has too many changes.
    pub fn may_hold(&self, end: u64) -> Result<()> {
        let granules = end.div_ceil(u64::from(self.granule.0));
        tag_sector(self.tail.changes + 1, granules).map(drop).ok_or(Errno::EFBIG)
    }

    /// Notes new contents of whole granules of a file, the first at byte `start`. With them the
    /// file has at least `size` bytes, or ends where a granule ends.
    ///
    /// # Panics
    /// If [`may_hold`](FileJournal::may_hold) refuses the end.
    pub fn write(&mut self, file: InodeNumber, start: u64, bytes: &Bytes, size: u64, grows: bool) {
        let unit = u64::from(self.granule.0);
        // A single granule brings its size.
        let is_single = bytes.len() as u64 == unit;
        let first_unsynced =
            self.unsynced.get(&file).copied().or((!is_single).then_some(self.tail.notes));
        for (granule, at) in (start / unit..).zip((0..bytes.len()).step_by(unit as usize)) {
            let part = bytes.slice(at..at + unit as usize);
            let used = part.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let generation =
                self.tail.places.get(&file).map_or(0, |places| places.generation(granule));
            let sector = tag_sector(generation, granule).expect("the caller has checked the end");
            let note = Note {
                file,
                granule,
                generation,
                bytes: part.slice(..used.next_multiple_of(SECTOR_BYTES)),
                size: size.min((granule + 1) * unit),
                after: self.changes_before_contents(),
            };
            self.unsynced.entry(file).or_insert(self.tail.notes);
            self.note(&Record::Note(note), file, sector);
        }
        let needs = first_unsynced.filter(|_| self.model.grows_with_other_data());
        if grows && (self.model.grows_before_data() || needs.is_some()) {
            let after = self.changes_before_contents();
            self.note(&Record::Size { file, size, needs, after }, file, SIZE_TAG);
        }
        if grows {
            // The new size becomes durable in a change that follows all changes so far.
            self.touched(file, Touch::Data);
        }
    }

    /// Returns the number of changes that contents need which are written now.
    fn changes_before_contents(&self) -> u64 {
        if self.model.has_log_trees() { self.tail.changes } else { 0 }
    }

    /// Appends a note, and tags a sector with its number.
    fn note(&mut self, record: &Record, file: InodeNumber, sector: u64) {
        self.append(record);
        let data = tag(self.tail.notes);
        self.tail.notes += 1;
        self.tags.entry(file).or_default().insert(sector, data.clone());
        let dev = self.base + file;
        self.storage.log_hidden(dev, |_| Event::Dirty { dev, sector, data });
    }

    fn append(&mut self, record: &Record) {
        if !self.is_used {
            self.is_used = true;
            self.storage.note(ReadRange::Journal { base: self.base });
            if self.tail.sector == FIRST_RECORD {
                self.append_at(POINTER, pointer(self.tail.changes, self.granule));
            }
            if std::mem::take(&mut self.tail.has_lost) {
                let Tail { changes, logs, also, .. } = self.tail;
                self.append_next(&Record::Void(Pointer { changes, logs, also }));
            }
        }
        self.append_next(record);
    }

    fn append_next(&mut self, record: &Record) {
        let data = record.encode();
        let sector = self.tail.sector;
        self.tail.sector += (data.len() / SECTOR_BYTES) as u64;
        self.append_at(sector, data);
    }

    fn append_at(&self, sector: u64, data: Bytes) {
        let dev = self.device();
        self.storage.log_hidden(dev, |_| Event::Append { dev, sector, data });
    }

    /// Logs a new version of the pointer.
    fn point_to(&self, changes: u64) {
        let (dev, data) = (self.device(), pointer(changes, self.granule));
        self.storage.log_hidden(dev, |_| Event::Dirty { dev, sector: POINTER, data });
    }

    /// Makes a node durable: the contents of a file, and the changes that its sync waits for.
    /// Returns true if no change is left that a crash can lose.
    pub fn sync(&mut self, inode: InodeNumber, what: Touch) -> bool {
        self.write_tags(inode);
        let synced_by = self.synced_by.get(&inode).copied().unwrap_or_default();
        self.sync_changes(match what {
            Touch::Attributes => synced_by.fsync,
            Touch::Data => synced_by.fdatasync,
        })
    }

    /// Makes an inode durable by a log tree. The changes before it stay as they are. Returns true
    /// if no change is left that a crash can lose.
    pub fn sync_by_log(&mut self, inode: InodeNumber, existing: &NamesOfInodes) -> bool {
        self.write_tags(inode);
        if self.durable == self.tail.changes {
            return true;
        }
        let log = self.names.log(inode, existing, self.tail.changes);
        let may_leave_out = log.may_leave_out();
        self.append(&Record::Log(log));
        self.tail.logs += 1;
        let (dev, sector) = (self.device(), LOG_POINTER);
        self.submit(dev, sector, log_pointer(self.tail.logs, false));
        self.flush(dev);
        self.may_leave_out |= may_leave_out;
        if self.may_leave_out {
            let data = log_pointer(self.tail.logs, true);
            self.storage.log_hidden(dev, |_| Event::Dirty { dev, sector, data });
        }
        false
    }

    /// Makes everything durable.
    pub fn sync_all(&mut self) {
        for file in self.tags.keys().copied().collect::<Vec<_>>() {
            self.write_tags(file);
        }
        self.sync_changes(self.tail.changes);
        self.names.clear();
        if std::mem::take(&mut self.may_leave_out) {
            let (dev, sector, len) = (self.device(), LOG_POINTER, SECTOR_BYTES as u64);
            self.storage.log_hidden(dev, |_| Event::Clean { dev, sector, len });
        }
    }

    /// Writes the tags of a file, and flushes its device.
    fn write_tags(&mut self, file: InodeNumber) {
        let dev = self.base + file;
        for (sector, data) in self.tags.remove(&file).unwrap_or_default() {
            self.submit(dev, sector, data);
        }
        self.flush(dev);
        self.unsynced.remove(&file);
    }

    /// Makes the first changes durable. Returns true if no change is left that a crash can lose.
    fn sync_changes(&mut self, changes: u64) -> bool {
        if changes > self.durable {
            self.submit(self.device(), POINTER, pointer(changes, self.granule));
            self.flush(self.device());
            self.durable = changes;
            // Later changes stay as they are: a crash can leave each number of them.
            (changes + 1..=self.tail.changes).for_each(|later| self.point_to(later));
        }
        self.durable == self.tail.changes
    }

    fn submit(&self, dev: u32, sector: u64, data: Bytes) {
        let payload = Payload::Data(data);
        let id = self.storage.log_hidden(dev, |id| Event::Submit {
            id,
            dev,
            sector,
            payload,
            flags: Flags::NONE,
        });
        self.storage.complete(id, false);
    }

    fn flush(&self, dev: u32) {
        let id = self.storage.log_hidden(dev, |id| Event::Flush { id, dev });
        self.storage.complete(id, false);
    }

    /// Forgets the contents of a file that can no longer be reached.
    pub fn forget(&mut self, file: InodeNumber) {
        let dev = self.base + file;
        for (sector, data) in self.tags.remove(&file).unwrap_or_default() {
            let len = data.len() as u64;
            self.storage.log_hidden(dev, |_| Event::Clean { dev, sector, len });
        }
        self.synced_by.remove(&file);
        self.unsynced.remove(&file);
        self.tail.places.remove(&file);
    }
}
