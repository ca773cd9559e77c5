//! The promises about a tree, as its syncs have made it durable.

use std::collections::BTreeSet;

use super::synced::SyncedNames;
use crate::fs::model::promise::{PathPromise, PromisedObject};
use crate::fs::model::{Abstract, Id, NamePlace, SyncCall};

/// Returns all promises, in the order of the paths.
pub fn promises(fs: &Abstract, synced: &SyncedNames) -> Vec<PathPromise> {
    let alive = fs.paths().into_iter().map(|(_, id)| id).collect();
    let mut all = Vec::new();
    Below { fs, synced, alive, all: &mut all }.add(Abstract::ROOT, "");
    all
}

struct Below<'a> {
    fs: &'a Abstract,
    synced: &'a SyncedNames,
    /// The inodes that have a name.
    alive: BTreeSet<Id>,
    all: &'a mut Vec<PathPromise>,
}

impl Below<'_> {
    /// Adds the promises about the names in a directory whose own path no crash can change, and
    /// about those below.
    fn add(&mut self, directory: Id, parent: &str) {
        let synced = self.synced;
        for place in synced.history.places().filter(|place| place.directory == directory) {
            let Some(object) = self.of_name(&place) else { continue };
            let path = format!("{parent}/{}", place.name);
            let inside = place.now.filter(|_| matches!(object, PromisedObject::Directory(_)));
            self.all.push(PathPromise { path: path.clone(), object });
            if let Some(id) = inside {
                self.add(id, &path);
            }
        }
    }

    /// Returns the promise about a name. If a crash cannot change where the name leads, the promise
    /// names that object; otherwise it lists the possible contents. `None` if nothing is promised.
    fn of_name(&self, place: &NamePlace<'_>) -> Option<PromisedObject> {
        if place.leads.len() > 1 {
            return self.perhaps(place);
        }
        let by = self.synced.names.get(&(place.directory, place.name.to_owned()));
        let word = by.copied().map(SyncCall::synced)?;
        let Some(id) = place.now else { return Some(PromisedObject::Nothing(word)) };
        if self.fs.is_directory(id) {
            // A name may lead nowhere until the directory it leads to was synced itself.
            return self.synced.history.is_made(id).then_some(PromisedObject::Directory(word));
        }
        let contents = self.synced.history.file(id)?.forced.promised(true)?;
        Some(PromisedObject::File(if contents.whole { word } else { contents.promise }, contents))
    }

    /// Returns the possible contents of a name that may lead nowhere. Nothing is promised if one of
    /// its files was never synced or has lost its last name, because the blocks and the inode of
    /// such a file may be used again, even before the change of its directory is on disk.
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
