//! The search for a trace's error behind one crash disk.

use explode_ramdisk::Image;

use crate::crash::{CrashDisk, names};
use crate::judge::{Check, CheckEnding, CheckOutcome, Descend, DiskName, JudgeHooks};
use crate::trace::{CrashDiskRecord, NotReproduced, ReplayResult, Trace};
use crate::verdict::{DiskStage, Violation, WorkerStep};

/// The trace's error, found again.
pub(super) struct FoundAgain {
    pub violation: Violation,
    /// The disk of the crash and those of the crashes during recovery.
    pub disks: Vec<DiskName>,
}

/// Follows a crash disk through crashes during recovery to the check, and tests whether it shows
/// the trace's error.
pub(super) struct RecordedWitness<'a> {
    pub trace: &'a Trace,
    pub on_step: &'a mut dyn FnMut(WorkerStep),
    /// True if only the recorded path counts; false if any path with as many crashes counts.
    pub exactly: bool,
    pub found: Option<FoundAgain>,
}

impl JudgeHooks for RecordedWitness<'_> {
    fn known(&mut self, check: &Check<'_>) -> Option<bool> {
        let is_another = || {
            let wanted = check.crashes().checked_sub(1).map(|at| &self.trace.recovery[at as usize]);
            wanted.is_some_and(|wanted| {
                self.exactly && !check.disk.is_some_and(|disk| wanted.is(disk))
            })
        };
        (self.found.is_some() || is_another()).then_some(true)
    }

    fn before(&mut self, check: &Check<'_>, stage: DiskStage) -> bool {
        (self.on_step)(check.step(stage));
        true
    }

    fn after(&mut self, _check: &Check<'_>) {
        (self.on_step)(WorkerStep::Between);
    }

    fn judged(
        &mut self,
        check: &Check<'_>,
        _image: &Image,
        outcome: CheckOutcome,
    ) -> (CheckOutcome, bool) {
        if let CheckEnding::Violated(violation) = &outcome.ending
            && check.crashes() == check.crash.depth
            && violation.signature(&self.trace.checker) == self.trace.signature
        {
            let disk = check.disk.map(|disk| (disk.identity().to_string(), disk.kept()));
            let disks = check.before.iter().cloned().chain(disk).collect();
            self.found = Some(FoundAgain { violation: violation.clone(), disks });
        }
        let sound = outcome.ending.is_sound();
        (outcome, sound)
    }

    fn descend(&mut self, check: &Check<'_>, _outcome: &CheckOutcome) -> Descend {
        match self.trace.recovery.get(check.crashes() as usize) {
            Some(next) if self.exactly => Descend::Named(next.blocks.clone()),
            _ => Descend::All,
        }
    }
}

/// Returns the result of a replay that has not shown the error.
pub(super) fn not_seen(reason: NotReproduced, why: impl Into<String>) -> ReplayResult {
    ReplayResult::NotReproduced(reason, why.into())
}

impl CrashDiskRecord {
    /// Returns true if this is the recorded disk.
    pub(crate) fn is(&self, disk: &CrashDisk<'_>) -> bool {
        disk.identity().to_string() == self.id && names(&disk.kept()) == self.blocks
    }
}
