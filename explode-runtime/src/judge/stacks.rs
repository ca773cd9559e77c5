//! Fresh stacks on crash disks: each recovers, is mounted, and is checked.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use explode_ramdisk::{Image, Recording};
use tracing::debug_span;

use super::outcome::{Judged, Judgement};
use super::watch::Watch;
use crate::base::panic_words;
use crate::check::DiskCheck;
use crate::crash::Epoch;
use crate::devices::{Backend, HostId, Side};
use crate::plan::Plan;
use crate::stack::{Blueprint, Recovery, Stack};
use crate::verdict::{BrokenKind, Failure, Stage};

/// Judges crash disks: the last two stages.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    pub(super) blueprint: &'a Blueprint,
    pub(super) plan: &'a Plan,
    pub(super) backend: &'a dyn Backend,
    pub(super) host: HostId,
    note_reads: bool,
}

impl<'a> Judge<'a> {
    /// Makes stacks of this plan, whose blueprint this is, in this backend.
    pub(super) fn new(
        blueprint: &'a Blueprint,
        plan: &'a Plan,
        backend: &'a dyn Backend,
    ) -> Judge<'a> {
        Judge { blueprint, plan, backend, host: HostId::default(), note_reads: false }
    }

    /// The same for the disks of another host.
    pub(super) fn of_host(self, host: HostId) -> Judge<'a> {
        Judge { host, ..self }
    }
}

impl Judge<'_> {
    /// The same, which notes what is read.
    #[must_use = "this returns the judge that notes"]
    pub fn noting_reads(self) -> Self {
        Judge { note_reads: true, ..self }
    }

    /// How many crashes deep a crash during recovery is followed by the plan.
    pub fn crash_depth(&self) -> u32 {
        self.plan.settings.crash_depth
    }

    /// Recovers a crash disk as a fresh stack, and lets the checker look. `recording` is for what
    /// the recovery writes.
    pub(super) fn check(
        self,
        image: Image,
        checker: &dyn DiskCheck,
        (epoch, args): (Epoch, &[String]),
        recording: Recording,
        watch: &mut dyn Watch,
    ) -> Judged {
        let mut recovered = Vec::new();
        let mut stopped = false;
        let mut reads = None;
        let mut refused = None;
        let damaged = image.has_unreadable();
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
                    .map_err(|error| Failure::from(BrokenKind::Tool.of(error)))?;
            drop(restore);
            let mut announce = |watch: &mut dyn Watch, stage| {
                stopped = !watch.before(stage);
                if stopped { Err(Failure::Stop) } else { Ok(()) }
            };
            let mut look = || {
                let recovery = stack.recover(&mut |stage| announce(watch, stage))?;
                recovered = stack.devices().take_log()?;
                watch.recovered(&stack, &recovered);
                announce(watch, Stage::Check)?;
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
            Ok(Ok(Recovery::Clean)) => Judgement::Ok,
            Ok(Ok(Recovery::Repaired)) => Judgement::Repaired,
            Ok(Err(Failure::Violation(violation))) => Judgement::Violated(violation),
            // With an unreadable block, an error is all that can be promised.
            Ok(Err(Failure::Broken(_))) if damaged => Judgement::Ok,
            Ok(Err(Failure::Broken(why))) => Judgement::Broken(why),
            Ok(Err(Failure::Stop)) if stopped => Judgement::Stopped,
            Ok(Err(Failure::Stop)) => Judgement::Broken(
                BrokenKind::Component.of("the check returned Stop although it was not asked to"),
            ),
            Err(panic) => {
                let why = format!("panicked: {}", panic_words(panic.as_ref()));
                Judgement::Broken(BrokenKind::Component.of(why))
            }
        };
        let judgement = refused.map_or(judgement, Judgement::Broken);
        Judged { judgement, recovery: Arc::new(recovered), reads, died: None }
    }
}
