//! A sketch of a state in 64 bytes, from which the distance of two signatures is estimated.
//!
//! The features of a signature are its runs of 1, 2, 3 and 4 bytes at any place. The distance of
//! two signatures is the share of features that only one of them has (Jaccard's distance). A sketch
//! estimates it. Each feature falls into one of 64 bins by its hash. The least hash of each bin is
//! used (one permutation minhash, Li, Owen, Zhang 2012), and 8 bits of it are kept. An empty bin
//! takes the value of the next filled one, so that short signatures can be compared with long ones.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

const BINS: usize = 64;
/// The longest run of bytes that is a feature.
const RUN: usize = 4;

/// A sketch of a signature. Equal signatures have equal sketches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sketch([u64; BINS / 8]);

impl Sketch {
    /// Returns the sketch of a signature, in time proportional to its length.
    pub fn of(signature: &[u8]) -> Sketch {
        let mut least = [None::<u64>; BINS];
        for run in 1..=RUN {
            for feature in signature.windows(run) {
                let hash = xxh3_64(feature);
                let bin = &mut least[(hash >> 58) as usize];
                *bin = Some(bin.map_or(hash, |known| known.min(hash)));
            }
        }
        let filled =
            |bin: usize| (0..BINS).find_map(|step| Some((step, least[(bin + step) % BINS]?)));
        let byte = |bin: usize| {
            filled(bin).map_or(0, |(step, hash)| (hash as u8).wrapping_add(step as u8))
        };
        let word = |word: usize| u64::from_le_bytes(std::array::from_fn(|at| byte(word * 8 + at)));
        Sketch(std::array::from_fn(word))
    }

    /// Returns the number of the 64 bins that differ: 0 for equal signatures, about 64 for
    /// signatures without common features.
    pub fn distance(&self, other: &Sketch) -> u32 {
        let differ = |(one, two): (&u64, &u64)| {
            (one ^ two).to_le_bytes().iter().filter(|byte| **byte != 0).count()
        };
        self.0.iter().zip(&other.0).map(differ).sum::<usize>() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(one: &[u8], two: &[u8]) -> u32 {
        Sketch::of(one).distance(&Sketch::of(two))
    }

    #[test]
    fn equal_signatures_have_no_distance_and_disjoint_ones_the_largest() {
        let (zeroes, letters) = ([0_u8; 100], b"abcdefghijklmnopqrstuvwxyz");
        assert_eq!(
            (distance(&zeroes, &zeroes), distance(letters, letters), distance(b"", b"")),
            (0, 0, 0)
        );
        assert_eq!((distance(&zeroes, letters), distance(b"", letters)), (64, 64));
    }

    /// Signatures with more common features are nearer.
    #[test]
    fn the_distance_decreases_with_common_features() {
        let text = |changed: usize| -> Vec<u8> {
            (0..200)
                .map(|at: usize| if at < changed { b'#' } else { (at * at % 251) as u8 })
                .collect()
        };
        let distances: Vec<u32> = [0, 10, 50, 100, 200]
            .iter()
            .map(|changed| distance(&text(0), &text(*changed)))
            .collect();
        assert!(distances.is_sorted(), "{distances:?}");
        // The Jaccard distances are 0, 0.05, 0.25, 0.5 and 1.
        assert_eq!(distances[0], 0);
        assert!((1..=8).contains(&distances[1]) && distances[4] >= 62, "{distances:?}");
    }
}
