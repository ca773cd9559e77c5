//! The durable part of a tree with some syncs, and the call that made each name durable.

use std::collections::BTreeMap;

use explode_ramdisk::files::FsCall;

use crate::fs::model::{Abstract, History, Id, SyncCall};

/// The durable part of a tree with some syncs.
#[derive(Clone, Debug)]
pub struct SyncedNames {
    /// The stable and the volatile operations.
    pub history: History,
    /// The strongest call that made each name durable since the name was last changed.
    pub names: BTreeMap<(Id, String), SyncCall>,
}

impl SyncedNames {
    /// Returns the durable part of an empty root.
    pub fn new(fs: &Abstract) -> SyncedNames {
        let mut history = History::default();
        history.sync(fs);
        SyncedNames { history, names: BTreeMap::new() }
    }

    /// Applies a sync that has succeeded.
    pub fn sync(&mut self, fs: &Abstract, call: &FsCall, by: SyncCall) {
        let is_synced = |directory: Id| match call {
            FsCall::FsyncDir { path } => fs.find(path) == Some(directory),
            _ => by == SyncCall::Sync,
        };
        for place in self.history.places().filter(|place| is_synced(place.directory)) {
            let key = (place.directory, place.name.to_owned());
            let before = self.names.get(&key).copied().filter(|_| place.is_forced);
            self.names.insert(key, before.map_or(by, |before| before.max(by)));
        }
        self.history.force(fs, call);
    }
}
