//! The critical write: the one after which recovery can no longer succeed (MaceMC's critical
//! transition, for crash disks).
//!
//! The pieces that were pending at the moment of the crash are decided one after the other, in the
//! order in which they were first written: each reaches the disk or is lost, as on the disk that
//! fails. After the first `t` decisions the others are still open: a crash can still leave any disk
//! that agrees with those. *It can still recover* after `t` if one of these disks recovers and
//! passes its check. With each decision there are fewer of them, so that there is one first
//! decision after which it cannot, if it could before any: it is found by doubling, then halving,
//! as MaceMC's `FindCriticalTransition` with its second phase corrected (the middle of the bracket,
//! rounded up). `docs/guide/explain-a-finding.md` says what that means, and what it does not.

mod decisions;
mod near;

use serde::{Deserialize, Serialize};

use decisions::{PieceDecision, PieceDigits, decisions, open};
use near::{Recoverable, any, nearest};

use super::session::{DiskTry, ProbeSession};
use crate::base::RunError;
use crate::worker::probe::{StoppedAt, kept_names};

/// The result of a search for the critical write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CriticalSearch {
    /// The critical write.
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
    /// After it, all disks that were still possible were looked at. If not, one of the others may
    /// recover.
    pub certain: bool,
    /// The nearest disk that recovers, of those possible just before: where it differs, as index of
    /// the range and what it keeps.
    pub nearest: Vec<(usize, Option<u32>)>,
    /// How many disks as near recover.
    pub as_near: u64,
    /// No nearer one recovers, and there are no more as near: all were looked at.
    pub nearest_certain: bool,
}

/// Looks for the critical write of the innermost disk where the worker stands, which fails. `most`
/// bounds how many disks are looked at for one question.
///
/// # Errors
/// Those of [`ProbeSession::attempt`].
pub fn search(
    session: &mut ProbeSession<'_, '_>,
    standing: &StoppedAt,
    most: u64,
) -> Result<CriticalSearch, RunError> {
    let pieces = standing.spot.pieces();
    let (Some(moment), Some((_, outer))) = (standing.moments.last(), pieces.split_last()) else {
        return Ok(CriticalSearch::NothingPending);
    };
    let ranges = &moment.ranges;
    let decisions = decisions(ranges);
    let failing: PieceDigits = ranges.iter().map(|range| range.kept).collect();
    let mut recovers_disk = |digits: &PieceDigits| -> Result<Option<bool>, RunError> {
        let mut tried = outer.to_vec();
        tried.push(kept_names(ranges, digits));
        if !session.knows(&tried) && !session.may_go_on() {
            return Ok(None);
        }
        Ok(Some(session.attempt(&tried)? == DiskTry::Sound))
    };
    if decisions.is_empty() {
        return Ok(CriticalSearch::NothingPending);
    }
    let mut all_looked_at = vec![true; decisions.len() + 1];
    let mut can_recover = |decided: usize| -> Result<bool, RunError> {
        let open = open(ranges, &decisions[..decided]);
        Ok(match any(&open, &failing, most, &mut recovers_disk)? {
            Recoverable::Yes => true,
            Recoverable::No(all) => {
                all_looked_at[decided] = all;
                false
            }
        })
    };
    let Some(decision) = transition(decisions.len(), &mut can_recover)? else {
        return Ok(CriticalSearch::NeverRecovers(all_looked_at[0]));
    };
    let before = open(ranges, &decisions[..decision - 1]);
    let near = nearest(&before, &failing, most, &mut recovers_disk)?;
    let PieceDecision { range, version, kept, .. } = decisions[decision - 1];
    Ok(CriticalSearch::Found(Critical {
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

/// The first of `1..=n` after which the answer is no, if it is yes for 0; it is known to be no for
/// `n`. Once no, it stays no.
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
}
