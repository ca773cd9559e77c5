//! The generations of the granules of a file.
//!
//! A granule that was cut off or punched out and is written again gets a new place, as a file
//! system gives it a new block. So what is written there is lost if the cut is.

use std::ops::Range;

use super::record::Cut;
use crate::files::granule::Granule;

/// The cuts of a file, oldest first: whole granules and the generation of their new places.
#[derive(Clone, Debug, Default)]
pub struct Places(Vec<(Range<u64>, u64)>);

impl Places {
    /// Gives the whole granules of a cut new places.
    pub fn cut(&mut self, cut: &Cut, granule: Granule, generation: u64) {
        let granule = u64::from(granule.0);
        let whole = cut.start.div_ceil(granule)..cut.end / granule;
        if whole.is_empty() {
            return;
        }
        self.0.retain(|(older, _)| older.start < whole.start || whole.end < older.end);
        self.0.push((whole, generation));
    }

    /// Returns the generation of a granule. 0 if it was never cut.
    pub fn generation(&self, granule: u64) -> u64 {
        let newest = self.0.iter().rev().find(|(cut, _)| cut.contains(&granule));
        newest.map_or(0, |(_, generation)| *generation)
    }
}
