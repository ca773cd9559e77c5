//! The limits, and the sample above them. A sample is always reported, and is the same for the same
//! seed (EX-75, EX-85).
//!
//! At most half of a sample is directed ([`Families`]). The rest is random.

use std::collections::BTreeSet;

use num_bigint::BigUint;
use rand_core::Rng as _;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::emission::Emission;
use super::families::Families;

/// The number of disks of one emission that are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleLimits {
    /// The largest number of disks of an emission that are all visited. Above it the emission is
    /// sampled.
    pub limit: u64,
    /// The size of the sample, at least 2, because the empty and the full combination are always in
    /// it.
    pub samples: u64,
    /// The seed of the sample's generator.
    #[serde(skip)]
    pub seed: SampleSeed,
}

/// The values that, with the number of the emission, seed the generator of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleSeed {
    /// The run's seed.
    pub seed: u64,
    /// The hash of the choices so far.
    pub choices: u128,
    /// The index of the interval among the intervals with these choices.
    pub interval: u64,
}

impl Default for SampleLimits {
    fn default() -> SampleLimits {
        SampleLimits { limit: 10_000, samples: 2_000, seed: SampleSeed::default() }
    }
}

impl SampleLimits {
    /// Returns true if all of `count` disks are visited.
    pub(super) fn all(&self, count: &BigUint) -> bool {
        *count <= BigUint::from(self.limit.max(self.samples).max(2))
    }

    /// Returns the numbers of the disks to visit, in order. `None` if all are visited.
    ///
    /// The sample begins with the first and the last disk. Members of the [`Families`] take at most
    /// half of the rest, and random disks what remains (fault-model.md, section 6).
    pub(super) fn sample(&self, index: u64, emission: &Emission) -> Option<Vec<BigUint>> {
        let count = emission.count();
        if self.all(&count) {
            return None;
        }
        let samples = self.samples.max(2);
        let mut generator = self.seed.generator(index);
        let mut picked = BTreeSet::from([BigUint::ZERO, &count - 1u32]);
        let directed = (samples - 2) / 2;
        // Making the families visits every piece.
        let mut families = (directed > 0).then(|| Families::of(emission));
        for _ in 0..directed {
            let Some(families) = &mut families else { break };
            let next = families
                .next(|number| !picked.contains(number), |count| draw(&mut generator, count));
            let Some(number) = next else { break };
            picked.insert(number);
        }
        let left = samples - picked.len() as u64;
        let random = others(&mut generator, &count, &picked, left);
        picked.extend(random);
        Some(picked.into_iter().collect())
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

/// Draws `wanted` of the numbers below `count` that are not in `picked`. All such sets are equally
/// likely.
fn others(
    generator: &mut Pcg64Mcg,
    count: &BigUint,
    picked: &BTreeSet<BigUint>,
    wanted: u64,
) -> Vec<BigUint> {
    // Floyd's method, on the ranks of the numbers among those that are not picked.
    let free = count - picked.len();
    let mut ranks = BTreeSet::new();
    let mut bound = &free - wanted;
    while bound < free {
        bound += 1u32;
        let rank = below(generator, &bound);
        if !ranks.insert(rank) {
            ranks.insert(&bound - 1u32);
        }
    }
    let mut picked = picked.iter().peekable();
    let mut passed = 0u32;
    let number_of = |rank: BigUint| {
        while picked.next_if(|picked| **picked <= &rank + passed).is_some() {
            passed += 1;
        }
        rank + passed
    };
    ranks.into_iter().map(number_of).collect()
}

/// Draws an index below `count`.
fn draw(generator: &mut Pcg64Mcg, count: usize) -> usize {
    usize::try_from(below(generator, &BigUint::from(count))).expect("it is below a usize")
}

/// Draws a uniform number below `bound`, by rejection.
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
    use explode_ramdisk::{Event, Image};

    use super::*;
    use crate::writeset::{DeviceRules, WriteSet};

    /// Returns the emission of `blocks` dirty blocks, each with one version.
    fn emission(blocks: u8) -> Emission {
        let mut write_set = WriteSet::new(Image::new(), DeviceRules::default());
        for block in 0..blocks {
            let data = vec![block + 1; 4096].into();
            write_set.apply(&Event::Dirty { dev: 0, sector: u64::from(block) * 8, data }).unwrap();
        }
        Emission::of(&write_set)
    }

    fn sample(blocks: u8, samples: u64, seed: u64) -> Vec<u64> {
        let limits =
            SampleLimits { limit: 1, samples, seed: SampleSeed { seed, ..SampleSeed::default() } };
        let numbers = limits.sample(0, &emission(blocks)).expect("above the limit");
        numbers.into_iter().map(|number| u64::try_from(number).expect("small")).collect()
    }

    #[test]
    fn a_sample_is_distinct_sorted_repeatable_and_has_both_ends() {
        let emission = emission(200);
        let limits = SampleLimits { limit: 1000, samples: 200, ..SampleLimits::default() };
        let sample = limits.sample(3, &emission).expect("above the limit");
        assert_eq!(sample.len(), 200);
        assert!(sample.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((&sample[0], &sample[199]), (&BigUint::ZERO, &(emission.count() - 1u32)));
        assert_eq!(limits.sample(3, &emission), Some(sample.clone()));
        assert_ne!(limits.sample(4, &emission), Some(sample));
    }

    #[test]
    fn a_sample_of_nearly_all_disks_has_its_full_size() {
        let all = sample(7, 127, 0);
        let distinct: BTreeSet<_> = all.iter().collect();
        assert_eq!((all.len(), distinct.len()), (127, 127));
        let limits = SampleLimits { limit: 10, samples: 128, ..SampleLimits::default() };
        assert_eq!(limits.sample(0, &emission(7)), None);
    }

    #[test]
    fn every_number_is_as_likely_where_nothing_is_directed() {
        let mut met = [0; 8];
        for number in (0..6000).flat_map(|seed| sample(3, 3, seed)) {
            met[number as usize] += 1;
        }
        assert_eq!((met[0], met[7]), (6000, 6000));
        assert!(met[1..7].iter().all(|times| (900..1100).contains(times)), "{met:?}");
    }

    #[test]
    fn the_first_member_is_a_prefix_and_half_of_a_sample_at_most_is_directed() {
        for seed in 0..50 {
            assert_eq!(sample(16, 2, seed), [0, 0xffff]);
            // Two of the four are left, and one of them is a prefix: ones, then zeroes.
            let is_prefix = |number: &&u64| (**number as u16).leading_ones() == number.count_ones();
            assert_eq!(sample(16, 4, seed).iter().filter(is_prefix).count().min(3), 3);
        }
        // Ten of the 22 are directed: four prefixes, and three of each other family.
        let all = (0..50).map(|seed| sample(16, 22, seed)).collect::<Vec<_>>();
        let of =
            |ones: u32| all.iter().flatten().filter(|number| number.count_ones() == ones).count();
        assert!(
            (150..220).contains(&of(15)) && (150..220).contains(&of(1)),
            "{} {}",
            of(15),
            of(1)
        );
    }

    #[test]
    fn a_family_that_fits_is_there_as_a_whole_and_one_that_does_not_is_drawn_from_evenly() {
        for seed in 0..50 {
            let sample = sample(16, 100, seed);
            let all = (0..16)
                .flat_map(|block| [1 << block, 0xffff ^ (1 << block), 0xffff << block & 0xffff]);
            assert!(all.into_iter().all(|number| sample.contains(&number)), "{sample:?}");
        }
        let mut met = [0; 16];
        for seed in 0..1600 {
            for number in sample(16, 8, seed).into_iter().filter(|number| number.count_ones() == 15)
            {
                met[(0xffff ^ number).trailing_zeros() as usize] += 1;
            }
        }
        assert!(met[1..].iter().all(|times| (60..140).contains(times)), "{met:?}");
    }
}
