//! Random walks (EX-17).

use super::walks::Walks;
use super::{Finished, Strategy, Unit, Wants};
use crate::choose::Point;

/// Walks of `depth` mutates, each answer drawn uniformly; it never ends by itself.
#[derive(Debug)]
pub struct Random(Walks);

impl Random {
    /// The walks of this seed.
    pub fn new(seed: u64, depth: u32) -> Random {
        Random(Walks::new(seed, depth))
    }
}

impl Strategy for Random {
    fn next(&mut self) -> Option<Unit> {
        Some(self.0.begin())
    }

    fn fallback(&mut self, point: &Point<'_>) -> u32 {
        self.0.option(point.options)
    }

    fn wants(&self) -> Wants {
        Wants { points: true, ..Wants::default() }
    }

    fn observe(&mut self, _finished: &Finished<'_>) {}
}
