//! Random walks that go by the weights of the options.

use super::walks::Walks;
use super::{Finished, Strategy, Unit, Wants};
use crate::choose::Point;

/// Walks of `depth` mutates, each option drawn in proportion to its weight; it never ends by itself.
#[derive(Debug)]
pub struct Weighted(Walks);

impl Weighted {
    /// The walks of this seed.
    pub fn new(seed: u64, depth: u32) -> Weighted {
        Weighted(Walks::new(seed, depth))
    }
}

impl Strategy for Weighted {
    fn next(&mut self) -> Option<Unit> {
        Some(self.0.begin())
    }

    fn fallback(&mut self, point: &Point<'_>) -> u32 {
        if point.weights.is_empty() {
            return self.0.option(point.options);
        }
        let mut left = self.0.below(point.weights.iter().map(|weight| u64::from(*weight)).sum());
        let drawn = point.weights.iter().position(|weight| match left.checked_sub(u64::from(*weight)) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        });
        drawn.expect("what is drawn is below the sum") as u32
    }

    fn wants(&self) -> Wants {
        Wants { points: true, ..Wants::default() }
    }

    fn observe(&mut self, _finished: &Finished<'_>) {}
}
