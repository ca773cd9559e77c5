//! The crash-crash disks of a recovery (EX-78).

use explode_ramdisk::{Event, Image};

use super::contradiction::contradiction;
use super::stacks::CrashStacks;
use crate::base::StepError;
use crate::crash::{
    CrashDisk, Instants, IntervalCounts, Neighbours, PieceName, SampleLimits, SampleSeed, walk,
    walk_named,
};
use crate::plan::RunSettings;
use crate::writeset::WriteSet;

/// The neighbours to look for.
#[derive(Clone, Copy, Debug)]
pub enum NeighbourQuery<'a> {
    /// The neighbours of the disk with these pieces and this identity.
    Disk(&'a [PieceName], &'a str),
    /// The neighbours at a place where they were found before.
    Place((usize, usize)),
}

impl CrashStacks<'_> {
    /// Visits every crash-crash disk of a recovery (EX-78): the recovery's writes, applied to
    /// `crash_disk`. The crash disk itself is omitted.
    ///
    /// # Errors
    /// An event that contradicts the recovery's log.
    pub fn crash_crash_disks(
        self,
        crash_disk: &Image,
        recovery: &[Event],
        seed: SampleSeed,
        mut visit: impl FnMut(&CrashDisk<'_>),
    ) -> Result<IntervalCounts, StepError> {
        let RunSettings { rules, limit, samples, .. } = self.plan.settings;
        let identity = crash_disk.identity();
        let limits = SampleLimits { limit, samples, seed };
        let mut write_set = WriteSet::new(crash_disk.clone(), rules);
        let counts = walk(&mut write_set, recovery, Instants::Interval, &limits, |disk| {
            if disk.identity() != identity {
                visit(disk);
            }
        });
        counts.map_err(contradiction)
    }

    /// Visits the crash-crash disks that have kept exactly these pieces, even those that a sample
    /// omits.
    ///
    /// # Errors
    /// Those of [`crash_crash_disks`](CrashStacks::crash_crash_disks).
    pub fn crash_crash_named(
        self,
        crash_disk: &Image,
        recovery: &[Event],
        pieces: &[PieceName],
        mut visit: impl FnMut(&CrashDisk<'_>),
    ) -> Result<(), StepError> {
        let identity = crash_disk.identity();
        let write_set = WriteSet::new(crash_disk.clone(), self.plan.settings.rules);
        let mut visit = |disk: &CrashDisk<'_>| {
            if disk.identity() != identity {
                visit(disk);
            }
        };
        walk_named(write_set, recovery, Instants::Interval, pieces, &mut visit)
            .map_err(contradiction)
    }

    /// Returns the neighbours of a crash-crash disk. `None` if no disk or place fits the query.
    ///
    /// # Errors
    /// Those of [`crash_crash_disks`](CrashStacks::crash_crash_disks).
    pub fn recovery_neighbours(
        self,
        crash_disk: &Image,
        recovery: &[Event],
        of: NeighbourQuery<'_>,
    ) -> Result<Option<Neighbours>, StepError> {
        let write_set = WriteSet::new(crash_disk.clone(), self.plan.settings.rules);
        let found = match of {
            NeighbourQuery::Disk(pieces, id) => {
                let wanted = |disk: &CrashDisk<'_>| disk.identity().to_string() == id;
                Neighbours::of(write_set, recovery, Instants::Interval, pieces, &wanted)
            }
            NeighbourQuery::Place(place) => {
                Neighbours::at(write_set, recovery, Instants::Interval, place)
            }
        };
        found.map_err(contradiction)
    }
}
