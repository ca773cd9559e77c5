//! The disks that are still open, ordered by their distance to the failing one.

use super::decisions::PieceDigits;
use crate::base::RunError;

/// The answer to whether the system can still recover.
pub(super) enum Recoverable {
    Yes,
    /// No disk recovers. True if all disks were checked.
    No(bool),
}

/// Searches for an open disk that recovers. The two disks that keep everything open or nothing of
/// it are tried first, because most systems recover from one of them.
pub(super) fn any(
    open: &[Vec<Option<u32>>],
    failing: &PieceDigits,
    most: u64,
    recovers: &mut dyn FnMut(&PieceDigits) -> Result<Option<bool>, RunError>,
) -> Result<Recoverable, RunError> {
    for digits in extremes(open) {
        if digits != *failing && recovers(&digits)? == Some(true) {
            return Ok(Recoverable::Yes);
        }
    }
    let mut looked = 0;
    for distance in 1..=failing.len() {
        let mut some = false;
        let mut yes = false;
        let whole = at_distance(open, failing, distance, &mut |digits| {
            some = true;
            if looked == most {
                return Ok(false);
            }
            looked += 1;
            match recovers(digits)? {
                None => Ok(false),
                Some(true) => {
                    yes = true;
                    Ok(false)
                }
                Some(false) => Ok(true),
            }
        })?;
        if yes {
            return Ok(Recoverable::Yes);
        }
        if !whole {
            return Ok(Recoverable::No(false));
        }
        if !some {
            break;
        }
    }
    Ok(Recoverable::No(true))
}

/// Returns the disk that keeps everything that is open and the one that keeps nothing of it.
fn extremes(open: &[Vec<Option<u32>>]) -> [PieceDigits; 2] {
    let newest = open.iter().map(|range| range.iter().copied().max().flatten()).collect();
    let nothing = open.iter().map(|range| range.iter().copied().min().flatten()).collect();
    [newest, nothing]
}

/// The nearest disk that recovers.
#[derive(Default)]
pub(super) struct NearestGoodDisk {
    pub differs: Vec<(usize, Option<u32>)>,
    pub as_near: u64,
    pub certain: bool,
}

pub(super) fn nearest(
    open: &[Vec<Option<u32>>],
    failing: &PieceDigits,
    most: u64,
    recovers: &mut dyn FnMut(&PieceDigits) -> Result<Option<bool>, RunError>,
) -> Result<NearestGoodDisk, RunError> {
    let differences = |digits: &PieceDigits| -> Vec<(usize, Option<u32>)> {
        let pairs = digits.iter().zip(failing).enumerate();
        pairs
            .filter(|(_, (other, own))| other != own)
            .map(|(range, (other, _))| (range, *other))
            .collect()
    };
    let mut near = NearestGoodDisk::default();
    let mut looked = 0;
    for distance in 1..=failing.len() {
        let whole = at_distance(open, failing, distance, &mut |digits| {
            if looked == most {
                return Ok(false);
            }
            looked += 1;
            match recovers(digits)? {
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
        // The nearest disk is beyond the bound. One of these two disks may be known to recover.
        for digits in extremes(open) {
            if near.as_near == 0 && digits != *failing && recovers(&digits)? == Some(true) {
                (near.differs, near.as_near) = (differences(&digits), 1);
            }
        }
    }
    Ok(near)
}

/// Visits the open disks that differ from the failing one in `distance` ranges, until `visit`
/// returns false. Returns true if it never did.
fn at_distance(
    open: &[Vec<Option<u32>>],
    failing: &PieceDigits,
    distance: usize,
    visit: &mut dyn FnMut(&PieceDigits) -> Result<bool, RunError>,
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
    digits: &mut PieceDigits,
    visit: &mut dyn FnMut(&PieceDigits) -> Result<bool, RunError>,
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

    /// Every disk at each distance is visited once.
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

    /// No disk is tried if its result would be ignored.
    #[test]
    fn a_bound_ends_the_search() {
        let open = vec![vec![Some(1), None]; 4];
        let failing = vec![Some(1); 4];
        for most in 0..4 {
            let mut tried = 0;
            let mut never = |_: &PieceDigits| {
                tried += 1;
                Ok(Some(false))
            };
            assert!(matches!(any(&open, &failing, most, &mut never), Ok(Recoverable::No(false))));
            assert_eq!(tried, 1 + most, "the option that keeps nothing, and `most` more");
            let mut tried = 0;
            let mut never = |_: &PieceDigits| {
                tried += 1;
                Ok(Some(false))
            };
            assert!(!nearest(&open, &failing, most, &mut never).unwrap().certain);
            assert_eq!(tried, most + 1, "`most`, and the option that keeps nothing");
        }
    }
}
