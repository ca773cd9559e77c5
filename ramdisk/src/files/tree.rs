//! The directory tree in memory and on the devices.
//!
//! Inode i is device `base + i` of the storage. The contents of a file begin at byte 0 of its
//! device. Its size is in a sector far after them ([`SIZE_SECTOR`](super::inode::SIZE_SECTOR)).
//! Each name that was ever in a directory has one sector of the directory's device, a [`slot`]. The
//! device of a symbolic link holds its target. Behind the sector of the size, each device has the
//! sectors of the [`attributes`](super::attributes). A device of zeroes is an empty file or
//! directory.
//!
//! Invariants:
//!
//! - Every change calls [`Storage::dirty`] and is recorded in [`Inode::dirty`].
//! - An inode number or a slot is never reused, because a crash may bring back its old contents.
//! - An inode is forgotten exactly when it can no longer be reached ([`Inode::is_lost`]).

use std::collections::BTreeMap;

use bytes::Bytes;
use nix::errno::Errno;

use super::access::Access;
use super::granule::Granule;
use super::inode::{DirEntry, Directory, INODES, Inode, InodeBody, InodeNumber};
use super::journal::{FileJournal, NameChange, NameSlot, NamesOfInodes, Touch};
use super::slot::Slot;
use super::{FileKind, Result, path, slot};
use crate::{Flags, Payload, ReadRange, SECTOR_BYTES, Storage};

/// The inode number of the root directory.
pub const ROOT: InodeNumber = 0;

/// The inodes of a mounted file system.
#[derive(Debug)]
pub struct Tree {
    pub(super) storage: Storage,
    pub(super) base: u32,
    pub(super) granule: Granule,
    pub(super) inodes: BTreeMap<InodeNumber, Inode>,
    pub(super) next: InodeNumber,
    /// True if the whole tree counts as read since it was loaded.
    pub(super) noted: bool,
    /// The journal of a model that orders changes. `None` for the model `posix`.
    pub(super) journal: Option<FileJournal>,
    /// True while the writes of syncs fail.
    pub(super) write_back_fails: bool,
}

/// The end of a path: a name in a directory that leads to an inode or nowhere.
#[derive(Clone, Copy, Debug)]
pub struct TreePosition<'p> {
    /// The directory.
    pub directory: InodeNumber,
    /// The name.
    pub name: &'p str,
    /// The inode that the name leads to. `None` if it leads nowhere.
    pub inode: Option<InodeNumber>,
}

impl Tree {
    /// Returns the inode of a path. `ENOENT`, `ENOTDIR`, and the errors of [`path::names`].
    pub fn lookup(&self, path: &str) -> Result<InodeNumber> {
        self.walk(&path::names(path)?)
    }

    /// Returns the end of a path. `None` for the root.
    pub fn place<'p>(&self, path: &'p str) -> Result<Option<TreePosition<'p>>> {
        match path::names(path)?.split_last() {
            None => Ok(None),
            Some((name, parents)) => {
                let directory = self.walk(parents)?;
                Ok(Some(TreePosition {
                    directory,
                    name,
                    inode: self.directory(directory)?.find(name),
                }))
            }
        }
    }

    /// Returns true if the path, without its last name, leads through `inode`.
    pub fn passes(&self, path: &str, inode: InodeNumber) -> Result<bool> {
        let mut at = ROOT;
        for name in path::names(path)? {
            if at == inode {
                return Ok(true);
            }
            match self.directory(at)?.find(name) {
                Some(next) => at = next,
                None => return Ok(false),
            }
        }
        Ok(false)
    }

    fn walk(&self, names: &[&str]) -> Result<InodeNumber> {
        names.iter().try_fold(ROOT, |at, name| self.directory(at)?.find(name).ok_or(Errno::ENOENT))
    }

    /// Returns an inode that is known to exist.
    pub fn inode(&self, number: InodeNumber) -> &Inode {
        self.inodes.get(&number).expect("a name, a handle or an unsynced directory keeps the inode")
    }

    /// Returns an inode that is known to exist, for changes.
    pub fn inode_mut(&mut self, number: InodeNumber) -> &mut Inode {
        self.inodes
            .get_mut(&number)
            .expect("a name, a handle or an unsynced directory keeps the inode")
    }

    /// Returns the names of a directory. `ENOTDIR` for any other kind.
    pub fn directory(&self, number: InodeNumber) -> Result<&Directory> {
        match &self.inode(number).body {
            InodeBody::Directory(directory) => Ok(directory),
            InodeBody::File { .. } | InodeBody::Symlink => Err(Errno::ENOTDIR),
        }
    }

    fn directory_mut(&mut self, number: InodeNumber) -> Result<&mut Directory> {
        match &mut self.inode_mut(number).body {
            InodeBody::Directory(directory) => Ok(directory),
            InodeBody::File { .. } | InodeBody::Symlink => Err(Errno::ENOTDIR),
        }
    }

    /// Makes an inode with a name. `ENOSPC` if no number is left.
    pub fn create(
        &mut self,
        place: &TreePosition<'_>,
        kind: FileKind,
        born: Access,
    ) -> Result<InodeNumber> {
        let number = self.make(kind, born)?;
        self.touch(number, Touch::Data);
        self.point(place, Some(number))?;
        Ok(number)
    }

    /// Makes an inode without a name. `ENOSPC` if no number is left.
    pub fn make(&mut self, kind: FileKind, born: Access) -> Result<InodeNumber> {
        self.storage.note(ReadRange::Highest { first: self.base, last: self.base + (INODES - 1) });
        if !self.noted {
            self.storage.note(ReadRange::HighestName { base: self.base });
        }
        // The last number is that of the journal.
        if self.next >= INODES - u32::from(self.journal.is_some()) {
            return Err(Errno::ENOSPC);
        }
        let number = self.next;
        self.next += 1;
        self.journal.iter_mut().for_each(|journal| journal.make(number));
        self.inodes.insert(number, Inode::new(kind, born));
        Ok(number)
    }

    /// Makes a name lead to `target`, or nowhere. `ENOTDIR` if its parent is not a directory.
    pub fn point(&mut self, place: &TreePosition<'_>, target: Option<InodeNumber>) -> Result<()> {
        let TreePosition { directory: at, name, .. } = *place;
        let directory = self.directory_mut(at)?;
        let (sector, before) = directory.point(name, target);
        directory.removed.extend(before);
        let place = NameSlot { directory: at, slot: sector };
        let change = NameChange { place, was: before, is: target };
        self.journal.iter_mut().for_each(|journal| journal.name(change));
        if let Some(before) = before {
            let inode = self.inode_mut(before);
            inode.links -= 1;
            inode.lingers_in.insert(at);
            self.touch(before, Touch::Attributes);
        }
        let bytes = match target {
            None => slot::nothing(),
            Some(number) => {
                self.touch(number, Touch::Attributes);
                let inode = self.inode_mut(number);
                inode.links += 1;
                let (kind, born) = (inode.kind(), inode.born);
                slot::encode(&Slot { kind, inode: number, born, name })
            }
        };
        self.put(at, sector, bytes);
        Ok(())
    }

    pub(super) fn touch(&mut self, number: InodeNumber, what: Touch) {
        self.journal.iter_mut().for_each(|journal| journal.touch(number, what));
    }

    /// Changes sectors that do not hold contents of files. With a journal the change is part of the
    /// call.
    pub fn put(&mut self, number: InodeNumber, sector: u64, bytes: Bytes) {
        let dev = self.device(number);
        match &mut self.journal {
            None => self.dirty(number, sector, bytes),
            Some(journal) => {
                self.storage.remember(dev, sector, &bytes);
                journal.change(number, sector, bytes);
            }
        }
    }

    /// Ends a call.
    pub fn end_of_call(&mut self) {
        self.journal.iter_mut().for_each(FileJournal::commit);
    }

    /// Returns the device of an inode.
    pub fn device(&self, number: InodeNumber) -> u32 {
        self.base + number
    }

    /// Changes sectors of an inode's device.
    pub fn dirty(&mut self, number: InodeNumber, sector: u64, bytes: Bytes) {
        let behind = sector + (bytes.len() / SECTOR_BYTES) as u64;
        self.inode_mut(number).dirty.insert(sector..behind);
        self.storage.dirty(self.device(number), sector, bytes);
    }

    /// Makes the contents and size, or the names, and the attributes of an inode durable.
    pub fn sync(&mut self, number: InodeNumber) {
        if self.journal.is_some() {
            return self.sync_by_journal(number, Touch::Attributes);
        }
        let dirty = self.inode_mut(number).take_dirty();
        self.write_back(number, dirty);
        if let InodeBody::Directory(directory) = &mut self.inode_mut(number).body {
            let removed = std::mem::take(&mut directory.removed);
            // A name whose removal was not written may come back, also after a later sync.
            if !self.write_back_fails {
                self.settle(number, removed);
            }
        }
    }

    /// Makes the contents and the size of a file durable.
    pub fn sync_data(&mut self, file: InodeNumber) {
        if self.journal.is_some() {
            return self.sync_by_journal(file, Touch::Data);
        }
        let dirty = self.inode_mut(file).take_dirty_data();
        self.write_back(file, dirty);
    }

    fn write_back(&mut self, number: InodeNumber, runs: Vec<std::ops::Range<u64>>) {
        let device = self.device(number);
        for run in runs {
            let mut bytes = vec![0; (run.end - run.start) as usize * SECTOR_BYTES];
            self.storage.read(device, run.start * SECTOR_BYTES as u64, &mut bytes);
            let id =
                self.storage.submit(device, run.start, Payload::Data(bytes.into()), Flags::NONE);
            self.storage.complete(id, self.write_back_fails);
        }
        if !self.write_back_fails {
            let id = self.storage.flush(device);
            self.storage.complete(id, false);
        }
    }

    /// Makes an inode durable through the journal. btrfs logs no inode without a name
    /// (`btrfs_log_inode_parent`).
    fn sync_by_journal(&mut self, number: InodeNumber, what: Touch) {
        if !self.journal.as_ref().is_some_and(|journal| journal.model.has_log_trees()) {
            return self.sync_journal(|journal| journal.sync(number, what));
        }
        if self.inode(number).links > 0 {
            let names = self.names_of_inodes();
            self.sync_journal(|journal| journal.sync_by_log(number, &names));
        }
    }

    /// Returns the names of each inode.
    fn names_of_inodes(&self) -> NamesOfInodes {
        let mut names = NamesOfInodes::new();
        for (number, inode) in &self.inodes {
            let InodeBody::Directory(directory) = &inode.body else { continue };
            for DirEntry { slot, leads_to, .. } in directory.names.values() {
                let place = NameSlot { directory: *number, slot: *slot };
                leads_to
                    .iter()
                    .for_each(|child| _ = names.entry(*child).or_default().insert(place));
            }
        }
        names
    }

    /// Syncs through the journal. Once it has no change that a crash can lose, no removed name can
    /// come back.
    fn sync_journal(&mut self, sync: impl FnOnce(&mut FileJournal) -> bool) {
        if !self.journal.as_mut().is_some_and(sync) {
            return;
        }
        let directories: Vec<InodeNumber> = self.inodes.keys().copied().collect();
        for number in directories {
            let body = self.inodes.get_mut(&number).map(|inode| &mut inode.body);
            if let Some(InodeBody::Directory(directory)) = body {
                let removed = std::mem::take(&mut directory.removed);
                self.settle(number, removed);
            }
        }
    }

    /// Makes every change durable, device by device.
    pub fn sync_all(&mut self) {
        if self.journal.is_some() {
            return self.sync_journal(|journal| {
                journal.sync_all();
                true
            });
        }
        let dirty = self.inodes.iter().filter(|(_, inode)| inode.is_dirty());
        for number in dirty.map(|(number, _)| *number).collect::<Vec<_>>() {
            // The sync of one inode may forget later ones.
            if self.inodes.contains_key(&number) {
                self.sync(number);
            }
        }
    }

    /// Forgets an inode if it can no longer be reached. Its unsynced changes are never written.
    pub fn forget_if_lost(&mut self, number: InodeNumber) {
        let Some(inode) = self.inodes.get_mut(&number).filter(|inode| inode.is_lost()) else {
            return;
        };
        self.journal.iter_mut().for_each(|journal| journal.forget(number));
        for run in inode.take_dirty() {
            let len = (run.end - run.start) * SECTOR_BYTES as u64;
            self.storage.clean(self.base + number, run.start, len);
        }
        if let Some(Inode { body: InodeBody::Directory(directory), .. }) =
            self.inodes.remove(&number)
        {
            self.settle(number, directory.removed);
        }
    }

    /// Records that names removed from a directory cannot come back there, because the directory
    /// was synced or forgotten.
    fn settle(&mut self, directory: InodeNumber, removed: impl IntoIterator<Item = InodeNumber>) {
        for number in removed {
            self.inode_mut(number).lingers_in.remove(&directory);
            self.forget_if_lost(number);
        }
    }
}
