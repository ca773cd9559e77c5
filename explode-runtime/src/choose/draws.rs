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
        // Rejection keeps all numbers equally likely. Only the last few numbers are rejected, so
        // their exact bound is seldom needed.
        let mut draw = self.draw();
        while draw > u64::MAX - bound && draw >= u64::MAX - u64::MAX % bound {
            draw = self.draw();
        }
        draw % bound
    }

    /// Returns one of `options` options.
    pub fn option(&mut self, options: u32) -> u32 {
        self.below(options.into()) as u32
    }

    /// Returns one of `options` options, drawn in proportion to its weight. Without weights all
    /// are equally likely.
    pub fn weighted(&mut self, options: u32, weights: &[u32]) -> u32 {
        if weights.is_empty() {
            return self.option(options);
        }
        let left = self.below(weights.iter().map(|weight| u64::from(*weight)).sum());
        // Every option is looked at: that is faster than a branch that no processor can predict.
        let (mut sum, mut option) = (0, 0);
        for weight in weights {
            sum += u64::from(*weight);
            option += u32::from(sum <= left);
        }
        option
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds for which many numbers are rejected are those above half of all numbers.
    #[test]
    fn numbers_are_those_of_plain_rejection() {
        for bound in [1, 2, 3, 7, 1000, u64::MAX / 2 + 2, u64::MAX / 3 * 2, u64::MAX] {
            let (mut draws, mut plain) = (Draws::new(1, bound), Draws::new(1, bound));
            let mut rejected = 0;
            for _ in 0..1000 {
                let expected = loop {
                    let draw = plain.draw();
                    if draw < u64::MAX - u64::MAX % bound {
                        break draw % bound;
                    }
                    rejected += 1;
                };
                assert_eq!(draws.below(bound), expected, "below {bound}");
            }
            assert_eq!(rejected > 100, bound == u64::MAX / 2 + 2 || bound == u64::MAX / 3 * 2);
        }
    }
}
