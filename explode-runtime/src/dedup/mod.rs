//! The sets of known states and known checks.

mod key_set;
mod keys;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

pub(crate) use key_set::KeySet;
pub use keys::{KeyList, KnownChecks};

/// The set of seen states: the smallest depth at which each signature was reached.
#[derive(Debug, Default)]
pub(crate) struct SeenStates(HashMap<Packed, u32, KeyHasherBuilder>);

impl SeenStates {
    /// Adds a state. Returns true if it is new, or if it was seen only at a greater depth.
    pub fn reach(&mut self, signature: u128, depth: u32) -> bool {
        let signature = Packed(signature.to_le_bytes());
        match self.0.get_mut(&signature) {
            Some(known) if *known <= depth => false,
            Some(known) => {
                *known = depth;
                true
            }
            None => {
                self.0.insert(signature, depth);
                true
            }
        }
    }

    /// Returns the largest of these depths. 0 without states.
    pub fn deepest(&self) -> u32 {
        self.0.values().copied().max().unwrap_or_default()
    }

    /// Returns the number of distinct states.
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

/// A key of 16 bytes without alignment. A state takes 21 bytes in the set, and up to twice that
/// just after the set has grown.
#[derive(Debug, PartialEq, Eq)]
struct Packed([u8; 16]);

impl Hash for Packed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(u128::from_le_bytes(self.0));
    }
}

/// Returns the number of a check of this key below which `further` further crashes during recovery
/// are followed. A disk that was checked so deep that fewer crashes were followed does not stand in
/// for the same disk at a smaller depth.
pub fn nested_key(key: u128, further: u32) -> u128 {
    key.wrapping_add(u128::from(further) << 64)
}

/// The set of seen checks by key, with those that have shown an error.
#[derive(Debug, Default)]
pub struct SeenChecks {
    seen: KeySet,
    /// The checks after crashes during recovery, which are counted separately, by
    /// [number](nested_key).
    crash_crash: KeySet,
    /// As [`KnownChecks::followed`].
    followed: KeySet,
    errors: KeySet,
}

impl SeenChecks {
    /// Adds checks that were made elsewhere.
    pub fn learn(&mut self, known: &KnownChecks) {
        let KnownChecks { seen, crash_crash, followed, errors } = known;
        for (set, keys) in [
            (&mut self.seen, seen),
            (&mut self.crash_crash, crash_crash),
            (&mut self.followed, followed),
            (&mut self.errors, errors),
        ] {
            for key in &keys.0 {
                set.insert(*key);
            }
        }
    }

    /// Adds a check. Returns true if it is new.
    pub fn insert(&mut self, key: u128) -> bool {
        self.seen.insert(key)
    }

    /// Adds a check after a crash during recovery by its [number](nested_key). Returns true if it
    /// is new.
    pub fn insert_crash_crash(&mut self, number: u128) -> bool {
        self.crash_crash.insert(number)
    }

    /// Adds a check whose crashes during recovery are followed, by its [number](nested_key).
    /// Returns true if it is new.
    pub fn insert_followed(&mut self, number: u128) -> bool {
        self.followed.insert(number)
    }

    /// Returns true if the crashes during recovery of this check are followed.
    pub fn has_followed(&self, number: u128) -> bool {
        self.followed.contains(number)
    }

    /// Records that the check of this [number](nested_key), or one that follows from it, has shown
    /// an error.
    pub fn insert_error(&mut self, number: u128) {
        self.errors.insert(number);
    }

    /// Returns true if this check, or one that follows from it, has shown an error.
    pub fn is_error(&self, number: u128) -> bool {
        self.errors.contains(number)
    }

    /// Returns all keys, in parts that fit into a message.
    pub fn parts(&self, most: usize) -> impl Iterator<Item = KnownChecks> + '_ {
        let parts = |set| chunks(set, most).map(KeyList);
        let seen = parts(&self.seen).map(|seen| KnownChecks { seen, ..KnownChecks::default() });
        let nested = parts(&self.crash_crash)
            .map(|crash_crash| KnownChecks { crash_crash, ..KnownChecks::default() });
        let followed = parts(&self.followed)
            .map(|followed| KnownChecks { followed, ..KnownChecks::default() });
        let errors =
            parts(&self.errors).map(|errors| KnownChecks { errors, ..KnownChecks::default() });
        errors.chain(nested).chain(followed).chain(seen)
    }

    /// Returns true if this check was made.
    pub fn has(&self, key: u128) -> bool {
        self.seen.contains(key)
    }

    /// Returns true if a check of this [number](nested_key) was made after a crash during recovery.
    pub fn has_crash_crash(&self, number: u128) -> bool {
        self.crash_crash.contains(number)
    }

    /// Returns the number of checks, including those after crashes during recovery.
    pub fn count(&self) -> usize {
        self.seen.len() + self.crash_crash.len()
    }

    /// Returns the memory that the sets use, in bytes.
    pub fn bytes(&self) -> usize {
        let sets = [&self.seen, &self.crash_crash, &self.followed, &self.errors];
        sets.map(KeySet::bytes).iter().sum()
    }
}

/// Returns the keys of a set, at most `most` at a time.
fn chunks(set: &KeySet, most: usize) -> impl Iterator<Item = Vec<u128>> + '_ {
    let mut keys = set.iter();
    std::iter::from_fn(move || {
        let part: Vec<u128> = keys.by_ref().take(most).collect();
        (!part.is_empty()).then_some(part)
    })
}

/// A builder of [`KeyHasher`], because the keys are hashes already.
pub(crate) type KeyHasherBuilder = BuildHasherDefault<KeyHasher>;

/// A hasher that uses the low half of a 128-bit hash as it is.
#[derive(Debug, Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 ^= u64::from_le_bytes(word);
        }
    }
    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}
