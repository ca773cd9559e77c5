//! The names that were there and are free. The one that was given up last is used again first; so
//! what is used again does not depend on which letters names have, and states that differ in names
//! go on alike.

use std::collections::BTreeMap;

use crate::fs::model::{Abstract, Id};
use crate::fs::topology::first_letter;

/// The free names of each directory that is there, in the order in which they were given up.
#[derive(Clone, Debug, Default)]
pub struct Free(BTreeMap<Id, Vec<String>>);

impl Free {
    /// A call has made one tree of another.
    pub fn follow(&mut self, before: &Abstract, after: &Abstract) {
        let paths = after.paths();
        let ids = paths.iter().map(|(_, id)| *id).chain([Abstract::ROOT]);
        let mut free = BTreeMap::new();
        for id in ids.filter(|id| after.is_directory(*id)) {
            let is_there = |name: &str| after.names(id).any(|(there, _)| there == name);
            let mut names = self.0.remove(&id).unwrap_or_default();
            if id < before.next() {
                names.extend(before.names(id).map(|(name, _)| name.to_owned()));
            }
            names.retain(|name| !is_there(name));
            free.insert(id, names);
        }
        self.0 = free;
    }

    /// Those of a directory, in their order.
    pub fn of(&self, id: Id) -> &[String] {
        self.0.get(&id).map(Vec::as_slice).unwrap_or_default()
    }

    /// The next new name in a directory.
    pub fn next(&self, fs: &Abstract, id: Id) -> Option<String> {
        self.of(id).last().cloned().or_else(|| first_letter(fs, id))
    }
}
