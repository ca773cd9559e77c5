//! An exact and small set of keys: about 20 bytes for each key, of which 16 are the key itself.
//!
//! The keys are hashes already. Their low bits choose one of many small tables. Each table has open
//! addressing and begins its search at the place that the key's high bits give. A table grows by a
//! quarter when it is 85 percent full. At most one of the 1024 tables is copied at any time, so the
//! set never needs twice its memory. Keys are never removed.

/// The number of tables.
const TABLES: usize = 1 << 10;
/// The largest share of used slots in a table, in percent.
const FULL: usize = 85;
/// The first size of a table.
const FIRST: usize = 8;

/// A set of keys.
#[derive(Debug)]
pub struct KeySet {
    tables: Box<[Table]>,
    /// True if the set has the key 0, which marks an empty slot in the tables.
    has_zero: bool,
}

#[derive(Clone, Debug, Default)]
struct Table {
    slots: Box<[u128]>,
    used: usize,
}

impl Default for KeySet {
    fn default() -> KeySet {
        KeySet { tables: vec![Table::default(); TABLES].into(), has_zero: false }
    }
}

impl KeySet {
    /// Adds a key. Returns true if it is new.
    pub fn insert(&mut self, key: u128) -> bool {
        if key == 0 {
            !std::mem::replace(&mut self.has_zero, true)
        } else {
            self.tables[table_of(key)].insert(key)
        }
    }

    /// Returns true if the set has the key.
    pub fn contains(&self, key: u128) -> bool {
        if key == 0 { self.has_zero } else { self.tables[table_of(key)].contains(key) }
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.tables.iter().map(|table| table.used).sum::<usize>() + usize::from(self.has_zero)
    }

    /// Returns all keys, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = u128> + '_ {
        let slots = self.tables.iter().flat_map(|table| table.slots.iter().copied());
        self.has_zero.then_some(0).into_iter().chain(slots.filter(|key| *key != 0))
    }

    /// Returns the memory that the set uses, in bytes.
    pub fn bytes(&self) -> usize {
        let slots: usize = self.tables.iter().map(|table| table.slots.len()).sum();
        size_of::<KeySet>() + size_of_val(&*self.tables) + slots * size_of::<u128>()
    }
}

fn table_of(key: u128) -> usize {
    key as usize % TABLES
}

impl Table {
    fn insert(&mut self, key: u128) -> bool {
        if (self.used + 1) * 100 > self.slots.len() * FULL {
            self.grow();
        }
        let slot = self.find(key);
        let new = self.slots[slot] == 0;
        self.slots[slot] = key;
        self.used += usize::from(new);
        new
    }

    fn contains(&self, key: u128) -> bool {
        self.used > 0 && self.slots[self.find(key)] == key
    }

    /// Returns the slot of the key, or the empty slot in which it belongs. The table always has an
    /// empty slot.
    fn find(&self, key: u128) -> usize {
        let slots = self.slots.len();
        // The high half of the key is taken as a fraction of the table.
        let mut slot = (((key >> 64) * slots as u128) >> 64) as usize;
        while self.slots[slot] != 0 && self.slots[slot] != key {
            slot += 1;
            if slot == slots {
                slot = 0;
            }
        }
        slot
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 5 / 4).max(FIRST).max(self.slots.len() + 1);
        let old = std::mem::replace(&mut self.slots, vec![0; size].into());
        for key in old.iter().filter(|key| **key != 0) {
            let slot = self.find(*key);
            self.slots[slot] = *key;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use xxhash_rust::xxh3::xxh3_128;

    use super::*;

    proptest! {
        /// Keys have few bits, so that they repeat and share tables and slots.
        #[test]
        fn a_key_set_equals_a_model_set(
            keys in prop::collection::vec((0_u128..40, 0_u128..3), 0..300),
        ) {
            let mut set = KeySet::default();
            let mut model = BTreeSet::new();
            for (high, low) in keys {
                let key = high << 122 | low;
                prop_assert_eq!(set.contains(key), model.contains(&key));
                prop_assert_eq!(set.insert(key), model.insert(key));
                prop_assert!(set.contains(key));
                prop_assert_eq!(set.len(), model.len());
            }
        }
    }

    /// Measures the memory of a million keys, at every size on the way there.
    #[test]
    fn a_key_takes_little_memory() {
        let keys: u64 = 1_000_000;
        let mut set = KeySet::default();
        for n in 0..keys {
            assert!(set.insert(xxh3_128(&n.to_le_bytes())));
            if n % 65_536 == 0 && n > keys / 10 {
                assert!(
                    set.bytes() <= set.len() * 24,
                    "{} bytes for {} keys",
                    set.bytes(),
                    set.len()
                );
            }
        }
        assert!(set.bytes() <= set.len() * 24, "{} bytes for {} keys", set.bytes(), set.len());
        assert!((0..keys).step_by(97).all(|n| set.contains(xxh3_128(&n.to_le_bytes()))));
        assert!((keys..keys * 2).step_by(97).all(|n| !set.contains(xxh3_128(&n.to_le_bytes()))));
    }
}
