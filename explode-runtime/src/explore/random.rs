//! Random walks: each begins at the pristine disks, nothing is saved or restored (EX-17).

use rand_core::Rng as _;
use rand_pcg::Pcg64Mcg;

use super::{Finished, State, Strategy, Unit};
use crate::choose::Point;

/// Walks of `depth` mutates, each answer drawn uniformly; it never ends by itself.
#[derive(Debug)]
pub struct Random {
    depth: u32,
    generator: Pcg64Mcg,
}

impl Random {
    /// The walks of this seed.
    pub fn new(seed: u64, depth: u32) -> Random {
        Random { depth, generator: Pcg64Mcg::new(xxhash_rust::xxh3::xxh3_128(&seed.to_le_bytes())) }
    }
}

impl Strategy for Random {
    fn next(&mut self) -> Option<Unit> {
        Some(Unit { state: State::default(), script: Vec::new(), mutates: self.depth })
    }

    fn fallback(&mut self, point: &Point<'_>) -> u32 {
        // Rejection keeps every option equally likely.
        let zone = u32::MAX - u32::MAX % point.options;
        loop {
            let draw = self.generator.next_u32();
            if draw < zone {
                return draw % point.options;
            }
        }
    }

    fn answers(&self) -> bool {
        true
    }

    fn observe(&mut self, _finished: &Finished<'_>) {}
}
