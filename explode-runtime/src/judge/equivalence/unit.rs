//! Skipping within one unit of work: the checks whose verdict is known, and those that are made all
//! the same.
//!
//! Nothing of it outlives the unit: a unit that is repeated, in a new worker or another process,
//! skips what it skipped before.

use explode_ramdisk::{Identity, Image, Recording};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::judge::CheckOutcome;
use crate::judge::equivalence::{EquivalenceForest, KnownVerdict};

/// One in so many of the skipped disks is checked all the same.
const SPOT_CHECKS: u64 = 64;

/// What a unit knows of the checks that it has made.
#[derive(Debug)]
pub(crate) struct Equivalence {
    forest: EquivalenceForest,
    seed: u64,
}

impl Equivalence {
    /// Nothing is known. The seed chooses the spot checks.
    pub fn new(seed: u64) -> Equivalence {
        Equivalence { forest: EquivalenceForest::default(), seed }
    }

    /// A request for crash checks begins. Without a check_key what its checker remembers is like
    /// nothing before.
    pub fn begin_request(&mut self, has_check_key: bool) {
        if !has_check_key {
            self.forest.clear();
        }
    }

    /// What comes of a check, if it is known.
    pub fn find(
        &mut self,
        tree: u128,
        image: &Image,
        recovery_wanted: bool,
    ) -> Option<KnownVerdict> {
        self.forest.find(tree, image).filter(|answer| answer.is_enough(recovery_wanted))
    }

    /// Is this check made all the same?
    pub fn is_spot_check(&self, key: u128) -> bool {
        xxh3_64_with_seed(&key.to_le_bytes(), self.seed).is_multiple_of(SPOT_CHECKS)
    }

    /// Notes a check that was made.
    pub fn note(
        &mut self,
        tree: u128,
        image: &Image,
        judged: &CheckOutcome,
        recording: Recording,
        disk: Identity,
    ) {
        let Some(reads) = &judged.reads else { return };
        if let Some(answer) = KnownVerdict::of(judged, recording == Recording::On, disk) {
            self.forest.insert(tree, image, reads, answer);
        }
    }
}
