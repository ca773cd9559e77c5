//! The tree and its durable part, in two versions: with all syncs and, if the profile of the file
//! system excludes promises of `fs-sync`, with only those syncs whose promises it keeps. The
//! promises of the second version must hold. A loss that breaks only promises of the first is by
//! design (EX-104).
//!
//! So an exclusion hides no other promise: if fsync and then sync have made a file durable and the
//! promise of sync is excluded, the promise of fsync still holds.

use explode_ramdisk::files::FsCall;
use explode_runtime::verdict::ExcludedPromises;

use super::promises::promises;
use super::synced::SyncedNames;
use crate::fs::model::promise::PathPromise;
use crate::fs::model::{Abstract, SyncCall};

/// The tree, and its durable part with all syncs and with those whose promises are kept.
#[derive(Clone, Debug)]
pub struct Durable {
    /// The tree as it is.
    pub fs: Abstract,
    /// The durable part with all syncs.
    pub all: SyncedNames,
    /// The durable part with the syncs whose promises are kept. `None` if all are kept.
    pub kept: Option<SyncedNames>,
    excluded: ExcludedPromises,
}

impl Durable {
    /// Returns an empty root, on a file system whose profile is not known yet.
    pub fn new() -> Durable {
        let fs = Abstract::new();
        let all = SyncedNames::new(&fs);
        Durable { fs, all, kept: None, excluded: ExcludedPromises::default() }
    }

    /// Sets the promises that the profile of the file system excludes. Called before the first
    /// step, and again after a chop, when it changes nothing.
    pub fn exclude(&mut self, excluded: ExcludedPromises) {
        if self.kept.is_none() && SyncCall::is_any_in(&excluded) {
            self.kept = Some(SyncedNames::new(&Abstract::new()));
        }
        self.excluded = excluded;
    }

    /// Returns the excluded promises.
    pub fn excluded(&self) -> &ExcludedPromises {
        &self.excluded
    }

    /// Applies a call that has succeeded.
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

    /// Notes that the whole tree is durable, also where the promise of sync is excluded.
    pub fn commit(&mut self) {
        for synced in std::iter::once(&mut self.all).chain(&mut self.kept) {
            synced.sync(&self.fs, &FsCall::Syncfs, SyncCall::Sync);
        }
    }

    /// Returns the promises that must be kept, and all promises if the profile excludes some.
    pub fn promises(&self) -> (Vec<PathPromise>, Option<Vec<PathPromise>>) {
        let all = promises(&self.fs, &self.all);
        match &self.kept {
            Some(kept) => (promises(&self.fs, kept), Some(all)),
            None => (all, None),
        }
    }

    /// Returns true if a sync would change nothing.
    pub fn is_synced(&self) -> bool {
        let paths = self.fs.paths();
        let ids = paths.iter().map(|(_, id)| *id).chain([Abstract::ROOT]);
        ids.into_iter().all(|id| self.all.history.is_forced(&self.fs, id))
    }
}
