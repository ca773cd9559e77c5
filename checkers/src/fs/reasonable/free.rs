//! The names that existed and are free. The name that was freed last is used again first. So the
//! choice does not depend on the letters of names, and states that differ only in names continue
//! alike.

use std::collections::BTreeMap;

use crate::fs::model::{Abstract, Id};
use crate::fs::topology::first_letter;

/// The free names of each existing directory, in the order in which they were freed.
#[derive(Clone, Debug, Default, Hash)]
pub struct Free(BTreeMap<Id, Vec<String>>);

impl Free {
    /// Updates the free names after a call that has changed the tree from `before` to `after`.
    pub fn follow(&mut self, before: &Abstract, after: &Abstract) {
        let paths = after.paths();
        let ids = paths.iter().map(|(_, id)| *id).chain([Abstract::ROOT]);
        let mut free = BTreeMap::new();
        for id in ids.filter(|id| after.is_directory(*id)) {
            let is_named = |name: &str| after.names(id).any(|(other, _)| other == name);
            let mut names = self.0.remove(&id).unwrap_or_default();
            if id < before.next() {
                names.extend(before.names(id).map(|(name, _)| name.to_owned()));
            }
            names.retain(|name| !is_named(name));
            free.insert(id, names);
        }
        self.0 = free;
    }

    /// Returns the free names of a directory, in order.
    pub fn of(&self, id: Id) -> &[String] {
        self.0.get(&id).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the next new name in a directory. `None` if all names are used.
    pub fn next(&self, fs: &Abstract, id: Id) -> Option<String> {
        self.of(id).last().cloned().or_else(|| first_letter(fs, id))
    }
}
