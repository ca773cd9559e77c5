//! The forced part of a tree, which must be on every crash disk.

use std::collections::{BTreeMap, BTreeSet};

use explode_ramdisk::files::{FsCall, WriteMethod};
use explode_runtime::verdict::ExcludedPromises;

use super::method::SyncMethod;
use crate::fs::model::SyncCall as By;
use crate::fs::model::file::File;
use crate::fs::model::promise::{PathPromise, PromisedContents, PromisedObject};
use crate::fs::model::{Abstract, Groups, Id, ModelNode, Seen};
use crate::fs::topology::{BLOCK, TopologyCall};

/// The durable part of each file, and the paths that were ever there. All names are durable after
/// each call.
#[derive(Clone, Debug, Default)]
pub struct Forced {
    files: BTreeMap<Id, File>,
    seen: BTreeSet<String>,
    /// The names that a sync(2) of the start made durable, and no call since.
    by_sync: BTreeSet<(String, Id)>,
    /// The excluded promises. A sync with an excluded promise makes nothing durable here.
    excluded: ExcludedPromises,
}

impl Forced {
    /// Returns an empty state in which excluded promises do not count, and neither does anything
    /// that rests on them.
    pub fn without(excluded: ExcludedPromises) -> Forced {
        Forced { excluded, ..Forced::default() }
    }

    /// Adds the tree that is there from the start, which is as durable as forced data. With
    /// `by_sync` the call that made it durable is sync(2), so that its loss is not due to the
    /// method.
    pub fn begin(&mut self, method: SyncMethod, fs: &Abstract, by_sync: bool) {
        let by = if by_sync { By::Sync } else { method.of_contents() };
        for (path, id) in fs.paths() {
            if by_sync {
                self.by_sync.insert((path.clone(), id));
            }
            if fs.is_file(id) && !self.excluded.contains(by.synced()) {
                let file = self.files.entry(id).or_default();
                file.write(0, fs.bytes(id));
                file.sync(by);
            }
            self.seen.insert(path);
        }
    }

    /// Adds a call that was made and forced. `fs` is the tree after the call.
    pub fn follow(&mut self, method: SyncMethod, fs: &Abstract, call: &TopologyCall) {
        self.seen.extend(fs.paths().into_iter().map(|(path, _)| path));
        if !method.is_of_contents() {
            let objects = call.objects();
            self.by_sync.retain(|(path, _)| !objects.contains(&path.as_str()));
        }
        for id in
            call.objects().into_iter().filter_map(|path| fs.find(path)).filter(|id| fs.is_file(*id))
        {
            self.follow_file(id, method, fs, call);
        }
    }

    fn follow_file(&mut self, id: Id, method: SyncMethod, fs: &Abstract, call: &TopologyCall) {
        let file = self.files.entry(id).or_default();
        let mut range = None;
        if let TopologyCall::One(FsCall::Pwrite { offset, method: WriteMethod::Plain, .. }) = call {
            let at = *offset as usize;
            let end = at + BLOCK;
            if method == SyncMethod::Msync && file.size() < end {
                file.truncate(end);
            }
            range = Some(at..end);
        }
        call.change(file, fs.bytes(id));
        let of_contents = call.is_of_contents();
        let by = match (method, &range) {
            (SyncMethod::Sync, _) => By::Sync,
            (SyncMethod::Syncfs, _) => By::Syncfs,
            (SyncMethod::Fsync, _) => By::Fsync,
            (SyncMethod::MountSync, _) if call.writes() => By::WriteByMount,
            (SyncMethod::MountSync, _) => By::MetadataByMount,
            (SyncMethod::Fdatasync, _) if of_contents => By::Fdatasync,
            (SyncMethod::OSync, Some(_)) => By::OSync,
            (SyncMethod::ODsync, Some(_)) => By::ODsync,
            (SyncMethod::Msync, Some(_)) => By::Msync,
            (SyncMethod::OSync | SyncMethod::ODsync | SyncMethod::Msync, None) if of_contents => {
                return;
            }
            (SyncMethod::FsyncDir, _) => return,
            // Only the names of the file were changed, and the file was synced for them. Its
            // contents keep the promise of the method that made them durable.
            _ if file.is_synced() => return,
            _ => By::Fsync,
        };
        match range {
            _ if self.excluded.contains(by.synced()) => {}
            Some(range) if method == SyncMethod::Msync => file.sync_range(by, range),
            _ => file.sync(by),
        }
    }

    /// Returns all promises. A directory comes before its contents.
    pub fn promises(&self, method: SyncMethod, fs: &Abstract, calls: Groups) -> Vec<PathPromise> {
        let by_method = method.of_names().synced();
        let mut promises = Vec::new();
        // If its name is not promised, a file is not promised either.
        if self.excluded.contains(by_method) {
            return promises;
        }
        for (path, id) in fs.paths() {
            let is_by_sync = self.by_sync.contains(&(path.clone(), id));
            let name = if is_by_sync { By::Sync.synced() } else { by_method };
            let object = if fs.is_directory(id) {
                (!method.is_of_contents()).then_some(PromisedObject::Directory(name))
            } else if let ModelNode::Symlink(target) = fs.node(id) {
                method.is_of_symlinks().then(|| PromisedObject::Symlink(name, target.clone()))
            } else if method == SyncMethod::FsyncDir {
                let any = PromisedContents {
                    promise: name,
                    whole: true,
                    least: 0,
                    most: None,
                    parts: Vec::new(),
                };
                Some(PromisedObject::File(name, any))
            } else {
                let contents = self.files.get(&id).and_then(|file| file.promised(true));
                contents.map(|contents| {
                    PromisedObject::File(
                        if contents.whole || is_by_sync { name } else { contents.promise },
                        contents,
                    )
                })
            };
            promises.extend(object.map(|object| PathPromise { path: path.clone(), object }));
            let seen = fs.attributes(id).seen(calls);
            if seen != Seen::default() && !fs.is_symlink(id) {
                let of_file = method == SyncMethod::Fsync && fs.is_file(id) && !is_by_sync;
                let word = if of_file { By::Fsync.synced() } else { name };
                promises.push(PathPromise { path, object: PromisedObject::Attributes(word, seen) });
            }
        }
        if !method.is_of_contents() {
            let gone = self.seen.iter().filter(|path| fs.find(path).is_none());
            promises.extend(gone.map(|path| PathPromise {
                path: path.clone(),
                object: PromisedObject::Nothing(by_method),
            }));
        }
        promises
    }
}
