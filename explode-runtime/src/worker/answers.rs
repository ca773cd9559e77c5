//! What a unit that is run ahead was answered when it noted its checks.
//!
//! Where checks are skipped, which ones a unit makes depends on those that it has made before, and so on all that was known when it
//! began. But on nothing else: a unit that is answered the same comes to the same. So a unit that was run ahead counts as it is
//! if all its answers still hold when its turn has come; else it is run in the ordinary way.
//!
//! For that to be so as often as can be, a scout knows the checks of the units that it has run just before, besides those that count
//! by then ([`Trail`]).

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::dedup::Keys;
use crate::dedup::{ByKey, Checks, Known, Notes, noted_as};

/// The answers of a unit, in order, but for those that cannot change any more: that a check is known which counts already, and all
/// that follows from earlier answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// The checks that were asked for.
    keys: Keys,
    /// What was said of each.
    said: Vec<Said>,
}

/// What was said of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Said {
    /// It is new.
    New,
    /// It is known, and was no error.
    Fine,
    /// It is known as an error.
    Error,
    /// It has become one: no answer, but what the unit said.
    Failed,
    /// It is new, after a crash during recovery; so many further crashes are looked at.
    NewDeeper(u32),
    /// It is known there.
    KnownDeeper(u32),
}

impl Answers {
    /// The checks of the unit, if each answer is the same now; else `notes` are of no more use.
    pub(super) fn hold(&self, notes: &mut dyn Notes) -> Option<Known> {
        let mut known = Known::default();
        for (key, said) in self.keys.0.iter().zip(&self.said) {
            let now = match *said {
                Said::Failed => {
                    notes.insert_error(*key);
                    known.errors.0.push(*key);
                    Said::Failed
                }
                Said::New | Said::Fine | Said::Error => {
                    let new = notes.insert(*key);
                    known.seen.0.extend(new.then_some(*key));
                    said_of(new, !new && notes.is_error(*key))
                }
                Said::NewDeeper(further) | Said::KnownDeeper(further) => {
                    let noted = notes.insert_crash_crash(*key, further);
                    known.crash_crash.0.extend(noted);
                    if noted.is_some() { Said::NewDeeper(further) } else { Said::KnownDeeper(further) }
                }
            };
            if now != *said {
                return None;
            }
        }
        Some(known)
    }

    /// Did it ask for nothing?
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// About how much memory it takes, in bytes.
    pub fn weight(&self) -> usize {
        self.said.len() * (size_of::<u128>() + size_of::<Said>())
    }

    fn add(&mut self, key: u128, said: Said) {
        self.keys.0.push(key);
        self.said.push(said);
    }
}

fn said_of(new: bool, error: bool) -> Said {
    match (new, error) {
        (true, _) => Said::New,
        (false, true) => Said::Error,
        (false, false) => Said::Fine,
    }
}

/// The checks of units that a scout has run one after the other, and that do not count yet.
#[derive(Debug, Default)]
pub(super) struct Trail {
    seen: HashSet<u128, ByKey>,
    crash_crash: HashSet<u128, ByKey>,
    errors: HashSet<u128, ByKey>,
}

impl Trail {
    /// These checks count now, or others like them.
    pub fn counts(&mut self, known: &Known) {
        let Known { seen, crash_crash, errors } = known;
        let sets = [(&mut self.seen, seen), (&mut self.crash_crash, crash_crash), (&mut self.errors, errors)];
        for (set, keys) in sets.into_iter().filter(|(set, _)| !set.is_empty()) {
            keys.0.iter().for_each(|key| _ = set.remove(key));
        }
    }
}

/// The notes of a unit that is run ahead: on a trail, on top of what counts. They keep what they answer.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    checks: &'a Checks,
    trail: &'a mut Trail,
    /// What the unit has asked for before: the answers are known from the first one.
    before: HashSet<u128, ByKey>,
    before_deeper: HashSet<u128, ByKey>,
    answers: Answers,
}

impl<'a> Asked<'a> {
    /// Nothing was asked yet.
    pub fn new(checks: &'a Checks, trail: &'a mut Trail) -> Asked<'a> {
        let (before, before_deeper) = (HashSet::default(), HashSet::default());
        Asked { checks, trail, before, before_deeper, answers: Answers::default() }
    }

    /// All answers.
    pub fn into_answers(self) -> Answers {
        self.answers
    }
}

impl Notes for Asked<'_> {
    fn insert(&mut self, key: u128) -> bool {
        if self.checks.has(key) {
            return false;
        }
        let new = self.trail.seen.insert(key);
        if self.before.insert(key) {
            let error = !new && self.is_error(key);
            self.answers.add(key, said_of(new, error));
        }
        new
    }

    fn insert_crash_crash(&mut self, key: u128, further: u32) -> Option<u128> {
        let noted = noted_as(key, further);
        if self.checks.has(key) || self.checks.has_crash_crash(noted) {
            return None;
        }
        let new = !self.trail.seen.contains(&key) && self.trail.crash_crash.insert(noted);
        if self.before_deeper.insert(noted) {
            let said = if new { Said::NewDeeper(further) } else { Said::KnownDeeper(further) };
            self.answers.add(key, said);
        }
        new.then_some(noted)
    }

    fn insert_error(&mut self, key: u128) {
        self.trail.errors.insert(key);
        self.answers.add(key, Said::Failed);
    }

    fn is_error(&self, key: u128) -> bool {
        self.checks.is_error(key) || self.trail.errors.contains(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two units on one trail; what each was answered.
    fn scouted(checks: &Checks) -> [Answers; 2] {
        let mut trail = Trail::default();
        let mut first = Asked::new(checks, &mut trail);
        assert!(first.insert(1) && first.insert(2) && !first.insert(1));
        first.insert_error(2);
        assert_eq!(first.insert_crash_crash(7, 1), Some(noted_as(7, 1)));
        let first = first.into_answers();
        let mut second = Asked::new(checks, &mut trail);
        assert!(!second.insert(1) && !second.insert(2) && second.is_error(2) && second.insert(3));
        assert_eq!(second.insert_crash_crash(7, 1), None);
        assert_eq!(second.insert_crash_crash(7, 0), Some(noted_as(7, 0)));
        assert_eq!(second.insert_crash_crash(3, 0), None, "seen as a disk of its own");
        [first, second.into_answers()]
    }

    fn known(seen: &[u128], crash_crash: &[u128], errors: &[u128]) -> Known {
        let [seen, crash_crash, errors] = [seen, crash_crash, errors].map(|keys| Keys(keys.to_vec()));
        Known { seen, crash_crash, errors }
    }

    #[test]
    fn answers_hold_where_nothing_has_changed() {
        let mut checks = Checks::default();
        let [first, second] = scouted(&checks);
        let end = first.hold(&mut checks);
        assert_eq!(end, Some(known(&[1, 2], &[noted_as(7, 1)], &[2])));
        assert_eq!(second.hold(&mut checks), Some(known(&[3], &[noted_as(7, 0)], &[])));
    }

    #[test]
    fn what_is_known_meanwhile_is_another_answer() {
        for more in [known(&[1], &[], &[]), known(&[7], &[], &[]), known(&[], &[noted_as(7, 1)], &[])] {
            let mut checks = Checks::default();
            let [first, _] = scouted(&checks);
            checks.know(&more);
            assert_eq!(first.hold(&mut checks), None, "{more:?}");
        }
    }

    #[test]
    fn what_did_not_come_to_count_is_another_answer() {
        let deeper = noted_as(7, 1);
        // A check was not made, was no error, or was not looked at after a crash during recovery.
        for less in [known(&[1], &[deeper], &[]), known(&[1, 2], &[deeper], &[]), known(&[1, 2], &[], &[2])] {
            let mut checks = Checks::default();
            let [_, second] = scouted(&checks);
            checks.know(&less);
            assert_eq!(second.hold(&mut checks), None, "{less:?}");
        }
    }

    /// What counts when the scout asks is no answer of its own: it does not change any more.
    #[test]
    fn what_counts_already_is_not_kept() {
        let mut checks = Checks::default();
        checks.know(&known(&[1, 2, 3], &[noted_as(7, 1), noted_as(7, 0)], &[2]));
        let mut trail = Trail::default();
        let mut asked = Asked::new(&checks, &mut trail);
        assert!(!asked.insert(1) && !asked.insert(2) && asked.insert_crash_crash(7, 0).is_none());
        assert!(asked.into_answers().is_empty());
    }
}
