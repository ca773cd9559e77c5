//! What a crash must leave, of what syncs have made durable.

use std::collections::BTreeSet;

use super::synced::Synced;
use crate::fs::model::promise::{Promise, What};
use crate::fs::model::{Abstract, Id, Place, SyncCall};

/// All of it, in the order of the paths.
pub fn promises(fs: &Abstract, synced: &Synced) -> Vec<Promise> {
    let alive = fs.paths().into_iter().map(|(_, id)| id).collect();
    let mut all = Vec::new();
    Below { fs, synced, alive, all: &mut all }.add(Abstract::ROOT, "");
    all
}

struct Below<'a> {
    fs: &'a Abstract,
    synced: &'a Synced,
    /// What has a name.
    alive: BTreeSet<Id>,
    all: &'a mut Vec<Promise>,
}

impl Below<'_> {
    /// Adds the names in a directory that is where it is whatever a crash does, and those below.
    fn add(&mut self, directory: Id, parent: &str) {
        let synced = self.synced;
        for place in synced.history.places().filter(|place| place.directory == directory) {
            let Some(what) = self.of_name(&place) else { continue };
            let path = format!("{parent}/{}", place.name);
            let inside = place.now.filter(|_| matches!(what, What::Directory(_)));
            self.all.push(Promise { path: path.clone(), what });
            if let Some(id) = inside {
                self.add(id, &path);
            }
        }
    }

    /// A name that leads to one thing only, crash or not, says what is there; another one what may
    /// be there.
    fn of_name(&self, place: &Place<'_>) -> Option<What> {
        if place.leads.len() > 1 {
            return self.perhaps(place);
        }
        let by = self.synced.names.get(&(place.directory, place.name.to_owned()));
        let word = by.copied().map(SyncCall::synced)?;
        let Some(id) = place.now else { return Some(What::Nothing(word)) };
        if self.fs.is_directory(id) {
            // Before it was synced itself, a name that leads to it may lead nowhere.
            return self.synced.history.is_made(id).then_some(What::Directory(word));
        }
        let contents = self.synced.history.file(id)?.forced.promised(true)?;
        Some(What::File(if contents.whole { word } else { contents.promise }, contents))
    }

    /// What a name leads to if it leads anywhere. Nothing is said if one of its files was never
    /// synced, or is gone: the blocks and the inode of a file that has lost its name may be used
    /// again, even before the change of its directory is on disk.
    fn perhaps(&self, place: &Place<'_>) -> Option<What> {
        let promised = |id: Id| {
            let counts = self.alive.contains(&id) && self.fs.is_file(id);
            let file = self.synced.history.file(id).filter(|_| counts)?;
            file.forced.promised(false)
        };
        let files = place.leads.iter().copied().flatten();
        let contents = files.map(promised).collect::<Option<Vec<_>>>()?;
        (!contents.is_empty()).then_some(What::Perhaps(contents))
    }
}
