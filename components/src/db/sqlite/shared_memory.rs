//! The shared memory of one database file in WAL mode: its regions and their locks (`unixShmNode`
//! in `os_unix.c`).
//!
//! On unix it is a mapped file, `DATABASE-shm`. Nothing depends on its contents after a crash,
//! because the first connection truncates it (`unixLockSharedMemory`). So here it is memory, which
//! its last user frees.

use std::cell::Cell;
use std::rc::Rc;

use super::locks::Busy;

/// The number of locks (`SQLITE_SHM_NLOCK`).
pub(super) const SLOTS: usize = 8;

const PAGE_WORDS: usize = 512;
const PAGE_BYTES: usize = PAGE_WORDS * 8;

/// A region of shared memory. SQLite keeps pointers into it, so it never moves. All access is
/// through those pointers, hence the cells.
type Region = Rc<[Cell<[u64; PAGE_WORDS]>]>;

/// Regions and locks, shared by the connections of a stack.
#[derive(Default)]
pub(super) struct SharedMemory {
    regions: Vec<Region>,
    slots: [Slot; SLOTS],
    users: u32,
}

/// One lock: the number of connections that hold it shared, or held exclusively by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Shared(u32),
    Exclusive,
}

impl Default for Slot {
    fn default() -> Slot {
        Slot::Shared(0)
    }
}

/// The locks that one connection holds, a bit for each slot.
#[derive(Debug, Default)]
pub(super) struct Holds {
    shared: u8,
    exclusive: u8,
}

impl SharedMemory {
    /// Adds a user.
    pub fn join(&mut self) -> Holds {
        self.users += 1;
        Holds::default()
    }

    /// Removes a user and releases its locks. Returns true if it was the last one.
    pub fn leave(&mut self, mut holds: Holds) -> bool {
        self.unlock(&mut holds, 0..SLOTS);
        self.users -= 1;
        self.users == 0
    }

    /// Returns the address of a region of `bytes` bytes, aligned to 8 and zero at first. `None` if
    /// the region does not exist and `extend` is false.
    pub fn region(&mut self, index: usize, bytes: usize, extend: bool) -> Option<*const u8> {
        if extend {
            while self.regions.len() <= index {
                let pages = bytes.div_ceil(PAGE_BYTES);
                self.regions.push(std::iter::repeat_n(Cell::new([0; PAGE_WORDS]), pages).collect());
            }
        }
        Some(self.regions.get(index)?.as_ptr().cast())
    }

    /// Takes one lock shared.
    pub fn lock_shared(&mut self, holds: &mut Holds, slot: usize) -> Result<(), Busy> {
        if holds.shared & 1 << slot != 0 {
            return Ok(());
        }
        let Slot::Shared(count) = &mut self.slots[slot] else { return Err(Busy) };
        *count += 1;
        holds.shared |= 1 << slot;
        Ok(())
    }

    /// Takes all locks of a range exclusively, or none of them.
    pub fn lock_exclusive(
        &mut self,
        holds: &mut Holds,
        slots: std::ops::Range<usize>,
    ) -> Result<(), Busy> {
        if self.slots[slots.clone()].iter().any(|&slot| slot != Slot::Shared(0)) {
            return Err(Busy);
        }
        for slot in slots {
            self.slots[slot] = Slot::Exclusive;
            holds.exclusive |= 1 << slot;
        }
        Ok(())
    }

    /// Releases the locks of a range that `holds` contains.
    pub fn unlock(&mut self, holds: &mut Holds, slots: std::ops::Range<usize>) {
        for slot in slots {
            if holds.exclusive & 1 << slot != 0 {
                self.slots[slot] = Slot::Shared(0);
            } else if holds.shared & 1 << slot != 0
                && let Slot::Shared(count) = &mut self.slots[slot]
            {
                *count -= 1;
            }
            holds.exclusive &= !(1 << slot);
            holds.shared &= !(1 << slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_and_exclusive_locks_exclude_each_other() {
        let mut memory = SharedMemory::default();
        let (mut one, mut other) = (memory.join(), memory.join());
        memory.lock_shared(&mut one, 3).unwrap();
        memory.lock_shared(&mut other, 3).unwrap();
        assert_eq!(memory.lock_exclusive(&mut one, 3..4), Err(Busy));
        assert_eq!(memory.lock_exclusive(&mut one, 0..8), Err(Busy));
        memory.lock_exclusive(&mut one, 0..2).unwrap();
        assert_eq!(memory.lock_shared(&mut other, 1), Err(Busy));
        memory.unlock(&mut one, 0..2);
        memory.lock_shared(&mut other, 1).unwrap();
        assert!(!memory.leave(other));
        memory.lock_exclusive(&mut one, 1..2).unwrap();
        assert!(memory.leave(one));
    }

    #[test]
    fn regions_stay_where_they_are() {
        let mut memory = SharedMemory::default();
        assert_eq!(memory.region(0, 32768, false), None);
        let first = memory.region(0, 32768, true).unwrap();
        for index in 1..20 {
            memory.region(index, 32768, true).unwrap();
        }
        assert_eq!(memory.region(0, 32768, true), Some(first));
        assert_eq!(first.addr() % 8, 0);
    }
}
