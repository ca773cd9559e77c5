//! The locks of files (flock(2)).

use std::collections::BTreeMap;

/// A kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Several may hold it.
    Shared,
    /// One holds it.
    Exclusive,
}

/// The holders of the locks of each node, by the numbers of their open files.
#[derive(Debug, Default)]
pub struct Locks(BTreeMap<u32, BTreeMap<u64, Lock>>);

impl Locks {
    /// Takes a lock, in place of the one that the open file holds. Returns false if another one
    /// holds a lock that excludes it.
    pub fn lock(&mut self, node: u32, open: u64, lock: Lock) -> bool {
        let holders = self.0.entry(node).or_default();
        let mut others = holders.iter().filter(|(holder, _)| **holder != open);
        let is_free = others
            .all(|(_, held)| lock == Lock::Shared && *held == Lock::Shared);
        if is_free {
            holders.insert(open, lock);
        }
        is_free
    }

    /// Gives back the lock of an open file, if it has one.
    pub fn unlock(&mut self, node: u32, open: u64) {
        if let Some(holders) = self.0.get_mut(&node) {
            holders.remove(&open);
            if holders.is_empty() {
                self.0.remove(&node);
            }
        }
    }
}
