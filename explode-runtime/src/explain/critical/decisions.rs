//! The decisions that lead to a disk, and the disks that are still possible before all of them are
//! made.

use crate::worker::probe::PendingRange;

/// The kept version of each range. `None` for a range that keeps nothing.
pub(super) type PieceDigits = Vec<Option<u32>>;

/// The decision that one piece reached the disk or was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PieceDecision {
    /// The place in the order in which pieces were first written.
    pub serial: u64,
    /// The index of the range.
    pub range: usize,
    /// The version in that range.
    pub version: u32,
    /// True if the piece reached the disk.
    pub kept: bool,
}

/// Returns the decisions in order. A range that keeps a version has one decision for that version,
/// and one for each later version that is lost. A range that keeps nothing has one for each lost
/// version. Versions before a kept one are overwritten and need no decision.
pub(super) fn decisions(ranges: &[PendingRange]) -> Vec<PieceDecision> {
    let mut decisions = Vec::new();
    for (range, pending) in ranges.iter().enumerate() {
        let kept = pending.versions.iter().position(|version| Some(version.0) == pending.kept);
        for (at, (version, serial)) in pending.versions.iter().enumerate().skip(kept.unwrap_or(0)) {
            let (version, serial, kept) = (*version, *serial, Some(at) == kept);
            decisions.push(PieceDecision { serial, range, version, kept });
        }
    }
    decisions.sort_by_key(|decision| decision.serial);
    decisions
}

/// Returns the versions that each range can still keep after these decisions. The version on the
/// failing disk comes first.
pub(super) fn open(ranges: &[PendingRange], decided: &[PieceDecision]) -> Vec<Vec<Option<u32>>> {
    let open = |(index, pending): (usize, &PendingRange)| {
        let of_range: Vec<&PieceDecision> =
            decided.iter().filter(|decision| decision.range == index).collect();
        let is_decided = |version: u32| of_range.iter().any(|decision| decision.version == version);
        // A decided kept version overwrites all earlier versions and the empty range, so those are
        // no longer open.
        let under = pending.kept.filter(|version| is_decided(*version));
        let first =
            pending.versions.iter().position(|version| Some(version.0) == under).unwrap_or(0);
        let versions = pending.versions[first..].iter().map(|version| version.0);
        let undecided = versions.filter(|version| !is_decided(*version)).map(Some);
        let others = under.is_none().then_some(None).into_iter().chain(undecided);
        let mut open = vec![pending.kept];
        open.extend(others.filter(|digit| *digit != pending.kept));
        open
    };
    ranges.iter().enumerate().map(open).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(versions: &[(u32, u64)], kept: Option<u32>) -> PendingRange {
        PendingRange {
            dev: 0,
            sectors: vec![(0, 8)],
            owner: None,
            versions: versions.to_vec(),
            since: vec![0; versions.len()],
            kept,
        }
    }

    /// Each decision leaves fewer disks open, until only the failing disk is left.
    #[test]
    fn decisions_leave_less_and_less_open() {
        let ranges = [
            pending(&[(1, 0), (2, 4), (3, 7)], Some(2)),
            pending(&[(1, 1), (2, 6)], None),
            pending(&[(2, 3)], Some(2)),
            pending(&[(1, 2), (2, 5)], Some(2)),
        ];
        let decisions = decisions(&ranges);
        let decided: Vec<(usize, u32, bool)> = decisions
            .iter()
            .map(|decision| (decision.range, decision.version, decision.kept))
            .collect();
        assert_eq!(
            decided,
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
}
