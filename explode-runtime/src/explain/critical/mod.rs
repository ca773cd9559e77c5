//! The critical write: the one after which recovery can no longer succeed (MaceMC's critical
//! transition, for crash disks).
//!
//! The pieces that were pending at the moment of the crash are decided one by one, in the order in
//! which they were first written. Each reaches the disk or is lost, as on the failing disk. After
//! the first `t` decisions the others are still open: a crash can still leave any disk that agrees
//! with the decisions. The system *can still recover* after `t` if one of these disks recovers and
//! passes its check. Each decision leaves fewer disks. So if the system can recover before any
//! decision, there is a first decision after which it cannot. It is found by doubling, then
//! halving, as by MaceMC's `FindCriticalTransition` with its second phase corrected (the middle of
//! the bracket, rounded up). `docs/guide/explain-a-finding.md` explains what the result means and
//! what it does not mean.

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
    /// There is no critical write: nothing was pending, so the crash could leave only one disk.
    NothingPending,
    /// There is no critical write: no disk of the moment recovers. True if all disks were checked.
    NeverRecovers(bool),
    /// The search was not made, for this reason.
    NotMade(String),
}

/// The critical write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Critical {
    /// The index of the range in those of the moment.
    pub range: usize,
    /// The version.
    pub version: u32,
    /// True if the write reached the disk. False if it was lost.
    pub kept: bool,
    /// The number of the decision, counted from 1, and the number of decisions.
    pub decision: (usize, usize),
    /// True if all disks that were still possible after the decision were checked. Otherwise one of
    /// the others may recover.
    pub certain: bool,
    /// The nearest disk that recovers among those possible just before the decision, as its
    /// differences: each the index of a range and the version that it keeps.
    pub nearest: Vec<(usize, Option<u32>)>,
    /// The number of disks that recover at this distance.
    pub as_near: u64,
    /// True if all disks up to this distance were checked, so that no nearer disk recovers and the
    /// number is exact.
    pub nearest_certain: bool,
}

/// Searches for the critical write of the innermost failing disk at which the worker has stopped.
/// Each question checks about `most` disks.
///
/// # Errors
/// Those of [`ProbeSession::attempt`].
pub fn search(
    session: &mut ProbeSession<'_, '_>,
    stopped: &StoppedAt,
    most: u64,
) -> Result<CriticalSearch, RunError> {
    let pieces = stopped.spot.pieces();
    let (Some(moment), Some((_, outer))) = (stopped.moments.last(), pieces.split_last()) else {
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

/// Returns the first of `1..=n` for which `can_recover` is false. `None` if it is false for 0. It
/// must be false for `n`, and once false it must stay false.
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

    /// The search finds every position with no more questions than doubling and halving take.
    #[test]
    fn the_transition_is_found_at_any_position() {
        for n in 1..=70 {
            for wanted in 1..=n {
                let mut tried = Vec::new();
                let found = transition(n, &mut |decided| -> Result<bool, ()> {
                    tried.push(decided);
                    Ok(decided < wanted)
                });
                assert_eq!(found, Ok(Some(wanted)), "of {n}");
                assert!(tried.iter().all(|decided| *decided < n), "the end is known: {tried:?}");
                let mut distinct = tried.clone();
                distinct.sort_unstable();
                distinct.dedup();
                assert_eq!(distinct.len(), tried.len(), "nothing is asked twice: {tried:?}");
                assert!(tried.len() as u32 <= 2 * (n.ilog2() + 2), "{n}, {wanted}: {tried:?}");
            }
            assert_eq!(transition(n, &mut |_| -> Result<bool, ()> { Ok(false) }), Ok(None));
        }
    }
}
