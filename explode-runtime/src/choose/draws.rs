//! Draws of a seed: numbers that are the same in every run.

use rand_core::Rng as _;
use rand_pcg::Pcg64Mcg;

/// A sequence of draws. It depends on a seed and on the number of the walk alone.
#[derive(Clone, Debug)]
pub struct Draws(Pcg64Mcg);

impl Draws {
    /// The draws of one walk of a seed.
    pub fn new(seed: u64, walk: u64) -> Draws {
        Draws(Pcg64Mcg::new(xxhash_rust::xxh3::xxh3_128(
            &[seed.to_le_bytes(), walk.to_le_bytes()].concat(),
        )))
    }

    /// Any number.
    pub fn draw(&mut self) -> u64 {
        self.0.next_u64()
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
