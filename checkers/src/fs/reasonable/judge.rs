//! The verdict on one tree. A tree that breaks nothing under the strictest reading is reasonable.
//! Otherwise the promises about unsynced data that the profile excludes are waived first, and a
//! remaining violation is reported. If there is none, the report names the promise that must be
//! excluded for the tree to be legal.
//!
//! A name may lead to several inodes and be wrong with each of them for a different reason. So the
//! reason that is given for a tree that cannot be built does not show whether an exclusion is
//! enough.

use explode_runtime::verdict::Violation;

use super::contents::UnwrittenBytes;
use super::search::StateSearch;
use super::tree::FoundTree;
use super::words::EXCLUDABLE;
use crate::fs::model::History;
use crate::fs::model::UNSYNCED_ATTRIBUTES;

use super::{Reasonable, contents, explain};

impl Reasonable {
    /// Judges whether a tree is reasonable. A violation of a promise that is not excluded comes
    /// first. If all violations are excluded, an excluded one is returned.
    ///
    /// # Errors
    /// Returns the violation.
    pub(super) fn judge(&self, tree: &FoundTree, history: &History) -> Result<(), Violation> {
        let mut waived: Vec<&str> =
            EXCLUDABLE.into_iter().filter(|word| self.excluded.contains(word)).collect();
        let excluded = |word: &str| self.excluded.contains(word);
        let judge = |waived: &[&str], first: &dyn Fn(&str) -> bool| {
            self.judged(waived, first, tree, history)
        };
        let Err(strict) = judge(&[], &excluded) else { return Ok(()) };
        if waived.is_empty() {
            return Err(strict);
        }
        judge(&waived, &excluded)?;
        // One exclusion may be enough. The promise that the strictest reading names is tried first.
        // Otherwise all exclusions are needed.
        waived.sort_by_key(|word| strict.promise != *word);
        let enough = waived.iter().position(|word| judge(&[*word], &excluded).is_ok());
        let word = waived.remove(enough.unwrap_or_default());
        if strict.promise == word {
            return Err(strict);
        }
        let others = if enough.is_some() { &[][..] } else { &waived[..] };
        let explained = judge(others, &|first| first == word).err();
        Err(explained
            .filter(|found| found.promise == word)
            .unwrap_or_else(|| explain::excluded(word)))
    }

    /// Judges a tree without the `waived` promises. If a name is wrong whatever it leads to, and
    /// for several reasons, one that satisfies `first` is preferred.
    fn judged(
        &self,
        waived: &[&str],
        first: &dyn Fn(&str) -> bool,
        tree: &FoundTree,
        history: &History,
    ) -> Result<(), Violation> {
        let garbage = if waived.contains(&contents::UNSYNCED) {
            UnwrittenBytes::NotPromised
        } else {
            self.garbage
        };
        let mut search =
            StateSearch::new(&self.fs, history, tree, garbage, (self.copies, self.whole));
        search.attributes = !waived.contains(&UNSYNCED_ATTRIBUTES);
        if !search.is_legal() {
            return Err(explain::why(&mut search, first));
        }
        explain::links(tree).map_or(Ok(()), Err)
    }
}
