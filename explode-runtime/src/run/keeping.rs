//! The memory and the journal of a run without its checks, for measurements.

use std::path::Path;

use crate::base::RunError;
use crate::dedup::{KeyList, KnownChecks, SeenChecks};
use crate::explore::Unit;
use crate::plan::{Plan, RunOrigin};
use crate::run::findings::FindingsChange;
use crate::run::journal::{Journal, UnitRecord};
use crate::run::totals::Merged;

/// A seen set and a journal, to be measured.
#[derive(Debug)]
pub struct Keeping {
    checks: SeenChecks,
    journal: Journal,
}

impl Keeping {
    /// Creates an empty set, and a journal in this folder.
    pub fn new(plan: &Plan, folder: &Path) -> Keeping {
        Keeping {
            checks: SeenChecks::default(),
            journal: Journal::of(folder, plan, &RunOrigin::default()),
        }
    }

    /// Looks up the keys of checks, as a worker does. Returns the number of new keys.
    pub fn see(&mut self, keys: &[u128]) -> usize {
        keys.iter().filter(|key| self.checks.insert(**key)).count()
    }

    /// Adds a unit that has made these checks to the journal, as a supervisor does.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn unit(&mut self, unit: &Unit, keys: &[u128]) -> Result<(), RunError> {
        let known = KnownChecks { seen: KeyList(keys.to_vec()), ..KnownChecks::default() };
        let mut merged = Merged::default();
        merged.known = known;
        self.journal.append(&UnitRecord::new(unit, merged, FindingsChange::default(), 1), false)
    }

    /// Returns the memory that the set takes for each of its keys, in bytes.
    pub fn bytes_per_key(&self) -> f64 {
        self.checks.bytes() as f64 / self.checks.count() as f64
    }
}
