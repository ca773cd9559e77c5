//! What was seen before: states, and checks.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// The seen set of states: by signature, with the depth at which each was reached.
#[derive(Debug, Default)]
pub(super) struct States(HashMap<u128, u32, ByKey>);

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

/// The seen set of checks, by key, and which of them have shown an error.
#[derive(Debug, Default)]
pub(super) struct Checks {
    seen: HashSet<u128, ByKey>,
    /// Those of crashes during recovery, which are counted apart.
    crash_crash: HashSet<u128, ByKey>,
    errors: HashSet<u128, ByKey>,
}

impl Checks {
    /// Notes a check; is it new?
    pub fn insert(&mut self, key: u128) -> bool {
        self.seen.insert(key)
    }

    /// Notes a check of a crash during recovery, from which so many further crashes are looked at; returns what it is noted by, if
    /// it was made neither as such nor otherwise. A disk that was met so deep that nothing further was looked at does not stand
    /// for the same disk met before that.
    pub fn insert_crash_crash(&mut self, key: u128, further: u32) -> Option<u128> {
        let noted = key.wrapping_add(u128::from(further) << 64);
        (!self.seen.contains(&key) && self.crash_crash.insert(noted)).then_some(noted)
    }

    /// Notes a check of a crash during recovery, whatever else was made.
    pub fn note_crash_crash(&mut self, key: u128) {
        self.crash_crash.insert(key);
    }

    /// Notes that a check has shown an error.
    pub fn insert_error(&mut self, key: u128) {
        self.errors.insert(key);
    }

    /// Has this check shown an error?
    pub fn is_error(&self, key: u128) -> bool {
        self.errors.contains(&key)
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
