//! The list of all files.

use std::collections::BTreeSet;

use super::inode::InodeBody;
use super::tree::{ROOT, Tree};

impl Tree {
    /// Returns every file that a path leads to once, with its path, its device and its size in
    /// bytes. The path is the first one level by level, in alphabetical order.
    pub fn list(&self) -> Vec<(String, u32, u64)> {
        let mut files = Vec::new();
        let mut met = BTreeSet::from([ROOT]);
        let mut level = vec![(String::new(), ROOT)];
        while !level.is_empty() {
            let mut next = Vec::new();
            for (path, number) in level {
                match &self.inode(number).body {
                    InodeBody::Symlink => {}
                    InodeBody::File { size } => files.push((path, self.device(number), *size)),
                    InodeBody::Directory(directory) => {
                        let entries = directory
                            .names
                            .iter()
                            .filter_map(|(name, at)| Some((name, at.leads_to?)));
                        let new = entries.filter(|(_, number)| met.insert(*number));
                        next.extend(new.map(|(name, number)| (format!("{path}/{name}"), number)));
                    }
                }
            }
            level = next;
        }
        files
    }
}
