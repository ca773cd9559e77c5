//! What random walks have in common: each begins at the pristine disks, nothing is saved or restored (EX-17).

use rand_core::Rng as _;
use rand_pcg::Pcg64Mcg;

use super::{State, Unit};

/// Walks of one seed. What is drawn in a walk depends on the seed and the number of the walk alone, so that a run that is resumed
/// goes on where it was.
#[derive(Debug)]
pub(super) struct Walks {
    seed: u64,
    depth: u32,
    begun: u64,
    generator: Pcg64Mcg,
}

impl Walks {
    /// Walks of `depth` mutates.
    pub fn new(seed: u64, depth: u32) -> Walks {
        Walks { seed, depth, begun: 0, generator: generator(seed, 0) }
    }

    /// The next walk begins.
    pub fn begin(&mut self) -> Unit {
        self.begun += 1;
        self.generator = generator(self.seed, self.begun);
        Unit { state: State::default(), script: Vec::new(), mutates: self.depth }
    }

    /// Any number.
    pub fn draw(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// A number below `bound`, which is not 0; all are equally likely.
    pub fn below(&mut self, bound: u64) -> u64 {
        // Rejection keeps them so.
        let zone = u64::MAX - u64::MAX % bound;
        loop {
            let draw = self.draw();
            if draw < zone {
                return draw % bound;
            }
        }
    }

    /// One of so many options.
    pub fn option(&mut self, options: u32) -> u32 {
        self.below(options.into()) as u32
    }
}

fn generator(seed: u64, walk: u64) -> Pcg64Mcg {
    Pcg64Mcg::new(xxhash_rust::xxh3::xxh3_128(&[seed.to_le_bytes(), walk.to_le_bytes()].concat()))
}
