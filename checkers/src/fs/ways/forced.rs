//! What was forced, and so must be on every crash disk.

use std::collections::{BTreeMap, BTreeSet};

use explode_runtime::check::Excluded;

use super::way::Way;
use crate::fs::sync::Call as By;
use crate::fs::sync::file::File;
use crate::fs::sync::promise::{Contents, Promise, What};
use crate::fs::topology::{Abstract, Call, Id};

/// What of each file is durable, and which paths were there and are gone for good. All names are durable after each call.
#[derive(Clone, Debug, Default)]
pub struct Forced {
    files: BTreeMap<Id, File>,
    seen: BTreeSet<String>,
    /// What makes nothing durable here.
    excluded: Excluded,
}

impl Forced {
    /// Nothing yet; these promises are not counted, nor what rests on them.
    pub fn without(excluded: Excluded) -> Forced {
        Forced { excluded, ..Forced::default() }
    }

    /// A call was made, and forced; `fs` is the tree after it, `bytes` what it has written.
    pub fn follow(&mut self, way: Way, fs: &Abstract, call: &Call, bytes: &[u8]) {
        self.seen.extend(fs.paths().into_iter().map(|(path, _)| path));
        let object = call.object().and_then(|path| fs.find(path)).filter(|id| !fs.is_directory(*id));
        let Some(id) = object else { return };
        let file = self.files.entry(id).or_default();
        let mut range = None;
        match call {
            Call::Pwrite { at, .. } => {
                let end = at + bytes.len();
                if way == Way::Msync && file.size() < end {
                    file.truncate(end);
                }
                file.write(*at, bytes);
                range = Some(*at..end);
            }
            Call::Ftruncate { size, .. } => file.truncate(*size),
            _ => {}
        }
        let of_contents = matches!(call, Call::Pwrite { .. } | Call::Ftruncate { .. });
        let by = match (way, &range) {
            (Way::Sync, _) => By::Sync,
            (Way::Syncfs, _) => By::Syncfs,
            (Way::Fsync, _) => By::Fsync,
            (Way::MountSync, Some(_)) => By::WriteByMount,
            (Way::MountSync, None) => By::MetadataByMount,
            (Way::Fdatasync, _) if of_contents => By::Fdatasync,
            (Way::OSync, Some(_)) => By::OSync,
            (Way::ODsync, Some(_)) => By::ODsync,
            (Way::Msync, Some(_)) => By::Msync,
            (Way::OSync | Way::ODsync | Way::Msync, None) if of_contents => return,
            (Way::FsyncDir, _) => return,
            // Its names were changed, and it was synced for that; what a way has made durable before is still that way's.
            _ if file.is_synced() => return,
            _ => By::Fsync,
        };
        match range {
            _ if self.excluded.contains(by.synced()) => {}
            Some(range) if way == Way::Msync => file.sync_range(by, range),
            _ => file.sync(by),
        }
    }

    /// All that must be there, a directory before what is in it.
    pub fn promises(&self, way: Way, fs: &Abstract) -> Vec<Promise> {
        let name = way.of_names().synced();
        let mut promises = Vec::new();
        // Without its name a file is nowhere.
        if self.excluded.contains(name) {
            return promises;
        }
        for (path, id) in fs.paths() {
            let what = if fs.is_directory(id) {
                (!way.is_of_contents()).then_some(What::Directory(name))
            } else if way == Way::FsyncDir {
                let any = Contents { promise: name, whole: true, least: 0, most: None, parts: Vec::new() };
                Some(What::File(name, any))
            } else {
                let contents = self.files.get(&id).and_then(|file| file.promised(true));
                contents.map(|contents| {
                    What::File(if contents.whole { name } else { contents.promise }, contents)
                })
            };
            promises.extend(what.map(|what| Promise { path, what }));
        }
        if !way.is_of_contents() {
            let gone = self.seen.iter().filter(|path| fs.find(path).is_none());
            promises.extend(gone.map(|path| Promise { path: path.clone(), what: What::Nothing(name) }));
        }
        promises
    }
}
