//! What was seen before: states, and checks.

mod key_set;
mod keys;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

pub(crate) use key_set::KeySet;
pub use keys::{KeyList, KnownChecks};

/// The seen set of states: by signature, with the depth at which each was reached.
#[derive(Debug, Default)]
pub(crate) struct SeenStates(HashMap<Packed, u32, KeyHasherBuilder>);

impl SeenStates {
    /// Notes a state; is it new, or was it only seen deeper than now?
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

    /// How many distinct ones.
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

/// A key that takes 16 bytes wherever it lies: a state takes 21 in the set, and up to twice that
/// when the set has just grown.
#[derive(Debug, PartialEq, Eq)]
struct Packed([u8; 16]);

impl Hash for Packed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(u128::from_le_bytes(self.0));
    }
}

/// The number of a check of this key of which so many further crashes during recovery are followed.
/// A disk that was met so deep that nothing further was followed does not stand for the same disk
/// met before that.
pub fn nested_key(key: u128, further: u32) -> u128 {
    key.wrapping_add(u128::from(further) << 64)
}

/// The seen set of checks, by key, and which of them have shown an error.
#[derive(Debug, Default)]
pub struct SeenChecks {
    seen: KeySet,
    /// Those of crashes during recovery, which are counted apart, by [number](nested_key).
    crash_crash: KeySet,
    errors: KeySet,
}

impl SeenChecks {
    /// Notes checks that were made elsewhere.
    pub fn learn(&mut self, known: &KnownChecks) {
        let KnownChecks { seen, crash_crash, errors } = known;
        for (set, keys) in [
            (&mut self.seen, seen),
            (&mut self.crash_crash, crash_crash),
            (&mut self.errors, errors),
        ] {
            for key in &keys.0 {
                set.insert(*key);
            }
        }
    }

    /// Notes a check; is it new?
    pub fn insert(&mut self, key: u128) -> bool {
        self.seen.insert(key)
    }

    /// Notes a check of a crash during recovery by [its number](nested_key); is it new?
    pub fn insert_crash_crash(&mut self, number: u128) -> bool {
        self.crash_crash.insert(number)
    }

    /// Notes that a check of [this number](nested_key), or one that follows from it, has shown an
    /// error.
    pub fn insert_error(&mut self, number: u128) {
        self.errors.insert(number);
    }

    /// Has this check, or one that follows from it, shown an error?
    pub fn is_error(&self, number: u128) -> bool {
        self.errors.contains(number)
    }

    /// All of them, in parts that are not too large for a message.
    pub fn parts(&self, most: usize) -> impl Iterator<Item = KnownChecks> + '_ {
        let parts = |set| chunks(set, most).map(KeyList);
        let seen = parts(&self.seen).map(|seen| KnownChecks { seen, ..KnownChecks::default() });
        let nested = parts(&self.crash_crash)
            .map(|crash_crash| KnownChecks { crash_crash, ..KnownChecks::default() });
        let errors =
            parts(&self.errors).map(|errors| KnownChecks { errors, ..KnownChecks::default() });
        errors.chain(nested).chain(seen)
    }

    /// Was this check made?
    pub fn has(&self, key: u128) -> bool {
        self.seen.contains(key)
    }

    /// Was one of this [number](nested_key) made after a crash during recovery?
    pub fn has_crash_crash(&self, number: u128) -> bool {
        self.crash_crash.contains(number)
    }

    /// The number of checks, those of crashes during recovery included.
    pub fn count(&self) -> usize {
        self.seen.len() + self.crash_crash.len()
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.seen.bytes() + self.crash_crash.bytes() + self.errors.bytes()
    }
}

/// The keys of a set, so many at a time.
fn chunks(set: &KeySet, most: usize) -> impl Iterator<Item = Vec<u128>> + '_ {
    let mut keys = set.iter();
    std::iter::from_fn(move || {
        let part: Vec<u128> = keys.by_ref().take(most).collect();
        (!part.is_empty()).then_some(part)
    })
}

/// The keys are hashes already.
pub(crate) type KeyHasherBuilder = BuildHasherDefault<KeyHasher>;

/// Takes the low half of a 128-bit hash as it is.
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
