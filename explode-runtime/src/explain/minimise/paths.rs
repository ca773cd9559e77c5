//! Minimises the calls of mutate and the choices that still lead to the error.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::ddmin::ddmin;
use crate::base::RunError;
use crate::choose::Choice;
use crate::crash::PieceName;
use crate::explain::{LocatedFailure, ProbeSession, SearchResult, look};
use crate::worker::probe::ProbeAnswers;

/// The choices of a path, mutate by mutate.
type PathChoices = Vec<Vec<Choice>>;

/// Searches for smaller paths.
pub(super) struct PathShrinker<'b, 'a, 'r> {
    session: &'b mut ProbeSession<'a, 'r>,
    /// The smallest path that fails.
    smallest: LocatedFailure,
    /// The paths that were run. True for those that showed the error and were then the smallest.
    /// These are recorded as they were requested and as they ran.
    known: HashMap<PathChoices, bool>,
}

/// Shrinks a path until no mutate can be omitted and no choice made simpler, or a bound is reached.
pub(super) fn shrink(
    session: &mut ProbeSession<'_, '_>,
    failure: LocatedFailure,
) -> Result<LocatedFailure, RunError> {
    let known = HashMap::from([(failure.failing.choices.clone(), true)]);
    let mut shrinker = PathShrinker { session, smallest: failure, known };
    loop {
        let before = shrinker.choices().clone();
        shrinker.fewer_mutates()?;
        shrinker.simpler_choices()?;
        if *shrinker.choices() == before || shrinker.session.cut {
            return Ok(shrinker.smallest);
        }
    }
}

impl PathShrinker<'_, '_, '_> {
    fn choices(&self) -> &PathChoices {
        &self.smallest.failing.choices
    }

    fn fewer_mutates(&mut self) -> Result<(), RunError> {
        let mutates = self.choices().clone();
        ddmin(mutates, &mut |part: &[Vec<Choice>]| self.fails(part.to_vec())).map(drop)
    }

    /// Tries simpler values for each choice, from the first choice on.
    fn simpler_choices(&mut self) -> Result<(), RunError> {
        let mut at = (0, 0);
        while let Some(mutate) = self.choices().get(at.0) {
            let Some(choice) = mutate.get(at.1) else {
                at = (at.0 + 1, 0);
                continue;
            };
            let choice = choice.clone();
            for rank in simpler(choice.rank()) {
                let mut simpler = self.choices().clone();
                simpler[at.0][at.1] = choice.with_rank(rank);
                if self.fails(simpler)? {
                    break;
                }
            }
            at.1 += 1;
        }
        Ok(())
    }

    /// Runs a path and returns true if it shows the error and is smaller. Such a path becomes the
    /// smallest.
    fn fails(&mut self, path: PathChoices) -> Result<bool, RunError> {
        if path.is_empty() {
            return Ok(false);
        }
        if let Some(known) = self.known.get(&path) {
            self.session.remembered += 1;
            return Ok(*known);
        }
        if !self.session.may_go_on() {
            return Ok(false);
        }
        let mutates = u32::try_from(path.len()).expect("no more mutates than the trace had");
        let spot = self.smallest.failing.spot.as_ref();
        let first: Vec<PieceName> = spot.map_or_else(Vec::new, |spot| spot.disks[0].blocks.clone());
        let found = look(self.session, ProbeAnswers::AsFits(path.clone()), mutates, first)?;
        let smaller = match found {
            SearchResult::Fails(failure) => {
                let went = failure.failing.choices.clone();
                let smaller = compare(&went, self.choices()) == Ordering::Less;
                if smaller {
                    self.known.insert(went, true);
                    self.smallest = *failure;
                }
                smaller
            }
            // A search that reached a bound is inconclusive, but it is not made again.
            SearchResult::Not(_) => false,
        };
        self.known.insert(path, smaller);
        Ok(smaller)
    }
}

/// Returns the values to try in place of `value`, the simplest first. All smaller ones if there are
/// few.
fn simpler(value: u32) -> Vec<u32> {
    if value <= 16 {
        return (0..value).collect();
    }
    let halves = (1..32).rev().map(|bits| value >> bits).filter(|half| *half > 0);
    std::iter::once(0).chain(halves).chain([value - 1]).collect()
}

/// Compares paths by their number of mutates, then of choices, then by the values from the first
/// on.
fn compare(a: &PathChoices, b: &PathChoices) -> Ordering {
    let size = |path: &PathChoices| {
        let values: Vec<u32> = path.iter().flatten().map(Choice::rank).collect();
        (path.len(), values.len(), values)
    };
    size(a).cmp(&size(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simpler_values_come_in_order_and_are_smaller() {
        assert_eq!(simpler(0), Vec::<u32>::new());
        assert_eq!(simpler(3), [0, 1, 2]);
        assert_eq!(simpler(1000), [0, 1, 3, 7, 15, 31, 62, 125, 250, 500, 999]);
        assert!(simpler(u32::MAX).is_sorted());
    }
}
