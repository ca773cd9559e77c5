//! Runs the mutates of a unit: makes their choices and crash checks, and classifies their errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tracing::debug_span;
use xxhash_rust::xxh3::xxh3_128;

use super::hooks::UnitProgress;
use super::lent::Lent;
use super::sources::{Asking, Sources};
use super::stop::UnitStop;
use crate::base::{StepError, panic_words};
use crate::check::{Checker, CrashRequest, Cx, DiskCheck, Driver, LogPlace, Whole};
use crate::choose::{Choice, ChoicePoint, lend};
use crate::crash::Instants;
use crate::events::Event;
use crate::explore::ReachedState;
use crate::faults::kernel::failed;
use crate::faults::media;
use crate::judge::CrashPipeline;
use crate::stack::Stack;
use crate::trace::Position;
use crate::verdict::{Broken, CheckError, WorkerStep};

/// A running unit as the driver of its mutates.
pub(super) struct UnitDriver<'a, 'w, 'r> {
    pub asking: &'a Asking<'w>,
    pub pipeline: CrashPipeline<'r>,
    /// The position of the unit.
    pub place: Position,
    /// The number of calls of mutate that were explored.
    pub operations: u64,
    sources: &'a Sources,
    /// True if this mutate is explored. False if it is replayed, so that its crash checks are
    /// skipped.
    explored: bool,
    /// The first contradiction of the log. After it the write set is wrong, and no crash disk of it
    /// is checked.
    contradiction: Option<StepError>,
    /// The first failure of the crash checks themselves. It always ends the unit.
    unchecked: Option<Broken>,
}

impl<'a, 'w, 'r> UnitDriver<'a, 'w, 'r> {
    pub fn new(
        asking: &'a Asking<'w>,
        sources: &'a Sources,
        pipeline: CrashPipeline<'r>,
    ) -> UnitDriver<'a, 'w, 'r> {
        UnitDriver {
            asking,
            pipeline,
            place: Position::default(),
            operations: 0,
            sources,
            explored: false,
            contradiction: None,
            unchecked: None,
        }
    }

    /// Announces a step that may hang or kill this process.
    pub fn before(&mut self, step: WorkerStep) {
        let chooser = self.asking.chooser.get();
        let so_far = UnitProgress {
            choices: chooser.made(),
            operations: self.operations,
            place: self.place,
        };
        self.asking.work.get_mut().before(step, &so_far);
    }

    /// Prepares the sources of choices after a stack of the unit was started.
    pub fn started(&mut self, stack: &Stack) -> Result<(), StepError> {
        self.sources.started(stack)
    }

    /// Calls mutate number `mutates`. Its crash checks are made if it is `explored`.
    pub fn mutate(
        &mut self,
        mutates: u32,
        stack: &Stack,
        checker: &mut dyn Checker,
        explored: bool,
    ) -> Result<(), UnitStop> {
        let _span = debug_span!("mutate", number = mutates).entered();
        self.place.mutates = mutates;
        self.operations += u64::from(explored);
        self.explored = explored;
        self.before(self.place.step());
        let prepared = self.sources.before_mutate(stack, self.asking, &mut self.pipeline);
        prepared.map_err(|fault| UnitStop::Broken(fault.into()))?;
        stack.listen(true);
        self.kernel_turn(stack, true);
        let lent = Lent { asking: self.asking, mutate: Some((self.sources, stack)) };
        let mutate = || checker.mutate(&mut Cx::new(stack, self));
        let result = catch_unwind(AssertUnwindSafe(|| lend(&lent, mutate)));
        self.kernel_turn(stack, false);
        stack.listen(false);
        let result = result.unwrap_or_else(|panic| {
            Err(CheckError::broken(format!("mutate panicked: {}", panic_words(panic.as_ref()))))
        });
        let result = result.and_then(|()| match stack.refused() {
            Some(why) => Err(CheckError::Broken(why)),
            None if !stack.has_requests() => Ok(()),
            None => self.answer_requests(stack, &Whole(checker)),
        });
        self.ended(result)
    }

    /// Returns the effect of a mutate's result on the unit.
    fn ended(&mut self, result: Result<(), CheckError>) -> Result<(), UnitStop> {
        if let Some(trouble) = self.sources.trouble() {
            return Err(UnitStop::Broken(trouble.into()));
        }
        // The caller examines the divergence first.
        if self.asking.has_diverged() {
            return Err(UnitStop::Stopped);
        }
        if let Some(why) = self.unchecked.take() {
            return Err(UnitStop::Broken(why));
        }
        if let Some(fault) = self.contradiction.take() {
            return Err(UnitStop::Broken(fault.into()));
        }
        match result {
            Ok(()) => Ok(()),
            Err(CheckError::Stop) => Err(UnitStop::Stopped),
            Err(CheckError::Violation(violation)) => Err(UnitStop::Violated(violation, self.place)),
            // After a block has gone bad or a function has failed, a failed operation is no error.
            // The unit cannot continue.
            Err(CheckError::Broken(_)) if self.has_gone_bad() => Err(UnitStop::Stopped),
            Err(CheckError::Broken(why)) => Err(UnitStop::Broken(why)),
        }
    }

    /// Returns true if a block has gone bad or code of the kernel did not take its normal option.
    pub fn has_gone_bad(&self) -> bool {
        let chooser = self.asking.chooser.get();
        let made = chooser.made();
        media::faults(made).next().is_some() || failed(made).next().is_some()
    }

    /// Reports the state after `depth` mutates. Returns true if the unit continues. The result
    /// counts only if there are `more` mutates.
    pub fn reached(&mut self, checker: &dyn Checker, depth: u32, more: bool) -> bool {
        let bytes = checker.get_sig();
        let arrival = ReachedState {
            signature: self.signature(bytes.as_deref(), depth),
            depth,
            choices: self.asking.chooser.get().made().len() as u64,
            sketch: None,
            topology: checker.abilities().topology.map(|state| xxh3_128(&state.topology())),
        };
        let counts = checker.abilities().tallies.map(|checker| checker.tallies());
        let mut work = self.asking.work.get_mut();
        for (group, name, count) in counts.into_iter().flatten() {
            work.tally(group, name, &count);
        }
        work.reached(arrival, bytes.as_deref(), more)
    }

    /// Returns the signature of the state: the checker's, or the path to the state by default, so
    /// that no two states are equal (EX-20).
    fn signature(&self, bytes: Option<&[u8]>, depth: u32) -> u128 {
        let chooser = self.asking.chooser.get();
        let place = || [&chooser.hash().to_le_bytes()[..], &depth.to_le_bytes()].concat();
        let mut signature = bytes.map_or_else(place, <[u8]>::to_vec);
        // The faults are part of the state, and no checker sees them.
        self.sources.add_state(chooser.made(), &mut signature);
        xxh3_128(&signature)
    }

    /// Checks the crash disks at each waiting request, with the present state of the checker
    /// (EX-66).
    fn answer_requests(
        &mut self,
        stack: &Stack,
        checker: &dyn DiskCheck,
    ) -> Result<(), CheckError> {
        while let Some(name) = self.pipeline.next_request(stack.devices())? {
            let args = [name];
            let (begin, at) = (&args[..], Some(LogPlace::Request));
            self.check(
                stack,
                &CrashRequest { checker, when: Instants::Now, begin, args: begin, at },
            )?;
        }
        Ok(())
    }

    fn check(&mut self, stack: &Stack, request: &CrashRequest<'_>) -> Result<(), CheckError> {
        if self.contradiction.is_some() {
            return Err(CheckError::Stop);
        }
        let chooser = self.asking.chooser.get();
        let choices = chooser.made();
        let progress = UnitProgress { choices, operations: self.operations, place: self.place };
        self.place.interval += 1;
        // After a divergence, or without knowledge of the kernel's choices, a check would prove
        // nothing.
        let checked = if chooser.diverged().is_some() || self.sources.trouble().is_some() {
            Err(CheckError::Stop)
        } else if self.explored {
            self.asking.work.get_mut().crashes(&mut self.pipeline, stack, request, &progress)
        } else {
            self.pipeline.skip(stack.devices(), request.when).map_err(CheckError::from)
        };
        self.asking
            .work
            .get_mut()
            .before(self.place.step(), &UnitProgress { place: self.place, ..progress });
        if let Err(CheckError::Broken(why)) = &checked {
            self.unchecked.get_or_insert_with(|| why.clone());
        }
        checked
    }
}

impl Driver for UnitDriver<'_, '_, '_> {
    fn choose(&mut self, point: &ChoicePoint<'_>) -> u32 {
        self.asking.choose(point)
    }

    fn begin_interval(&mut self, stack: &Stack) {
        if let Err(fault) = self.pipeline.begin(stack.devices()) {
            self.contradiction.get_or_insert(fault);
        }
    }

    fn check_crashes(
        &mut self,
        stack: &Stack,
        request: &CrashRequest<'_>,
    ) -> Result<(), CheckError> {
        self.answer_requests(stack, request.checker)?;
        self.check(stack, request)
    }

    fn log(&mut self, stack: &Stack) -> Result<Vec<Event>, StepError> {
        self.pipeline.read_log(stack.devices())
    }

    fn mark(&mut self, stack: &Stack, name: &str) -> Result<(), StepError> {
        self.pipeline.mark(stack.devices(), name)
    }

    fn kernel_turn(&mut self, stack: &Stack, on: bool) {
        self.sources.kernel_turn(stack, self.asking, on);
    }

    fn choices(&self) -> Vec<Choice> {
        self.asking.made()
    }
}
