//! What a crash must leave, of what syncs have made durable.

use std::collections::BTreeSet;

use super::synced::SyncedNames;
use crate::fs::model::promise::{PathPromise, PromisedObject};
use crate::fs::model::{Abstract, Id, NamePlace, SyncCall};

/// All of it, in the order of the paths.
pub fn promises(fs: &Abstract, synced: &SyncedNames) -> Vec<PathPromise> {
    let alive = fs.paths().into_iter().map(|(_, id)| id).collect();
    let mut all = Vec::new();
    Below { fs, synced, alive, all: &mut all }.add(Abstract::ROOT, "");
    all
}

struct Below<'a> {
    fs: &'a Abstract,
    synced: &'a SyncedNames,
    /// What has a name.
    alive: BTreeSet<Id>,
    all: &'a mut Vec<PathPromise>,
}

impl Below<'_> {
    /// Adds the names in a directory that is where it is whatever a crash does, and those below.
    fn add(&mut self, directory: Id, parent: &str) {
        let synced = self.synced;
        for place in synced.history.places().filter(|place| place.directory == directory) {
            let Some(what) = self.of_name(&place) else { continue };
            let path = format!("{parent}/{}", place.name);
            let inside = place.now.filter(|_| matches!(what, PromisedObject::Directory(_)));
            self.all.push(PathPromise { path: path.clone(), what });
            if let Some(id) = inside {
                self.add(id, &path);
            }
        }
    }

    /// A name that leads to one thing only, crash or not, says what is there; another one what may
    /// be there.
    fn of_name(&self, place: &NamePlace<'_>) -> Option<PromisedObject> {
        if place.leads.len() > 1 {
            return self.perhaps(place);
        }
        let by = self.synced.names.get(&(place.directory, place.name.to_owned()));
        let word = by.copied().map(SyncCall::synced)?;
        let Some(id) = place.now else { return Some(PromisedObject::Nothing(word)) };
        if self.fs.is_directory(id) {
            // Before it was synced itself, a name that leads to it may lead nowhere.
            return self.synced.history.is_made(id).then_some(PromisedObject::Directory(word));
        }
        let contents = self.synced.history.file(id)?.forced.promised(true)?;
        Some(PromisedObject::File(if contents.whole { word } else { contents.promise }, contents))
    }

    /// What a name leads to if it leads anywhere. Nothing is said if one of its files was never
    /// synced, or is gone: the blocks and the inode of a file that has lost its name may be used
    /// again, even before the change of its directory is on disk.
    fn perhaps(&self, place: &NamePlace<'_>) -> Option<PromisedObject> {
        let promised = |id: Id| {
            let counts = self.alive.contains(&id) && self.fs.is_file(id);
            let file = self.synced.history.file(id).filter(|_| counts)?;
            file.forced.promised(false)
        };
        let files = place.leads.iter().copied().flatten();
        let contents = files.map(promised).collect::<Option<Vec<_>>>()?;
        (!contents.is_empty()).then_some(PromisedObject::Perhaps(contents))
    }
}
