//! Limits, and the sample that is taken above them: never silent, always the same for the same seed (EX-75, EX-85).

use std::collections::BTreeSet;

use num_bigint::BigUint;
use rand_core::Rng as _;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

/// How many disks of one emission are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Above so many combinations an emission is sampled.
    pub limit: u64,
    /// Size of the sample; at least 2, because the empty and the full combination are always in it.
    pub samples: u64,
    /// Where the sample's generator starts.
    #[serde(skip)]
    pub seed: SampleSeed,
}

/// What, with the number of the emission, seeds the generator of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleSeed {
    /// The run's seed.
    pub seed: u64,
    /// Hash of the choices made so far.
    pub choices: u128,
    /// Index of the interval among those of these choices.
    pub interval: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { limit: 10_000, samples: 2_000, seed: SampleSeed::default() }
    }
}

impl Limits {
    /// Are all of so many combinations visited?
    pub(super) fn all(&self, count: &BigUint) -> bool {
        *count <= BigUint::from(self.limit.max(self.samples).max(2))
    }

    /// The numbers to visit out of `count`, in order; none if all are to be visited.
    pub(super) fn sample(&self, emission: u64, count: &BigUint) -> Option<Vec<BigUint>> {
        if self.all(count) {
            return None;
        }
        let samples = BigUint::from(self.samples.max(2));
        // Floyd's method: each set of `samples - 2` of the numbers between the first and the last is equally likely.
        let mut generator = self.seed.generator(emission);
        let last = count - 1u32;
        let inner = &last - 1u32;
        let mut picked = BTreeSet::new();
        let mut bound = &inner - (&samples - 2u32);
        while bound < inner {
            bound += 1u32;
            let number = below(&mut generator, &bound) + 1u32;
            if !picked.insert(number) {
                picked.insert(bound.clone());
            }
        }
        let first = std::iter::once(BigUint::ZERO);
        Some(first.chain(picked).chain(std::iter::once(last)).collect())
    }
}

impl SampleSeed {
    fn generator(&self, emission: u64) -> Pcg64Mcg {
        let mut bytes = Vec::with_capacity(40);
        bytes.extend(self.seed.to_le_bytes());
        bytes.extend(self.choices.to_le_bytes());
        bytes.extend(self.interval.to_le_bytes());
        bytes.extend(emission.to_le_bytes());
        Pcg64Mcg::new(xxh3_128(&bytes))
    }
}

/// A uniform number below `bound`, by rejection.
fn below(generator: &mut Pcg64Mcg, bound: &BigUint) -> BigUint {
    let bits = bound.bits();
    let words = bits.div_ceil(32) as usize;
    loop {
        let mut digits: Vec<u32> = (0..words).map(|_| generator.next_u32()).collect();
        if let Some(top) = digits.last_mut() {
            *top >>= 32 * words as u64 - bits;
        }
        let number = BigUint::new(digits);
        if number < *bound {
            return number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_distinct_sorted_repeatable_and_has_both_ends() {
        let count = BigUint::from(2u32).pow(200);
        let limits = Limits { limit: 1000, samples: 200, ..Limits::default() };
        let sample = limits.sample(3, &count).expect("above the limit");
        assert_eq!(sample.len(), 200);
        assert!(sample.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((&sample[0], &sample[199]), (&BigUint::ZERO, &(&count - 1u32)));
        assert_eq!(limits.sample(3, &count), Some(sample.clone()));
        assert_ne!(limits.sample(4, &count), Some(sample));
    }

    #[test]
    fn a_sample_of_nearly_everything_misses_only_what_it_must() {
        let limits = Limits { limit: 10, samples: 99, ..Limits::default() };
        let sample = limits.sample(0, &BigUint::from(100u32)).expect("above the limit");
        let distinct: BTreeSet<_> = sample.iter().collect();
        assert_eq!((sample.len(), distinct.len()), (99, 99));
        assert_eq!(limits.sample(0, &BigUint::from(99u32)), None);
    }

    #[test]
    fn every_number_is_as_likely() {
        let limits =
            |seed| Limits { limit: 1, samples: 4, seed: SampleSeed { seed, ..SampleSeed::default() } };
        let mut met = [0; 8];
        for seed in 0..6000 {
            for number in limits(seed).sample(0, &BigUint::from(8u32)).expect("above the limit") {
                met[usize::try_from(number).expect("small")] += 1;
            }
        }
        assert_eq!((met[0], met[7]), (6000, 6000));
        assert!(met[1..7].iter().all(|times| (1850..2150).contains(times)), "{met:?}");
    }
}
