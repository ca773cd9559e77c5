//! Random numbers from a seed, the same in every run.

use rand_core::Rng as _;
use rand_pcg::Pcg64Mcg;

/// A sequence of random numbers. It depends only on a seed and the number of the walk.
#[derive(Clone, Debug)]
pub struct Draws(Pcg64Mcg);

impl Draws {
    /// Returns the sequence of one walk under a seed.
    pub fn new(seed: u64, walk: u64) -> Draws {
        Draws(Pcg64Mcg::new(xxhash_rust::xxh3::xxh3_128(
            &[seed.to_le_bytes(), walk.to_le_bytes()].concat(),
        )))
    }

    /// Returns a number of 64 random bits.
    pub fn draw(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `bound`, which is not 0. All are equally likely.
    pub fn below(&mut self, bound: u64) -> u64 {
        // Rejection keeps all numbers equally likely.
        let zone = u64::MAX - u64::MAX % bound;
        loop {
            let draw = self.draw();
            if draw < zone {
                return draw % bound;
            }
        }
    }

    /// Returns one of `options` options.
    pub fn option(&mut self, options: u32) -> u32 {
        self.below(options.into()) as u32
    }
}
