//! A request for crash checks while the system stands still. Its crash disks can be enumerated any
//! number of times.

use explode_ramdisk::{Event, Image};

use super::contradiction::contradiction;
use super::key::key_of_judged;
use crate::base::StepError;
use crate::crash::{
    CrashDisk, Epoch, Instants, IntervalCounts, Neighbours, PieceName, SampleLimits, SampleSeed,
    walk, walk_named,
};
use crate::writeset::{LogContradiction, WriteSet};

/// A crash disk with everything that its check needs.
#[derive(Debug)]
pub struct CandidateDisk<'a> {
    /// The disk.
    pub disk: &'a CrashDisk<'a>,
    /// The epoch in which a crash can leave the disk.
    pub epoch: Epoch,
    /// The epoch that `check` gets. A soft crash before the last operation of an interval is judged
    /// as any crash in between.
    pub judged_as: Epoch,
    /// The arguments that the checker's caller passes to `check`.
    pub args: &'a [String],
    /// The identity of the check: (image, epoch, arguments, check_key), fault-model.md section 6.
    pub key: u128,
    /// The part of the key besides image, epoch and arguments.
    pub rest: &'a [u8],
    /// The seed of samples.
    pub seed: SampleSeed,
    /// A hash of every event so far. A replay with an equal hash has the same blocks at the same
    /// places.
    pub log_hash: u128,
}

/// An interval or a moment whose crash disks are requested.
#[derive(Debug)]
pub struct OpenRequest<'a> {
    /// The write set at the beginning.
    pub(super) write_set: &'a WriteSet,
    pub(super) log: &'a [Event],
    pub(super) recent: &'a [Event],
    pub(super) when: Instants,
    pub(super) limits: SampleLimits,
    pub(super) begin: &'a [String],
    pub(super) args: &'a [String],
    pub(super) rest: Vec<u8>,
    pub(super) log_hash: u128,
}

impl OpenRequest<'_> {
    /// Returns a hash of every event so far.
    pub fn log_hash(&self) -> u128 {
        self.log_hash
    }

    /// Returns the part of the checks' keys besides image, epoch and arguments.
    pub fn rest(&self) -> &[u8] {
        &self.rest
    }

    /// Returns the seed of samples.
    pub fn seed(&self) -> SampleSeed {
        self.limits.seed
    }

    /// Returns the arguments of the checks in an epoch.
    pub fn args(&self, epoch: Epoch) -> &[String] {
        if epoch == Epoch::Begin { self.begin } else { self.args }
    }

    /// Returns the events of the interval and the instant before the first of them. For a request
    /// about one instant the events are those since the request before.
    pub fn events(&self) -> (u64, &[Event]) {
        let instant = self.write_set.instant();
        if self.recent.is_empty() {
            return (instant, self.log);
        }
        let counted =
            self.recent.iter().filter(|event| !matches!(event, Event::Mark { .. })).count();
        (instant - counted as u64, self.recent)
    }

    /// Visits every crash disk or a sample of them, once per epoch in which it is possible. Returns
    /// the write set at the end.
    ///
    /// # Errors
    /// An event that contradicts the log before it.
    pub fn walk(
        &self,
        mut visit: impl FnMut(&CandidateDisk<'_>),
    ) -> Result<(IntervalCounts, WriteSet), StepError> {
        let mut write_set = self.write_set.clone();
        let counts = walk(&mut write_set, self.log, self.when, &self.limits, |disk| {
            self.candidates(disk, &mut visit)
        });
        Ok((counts.map_err(contradiction)?, write_set))
    }

    /// Visits the crash disks that have kept exactly these pieces, even those that a sample omits.
    ///
    /// # Errors
    /// Those of [`walk`](OpenRequest::walk).
    pub fn named(
        &self,
        pieces: &[PieceName],
        mut visit: impl FnMut(&CandidateDisk<'_>),
    ) -> Result<(), StepError> {
        let mut visit = |disk: &CrashDisk<'_>| self.candidates(disk, &mut visit);
        walk_named(self.write_set.clone(), self.log, self.when, pieces, &mut visit)
            .map_err(contradiction)
    }

    /// Returns the neighbours of the crash disk with these pieces, this identity and this epoch.
    /// `None` if there is no such disk.
    ///
    /// # Errors
    /// Those of [`walk`](OpenRequest::walk).
    pub fn neighbours(
        &self,
        pieces: &[PieceName],
        id: &str,
        epoch: Epoch,
    ) -> Result<Option<Neighbours>, StepError> {
        let wanted = |disk: &CrashDisk<'_>| {
            disk.epochs().contains(epoch) && disk.identity().to_string() == id
        };
        Neighbours::of(self.write_set.clone(), self.log, self.when, pieces, &wanted)
            .map_err(contradiction)
    }

    /// Returns the contents of the devices at the end if all later writes are dropped: see
    /// [`WriteSet::submitted`].
    ///
    /// # Errors
    /// Those of [`walk`](OpenRequest::walk).
    pub fn submitted(&self) -> Result<Image, StepError> {
        let mut write_set = self.write_set.clone();
        for (index, event) in self.log.iter().enumerate() {
            write_set
                .apply(event)
                .map_err(|error| contradiction(LogContradiction { index, error }))?;
        }
        Ok(write_set.submitted())
    }

    fn candidates(&self, disk: &CrashDisk<'_>, visit: &mut dyn FnMut(&CandidateDisk<'_>)) {
        let OpenRequest { rest, log_hash, .. } = self;
        for epoch in disk.epochs().iter() {
            let (args, judged_as, seed) =
                (self.args(epoch), disk.epochs().judged_as(epoch), self.limits.seed);
            let key = key_of_judged(disk.identity(), epoch, judged_as, args, rest);
            visit(&CandidateDisk {
                disk,
                epoch,
                judged_as,
                args,
                key,
                rest,
                seed,
                log_hash: *log_hash,
            });
        }
    }
}
