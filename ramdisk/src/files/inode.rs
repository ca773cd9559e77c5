//! One inode of the simulated file system, as it is in memory.
//!
//! The bytes of a file are not here: they are read from its device each time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::FileKind;
use super::runs::Runs;

/// The number of an inode; 0 is the root directory.
pub type InodeNumber = u32;

/// The sector of a file's device that holds its size; contents end before it.
pub const SIZE_SECTOR: u64 = 1 << 40;

/// A file, a directory or a symbolic link.
#[derive(Debug)]
pub struct Inode {
    /// What it is, and what is remembered of it.
    pub body: InodeBody,
    /// Names that lead to it; one more for the root, which has none.
    pub links: u32,
    /// Open handles.
    pub handles: u32,
    /// The directories that have lost a name of it and are not synced since: there the name can
    /// come back.
    pub lingers_in: BTreeSet<InodeNumber>,
    /// Contents or slots that were changed and not synced since.
    pub dirty: Runs,
    /// Was the size changed, and not synced since?
    pub dirty_size: bool,
    /// The sectors of its mode and extended attributes that were changed and not synced since.
    pub dirty_attributes: BTreeSet<u64>,
}

/// What only one kind of inode has.
#[derive(Debug)]
pub enum InodeBody {
    /// A file of so many bytes.
    File { size: u64 },
    /// A directory.
    Directory(Directory),
    /// A symbolic link; what it holds is on its device.
    Symlink,
}

/// The names of a directory.
#[derive(Debug, Default)]
pub struct Directory {
    /// Each name that this mount has seen here. A name keeps its slot when it goes.
    pub names: BTreeMap<String, DirEntry>,
    /// The slot of the next name that is new here.
    pub next_slot: u64,
    /// The inodes that have lost a name here since the last sync: those that linger in this
    /// directory.
    pub removed: BTreeSet<InodeNumber>,
}

/// One name of a directory.
#[derive(Clone, Copy, Debug)]
pub struct DirEntry {
    /// Its sector of the directory's device.
    pub slot: u64,
    /// The inode it leads to, if it is there.
    pub leads_to: Option<InodeNumber>,
    /// The inode it led to last, whether it does so or not.
    pub led_to: Option<InodeNumber>,
}

impl Inode {
    /// An empty one that nothing leads to.
    pub fn new(kind: FileKind) -> Inode {
        let body = match kind {
            FileKind::File => InodeBody::File { size: 0 },
            FileKind::Directory => InodeBody::Directory(Directory::default()),
            FileKind::Symlink => InodeBody::Symlink,
        };
        Inode {
            body,
            links: 0,
            handles: 0,
            lingers_in: BTreeSet::new(),
            dirty: Runs::default(),
            dirty_size: false,
            dirty_attributes: BTreeSet::new(),
        }
    }

    /// What it is.
    pub fn kind(&self) -> FileKind {
        match self.body {
            InodeBody::File { .. } => FileKind::File,
            InodeBody::Directory(_) => FileKind::Directory,
            InodeBody::Symlink => FileKind::Symlink,
        }
    }

    /// Bytes of a file; 0 for anything else.
    pub fn size(&self) -> u64 {
        match self.body {
            InodeBody::File { size } => size,
            InodeBody::Directory(_) | InodeBody::Symlink => 0,
        }
    }

    /// Is anything not synced?
    pub fn is_dirty(&self) -> bool {
        self.dirty_size || !self.dirty.is_empty() || !self.dirty_attributes.is_empty()
    }

    /// Takes what is not synced, in order, as ranges of sectors that are written at a time: a run
    /// of contents, the size, one slot, the mode, or one extended attribute. Slots that touch stay
    /// apart, for a crash keeps or loses each by itself.
    pub fn take_dirty(&mut self) -> Vec<Range<u64>> {
        let attributes = std::mem::take(&mut self.dirty_attributes);
        self.take_dirty_data()
            .into_iter()
            .chain(attributes.into_iter().map(|at| at..at + 1))
            .collect()
    }

    /// The same without mode and extended attributes.
    pub fn take_dirty_data(&mut self) -> Vec<Range<u64>> {
        let runs = std::mem::take(&mut self.dirty);
        let size = std::mem::take(&mut self.dirty_size).then_some(SIZE_SECTOR..SIZE_SECTOR + 1);
        match self.kind() {
            FileKind::File | FileKind::Symlink => runs.iter().chain(size).collect(),
            FileKind::Directory => runs.iter().flatten().map(|slot| slot..slot + 1).collect(),
        }
    }

    /// Returns true if it cannot be reached, in this mount or after a crash.
    pub fn is_lost(&self) -> bool {
        self.links == 0 && self.handles == 0 && self.lingers_in.is_empty()
    }
}

impl Directory {
    /// The inode that a name leads to.
    pub fn find(&self, name: &str) -> Option<InodeNumber> {
        self.names.get(name).and_then(|name| name.leads_to)
    }

    /// Does no name lead anywhere?
    pub fn is_empty(&self) -> bool {
        self.names.values().all(|name| name.leads_to.is_none())
    }

    /// Makes `name` lead to `target`, in memory; returns its slot and where it led before.
    pub fn point(&mut self, name: &str, target: Option<InodeNumber>) -> (u64, Option<InodeNumber>) {
        if let Some(known) = self.names.get_mut(name) {
            known.led_to = target.or(known.led_to);
            return (known.slot, std::mem::replace(&mut known.leads_to, target));
        }
        let slot = self.next_slot;
        self.next_slot += 1;
        self.names.insert(name.to_owned(), DirEntry { slot, leads_to: target, led_to: target });
        (slot, None)
    }
}
