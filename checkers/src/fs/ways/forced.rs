//! What was forced, and so must be on every crash disk.

use std::collections::{BTreeMap, BTreeSet};

use super::way::Way;
use crate::fs::sync::Call as By;
use crate::fs::sync::file::File;
use crate::fs::sync::promise::{Contents, Promise, What};
use crate::fs::topology::{Abstract, BLOCK, Call, Groups, Id, Node, Seen};

/// What of each file is durable, and which paths were there and are gone for good. All names are durable after each call.
#[derive(Clone, Debug, Default)]
pub struct Forced {
    files: BTreeMap<Id, File>,
    seen: BTreeSet<String>,
}

impl Forced {
    /// A call was made, and forced; `fs` is the tree after it.
    pub fn follow(&mut self, way: Way, fs: &Abstract, call: &Call) {
        self.seen.extend(fs.paths().into_iter().map(|(path, _)| path));
        for id in call.objects().into_iter().filter_map(|path| fs.find(path)).filter(|id| fs.is_file(*id)) {
            self.follow_file(id, way, fs, call);
        }
    }

    fn follow_file(&mut self, id: Id, way: Way, fs: &Abstract, call: &Call) {
        let file = self.files.entry(id).or_default();
        let mut range = None;
        if let Call::Pwrite { at, .. } = call {
            let end = at + BLOCK;
            if way == Way::Msync && file.size() < end {
                file.truncate(end);
            }
            range = Some(*at..end);
        }
        call.change(file, fs.bytes(id));
        let of_contents = call.is_of_contents();
        match (way, range) {
            (Way::Sync, _) => file.sync(By::Sync),
            (Way::Syncfs, _) => file.sync(By::Syncfs),
            (Way::Fsync, _) => file.sync(By::Fsync),
            (Way::MountSync, _) if call.writes() => file.sync(By::WriteByMount),
            (Way::MountSync, _) => file.sync(By::MetadataByMount),
            (Way::Fdatasync, _) if of_contents => file.sync(By::Fdatasync),
            (Way::OSync, Some(_)) => file.sync(By::OSync),
            (Way::ODsync, Some(_)) => file.sync(By::ODsync),
            (Way::Msync, Some(range)) => file.sync_range(By::Msync, range),
            (Way::OSync | Way::ODsync | Way::Msync, None) if of_contents => {}
            (Way::FsyncDir, _) => {}
            // Its names were changed, and it was synced for that; what a way has made durable before is still that way's.
            _ if file.is_synced() => {}
            _ => file.sync(By::Fsync),
        }
    }

    /// All that must be there, a directory before what is in it.
    pub fn promises(&self, way: Way, fs: &Abstract, calls: Groups) -> Vec<Promise> {
        let name = way.of_names().synced();
        let mut promises = Vec::new();
        for (path, id) in fs.paths() {
            let what = if fs.is_directory(id) {
                (!way.is_of_contents()).then_some(What::Directory(name))
            } else if let Node::Symlink(target) = fs.node(id) {
                way.is_of_symlinks().then(|| What::Symlink(name, target.clone()))
            } else if way == Way::FsyncDir {
                let any = Contents { promise: name, whole: true, least: 0, most: None, parts: Vec::new() };
                Some(What::File(name, any))
            } else {
                let contents = self.files.get(&id).and_then(|file| file.promised(true));
                contents.map(|contents| {
                    What::File(if contents.whole { name } else { contents.promise }, contents)
                })
            };
            promises.extend(what.map(|what| Promise { path: path.clone(), what }));
            let seen = fs.attributes(id).seen(calls);
            if seen != Seen::default() && !fs.is_symlink(id) {
                let of_file = way == Way::Fsync && fs.is_file(id);
                let word = if of_file { By::Fsync.synced() } else { name };
                promises.push(Promise { path, what: What::Attributes(word, seen) });
            }
        }
        if !way.is_of_contents() {
            let gone = self.seen.iter().filter(|path| fs.find(path).is_none());
            promises.extend(gone.map(|path| Promise { path: path.clone(), what: What::Nothing(name) }));
        }
        promises
    }
}
