//! Minimises the lost or kept pieces that still lead to the error.

use super::ddmin::ddmin;
use crate::base::RunError;
use crate::crash::PieceName;
use crate::explain::{DiskTry, ProbeSession};
use crate::worker::probe::{CrashMoment, PendingRange, StoppedAt, kept_names};

/// The kept version of a range. `None` if the range keeps nothing.
type Digit = Option<u32>;

/// The maximum number of rounds over all disks of a path. The pieces that one disk keeps decide
/// which pieces its recovery can lose.
const ROUNDS: usize = 4;

/// Simplifies the disks at which the worker has stopped until no piece can be omitted or a bound is
/// reached. Returns the place of the simplified disks.
pub(super) fn shrink(
    session: &mut ProbeSession<'_, '_>,
    mut stopped: StoppedAt,
) -> Result<StoppedAt, RunError> {
    for _ in 0..ROUNDS {
        let before = stopped.spot.pieces();
        for level in (0..stopped.moments.len()).rev() {
            stopped = shrink_one(session, stopped, level)?;
        }
        if stopped.spot.pieces() == before || session.cut {
            break;
        }
    }
    Ok(stopped)
}

/// Simplifies one of the disks and leaves the others unchanged.
fn shrink_one(
    session: &mut ProbeSession<'_, '_>,
    stopped: StoppedAt,
    level: usize,
) -> Result<StoppedAt, RunError> {
    let ranges = &stopped.moments[level].ranges;
    let pieces = stopped.spot.pieces();
    let mut fails = |digits: &[Digit]| -> Result<bool, RunError> {
        if !session.may_go_on() {
            return Ok(false);
        }
        let mut tried = pieces.clone();
        tried[level] = kept_names(ranges, digits);
        Ok(matches!(session.attempt(&tried)?, DiskTry::Same(..)))
    };
    let now: Vec<Digit> = ranges.iter().map(|range| range.kept).collect();
    let nothing: Vec<Digit> = vec![None; ranges.len()];
    let newest: Vec<Digit> = ranges.iter().map(PendingRange::newest).collect();
    let kept = closest(&now, nothing, &mut fails)?;
    let lost = closest(&now, newest, &mut fails)?;
    let smaller = if lost.1 <= kept.1 { lost.0 } else { kept.0 };
    if smaller == now {
        return Ok(stopped);
    }
    let mut tried = pieces.clone();
    tried[level] = kept_names(ranges, &smaller);
    go_to(session, stopped, &tried)
}

/// Returns digits that fail like `now` and differ from `base` in as few ranges as possible, with
/// the number of these ranges.
fn closest(
    now: &[Digit],
    base: Vec<Digit>,
    fails: &mut dyn FnMut(&[Digit]) -> Result<bool, RunError>,
) -> Result<(Vec<Digit>, usize), RunError> {
    let with = |part: &[usize]| {
        let mut digits = base.clone();
        part.iter().for_each(|range| digits[*range] = now[*range]);
        digits
    };
    let different: Vec<usize> =
        (0..now.len()).filter(|range| now[*range] != base[*range]).collect();
    let needed = ddmin(different, &mut |part: &[usize]| fails(&with(part)))?;
    Ok((with(&needed), needed.len()))
}

/// Stops at other disks of the same request for crash checks, which must fail.
fn go_to(
    session: &mut ProbeSession<'_, '_>,
    stopped: StoppedAt,
    pieces: &[Vec<PieceName>],
) -> Result<StoppedAt, RunError> {
    let DiskTry::Same(disks, _) = session.attempt(pieces)? else { return Ok(stopped) };
    let mut spot = stopped.spot.clone();
    spot.disks = disks;
    let found = session.stop_at(&stopped.choices.concat(), &spot)?;
    let lost = || RunError::Diverged("a disk that failed cannot be built again".to_owned());
    found.map(|stopped| *stopped).ok_or_else(lost)
}

/// Returns the numbers of ranges of a moment: those that keep a version, those that have lost their
/// newest version, and all.
pub(super) fn count(moment: &CrashMoment) -> (u64, u64, u64) {
    let kept = moment.ranges.iter().filter(|range| range.kept.is_some()).count();
    let lost = moment.ranges.iter().filter(|range| range.kept != range.newest()).count();
    (kept as u64, lost as u64, moment.ranges.len() as u64)
}
