//! What some syncs have made durable, and by which call each name.

use std::collections::BTreeMap;

use explode_ramdisk::files::FsCall;

use crate::fs::model::{Abstract, History, Id, SyncCall};

/// What some syncs have made durable.
#[derive(Clone, Debug)]
pub struct SyncedNames {
    /// What is stable and volatile.
    pub history: History,
    /// The call that has made each name durable: the strongest since the name was last changed.
    pub names: BTreeMap<(Id, String), SyncCall>,
}

impl SyncedNames {
    /// An empty root, durable as it is.
    pub fn new(fs: &Abstract) -> SyncedNames {
        let mut history = History::default();
        history.sync(fs);
        SyncedNames { history, names: BTreeMap::new() }
    }

    /// A sync has succeeded.
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
