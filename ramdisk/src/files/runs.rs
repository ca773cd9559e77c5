//! A set of sectors, kept as its contiguous runs.
//!
//! Invariant: no two runs overlap or touch.

use std::collections::BTreeMap;
use std::ops::Range;

/// The runs of a set of sectors. Maps the first sector of each run to the sector after its last
/// one.
#[derive(Debug, Default)]
pub struct Runs(BTreeMap<u64, u64>);

impl Runs {
    /// Adds sectors and joins runs that touch.
    pub fn insert(&mut self, sectors: Range<u64>) {
        let Range { mut start, mut end } = sectors;
        while let Some((&first, &behind)) = self.0.range(..=end).next_back() {
            if behind < start {
                break;
            }
            self.0.remove(&first);
            start = start.min(first);
            end = end.max(behind);
        }
        self.0.insert(start, end);
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the runs in order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.0.iter().map(|(first, behind)| *first..*behind)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::Runs;

    proptest! {
        #[test]
        fn runs_equal_a_set_of_sectors(
            inserts in prop::collection::vec((0u64..60, 1u64..12), 0..20),
        ) {
            let mut runs = Runs::default();
            let mut sectors = BTreeSet::new();
            for (first, len) in inserts {
                runs.insert(first..first + len);
                sectors.extend(first..first + len);
            }
            prop_assert_eq!(runs.iter().flatten().collect::<Vec<_>>(),
                sectors.into_iter().collect::<Vec<_>>());
            let runs: Vec<_> = runs.iter().collect();
            prop_assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}
