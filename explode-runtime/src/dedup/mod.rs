//! What was seen before: states, and checks.

mod key_set;
mod keys;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use key_set::KeySet;

pub use keys::{Keys, Known};

/// The seen set of states: by signature, with the depth at which each was reached.
#[derive(Debug, Default)]
pub(crate) struct States(HashMap<u128, u32, ByKey>);

impl States {
    /// Notes a state; is it new, or was it only seen deeper than now?
    pub fn reach(&mut self, signature: u128, depth: u32) -> bool {
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

    /// At which depth it was reached, if it was.
    pub fn depth(&self, signature: u128) -> Option<u32> {
        self.0.get(&signature).copied()
    }

    /// Takes back what [`reach`](States::reach) has noted: before, the depth was this.
    pub fn undo(&mut self, signature: u128, before: Option<u32>) {
        match before {
            Some(depth) => self.0.insert(signature, depth),
            None => self.0.remove(&signature),
        };
    }

    /// How many distinct ones.
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

/// Where a unit notes its checks, by key.
pub trait Notes {
    /// Notes a check; is it new?
    fn insert(&mut self, key: u128) -> bool;

    /// Notes a check of a crash during recovery, from which so many further crashes are looked at; returns [what it is noted
    /// by](noted_as), if it was made neither as such nor otherwise.
    fn insert_crash_crash(&mut self, key: u128, further: u32) -> Option<u128>;

    /// Notes that a check has shown an error.
    fn insert_error(&mut self, key: u128);

    /// Has this check shown an error?
    fn is_error(&self, key: u128) -> bool;
}

/// What a check after a crash during recovery is noted by, if so many further crashes are looked at. A disk that was met so deep
/// that nothing further was looked at does not stand for the same disk met before that.
pub(crate) fn noted_as(key: u128, further: u32) -> u128 {
    key.wrapping_add(u128::from(further) << 64)
}

/// The seen set of checks, by key, and which of them have shown an error.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Checks {
    seen: KeySet,
    /// Those of crashes during recovery, which are counted apart, [noted so](noted_as).
    crash_crash: KeySet,
    errors: KeySet,
}

impl Checks {
    /// Notes checks that were made elsewhere.
    pub fn know(&mut self, known: &Known) {
        let Known { seen, crash_crash, errors } = known;
        for (set, keys) in
            [(&mut self.seen, seen), (&mut self.crash_crash, crash_crash), (&mut self.errors, errors)]
        {
            for key in &keys.0 {
                set.insert(*key);
            }
        }
    }

    /// Was this check made?
    pub fn has(&self, key: u128) -> bool {
        self.seen.contains(key)
    }

    /// Was one made that is [noted so](noted_as)?
    pub fn has_crash_crash(&self, noted: u128) -> bool {
        self.crash_crash.contains(noted)
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

impl Notes for Checks {
    fn insert(&mut self, key: u128) -> bool {
        self.seen.insert(key)
    }
    fn insert_crash_crash(&mut self, key: u128, further: u32) -> Option<u128> {
        let noted = noted_as(key, further);
        (!self.seen.contains(key) && self.crash_crash.insert(noted)).then_some(noted)
    }
    fn insert_error(&mut self, key: u128) {
        self.errors.insert(key);
    }
    fn is_error(&self, key: u128) -> bool {
        self.errors.contains(key)
    }
}

/// Notes that do not count yet, on top of those that do.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    checks: &'a Checks,
    seen: HashSet<u128, ByKey>,
    crash_crash: HashSet<u128, ByKey>,
    errors: HashSet<u128, ByKey>,
}

impl<'a> Draft<'a> {
    /// Nothing more yet.
    pub fn new(checks: &'a Checks) -> Draft<'a> {
        Draft {
            checks,
            seen: HashSet::default(),
            crash_crash: HashSet::default(),
            errors: HashSet::default(),
        }
    }
}

impl Notes for Draft<'_> {
    fn insert(&mut self, key: u128) -> bool {
        !self.checks.seen.contains(key) && self.seen.insert(key)
    }
    fn insert_crash_crash(&mut self, key: u128, further: u32) -> Option<u128> {
        let noted = noted_as(key, further);
        let known = self.checks.has(key) || self.seen.contains(&key) || self.checks.has_crash_crash(noted);
        (!known && self.crash_crash.insert(noted)).then_some(noted)
    }
    fn insert_error(&mut self, key: u128) {
        self.errors.insert(key);
    }
    fn is_error(&self, key: u128) -> bool {
        self.checks.errors.contains(key) || self.errors.contains(&key)
    }
}

/// The keys are hashes already.
pub(crate) type ByKey = BuildHasherDefault<KeyIsHash>;

/// Takes the low half of a 128-bit hash as it is.
#[derive(Debug, Default)]
pub(crate) struct KeyIsHash(u64);

impl Hasher for KeyIsHash {
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
