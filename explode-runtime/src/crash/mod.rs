//! Crash disks: every image that a crash inside an interval of the log can leave, with the epochs
//! in which it can.
//!
//! [`walk`] applies the events of an interval to a write set and visits the disks of each emission
//! (`docs/model/fault-model.md`, sections 5 and 6). [`crash_disks`] collects the disks of a whole
//! interval. An emission is a product of small independent choices. It is counted without
//! enumeration, each disk's identity is a sum of known differences, and a disk is built only when
//! it is needed.

mod big_index;
mod cluster;
mod emission;
mod epoch;
mod families;
mod instants;
mod interval;
mod legal;
mod named;
mod neighbours;
mod outcome_table;
mod piece;
mod sample;
mod soft;

use std::collections::HashMap;

use explode_ramdisk::{Event, Identity, Image};
use num_bigint::BigUint;

pub use emission::CrashDisk;
pub use epoch::{Epoch, Epochs};
pub use instants::Instants;
pub use interval::{IntervalCounts, walk};
pub use legal::{BuiltDisk, DiskNumbers, LegalDisks};
pub use named::names;
pub use neighbours::{Neighbours, walk_named};
pub use piece::{KeptPiece, PieceName};
pub use sample::{SampleLimits, SampleSeed};

use crate::writeset::{DeviceRules, LogContradiction, WriteSet};

/// All crash disks of an interval.
#[derive(Debug)]
pub struct LogDisks {
    /// The distinct images, in the order of their first emission.
    pub disks: Vec<LogDisk>,
    /// The number of crash disks, summed over all emissions.
    pub crash_disks: BigUint,
    /// The number of those disks that no sample contains.
    pub left_out: BigUint,
}

/// One distinct image of an interval.
#[derive(Debug)]
pub struct LogDisk {
    /// The image's identity.
    pub identity: Identity,
    /// The epochs in which a crash can leave the image.
    pub epochs: Epochs,
    /// The pieces of the write set that the image has kept, at one instant that can leave it.
    pub kept: Vec<KeptPiece>,
}

/// The error of listing the crash disks of an interval.
#[derive(Debug, thiserror::Error)]
pub enum LogDisksError {
    /// An event contradicts the log before it, or exceeds a limit.
    #[error(transparent)]
    Event(#[from] LogContradiction),
    /// The list would not fit into memory.
    #[error("{disks} crash disks and the {pieces} pieces that they keep are too many to list")]
    #[expect(missing_docs, reason = "the message says what the numbers are")]
    TooMany { disks: usize, pieces: u64 },
}

/// The largest size of a list of crash disks: the pieces that they keep, and [`DISK`] for each
/// disk.
const MOST_LISTED: u64 = 1 << 23;
/// The size of a disk itself in a list, in pieces.
const DISK: u64 = 8;
/// The largest work of sampling an emission: the disks of the sample times the square of the
/// pieces. A disk's number has at least one bit for each piece, and is divided once for each.
const MOST_SAMPLED: u64 = 1 << 40;

impl SampleLimits {
    /// Returns the largest number of pending pieces that can be sampled with these limits.
    pub fn most_pieces(&self) -> u64 {
        (MOST_SAMPLED / self.samples.max(1)).isqrt()
    }
}

/// Lists the crash disks of `interval`, which follows the events `before`, on devices that durably
/// held `base`. The log continues with `after`. `new` receives each distinct image at its first
/// emission, after the whole log is known to be sound.
///
/// # Errors
/// Returns an error for an event of the three parts that contradicts the log before it, or that
/// would leave more pieces pending than can be sampled. Its index counts from the first event of
/// `before`. Returns an error if there are too many disks to list.
pub fn crash_disks(
    base: Image,
    before: &[Event],
    interval: &[Event],
    after: &[Event],
    rules: DeviceRules,
    limits: &SampleLimits,
    new: &mut dyn FnMut(&CrashDisk<'_>),
) -> Result<LogDisks, LogDisksError> {
    let mut write_set = WriteSet::new(base, rules).at_most(limits.most_pieces());
    apply(&mut write_set, before, 0)?;
    let mut rest = write_set.clone();
    apply(&mut rest, interval, before.len())?;
    apply(&mut rest, after, before.len() + interval.len())?;
    drop(rest);
    let mut disks: Vec<LogDisk> = Vec::new();
    let mut seen: HashMap<Identity, usize> = HashMap::new();
    let mut listed = 0;
    let counts = walk(&mut write_set, interval, Instants::Interval, limits, |disk| {
        match seen.get(&disk.identity()) {
            Some(at) => disks[*at].epochs |= disk.epochs(),
            None if listed > MOST_LISTED => {}
            None => {
                seen.insert(disk.identity(), disks.len());
                let kept = disk.kept();
                listed += DISK + kept.len() as u64;
                disks.push(LogDisk { identity: disk.identity(), epochs: disk.epochs(), kept });
                new(disk);
            }
        }
    })
    .map_err(|at| LogContradiction { index: before.len() + at.index, ..at })?;
    if listed > MOST_LISTED {
        let pieces = disks.iter().map(|disk| disk.kept.len() as u64).sum();
        return Err(LogDisksError::TooMany { disks: disks.len(), pieces });
    }
    Ok(LogDisks { disks, crash_disks: counts.crash_disks, left_out: counts.left_out })
}

/// Applies events, of which the first has the index `first`.
fn apply(write_set: &mut WriteSet, events: &[Event], first: usize) -> Result<(), LogContradiction> {
    (first..).zip(events).try_for_each(|(index, event)| {
        write_set.apply(event).map_err(|error| LogContradiction { index, error })
    })
}
