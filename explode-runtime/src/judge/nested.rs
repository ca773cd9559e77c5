//! The disks that a crash during a recovery can leave (EX-78).

use explode_ramdisk::{Event, Image};

use super::contradiction::contradiction;
use super::stacks::CrashStacks;
use crate::base::StepError;
use crate::crash::{
    CrashDisk, Instants, IntervalCounts, Neighbours, PieceId, SampleLimits, SampleSeed, walk,
    walk_named,
};
use crate::plan::RunSettings;
use crate::writeset::WriteSet;

/// Which neighbours are asked for.
#[derive(Clone, Copy, Debug)]
pub enum NeighbourQuery<'a> {
    /// Those of the disk that keeps these pieces, and has this identity.
    Disk(&'a [PieceId], &'a str),
    /// Those at a place where they were found before.
    Place((usize, usize)),
}

impl CrashStacks<'_> {
    /// Visits every disk that a crash during a recovery can leave (EX-78): what the recovery of
    /// `crash_disk` wrote, applied to that disk; but not the crash disk itself.
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

    /// The same for the disks that have kept just these pieces, whatever a sample would leave out.
    ///
    /// # Errors
    /// As [`crash_crash_disks`](CrashStacks::crash_crash_disks).
    pub fn crash_crash_named(
        self,
        crash_disk: &Image,
        recovery: &[Event],
        pieces: &[PieceId],
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

    /// The neighbours of the disk that has kept these pieces, of all that a crash during a recovery
    /// can leave: those that `wanted` accepts, or one at a known place.
    ///
    /// # Errors
    /// As [`crash_crash_disks`](CrashStacks::crash_crash_disks).
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
