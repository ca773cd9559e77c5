//! The locks of files: whole files (flock(2)), and ranges (`F_OFD_SETLK` of fcntl(2)). The two
//! kinds do not see each other. An open file holds them.

use std::collections::BTreeMap;
use std::ops::Range;

/// A kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Several may hold it.
    Shared,
    /// One holds it.
    Exclusive,
}

/// A lock of a range that an open file holds.
#[derive(Clone, Debug)]
pub struct HeldRange {
    /// The number of the open file.
    open: u64,
    /// The bytes.
    pub range: Range<u64>,
    pub lock: Lock,
}

/// The locks of one kind, by the numbers of nodes. A whole file is the range of all bytes.
#[derive(Debug, Default)]
pub struct Locks(BTreeMap<u32, Vec<HeldRange>>);

/// All bytes of a file.
pub const WHOLE: Range<u64> = 0..u64::MAX;

impl Locks {
    /// Returns a lock of another open file that excludes this one.
    pub fn conflict(
        &self,
        node: u32,
        open: u64,
        range: &Range<u64>,
        lock: Lock,
    ) -> Option<&HeldRange> {
        self.0.get(&node)?.iter().find(|held| {
            held.open != open
                && held.range.start < range.end
                && range.start < held.range.end
                && (lock == Lock::Exclusive || held.lock == Lock::Exclusive)
        })
    }

    /// Takes a lock, in place of what the open file holds of the range. Returns false if another
    /// open file holds a lock that excludes it.
    pub fn lock(&mut self, node: u32, open: u64, range: Range<u64>, lock: Lock) -> bool {
        let is_free = self.conflict(node, open, &range, lock).is_none();
        if is_free {
            self.unlock(node, open, range.clone());
            self.0.entry(node).or_default().push(HeldRange { open, range, lock });
        }
        is_free
    }

    /// Gives back what an open file holds of a range.
    pub fn unlock(&mut self, node: u32, open: u64, range: Range<u64>) {
        let Some(held) = self.0.get_mut(&node) else { return };
        let (own, mut kept): (Vec<_>, Vec<_>) = held.drain(..).partition(|held| held.open == open);
        for HeldRange { range: held, lock, .. } in own {
            let parts =
                [held.start..held.end.min(range.start), held.start.max(range.end)..held.end];
            let parts = parts.into_iter().filter(|part| part.start < part.end);
            kept.extend(parts.map(|range| HeldRange { open, range, lock }));
        }
        if kept.is_empty() {
            self.0.remove(&node);
        } else {
            *held = kept;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_ranges_exclude_those_of_other_open_files() {
        let mut locks = Locks::default();
        assert!(locks.lock(1, 1, 0..10, Lock::Exclusive));
        assert!(!locks.lock(1, 2, 9..12, Lock::Shared));
        assert!(locks.lock(1, 2, 10..12, Lock::Shared));
        assert!(locks.lock(2, 2, 0..10, Lock::Exclusive));
        // A part of the range becomes free, and another part is shared from now on.
        locks.unlock(1, 1, 4..6);
        assert!(locks.lock(1, 2, 4..6, Lock::Exclusive));
        assert!(locks.lock(1, 1, 0..2, Lock::Shared));
        assert!(locks.lock(1, 2, 1..2, Lock::Shared));
        assert!(!locks.lock(1, 2, 2..3, Lock::Shared));
        locks.unlock(1, 1, WHOLE);
        assert!(locks.lock(1, 2, WHOLE, Lock::Exclusive));
        locks.unlock(1, 2, WHOLE);
        assert!(locks.lock(1, 3, WHOLE, Lock::Exclusive));
    }
}
