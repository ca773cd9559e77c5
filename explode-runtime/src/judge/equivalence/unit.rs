//! Skips checks with known verdicts within one unit, and selects the spot checks.
//!
//! Nothing outlives the unit. A unit that is repeated, in a new worker or another process, skips
//! the same checks.

use explode_ramdisk::{Identity, Image, Recording};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::judge::CheckOutcome;
use crate::judge::equivalence::{EquivalenceForest, KnownVerdict};

/// One of this number of skipped disks is checked as a spot check.
const SPOT_CHECKS: u64 = 64;

/// The known verdicts of a unit.
#[derive(Debug)]
pub(crate) struct Equivalence {
    forest: EquivalenceForest,
    seed: u64,
}

impl Equivalence {
    /// Starts without known verdicts. The seed selects the spot checks.
    pub fn new(seed: u64) -> Equivalence {
        Equivalence { forest: EquivalenceForest::default(), seed }
    }

    /// Begins a request for crash checks. Without a check_key no earlier verdict can be reused,
    /// because the checker's state is unknown.
    pub fn begin_request(&mut self, has_check_key: bool) {
        if !has_check_key {
            self.forest.clear();
        }
    }

    /// Returns the verdict of a check, if it is known and sufficient.
    pub fn find(
        &mut self,
        tree: u128,
        image: &Image,
        recovery_wanted: bool,
    ) -> Option<KnownVerdict> {
        self.forest.find(tree, image).filter(|answer| answer.is_enough(recovery_wanted))
    }

    /// Returns true if this check is made although its verdict is known.
    pub fn is_spot_check(&self, key: u128) -> bool {
        xxh3_64_with_seed(&key.to_le_bytes(), self.seed).is_multiple_of(SPOT_CHECKS)
    }

    /// Records a check that was made.
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
