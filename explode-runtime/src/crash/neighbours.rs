//! The neighbours of a crash disk: the disks that a crash at the same moment can leave, in the same
//! world.
//!
//! A search for the pieces that matter keeps or loses other pieces of the same write set, and
//! examines the results.

use explode_ramdisk::Event;

use super::emission::{CrashDisk, Layout};
use super::epoch::Epoch;
use super::instants::Instants;
use super::interval::{InstantEpochs, InstantView, each_moment};
use super::named::names;
use super::piece::PieceName;
use crate::writeset::{LogContradiction, VersionedRange, WriteSet};

/// The disks of one world at one moment of an interval.
#[derive(Debug)]
pub struct Neighbours {
    layout: Layout,
    times: InstantEpochs,
    /// The index of the moment in the interval and of the world in the moment. Equal events give
    /// equal places.
    pub place: (usize, usize),
}

impl Neighbours {
    /// Returns the neighbours of the first disk of an interval for which `wanted` returns true,
    /// among the disks that keep these pieces. `None` if there is no such disk.
    ///
    /// # Errors
    /// Returns an error for an event that contradicts the log before it.
    pub fn of(
        mut write_set: WriteSet,
        events: &[Event],
        when: Instants,
        pieces: &[PieceName],
        wanted: &dyn Fn(&CrashDisk<'_>) -> bool,
    ) -> Result<Option<Neighbours>, LogContradiction> {
        let mut found = None;
        let mut index = 0;
        each_moment(
            &mut write_set,
            events,
            when,
            &mut |InstantView { emission, times, .. }| {
                for (world, layout) in emission.worlds.into_iter().enumerate() {
                    let neighbours = Neighbours { layout, times, place: (index, world) };
                    let mut is_wanted = false;
                    if found.is_none() {
                        neighbours.named(pieces, &mut |disk| is_wanted |= wanted(disk));
                    }
                    if is_wanted {
                        found = Some(neighbours);
                    }
                }
                index += 1;
            },
        )?;
        Ok(found)
    }

    /// Returns the neighbours at a place of an interval. `None` if the interval has no such place.
    ///
    /// # Errors
    /// Returns an error for an event that contradicts the log before it.
    pub fn at(
        mut write_set: WriteSet,
        events: &[Event],
        when: Instants,
        place: (usize, usize),
    ) -> Result<Option<Neighbours>, LogContradiction> {
        let mut found = None;
        let mut index = 0;
        each_moment(
            &mut write_set,
            events,
            when,
            &mut |InstantView { emission, times, .. }| {
                if index == place.0 {
                    let layout = emission.worlds.into_iter().nth(place.1);
                    found = layout.map(|layout| Neighbours { layout, times, place });
                }
                index += 1;
            },
        )?;
        Ok(found)
    }

    /// Visits the disks that have kept exactly these pieces: at most one, unless names are
    /// ambiguous.
    pub fn named(&self, pieces: &[PieceName], visit: &mut dyn FnMut(&CrashDisk<'_>)) {
        visit_named(&self.layout, self.times, pieces, visit);
    }

    /// Returns the pending ranges with their visible versions.
    pub fn ranges(&self) -> impl Iterator<Item = &VersionedRange> {
        self.layout.ranges()
    }

    /// Returns true if a crash in this epoch can keep a version that is visible since this instant.
    pub fn is_possible(&self, epoch: Epoch, since: u64) -> bool {
        self.times.epochs(since).contains(epoch)
    }

    /// Returns the last instant of the moment.
    pub fn instant(&self) -> u64 {
        self.times.at
    }
}

/// Visits each disk of an interval that has kept exactly these pieces, at every moment that can
/// leave it.
///
/// # Errors
/// Returns an error for an event that contradicts the log before it.
pub fn walk_named(
    mut write_set: WriteSet,
    events: &[Event],
    when: Instants,
    pieces: &[PieceName],
    visit: &mut dyn FnMut(&CrashDisk<'_>),
) -> Result<(), LogContradiction> {
    each_moment(&mut write_set, events, when, &mut |InstantView { emission, times, .. }| {
        for layout in &emission.worlds {
            visit_named(layout, times, pieces, visit);
        }
    })
}

fn visit_named(
    layout: &Layout,
    times: InstantEpochs,
    pieces: &[PieceName],
    visit: &mut dyn FnMut(&CrashDisk<'_>),
) {
    let sorted = |mut names: Vec<PieceName>| {
        names.sort_unstable();
        names
    };
    let wanted = sorted(pieces.to_vec());
    layout.named(pieces, &|since| times.epochs(since), &mut |disk| {
        if sorted(names(&disk.kept())) == wanted {
            visit(disk);
        }
    });
}
