//! The in-memory part of an inode of the simulated file system.
//!
//! It does not hold the bytes of a file. They are read from its device each time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::FileKind;
use super::access::Access;
use super::runs::Runs;

/// The number of an inode; 0 is the root directory.
pub type InodeNumber = u32;

/// The number of inode numbers.
pub const INODES: InodeNumber = 1 << 20;

/// The sector of a file's device that holds its size. The contents end before it.
pub const SIZE_SECTOR: u64 = 1 << 40;

/// A file, a directory or a symbolic link.
#[derive(Debug)]
pub struct Inode {
    /// The kind of inode, with the state that only this kind has.
    pub body: InodeBody,
    /// The mode and owner at creation. They are part of each of its names.
    pub born: Access,
    /// The number of names that lead to it, plus one for the root, which has no name.
    pub links: u32,
    /// The number of open handles.
    pub handles: u32,
    /// The directories in which the inode has lost a name since their last sync. The name can come
    /// back there after a crash.
    pub lingers_in: BTreeSet<InodeNumber>,
    /// The sectors of contents or slots that were changed since the last sync.
    pub dirty: Runs,
    /// True if the size was changed since the last sync.
    pub dirty_size: bool,
    /// The sectors of the mode and of extended attributes that were changed since the last sync.
    pub dirty_attributes: BTreeSet<u64>,
}

/// The state that only one kind of inode has.
#[derive(Debug)]
pub enum InodeBody {
    /// A file with its size in bytes.
    File { size: u64 },
    /// A directory.
    Directory(Directory),
    /// A symbolic link. Its target is on its device.
    Symlink,
}

/// The names of a directory.
#[derive(Debug, Default)]
pub struct Directory {
    /// Each name that this mount has seen here. A removed name keeps its slot.
    pub names: BTreeMap<String, DirEntry>,
    /// The slot of the next new name.
    pub next_slot: u64,
    /// The inodes that have lost a name here since the last sync. Their `lingers_in` contains this
    /// directory.
    pub removed: BTreeSet<InodeNumber>,
}

/// One name of a directory.
#[derive(Clone, Copy, Debug)]
pub struct DirEntry {
    /// The sector of the directory's device that holds the name.
    pub slot: u64,
    /// The inode that the name leads to. `None` if the name is removed.
    pub leads_to: Option<InodeNumber>,
    /// The last inode that the name led to, even if the name is removed.
    pub led_to: Option<InodeNumber>,
}

impl Inode {
    /// Returns an empty inode without names.
    pub fn new(kind: FileKind, born: Access) -> Inode {
        let body = match kind {
            FileKind::File => InodeBody::File { size: 0 },
            FileKind::Directory => InodeBody::Directory(Directory::default()),
            FileKind::Symlink => InodeBody::Symlink,
        };
        Inode {
            body,
            born,
            links: 0,
            handles: 0,
            lingers_in: BTreeSet::new(),
            dirty: Runs::default(),
            dirty_size: false,
            dirty_attributes: BTreeSet::new(),
        }
    }

    /// Returns the kind of the inode.
    pub fn kind(&self) -> FileKind {
        match self.body {
            InodeBody::File { .. } => FileKind::File,
            InodeBody::Directory(_) => FileKind::Directory,
            InodeBody::Symlink => FileKind::Symlink,
        }
    }

    /// Returns the size of a file in bytes. 0 for any other kind.
    pub fn size(&self) -> u64 {
        match self.body {
            InodeBody::File { size } => size,
            InodeBody::Directory(_) | InodeBody::Symlink => 0,
        }
    }

    /// Returns true if the inode has changes since its last sync.
    pub fn is_dirty(&self) -> bool {
        self.dirty_size || !self.dirty.is_empty() || !self.dirty_attributes.is_empty()
    }

    /// Takes the changes since the last sync, in order, as ranges of sectors that are written at a
    /// time: a run of contents, the size, one slot, the mode, or one extended attribute. Adjacent
    /// slots are separate ranges, because a crash keeps or loses each separately.
    pub fn take_dirty(&mut self) -> Vec<Range<u64>> {
        let attributes = std::mem::take(&mut self.dirty_attributes);
        self.take_dirty_data()
            .into_iter()
            .chain(attributes.into_iter().map(|at| at..at + 1))
            .collect()
    }

    /// Takes the changes like [`take_dirty`](Inode::take_dirty), without the mode and extended
    /// attributes.
    pub fn take_dirty_data(&mut self) -> Vec<Range<u64>> {
        let runs = std::mem::take(&mut self.dirty);
        let size = std::mem::take(&mut self.dirty_size).then_some(SIZE_SECTOR..SIZE_SECTOR + 1);
        match self.kind() {
            FileKind::File | FileKind::Symlink => runs.iter().chain(size).collect(),
            FileKind::Directory => runs.iter().flatten().map(|slot| slot..slot + 1).collect(),
        }
    }

    /// Returns true if the inode cannot be reached, in this mount or after a crash.
    pub fn is_lost(&self) -> bool {
        self.links == 0 && self.handles == 0 && self.lingers_in.is_empty()
    }
}

impl Directory {
    /// Returns the inode that a name leads to. `None` if there is no such name.
    pub fn find(&self, name: &str) -> Option<InodeNumber> {
        self.names.get(name).and_then(|name| name.leads_to)
    }

    /// Returns true if no name leads to an inode.
    pub fn is_empty(&self) -> bool {
        self.names.values().all(|name| name.leads_to.is_none())
    }

    /// Makes `name` lead to `target` in memory. Returns its slot and the inode that it led to
    /// before.
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
