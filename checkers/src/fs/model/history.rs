//! The changes of a tree as operations that a crash keeps or loses one by one (EX-103). Each call
//! is split into operations: making an inode, leading a name to an inode or nowhere, writing or
//! resizing a file, and setting a mode or an extended attribute.
//!
//! An operation is *stable* once a sync has forced it: it is on disk. Before that it is *volatile*:
//! on disk or not. Operations on different names are independent of each other, and so are
//! operations on different files. Of several operations on one name the newest on disk is visible.
//! So the model only needs a list per name of all that the name may lead to. One rule connects two
//! operations: a name leads to an inode only if the inode was made.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::files::{FsCall, NAMELESS};
use explode_runtime::verdict::Violation;

use super::attributes::Seen;
use super::file::File;
use super::past::AttributeHistory;
use super::sync_call::SyncCall as By;
use super::tree::{Abstract, Id, split};

/// The operations on a tree, stable and volatile.
#[derive(Clone, Debug, Default, Hash)]
pub struct History {
    names: BTreeMap<(Id, String), NameHistory>,
    files: BTreeMap<Id, WrittenFile>,
    /// The attributes of each inode whose attributes were ever changed.
    attributes: BTreeMap<Id, AttributeHistory>,
    /// The inodes whose making is stable.
    made: BTreeSet<Id>,
    /// The pairs of names that were exchanged and not changed since. Before the exchange neither
    /// name had led to the inode that it leads to now.
    exchanges: Vec<[(Id, String); 2]>,
}

/// The operations on one name in a directory.
#[derive(Clone, Debug, Default, Hash)]
struct NameHistory {
    /// The inode that the stable operations lead to. `None` if they lead nowhere.
    stable: Option<Id>,
    /// The inodes that the volatile operations lead to, oldest first.
    volatile: Vec<Option<Id>>,
}

/// The stable part of a file, and all that was ever written to it.
#[derive(Clone, Debug, Default, Hash)]
pub struct WrittenFile {
    /// The contents of the file, and the part that is forced.
    pub forced: File,
    /// The place and the bytes of each write.
    pub writes: Vec<(usize, Vec<u8>)>,
    /// The largest size since the file was last forced.
    pub largest: usize,
}

/// A name in a directory, with all that it may lead to.
#[derive(Clone, Debug)]
pub struct NamePlace<'a> {
    pub directory: Id,
    pub name: &'a str,
    /// The inode that the name leads to. `None` if it leads nowhere.
    pub now: Option<Id>,
    /// True if a crash cannot change where the name leads.
    pub is_forced: bool,
    /// All that the name may lead to, newest first.
    pub leads: Vec<Option<Id>>,
}

impl History {
    /// Returns the history of a tree that is stable as it is.
    pub fn stable(fs: &Abstract) -> History {
        let mut history = History::default();
        for (path, id) in fs.paths() {
            history.lead(fs, &path, Some(id));
            if fs.is_file(id) {
                let file = history.files.entry(id).or_default();
                file.forced.write(0, fs.bytes(id));
                file.writes = vec![(0, fs.bytes(id).to_vec())];
            }
            let attributes = history.attributes.entry(id);
            attributes
                .or_insert_with(|| AttributeHistory::new(fs.is_directory(id)))
                .follow(fs.attributes(id));
        }
        history.sync(fs);
        history
    }

    /// Applies calls to the tree. Their operations are volatile.
    pub fn follow(&mut self, fs: &mut Abstract, calls: &[FsCall]) {
        for call in calls {
            self.add(fs, call);
            fs.apply(call);
        }
    }

    /// Adds the operations of a call, which are volatile. `fs` is the tree before the call.
    pub fn add(&mut self, fs: &Abstract, call: &FsCall) {
        let at = |path: &str| fs.find(path).expect("it is there");
        match call {
            FsCall::Open { path, flags } => match fs.find(path) {
                None => {
                    self.lead(fs, path, Some(fs.next()));
                    self.files.insert(fs.next(), WrittenFile::default());
                }
                Some(id) if flags.truncate => {
                    let cut = FsCall::Ftruncate { path: path.clone(), size: 0 };
                    self.write(id, &cut, &[]);
                }
                Some(_) => {}
            },
            FsCall::Mkdir { path } | FsCall::Symlink { path, .. } => {
                self.lead(fs, path, Some(fs.next()));
            }
            FsCall::LinkOpen { from, to } if from == NAMELESS => {
                self.lead(fs, to, Some(fs.next()));
                self.write_as(fs, fs.next(), call);
            }
            FsCall::Unlink { path } | FsCall::Rmdir { path } => self.lead(fs, path, None),
            FsCall::Link { from, to } | FsCall::LinkOpen { from, to } => {
                self.lead(fs, to, Some(at(from)));
            }
            FsCall::Rename { from, to } | FsCall::RenameNoReplace { from, to } => {
                // No source promises that a rename is atomic, so the replaced name may be gone
                // before it leads to the new inode.
                if fs.find(to).is_some() {
                    self.lead(fs, to, None);
                }
                self.lead(fs, to, Some(at(from)));
                self.lead(fs, from, None);
            }
            FsCall::Exchange { from, to } => self.exchange(fs, from, to),
            FsCall::Ftruncate { path, .. }
            | FsCall::Pwrite { path, .. }
            | FsCall::Fallocate { path, .. }
            | FsCall::Clone { to: path, .. }
            | FsCall::CopyRange { to: path, .. } => {
                if path != NAMELESS {
                    self.write_as(fs, at(path), call);
                }
            }
            FsCall::Chmod { path, .. }
            | FsCall::Setxattr { path, .. }
            | FsCall::Removexattr { path, .. } => {
                let id = at(path);
                let mut after = fs.clone();
                after.apply(call);
                let past = self
                    .attributes
                    .entry(id)
                    .or_insert_with(|| AttributeHistory::new(fs.is_directory(id)));
                past.follow(after.attributes(id));
            }
            FsCall::OpenUnnamed { .. }
            | FsCall::Close { .. }
            | FsCall::Fsync { .. }
            | FsCall::Fdatasync { .. }
            | FsCall::FsyncDir { .. }
            | FsCall::Syncfs
            | FsCall::Sync => {}
        }
    }

    /// Adds the operations of an exchange. No manual page promises that an exchange is atomic
    /// either.
    fn exchange(&mut self, fs: &Abstract, one: &str, other: &str) {
        let at = |path: &str| fs.find(path).expect("it is there");
        let (first, second) = (at(one), at(other));
        let (place, opposite) = (self.place(fs, one), self.place(fs, other));
        let led = |place: &(Id, String), id| self.leads(place.0, &place.1).contains(&Some(id));
        let is_first = !led(&place, second) && !led(&opposite, first);
        self.lead(fs, one, Some(second));
        self.lead(fs, other, Some(first));
        self.exchanges.extend(is_first.then_some([place, opposite]));
    }

    /// Adds a call that writes or resizes a file. `fs` is the tree before the call.
    fn write_as(&mut self, fs: &Abstract, id: Id, call: &FsCall) {
        let mut after = fs.clone();
        after.apply(call);
        self.write(id, call, after.bytes(id));
    }

    /// Adds a call that writes or resizes a file. `after` is the contents of the file after the
    /// call.
    fn write(&mut self, id: Id, call: &FsCall, after: &[u8]) {
        let file = self.files.entry(id).or_default();
        let written = file.forced.follow(call, after);
        file.writes.extend(written.map(|(at, bytes)| (at, bytes.to_vec())));
        file.largest = file.largest.max(file.forced.size());
    }

    /// Ends a call that has returned. A store through a mapping includes its msync, so the stored
    /// bytes become stable, and so do those that are written through `O_SYNC` or `O_DSYNC`. `fs` is
    /// the tree after the call.
    pub fn end(&mut self, fs: &Abstract, call: &FsCall) {
        if let FsCall::Pwrite { path, offset, data, .. } = call
            && let Some(by) = By::of_write(call)
            && let Some(file) = fs.find(path).and_then(|id| self.files.get_mut(&id))
        {
            let at = *offset as usize;
            file.forced.sync_range(by, at..at + data.len());
        }
    }

    fn lead(&mut self, fs: &Abstract, path: &str, to: Option<Id>) {
        let place = self.place(fs, path);
        self.exchanges.retain(|names| !names.contains(&place));
        self.names.entry(place).or_default().volatile.push(to);
    }

    /// Returns the directory of a path, and the name in it.
    fn place(&self, fs: &Abstract, path: &str) -> (Id, String) {
        let (parent, name) = split(path);
        (fs.find(parent).expect("its directory is there"), name.to_owned())
    }

    /// Returns the pairs of names that were exchanged and not changed since. Before the exchange
    /// neither name had led to the inode that it leads to now.
    pub fn exchanges(&self) -> impl Iterator<Item = &[(Id, String); 2]> {
        self.exchanges.iter()
    }

    /// Makes everything stable that has a name, as sync(2) does.
    pub fn sync(&mut self, fs: &Abstract) {
        let ids: BTreeSet<Id> =
            fs.paths().into_iter().map(|(_, id)| id).chain([Abstract::ROOT]).collect();
        ids.into_iter().for_each(|id| self.fsync(fs, id, By::Sync));
    }

    /// Makes an inode stable, with its attributes and its contents or names, as fsync(2) does.
    pub fn fsync(&mut self, fs: &Abstract, id: Id, by: By) {
        self.made.insert(id);
        self.attributes.get_mut(&id).into_iter().for_each(AttributeHistory::force);
        if fs.is_directory(id) {
            for (_, name) in self.names.iter_mut().filter(|((directory, _), _)| *directory == id) {
                name.stable = name.volatile.pop().unwrap_or(name.stable);
                name.volatile.clear();
            }
        } else {
            self.force_contents(id, by);
        }
    }

    /// Makes stable what a sync forces that has returned without an error. `fs` is the tree after
    /// the call. Other calls make nothing stable here.
    pub fn force(&mut self, fs: &Abstract, call: &FsCall) {
        let Some(by) = By::of(call) else { return };
        let id = call.paths().first().and_then(|path| fs.find(path));
        match (by, id) {
            (By::Sync, _) => self.sync(fs),
            (By::Fdatasync, Some(id)) => self.force_contents(id, by),
            (_, Some(id)) => self.fsync(fs, id, by),
            (_, None) => {}
        }
    }

    fn force_contents(&mut self, id: Id, by: By) {
        self.made.insert(id);
        if let Some(file) = self.files.get_mut(&id) {
            file.forced.sync(by);
            file.largest = file.forced.size();
        }
    }

    /// Returns true if fsync(2) of the inode would change nothing.
    pub fn is_forced(&self, fs: &Abstract, id: Id) -> bool {
        let of = |((directory, _), name): (&(Id, String), &NameHistory)| {
            *directory != id || name.volatile.is_empty()
        };
        let contents = || self.files.get(&id).is_none_or(|file| file.forced.is_synced());
        let attributes = self.attributes.get(&id).is_none_or(AttributeHistory::is_forced);
        let made = id == Abstract::ROOT || self.made.contains(&id);
        made && attributes
            && if fs.is_directory(id) { self.names.iter().all(of) } else { contents() }
    }

    /// Returns all names that were ever in a directory.
    pub fn names(&self, directory: Id) -> impl Iterator<Item = &str> {
        let all = self.names.keys();
        all.filter(move |(id, _)| *id == directory).map(|(_, name)| name.as_str())
    }

    /// Returns all that a name may lead to, newest first. Empty for a name that never existed. The
    /// name leads to an inode only if the inode was made.
    pub fn leads(&self, directory: Id, name: &str) -> Vec<Option<Id>> {
        let Some(name) = self.names.get(&(directory, name.to_owned())) else { return Vec::new() };
        let mut leads: Vec<Option<Id>> =
            name.volatile.iter().rev().copied().chain([name.stable]).collect();
        let mut seen = BTreeSet::new();
        leads.retain(|lead| seen.insert(*lead));
        leads
    }

    /// Returns every name that ever existed.
    pub fn places(&self) -> impl Iterator<Item = NamePlace<'_>> {
        self.names.iter().map(|((directory, name), leads)| NamePlace {
            directory: *directory,
            name,
            now: leads.volatile.last().copied().unwrap_or(leads.stable),
            is_forced: leads.volatile.is_empty(),
            leads: self.leads(*directory, name),
        })
    }

    /// Returns the history of the mode and the extended attributes of an inode. `None` if they were
    /// never changed.
    pub fn past(&self, id: Id) -> Option<&AttributeHistory> {
        self.attributes.get(&id)
    }

    /// Returns true if the making of an inode is stable.
    pub fn is_made(&self, id: Id) -> bool {
        self.made.contains(&id)
    }

    /// Checks that a file or directory may have this mode and these extended attributes. Attributes
    /// that are not forced count only if `unsynced` is true.
    ///
    /// # Errors
    /// Returns the violation as a text that follows the path.
    pub fn judge(
        &self,
        fs: &Abstract,
        id: Id,
        seen: &Seen,
        unsynced: bool,
    ) -> Result<(), Violation> {
        let made = self.is_made(id);
        match self.attributes.get(&id) {
            Some(past) => past.judge(seen, made, unsynced),
            None => AttributeHistory::new(fs.is_directory(id)).judge(seen, made, unsynced),
        }
    }

    /// Returns the history of the contents of a file. `None` if the inode is not a file.
    pub fn file(&self, id: Id) -> Option<&WrittenFile> {
        self.files.get(&id)
    }
}
