//! Notes on each block of the crash disk: the writes in it, and their fates.

use explode_ramdisk::SECTORS_PER_BLOCK;

use crate::worker::ChangedBlock;
use crate::worker::probe::{CrashMoment, PendingRange};

/// The pending writes at the last crash.
pub(super) struct PendingNotes<'a> {
    pub moments: &'a [CrashMoment],
}

impl PendingNotes<'_> {
    /// Returns the note on a block of the crash disk.
    pub fn of_crash(&self, block: &ChangedBlock) -> String {
        let ranges = self.ranges(block.0);
        let mut states: Vec<String> = ranges.iter().map(|range| state(range)).collect();
        states.dedup();
        let sure = if self.moments.len() > 1 {
            "was written before this crash: by what the first crash kept, or by the recovery"
        } else {
            "was written and flushed before the crash"
        };
        if states.is_empty() { sure.to_owned() } else { states.join("; ") }
    }

    /// Returns notes on lost writes that neither the crash disk nor the other disk shows.
    pub fn lost_elsewhere(&self, crash: &[ChangedBlock], other: &[ChangedBlock]) -> Vec<String> {
        let is_shown = |range: &PendingRange| {
            let blocks = crash.iter().chain(other);
            let mut blocks = blocks
                .map(|block| (block.0 * SECTORS_PER_BLOCK, (block.0 + 1) * SECTORS_PER_BLOCK));
            range
                .sectors
                .iter()
                .all(|(at, len)| blocks.any(|(first, end)| *at < end && at + len > first))
        };
        let ranges = self.moments.last().into_iter().flat_map(|moment| &moment.ranges);
        let lost = ranges.filter(|range| range.kept != range.newest() && !is_shown(range));
        lost.map(|range| {
            format!("Sector {}, {} bytes: {}", range.name(0).1, range.bytes(), state(range))
        })
        .collect()
    }

    fn ranges(&self, block: u64) -> Vec<&PendingRange> {
        let (first, end) = (block * SECTORS_PER_BLOCK, (block + 1) * SECTORS_PER_BLOCK);
        let touches = |range: &&PendingRange| {
            range.sectors.iter().any(|(at, len)| *at < end && at + len > first)
        };
        self.moments.last().into_iter().flat_map(|moment| &moment.ranges).filter(touches).collect()
    }

    /// Returns the number of pending ranges of which the crash kept a version, and of those whose
    /// newest version it lost.
    pub fn counts(&self) -> (usize, usize) {
        let ranges = || self.moments.last().into_iter().flat_map(|moment| &moment.ranges);
        let kept = ranges().filter(|range| range.kept.is_some()).count();
        (kept, ranges().filter(|range| range.kept != range.newest()).count())
    }
}

/// Returns the name of the sectors of consecutive blocks.
pub(super) fn sectors(first: u64, count: u64) -> String {
    format!("Sectors {} to {}", first * SECTORS_PER_BLOCK, (first + count) * SECTORS_PER_BLOCK - 1)
}

fn state(range: &PendingRange) -> String {
    let numbers: Vec<String> = range.versions.iter().map(|version| version.0.to_string()).collect();
    let of = if numbers.len() > 1 {
        format!(" (versions {} were pending)", numbers.join(", "))
    } else {
        String::new()
    };
    match range.kept {
        Some(kept) if Some(kept) == range.newest() => {
            format!("was pending, and reached the disk{of}")
        }
        Some(kept) => {
            format!("was pending; version {kept} reached the disk, and a later one was lost{of}")
        }
        None => format!("was pending, and was lost{of}"),
    }
}
