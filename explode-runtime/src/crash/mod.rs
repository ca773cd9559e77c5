//! Crash disks: every image that a crash inside an interval of the log can leave, with the epochs
//! in which it can.
//!
//! [`walk`] follows the events of an interval through a write set and looks at the disks at each
//! emission (`docs/model/fault-model.md`, sections 5 and 6); [`crash_disks`] collects a whole
//! interval. An emission is a product of small independent choices, so it is counted without being
//! enumerated, each disk's identity is a sum of known differences, and a disk is built only when it
//! is needed.

mod big_index;
mod cluster;
mod emission;
mod epoch;
mod families;
mod instants;
mod interval;
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
pub use named::names;
pub use neighbours::{Neighbours, walk_named};
pub use piece::{KeptPiece, PieceId};
pub use sample::{SampleLimits, SampleSeed};

use crate::writeset::{DeviceRules, LogContradiction, WriteSet};

/// All crash disks of an interval.
#[derive(Debug)]
pub struct LogDisks {
    /// The distinct images, in order of first emission.
    pub disks: Vec<LogDisk>,
    /// The sum over all emissions.
    pub crash_disks: BigUint,
    /// How many of them no sample met.
    pub left_out: BigUint,
}

/// One distinct image.
#[derive(Debug)]
pub struct LogDisk {
    /// The image's identity.
    pub identity: Identity,
    /// When a crash can leave it.
    pub epochs: Epochs,
    /// What of the write set it has kept, at one instant that can leave it.
    pub kept: Vec<KeptPiece>,
}

/// Why there is no list of the crash disks of an interval.
#[derive(Debug, thiserror::Error)]
pub enum LogDisksError {
    /// An event that contradicts the log before it, or asks for more than is supported.
    #[error(transparent)]
    Event(#[from] LogContradiction),
    /// The list would not fit into memory.
    #[error("{disks} crash disks and the {pieces} pieces that they keep are too many to list")]
    #[expect(missing_docs, reason = "the message says what the numbers are")]
    TooMany { disks: usize, pieces: u64 },
}

/// What a list of crash disks may have in all: disks, and pieces that they keep.
const MOST_LISTED: u64 = 1 << 23;
/// What a list counts for a disk itself, in pieces.
const DISK: u64 = 8;
/// The work of sampling an emission: disks of the sample, times the square of the pieces, since a
/// disk's number has a bit or more for each piece, and is divided for each.
const MOST_SAMPLED: u64 = 1 << 40;

impl SampleLimits {
    /// Most pending pieces that can be sampled with these limits.
    pub fn most_pieces(&self) -> u64 {
        (MOST_SAMPLED / self.samples.max(1)).isqrt()
    }
}

/// Lists the crash disks of `interval`, after the events `before`, on devices that durably held
/// `base`; the log goes on with `after`. `new` gets each distinct image when it is emitted first,
/// once the whole log is known to be sound.
///
/// # Errors
/// An event of any of the three that contradicts the log before it, or would leave more pieces
/// pending than can be sampled; its index counts from the first of `before`. More disks than can be
/// listed.
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

/// Applies events, the first of which has this index.
fn apply(write_set: &mut WriteSet, events: &[Event], first: usize) -> Result<(), LogContradiction> {
    (first..).zip(events).try_for_each(|(index, event)| {
        write_set.apply(event).map_err(|error| LogContradiction { index, error })
    })
}
