//! The model twice, if the profile of a file system excludes promises of ours: with all syncs, and
//! with those alone of which it promises something. What the second says must be there; what only
//! the first says may be gone, by design (EX-104).
//!
//! So an exclusion hides nothing: of a file that fsync and then sync have made durable, fsync's
//! promise is left where sync's is excluded.

use explode_runtime::verdict::Excluded;

use super::model::Model;
use crate::fs::model::SyncCall as Call;

/// Both.
#[derive(Clone, Debug)]
pub struct Models {
    /// With all syncs.
    pub all: Model,
    /// With those that promise something, if some do not.
    pub kept: Option<Model>,
    excluded: Excluded,
}

impl Models {
    /// An empty root, on a file system of which nothing is known yet.
    pub fn new() -> Models {
        Models { all: Model::new(), kept: None, excluded: Excluded::default() }
    }

    /// The profile of the file system excludes these promises. It is said before anything is done;
    /// again after a chop, where it changes nothing.
    pub fn exclude(&mut self, excluded: Excluded) {
        if self.kept.is_none() && Call::is_any_in(&excluded) {
            self.kept = Some(Model::new());
        }
        self.excluded = excluded;
    }

    /// What is excluded.
    pub fn excluded(&self) -> &Excluded {
        &self.excluded
    }

    /// Does what is no sync.
    pub fn change(&mut self, change: impl Fn(&mut Model)) {
        [Some(&mut self.all), self.kept.as_mut()].into_iter().flatten().for_each(change);
    }

    /// Does a sync.
    pub fn sync(&mut self, by: Call, sync: impl Fn(&mut Model)) {
        sync(&mut self.all);
        if let Some(kept) = self.kept.as_mut().filter(|_| !self.excluded.contains(by.synced())) {
            sync(kept);
        }
    }
}
