//! Fresh stacks on crash disks: each is recovered, mounted and checked.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use explode_ramdisk::{Image, Recording};
use tracing::debug_span;

use super::outcome::{CheckEnding, CheckOutcome};
use super::watch::CheckWatch;
use crate::base::panic_words;
use crate::check::DiskCheck;
use crate::crash::Epoch;
use crate::devices::{Backend, HostId, Side};
use crate::plan::Plan;
use crate::stack::{Blueprint, Recovery, Stack};
use crate::verdict::{BrokenKind, CheckError, DiskStage};

/// The judge of crash disks: builds a stack on each disk, and recovers, mounts and checks it.
#[derive(Clone, Copy, Debug)]
pub struct CrashStacks<'a> {
    pub(super) blueprint: &'a Blueprint,
    pub(super) plan: &'a Plan,
    pub(super) backend: &'a dyn Backend,
    pub(super) host: HostId,
    note_reads: bool,
}

impl<'a> CrashStacks<'a> {
    /// Returns the judge for a plan and its blueprint in this backend.
    pub(super) fn new(
        blueprint: &'a Blueprint,
        plan: &'a Plan,
        backend: &'a dyn Backend,
    ) -> CrashStacks<'a> {
        CrashStacks { blueprint, plan, backend, host: HostId::default(), note_reads: false }
    }

    /// Returns the judge for the disks of another host.
    pub(super) fn of_host(self, host: HostId) -> CrashStacks<'a> {
        CrashStacks { host, ..self }
    }
}

impl CrashStacks<'_> {
    /// Returns a judge that records reads.
    #[must_use = "this returns the judge that notes"]
    pub fn noting_reads(self) -> Self {
        CrashStacks { note_reads: true, ..self }
    }

    /// Returns the plan's depth of crashes during recovery.
    pub fn crash_depth(&self) -> u32 {
        self.plan.settings.crash_depth
    }

    /// Recovers a crash disk as a fresh stack and runs the checker on it. `recording` controls the
    /// recording of the recovery's writes.
    pub(super) fn check(
        self,
        image: Image,
        checker: &dyn DiskCheck,
        (epoch, args): (Epoch, &[String]),
        recording: Recording,
        watch: &mut dyn CheckWatch,
    ) -> CheckOutcome {
        let mut recovered = Vec::new();
        let mut stopped = false;
        let mut reads = None;
        let mut refused = None;
        let damaged = image.is_damaged();
        let judged = catch_unwind(AssertUnwindSafe(|| {
            let settings = &self.plan.settings;
            let restore = debug_span!("restore").entered();
            let devices =
                self.backend.disks(self.host, Side::Crash, image, recording, settings.seed);
            if self.note_reads {
                devices.note_reads();
            }
            let mut stack =
                Stack::build_again(self.blueprint, devices, settings.rules, settings.seed)
                    .map_err(|error| CheckError::from(BrokenKind::Tool.of(error)))?;
            drop(restore);
            let mut announce = |watch: &mut dyn CheckWatch, stage| {
                stopped = !watch.before(stage);
                if stopped { Err(CheckError::Stop) } else { Ok(()) }
            };
            let mut look = || {
                let recovery = stack.recover(&mut |stage| announce(watch, stage))?;
                recovered = stack.devices().take_log()?;
                watch.recovered(&stack, &recovered);
                announce(watch, DiskStage::Check)?;
                let span = debug_span!("check", epoch = epoch.as_str());
                span.in_scope(|| checker.check_disk(&stack, epoch, args))?;
                Ok(recovery)
            };
            let found = look();
            refused = stack.refused();
            reads = stack.devices().take_reads()?;
            debug_span!("stop").in_scope(|| drop(stack));
            found
        }));
        let judgement = match judged {
            Ok(Ok(Recovery::Clean)) => CheckEnding::Ok,
            Ok(Ok(Recovery::Repaired)) => CheckEnding::Repaired,
            Ok(Err(CheckError::Violation(violation))) => CheckEnding::Violated(violation),
            // On a damaged disk the only promise is an error.
            Ok(Err(CheckError::Broken(_))) if damaged => CheckEnding::Ok,
            Ok(Err(CheckError::Broken(why))) => CheckEnding::Broken(why),
            Ok(Err(CheckError::Stop)) if stopped => CheckEnding::Stopped,
            Ok(Err(CheckError::Stop)) => CheckEnding::Broken(
                BrokenKind::Component.of("the check returned Stop although it was not asked to"),
            ),
            Err(panic) => {
                let why = format!("panicked: {}", panic_words(panic.as_ref()));
                CheckEnding::Broken(BrokenKind::Component.of(why))
            }
        };
        let judgement = refused.map_or(judgement, CheckEnding::Broken);
        CheckOutcome { ending: judgement, recovery: Arc::new(recovered), reads, died: None }
    }
}
