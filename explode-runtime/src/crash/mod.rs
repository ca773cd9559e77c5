//! Crash disks: every image that a crash inside an interval of the log can leave, with the epochs in which it can.
//!
//! [`walk`] follows the events of an interval through a write set and looks at the disks at each emission
//! (`docs/fault-model.md`, sections 5 and 6); [`crash_disks`] collects a whole interval for those who want all of it. An
//! emission is a product of small independent choices, so it is counted without being enumerated, each disk's identity is a
//! sum of known differences, and a disk is built only when somebody asks for it.

mod cluster;
mod emission;
mod epoch;
mod families;
mod interval;
mod named;
mod neighbours;
mod number;
mod places;
mod sample;
mod soft;

use std::collections::HashMap;

use explode_ramdisk::{Event, Identity, Image};
use num_bigint::BigUint;

pub use cluster::Kept;
pub use emission::CrashDisk;
pub use epoch::{Epoch, Epochs};
pub use interval::{Counts, When, walk};
pub use named::{Name, names};
pub use neighbours::{Neighbours, walk_named};
pub use sample::{Limits, SampleSeed};

use crate::events::EventError;
use crate::writeset::{Rules, WriteSet};

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
    /// Its contents.
    pub image: Image,
    /// Who it is.
    pub identity: Identity,
    /// When a crash can leave it.
    pub epochs: Epochs,
    /// What of the write set it has kept, at one instant that can leave it.
    pub kept: Vec<Kept>,
}

/// The crash disks of `interval`, after the events `before`, on devices that durably held `base`; the log goes on with `after`.
///
/// # Errors
/// An event of any of the three that contradicts the log before it; its index counts from the first of `before`.
pub fn crash_disks(
    base: Image,
    before: &[Event],
    interval: &[Event],
    after: &[Event],
    rules: Rules,
    limits: &Limits,
) -> Result<LogDisks, EventError> {
    let mut write_set = WriteSet::new(base, rules);
    for (index, event) in before.iter().enumerate() {
        write_set.apply(event).map_err(|error| EventError { index, error })?;
    }
    let mut disks: Vec<LogDisk> = Vec::new();
    let mut seen: HashMap<Identity, usize> = HashMap::new();
    let counts =
        walk(&mut write_set, interval, When::Between, limits, |disk| match seen.get(&disk.identity()) {
            Some(at) => disks[*at].epochs |= disk.epochs(),
            None => {
                seen.insert(disk.identity(), disks.len());
                disks.push(LogDisk {
                    image: disk.image(),
                    identity: disk.identity(),
                    epochs: disk.epochs(),
                    kept: disk.kept(),
                });
            }
        })
        .map_err(|at| EventError { index: before.len() + at.index, ..at })?;
    for (index, event) in (before.len() + interval.len()..).zip(after) {
        write_set.apply(event).map_err(|error| EventError { index, error })?;
    }
    Ok(LogDisks { disks, crash_disks: counts.crash_disks, left_out: counts.left_out })
}
