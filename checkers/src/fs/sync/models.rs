//! The model twice, if the profile of a file system excludes promises of ours: with all syncs, and with those alone of which it promises
//! something. What the second says must be there; what only the first says may be gone, by design (EX-104).
//!
//! So an exclusion hides nothing: of a file that fsync and then sync have made durable, fsync's promise is left where sync's is excluded.

use explode_runtime::verdict::Excluded;

use super::Call;
use super::model::Model;

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
    /// An empty root, on a file system whose profile excludes these promises.
    pub fn new(excluded: Excluded) -> Models {
        let kept = Call::is_any_in(&excluded).then(Model::new);
        Models { all: Model::new(), kept, excluded }
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
