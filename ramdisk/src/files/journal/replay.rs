//! The replay of a journal: from devices after a crash to the files that a mount finds.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::layout::{
    FIRST_RECORD, JOURNAL, MOST_SECTORS, Pointer, SIZE_TAG, pointed_to, tag_sector, tagged,
};
use super::places::Places;
use super::record::{Cut, JournalChange, Note, Record};
use super::tree_log::{NameSlot, TreeLog};
use crate::files::granule::Granule;
use crate::files::inode::{InodeNumber, SIZE_SECTOR};
use crate::{Disk, Image, SECTOR_BYTES};

/// The end of a journal, where a mount continues it.
#[derive(Clone, Debug)]
pub struct Tail {
    /// The sector of the next record.
    pub sector: u64,
    /// The number of the next change. All before it are valid.
    pub changes: u64,
    /// The number of the next note.
    pub notes: u64,
    /// The number of the next log tree. All before it are valid.
    pub logs: u64,
    /// True if the log trees hold also the names that they may leave out.
    pub also: bool,
    /// True if the journal has changes or log trees that are not valid.
    pub has_lost: bool,
    /// The generations of the granules of files that were cut.
    pub places: BTreeMap<InodeNumber, Places>,
}

impl Default for Tail {
    fn default() -> Tail {
        Tail {
            sector: FIRST_RECORD,
            changes: 0,
            notes: 0,
            logs: 0,
            also: false,
            has_lost: false,
            places: BTreeMap::new(),
        }
    }
}

/// Returns the image in which each journal has been replayed and is gone, as mounts leave it.
pub fn replayed(image: &Image) -> Cow<'_, Image> {
    let bases: Vec<u32> = image.devices().filter_map(|dev| base_of(image, dev)).collect();
    let mut result = Cow::Borrowed(image);
    for base in bases {
        result = Cow::Owned(replay(&result, base).0);
    }
    result
}

/// Returns the first device of the files whose journal a device holds. `None` if it holds none.
fn base_of(image: &Image, dev: u32) -> Option<u32> {
    image.disk(dev).and_then(pointed_to)?;
    dev.checked_sub(JOURNAL)
}

/// Returns the image in which the journal of the files from `base` on has been replayed and is
/// gone, and the end of the journal.
pub fn replay(image: &Image, base: u32) -> (Image, Tail) {
    let mut tail = Tail::default();
    let journal = image.disk(base + JOURNAL);
    let Some((journal, (valid, granule))) =
        journal.and_then(|journal| Some((journal, pointed_to(journal)?)))
    else {
        return (image.clone(), tail);
    };
    let records = read(journal, &mut tail);
    let mut replay =
        Replay { image, base, granule, result: image.clone(), newest: BTreeMap::new(), tail };
    for (record, kept) in records.iter().zip(kept(&records, valid)) {
        replay.apply(record, &kept);
    }
    let Replay { mut result, mut tail, .. } = replay;
    tail.has_lost = tail.changes > valid.changes || tail.logs > valid.logs;
    tail.changes = tail.changes.min(valid.changes);
    (tail.logs, tail.also) = (valid.logs, valid.also);
    clear_tags(&mut result, base);
    (result.without(base + JOURNAL), tail)
}

fn read(journal: &Disk, tail: &mut Tail) -> Vec<Record> {
    let mut records = Vec::new();
    while let Some((record, next)) = Record::decode(journal, tail.sector) {
        records.push(record);
        tail.sector = next;
    }
    records
}

/// The part of the journal that a record needs to be valid.
#[derive(Clone, Debug)]
struct Kept {
    /// The changes before this number are valid.
    changes: u64,
    /// The contents of the valid log trees behind the record.
    logged: Rc<Logged>,
}

/// The contents of valid log trees.
#[derive(Clone, Debug, Default)]
struct Logged {
    /// The inodes with all that is theirs.
    inodes: BTreeSet<InodeNumber>,
    /// The names.
    names: BTreeSet<NameSlot>,
}

impl Kept {
    /// Returns true if contents of a file that need a number of changes are valid.
    fn has_contents(&self, file: InodeNumber, after: u64) -> bool {
        after <= self.changes || self.logged.inodes.contains(&file)
    }
}

impl Logged {
    fn add(&mut self, log: &TreeLog, valid: Pointer) {
        self.inodes.insert(log.inode);
        let names = log
            .names
            .iter()
            .filter(|name| name.changes.contains(&valid.changes) && (valid.also || !name.also));
        self.names.extend(names.map(|name| name.place));
    }

    fn has(&self, inode: InodeNumber, sector: u64) -> bool {
        self.inodes.contains(&inode)
            || self.names.contains(&NameSlot { directory: inode, slot: sector })
    }
}

/// Returns the part of the journal that is valid for each record: that of the pointer, or that of
/// the next void record.
fn kept(records: &[Record], pointer: Pointer) -> Vec<Kept> {
    let mut valid = pointer;
    let mut logged = Rc::new(Logged::default());
    let mut each: Vec<Kept> = Vec::with_capacity(records.len());
    for (record, number) in records.iter().zip(log_numbers(records)).rev() {
        match record {
            Record::Void(before) => {
                valid = Pointer { changes: valid.changes.min(before.changes), ..*before };
                logged = Rc::default();
            }
            Record::Log(log) if number < valid.logs => Rc::make_mut(&mut logged).add(log, valid),
            _ => {}
        }
        each.push(Kept { changes: valid.changes, logged: logged.clone() });
    }
    each.reverse();
    each
}

/// Returns for each record the number that a log tree has there.
fn log_numbers(records: &[Record]) -> Vec<u64> {
    let mut next = 0;
    let number = |record: &Record| {
        let number = next;
        match record {
            Record::Log(_) => next += 1,
            Record::Void(before) => next = before.logs,
            _ => {}
        }
        number
    };
    records.iter().map(number).collect()
}

struct Replay<'a> {
    /// The devices as they were found. Tags are read here.
    image: &'a Image,
    base: u32,
    granule: Granule,
    result: Image,
    /// The number of the newest valid note of each file.
    newest: BTreeMap<InodeNumber, u64>,
    tail: Tail,
}

impl Replay<'_> {
    /// Applies the valid part of a record.
    fn apply(&mut self, record: &Record, kept: &Kept) {
        match record {
            Record::Change(change) => {
                let number = self.tail.changes;
                self.tail.changes += 1;
                self.change(change, number + 1, |inode, sector| {
                    number < kept.changes || kept.logged.has(inode, sector)
                });
            }
            Record::Note(note) => {
                let number = self.next_note();
                let places = self.tail.places.get(&note.file);
                let generation = places.map_or(0, |places| places.generation(note.granule));
                let place = tag_sector(note.generation, note.granule);
                let place = place.filter(|_| generation == note.generation);
                let tag = place.and_then(|place| self.tag(note.file, place));
                // A later note in the same place replaces the contents, if it is valid, but not the
                // size.
                if tag >= Some(number) && kept.has_contents(note.file, note.after) {
                    self.fill(note);
                    self.grow(note.file, note.size);
                    self.newest.insert(note.file, number);
                }
            }
            Record::Size { file, size, needs, after } => {
                let number = self.next_note();
                let is_tagged = self.tag(*file, SIZE_TAG) >= Some(number);
                let has_data = needs.is_none() || self.newest.get(file) >= needs.as_ref();
                if is_tagged && has_data && kept.has_contents(*file, *after) {
                    self.grow(*file, *size);
                }
            }
            Record::Void(before) => {
                (self.tail.changes, self.tail.logs) = (before.changes, before.logs);
            }
            Record::Log(_) => self.tail.logs += 1,
        }
    }

    fn next_note(&mut self) -> u64 {
        let number = self.tail.notes;
        self.tail.notes += 1;
        number
    }

    fn tag(&self, file: InodeNumber, sector: u64) -> Option<u64> {
        tagged(self.image.disk(self.base + file), sector)
    }

    /// Applies those parts of a change that are valid: sectors of inodes, and cuts, which belong to
    /// no single sector.
    fn change(
        &mut self,
        change: &JournalChange,
        generation: u64,
        is_valid: impl Fn(InodeNumber, u64) -> bool,
    ) {
        for cut in change.cuts.iter().filter(|cut| is_valid(cut.file, SIZE_SECTOR)) {
            cut_out(self.result.disk_mut(self.base + cut.file), cut);
            let places = self.tail.places.entry(cut.file).or_default();
            places.cut(cut, self.granule, generation);
        }
        for sector in &change.sectors {
            if is_valid(sector.inode, sector.sector) {
                let disk = self.result.disk_mut(self.base + sector.inode);
                disk.write(sector.sector, &sector.bytes);
            }
        }
    }

    fn fill(&mut self, note: &Note) {
        let sector = note.granule * u64::from(self.granule.0) / SECTOR_BYTES as u64;
        let end = sector + u64::from(self.granule.0) / SECTOR_BYTES as u64;
        let disk = self.result.disk_mut(self.base + note.file);
        disk.write(sector, &note.bytes);
        disk.write_zeroes(sector + (note.bytes.len() / SECTOR_BYTES) as u64..end);
    }

    fn grow(&mut self, file: InodeNumber, size: u64) {
        let disk = self.result.disk_mut(self.base + file);
        let mut sector: [u8; SECTOR_BYTES] =
            disk.sector(SIZE_SECTOR).try_into().expect("a sector has 512 bytes");
        let (before, _) = sector.split_first_chunk_mut::<8>().expect("a sector has 8 bytes");
        if u64::from_le_bytes(*before) < size {
            *before = size.to_le_bytes();
            disk.write(SIZE_SECTOR, &sector);
        }
    }
}

/// Writes zeroes to a range of bytes, up to the last byte that is in use.
pub fn cut_out(disk: &mut Disk, cut: &Cut) {
    let sector_bytes = SECTOR_BYTES as u64;
    let used: Vec<u64> = disk
        .used_sectors(cut.start / sector_bytes..cut.end.div_ceil(sector_bytes).min(SIZE_SECTOR))
        .collect();
    for sector in used {
        let first = sector * sector_bytes;
        let mut bytes = disk.sector(sector).to_vec();
        let from = cut.start.saturating_sub(first).min(sector_bytes) as usize;
        let to = (cut.end - first).min(sector_bytes) as usize;
        bytes[from..to].fill(0);
        disk.write(sector, &bytes);
    }
}

/// Removes the tags of all files.
fn clear_tags(image: &mut Image, base: u32) {
    let files: Vec<u32> =
        image.devices().filter(|dev| (base..base + JOURNAL).contains(dev)).collect();
    for dev in files {
        let has_tags = |disk: &Disk| disk.used_sectors(SIZE_TAG..MOST_SECTORS).next().is_some();
        if image.disk(dev).is_some_and(has_tags) {
            image.disk_mut(dev).write_zeroes(SIZE_TAG..MOST_SECTORS);
        }
    }
}
