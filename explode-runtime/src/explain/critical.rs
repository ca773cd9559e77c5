//! The critical write: the one after which recovery can no longer succeed (MaceMC's critical transition, for crash disks).
//!
//! The pieces that were pending at the moment of the crash are decided one after the other, in the order in which they were first
//! written: each reaches the disk or is lost, as on the disk that fails. After the first `t` decisions the others are still open: a
//! crash can still leave any disk that agrees with those. *It can still recover* after `t` if one of these disks recovers and
//! passes its check. With each decision there are fewer of them, so that there is one first decision after which it cannot, if it
//! could before any: it is found by doubling, then halving, as MaceMC's `FindCriticalTransition` with its second phase corrected
//! (the middle of the bracket, rounded up). `docs/minimising.md` says what that means, and what it does not.

use serde::{Deserialize, Serialize};

use super::bench::{Bench, Outcome};
use super::probe::{Pending, Standing, kept_names};
use crate::run::RunError;

/// Which version of each range is kept.
type Digits = Vec<Option<u32>>;

/// What a search for the critical write came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Search {
    /// It.
    Found(Critical),
    /// None: nothing was pending, so that the crash could leave one disk only.
    NothingPending,
    /// None: of all disks of that moment none recovers; true if all were looked at.
    NeverRecovers(bool),
    /// The search was not made, for this reason.
    NotMade(String),
}

/// The critical write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Critical {
    /// The range, as an index into those of the moment.
    pub range: usize,
    /// The version.
    pub version: u32,
    /// It reached the disk; or it was lost.
    pub kept: bool,
    /// Which decision it is, from 1, of how many.
    pub decision: (usize, usize),
    /// After it, all disks that were still possible were looked at. If not, one of the others may recover.
    pub certain: bool,
    /// The nearest disk that recovers, of those possible just before: where it differs, as index of the range and what it keeps.
    pub nearest: Vec<(usize, Option<u32>)>,
    /// How many disks as near recover.
    pub as_near: u64,
    /// No nearer one recovers, and there are no more as near: all were looked at.
    pub nearest_certain: bool,
}

/// One piece that reached the disk, or did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decision {
    serial: u64,
    range: usize,
    version: u32,
    kept: bool,
}

/// The answer to whether it can still recover.
enum Answer {
    Yes,
    /// True: all disks were looked at.
    No(bool),
}

/// Looks for the critical write of the innermost disk where the worker stands, which fails. `most` bounds how many disks are
/// looked at for one question.
///
/// # Errors
/// Those of [`Bench::attempt`].
pub fn search(bench: &mut Bench<'_, '_>, standing: &Standing, most: u64) -> Result<Search, RunError> {
    let pieces = standing.spot.pieces();
    let (Some(moment), Some((_, outer))) = (standing.moments.last(), pieces.split_last()) else {
        return Ok(Search::NothingPending);
    };
    let ranges = &moment.ranges;
    let decisions = decisions(ranges);
    let failing: Digits = ranges.iter().map(|range| range.kept).collect();
    let mut recovers_disk = |digits: &Digits| -> Result<Option<bool>, RunError> {
        let mut tried = outer.to_vec();
        tried.push(kept_names(ranges, digits));
        if !bench.knows(&tried) && !bench.may_go_on() {
            return Ok(None);
        }
        Ok(Some(bench.attempt(&tried)? == Outcome::Sound))
    };
    if decisions.is_empty() {
        return Ok(Search::NothingPending);
    }
    let mut all_looked_at = vec![true; decisions.len() + 1];
    let mut can_recover = |decided: usize| -> Result<bool, RunError> {
        let open = open(ranges, &decisions[..decided]);
        Ok(match any(&open, &failing, most, &mut recovers_disk)? {
            Answer::Yes => true,
            Answer::No(all) => {
                all_looked_at[decided] = all;
                false
            }
        })
    };
    let Some(decision) = transition(decisions.len(), &mut can_recover)? else {
        return Ok(Search::NeverRecovers(all_looked_at[0]));
    };
    let before = open(ranges, &decisions[..decision - 1]);
    let near = nearest(&before, &failing, most, &mut recovers_disk)?;
    let Decision { range, version, kept, .. } = decisions[decision - 1];
    Ok(Search::Found(Critical {
        range,
        version,
        kept,
        decision: (decision, decisions.len()),
        certain: all_looked_at[decision],
        nearest: near.differs,
        as_near: near.as_near,
        nearest_certain: near.certain,
    }))
}

/// The first of `1..=n` after which the answer is no, if it is yes for 0; it is known to be no for `n`. Once no, it stays no.
fn transition<E>(
    n: usize,
    can_recover: &mut dyn FnMut(usize) -> Result<bool, E>,
) -> Result<Option<usize>, E> {
    if !can_recover(0)? {
        return Ok(None);
    }
    let (mut last_yes, mut first_no) = (0, n);
    let mut next = 1;
    while next < first_no {
        if can_recover(next)? {
            last_yes = next;
            next *= 2;
        } else {
            first_no = next;
        }
    }
    while last_yes + 1 < first_no {
        let middle = (last_yes + first_no).div_ceil(2);
        if can_recover(middle)? {
            last_yes = middle;
        } else {
            first_no = middle;
        }
    }
    Ok(Some(first_no))
}

/// What was decided, in order: of a range that keeps a version that one, and that the later ones are lost; of a range that keeps
/// none that each is lost. What stood in a range before the version that it keeps is under it, and decides nothing.
fn decisions(ranges: &[Pending]) -> Vec<Decision> {
    let mut decisions = Vec::new();
    for (range, pending) in ranges.iter().enumerate() {
        let kept = pending.versions.iter().position(|version| Some(version.0) == pending.kept);
        for (at, (version, serial)) in pending.versions.iter().enumerate().skip(kept.unwrap_or(0)) {
            let (version, serial, kept) = (*version, *serial, Some(at) == kept);
            decisions.push(Decision { serial, range, version, kept });
        }
    }
    decisions.sort_by_key(|decision| decision.serial);
    decisions
}

/// What each range can still keep after these decisions; what the failing disk keeps comes first.
fn open(ranges: &[Pending], decided: &[Decision]) -> Vec<Vec<Option<u32>>> {
    let open = |(index, pending): (usize, &Pending)| {
        let here: Vec<&Decision> = decided.iter().filter(|decision| decision.range == index).collect();
        let is_decided = |version: u32| here.iter().any(|decision| decision.version == version);
        // A kept version that is decided has everything before it, and nothing, under it.
        let under = pending.kept.filter(|version| is_decided(*version));
        let first = pending.versions.iter().position(|version| Some(version.0) == under).unwrap_or(0);
        let versions = pending.versions[first..].iter().map(|version| version.0);
        let undecided = versions.filter(|version| !is_decided(*version)).map(Some);
        let others = under.is_none().then_some(None).into_iter().chain(undecided);
        let mut open = vec![pending.kept];
        open.extend(others.filter(|digit| *digit != pending.kept));
        open
    };
    ranges.iter().enumerate().map(open).collect()
}

/// Does any of the open disks recover? Those that keep all that is open, or nothing of it, are asked first: most systems recover
/// from one of these.
fn any(
    open: &[Vec<Option<u32>>],
    failing: &Digits,
    most: u64,
    recovers: &mut dyn FnMut(&Digits) -> Result<Option<bool>, RunError>,
) -> Result<Answer, RunError> {
    let newest = open.iter().map(|range| range.iter().copied().max().flatten()).collect();
    let nothing = open.iter().map(|range| range.iter().copied().min().flatten()).collect();
    for digits in [newest, nothing] {
        if digits != *failing && recovers(&digits)? == Some(true) {
            return Ok(Answer::Yes);
        }
    }
    let mut looked = 0;
    for distance in 1..=failing.len() {
        let mut some = false;
        let mut yes = false;
        let whole = at_distance(open, failing, distance, &mut |digits| {
            some = true;
            looked += 1;
            match recovers(digits)? {
                _ if looked > most => Ok(false),
                None => Ok(false),
                Some(true) => {
                    yes = true;
                    Ok(false)
                }
                Some(false) => Ok(true),
            }
        })?;
        if yes {
            return Ok(Answer::Yes);
        }
        if !whole {
            return Ok(Answer::No(false));
        }
        if !some {
            break;
        }
    }
    Ok(Answer::No(true))
}

/// The nearest disk that recovers.
#[derive(Default)]
struct Nearest {
    differs: Vec<(usize, Option<u32>)>,
    as_near: u64,
    certain: bool,
}

fn nearest(
    open: &[Vec<Option<u32>>],
    failing: &Digits,
    most: u64,
    recovers: &mut dyn FnMut(&Digits) -> Result<Option<bool>, RunError>,
) -> Result<Nearest, RunError> {
    let differences = |digits: &Digits| -> Vec<(usize, Option<u32>)> {
        let pairs = digits.iter().zip(failing).enumerate();
        pairs.filter(|(_, (there, here))| there != here).map(|(range, (there, _))| (range, *there)).collect()
    };
    let mut near = Nearest::default();
    let mut looked = 0;
    for distance in 1..=failing.len() {
        let whole = at_distance(open, failing, distance, &mut |digits| {
            looked += 1;
            match recovers(digits)? {
                _ if looked > most => return Ok(false),
                None => return Ok(false),
                Some(true) => {
                    near.as_near += 1;
                    if near.differs.is_empty() {
                        near.differs = differences(digits);
                    }
                }
                Some(false) => {}
            }
            Ok(true)
        })?;
        if near.as_near > 0 || !whole {
            near.certain = whole;
            break;
        }
    }
    if near.as_near == 0 {
        // It is further away than could be looked at; but one of these two is known to recover, or was found by chance.
        let newest: Digits = open.iter().map(|range| range.iter().copied().max().flatten()).collect();
        let nothing: Digits = open.iter().map(|range| range.iter().copied().min().flatten()).collect();
        for digits in [newest, nothing] {
            if near.as_near == 0 && digits != *failing && recovers(&digits)? == Some(true) {
                (near.differs, near.as_near) = (differences(&digits), 1);
            }
        }
    }
    Ok(near)
}

/// Visits the open disks that differ from the failing one in so many ranges, until `visit` says no; returns whether it never did.
fn at_distance(
    open: &[Vec<Option<u32>>],
    failing: &Digits,
    distance: usize,
    visit: &mut dyn FnMut(&Digits) -> Result<bool, RunError>,
) -> Result<bool, RunError> {
    let ranges: Vec<usize> = (0..open.len()).filter(|range| open[*range].len() > 1).collect();
    let mut digits = failing.clone();
    choose(&ranges, open, distance, &mut digits, visit)
}

/// Changes `left` of these ranges in all ways.
fn choose(
    ranges: &[usize],
    open: &[Vec<Option<u32>>],
    left: usize,
    digits: &mut Digits,
    visit: &mut dyn FnMut(&Digits) -> Result<bool, RunError>,
) -> Result<bool, RunError> {
    if left == 0 {
        return visit(digits);
    }
    for (at, range) in ranges.iter().enumerate().take((ranges.len() + 1).saturating_sub(left)) {
        let before = digits[*range];
        for other in &open[*range][1..] {
            digits[*range] = *other;
            if !choose(&ranges[at + 1..], open, left - 1, digits, visit)? {
                digits[*range] = before;
                return Ok(false);
            }
        }
        digits[*range] = before;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For every position, with as many questions as doubling and halving take.
    #[test]
    fn the_transition_is_found_wherever_it_is() {
        for n in 1..=70 {
            for wanted in 1..=n {
                let mut asked = Vec::new();
                let found = transition(n, &mut |decided| -> Result<bool, ()> {
                    asked.push(decided);
                    Ok(decided < wanted)
                });
                assert_eq!(found, Ok(Some(wanted)), "of {n}");
                assert!(asked.iter().all(|decided| *decided < n), "the end is known: {asked:?}");
                let mut distinct = asked.clone();
                distinct.sort_unstable();
                distinct.dedup();
                assert_eq!(distinct.len(), asked.len(), "nothing is asked twice: {asked:?}");
                assert!(asked.len() as u32 <= 2 * (n.ilog2() + 2), "{n}, {wanted}: {asked:?}");
            }
            assert_eq!(transition(n, &mut |_| -> Result<bool, ()> { Ok(false) }), Ok(None));
        }
    }

    fn pending(versions: &[(u32, u64)], kept: Option<u32>) -> Pending {
        Pending { dev: 0, sectors: vec![(0, 8)], whose: None, versions: versions.to_vec(), kept }
    }

    /// With each decision what is open shrinks, down to the failing disk alone.
    #[test]
    fn decisions_leave_less_and_less_open() {
        let ranges = [
            pending(&[(1, 0), (2, 4), (3, 7)], Some(2)),
            pending(&[(1, 1), (2, 6)], None),
            pending(&[(2, 3)], Some(2)),
            pending(&[(1, 2), (2, 5)], Some(2)),
        ];
        let decisions = decisions(&ranges);
        let told: Vec<(usize, u32, bool)> =
            decisions.iter().map(|decision| (decision.range, decision.version, decision.kept)).collect();
        assert_eq!(
            told,
            [(1, 1, false), (2, 2, true), (0, 2, true), (3, 2, true), (1, 2, false), (0, 3, false)]
        );
        let all = open(&ranges, &[]);
        assert_eq!(all[0], [Some(2), None, Some(1), Some(3)]);
        assert_eq!(all[1], [None, Some(1), Some(2)]);
        let counts: Vec<usize> = (0..=decisions.len())
            .map(|decided| open(&ranges, &decisions[..decided]).iter().map(Vec::len).product())
            .collect();
        assert_eq!(counts, [4 * 3 * 2 * 3, 4 * 2 * 2 * 3, 4 * 2 * 3, 2 * 2 * 3, 2 * 2, 2, 1]);
        for decided in 1..=decisions.len() {
            let (before, after) =
                (open(&ranges, &decisions[..decided - 1]), open(&ranges, &decisions[..decided]));
            let within = after
                .iter()
                .zip(&before)
                .all(|(after, before)| after.iter().all(|digit| before.contains(digit)));
            assert!(within, "{decided}");
        }
    }

    /// Every disk at each distance, once.
    #[test]
    fn distances_go_through_all_disks() {
        let open = [vec![Some(1), None], vec![None], vec![None, Some(1), Some(2)]];
        let failing = vec![Some(1), None, None];
        let at = |distance: usize| {
            let mut seen = Vec::new();
            let whole = at_distance(&open, &failing, distance, &mut |digits| {
                seen.push(digits.clone());
                Ok(true)
            });
            assert!(whole.unwrap());
            seen
        };
        assert_eq!(at(1), [[None, None, None], [Some(1), None, Some(1)], [Some(1), None, Some(2)]]);
        assert_eq!(at(2), [[None, None, Some(1)], [None, None, Some(2)]]);
        assert!(at(3).is_empty());
    }
}
