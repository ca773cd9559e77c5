//! The tree, and what of it is durable: with all syncs, and, if the profile of a file system
//! excludes promises of ours, with those alone of which it promises something. What the second says
//! must be there; what only the first says may be gone, by design (EX-104).
//!
//! So an exclusion hides nothing: of a file that fsync and then sync have made durable, fsync's
//! promise is left where sync's is excluded.

use explode_ramdisk::files::FsCall;
use explode_runtime::verdict::ExcludedPromises;

use super::promises::promises;
use super::synced::SyncedNames;
use crate::fs::model::promise::PathPromise;
use crate::fs::model::{Abstract, SyncCall};

/// The tree, with all syncs and with those that promise something.
#[derive(Clone, Debug)]
pub struct Durable {
    /// The tree as it is.
    pub fs: Abstract,
    /// With all syncs.
    pub all: SyncedNames,
    /// With those that promise something, if some do not.
    pub kept: Option<SyncedNames>,
    excluded: ExcludedPromises,
}

impl Durable {
    /// An empty root, on a file system of which nothing is known yet.
    pub fn new() -> Durable {
        let fs = Abstract::new();
        let all = SyncedNames::new(&fs);
        Durable { fs, all, kept: None, excluded: ExcludedPromises::default() }
    }

    /// The profile of the file system excludes these promises. It is said before anything is done;
    /// again after a chop, where it changes nothing.
    pub fn exclude(&mut self, excluded: ExcludedPromises) {
        if self.kept.is_none() && SyncCall::is_any_in(&excluded) {
            self.kept = Some(SyncedNames::new(&Abstract::new()));
        }
        self.excluded = excluded;
    }

    /// What is excluded.
    pub fn excluded(&self) -> &ExcludedPromises {
        &self.excluded
    }

    /// A call has succeeded.
    pub fn follow(&mut self, call: &FsCall) {
        let kept = self.kept.as_mut();
        match SyncCall::of(call) {
            Some(by) => {
                self.all.sync(&self.fs, call, by);
                if let Some(kept) = kept.filter(|_| !self.excluded.contains(by.synced())) {
                    kept.sync(&self.fs, call, by);
                }
            }
            None => {
                self.all.history.add(&self.fs, call);
                kept.into_iter().for_each(|kept| kept.history.add(&self.fs, call));
                self.fs.apply(call);
            }
        }
    }

    /// What must be there, and what else would be if the profile excluded nothing.
    pub fn promises(&self) -> (Vec<PathPromise>, Option<Vec<PathPromise>>) {
        let all = promises(&self.fs, &self.all);
        match &self.kept {
            Some(kept) => (promises(&self.fs, kept), Some(all)),
            None => (all, None),
        }
    }

    /// Would a sync find nothing to do?
    pub fn is_synced(&self) -> bool {
        let paths = self.fs.paths();
        let ids = paths.iter().map(|(_, id)| *id).chain([Abstract::ROOT]);
        ids.into_iter().all(|id| self.all.history.is_forced(&self.fs, id))
    }
}
