//! What was done, as operations that a crash keeps or loses one by one (EX-103): a call is taken
//! apart into making an inode, leading a name to it, leading a name nowhere, writing or resizing a
//! file, and setting a mode or an extended attribute.
//!
//! An operation is *stable* once something has forced it, and *volatile* before: on disk, or not.
//! Operations on different names are independent of each other, and so are those on different
//! files; of those on one name the newest on disk is seen. So it is enough to know of each name all
//! that it may lead to. One rule ties two together: a name leads somewhere only if its inode was
//! made.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::files::{FsCall, NAMELESS, WriteMethod};
use explode_runtime::verdict::Violation;

use super::attributes::Seen;
use super::file::File;
use super::past::AttributeHistory;
use super::sync_call::SyncCall as By;
use super::tree::{Abstract, Id, split};

/// All that may be on disk.
#[derive(Clone, Debug, Default, Hash)]
pub struct History {
    names: BTreeMap<(Id, String), NameHistory>,
    files: BTreeMap<Id, WrittenFile>,
    /// Of what has them not as it had them when it was new.
    attributes: BTreeMap<Id, AttributeHistory>,
    /// The inodes whose making is stable.
    made: BTreeSet<Id>,
    /// Those that nothing was done to since, and before which neither name had led where it leads
    /// now.
    exchanges: Vec<[(Id, String); 2]>,
}

/// A name in a directory.
#[derive(Clone, Debug, Default, Hash)]
struct NameHistory {
    /// What the stable operations have left.
    stable: Option<Id>,
    /// Where the volatile ones lead it, oldest first.
    volatile: Vec<Option<Id>>,
}

/// A file: what of it is stable, and all that was ever written to it.
#[derive(Clone, Debug, Default, Hash)]
pub struct WrittenFile {
    /// What is forced of it.
    pub forced: File,
    /// Each write: where, and what.
    pub writes: Vec<(usize, Vec<u8>)>,
    /// The largest size since the last time that it was forced.
    pub largest: usize,
}

/// A name in a directory, as others see it.
#[derive(Clone, Debug)]
pub struct NamePlace<'a> {
    pub directory: Id,
    pub name: &'a str,
    /// Where it leads.
    pub now: Option<Id>,
    /// Can a crash change nothing of it?
    pub is_forced: bool,
    /// All that it may lead to, the newest first.
    pub leads: Vec<Option<Id>>,
}

impl History {
    /// Makes calls to the tree; what they do is volatile.
    pub fn follow(&mut self, fs: &mut Abstract, calls: &[FsCall]) {
        for call in calls {
            self.add(fs, call);
            fs.apply(call);
        }
    }

    /// A call is about to be made: its operations are volatile; `fs` is the tree before it.
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
                // No source promises that a rename is atomic, so the name that is replaced may be
                // gone before.
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
            | FsCall::Clone { to: path, .. } => {
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

    /// No manual page promises that an exchange is atomic either.
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

    /// A call writes or resizes a file; `fs` is the tree before it.
    fn write_as(&mut self, fs: &Abstract, id: Id, call: &FsCall) {
        let mut after = fs.clone();
        after.apply(call);
        self.write(id, call, after.bytes(id));
    }

    /// A call writes or resizes a file, which holds `after` then.
    fn write(&mut self, id: Id, call: &FsCall, after: &[u8]) {
        let file = self.files.entry(id).or_default();
        let written = file.forced.follow(call, after);
        file.writes.extend(written.map(|(at, bytes)| (at, bytes.to_vec())));
        file.largest = file.largest.max(file.forced.size());
    }

    /// A call has returned: what it has forced itself is stable, which is what a store has msynced.
    /// `fs` is the tree then.
    pub fn end(&mut self, fs: &Abstract, call: &FsCall) {
        if let FsCall::Pwrite { path, offset, data, method: WriteMethod::Mapped } = call
            && let Some(file) = fs.find(path).and_then(|id| self.files.get_mut(&id))
        {
            let at = *offset as usize;
            file.forced.sync_range(By::Msync, at..at + data.len());
        }
    }

    fn lead(&mut self, fs: &Abstract, path: &str, to: Option<Id>) {
        let place = self.place(fs, path);
        self.exchanges.retain(|names| !names.contains(&place));
        self.names.entry(place).or_default().volatile.push(to);
    }

    /// A directory, and a name in it.
    fn place(&self, fs: &Abstract, path: &str) -> (Id, String) {
        let (parent, name) = split(path);
        (fs.find(parent).expect("its directory is there"), name.to_owned())
    }

    /// The names that have changed places, and were left alone since: they have never led to the
    /// same inode.
    pub fn exchanges(&self) -> impl Iterator<Item = &[(Id, String); 2]> {
        self.exchanges.iter()
    }

    /// sync(2): all that was done is stable.
    pub fn sync(&mut self, fs: &Abstract) {
        let ids: BTreeSet<Id> =
            fs.paths().into_iter().map(|(_, id)| id).chain([Abstract::ROOT]).collect();
        ids.into_iter().for_each(|id| self.fsync(fs, id, By::Sync));
    }

    /// fsync(2) of a file or directory.
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

    /// A sync has returned without an error; `fs` is the tree then. A call that is no sync makes
    /// nothing stable here.
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

    /// Would fsync of it change anything?
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

    /// The names that were ever in a directory.
    pub fn names(&self, directory: Id) -> impl Iterator<Item = &str> {
        let all = self.names.keys();
        all.filter(move |(id, _)| *id == directory).map(|(_, name)| name.as_str())
    }

    /// All that a name may lead to, the newest first; nothing at all for one that was never there.
    /// What it leads to needs to be made.
    pub fn leads(&self, directory: Id, name: &str) -> Vec<Option<Id>> {
        let Some(name) = self.names.get(&(directory, name.to_owned())) else { return Vec::new() };
        let mut leads: Vec<Option<Id>> =
            name.volatile.iter().rev().copied().chain([name.stable]).collect();
        let mut seen = BTreeSet::new();
        leads.retain(|lead| seen.insert(*lead));
        leads
    }

    /// Every name that was ever there.
    pub fn places(&self) -> impl Iterator<Item = NamePlace<'_>> {
        self.names.iter().map(|((directory, name), leads)| NamePlace {
            directory: *directory,
            name,
            now: leads.volatile.last().copied().unwrap_or(leads.stable),
            is_forced: leads.volatile.is_empty(),
            leads: self.leads(*directory, name),
        })
    }

    /// What was ever done to the mode and the extended attributes of an inode; none if nothing was.
    pub fn past(&self, id: Id) -> Option<&AttributeHistory> {
        self.attributes.get(&id)
    }

    /// Is the making of an inode stable?
    pub fn is_made(&self, id: Id) -> bool {
        self.made.contains(&id)
    }

    /// Can a file or directory have this mode and these extended attributes? What is not forced
    /// counts only if `unsynced` does.
    ///
    /// # Errors
    /// Why not, without its path.
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

    /// What may be in a file.
    pub fn file(&self, id: Id) -> Option<&WrittenFile> {
        self.files.get(&id)
    }
}
