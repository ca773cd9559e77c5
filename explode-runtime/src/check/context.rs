//! What a checker's mutate is given: choices, the stack, and crash checks.

use std::panic::Location;

use super::driver::{Args, CrashRequest, DiskCheck, Driver, LogPlace};
use crate::choose::{ChoicePoint, Label};
use crate::crash::Instants;
use crate::events::Event;
use crate::faults::kernel::failed;
use crate::stack::Stack;
use crate::verdict::CheckError;

/// What mutate works with.
pub struct Cx<'a> {
    stack: &'a Stack,
    driver: &'a mut dyn Driver,
    /// The arguments for the epoch `begin` of the interval that has begun.
    begun: Option<Args>,
}

impl<'a> Cx<'a> {
    /// For a mutate on this stack.
    pub fn new(stack: &'a Stack, driver: &'a mut dyn Driver) -> Cx<'a> {
        Cx { stack, driver, begun: None }
    }

    /// Does something in our turn, in which no function of the kernel fails by choice.
    fn in_our_turn<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.driver.kernel_turn(self.stack, false);
        let result = work(self);
        self.driver.kernel_turn(self.stack, true);
        result
    }

    /// The system under test.
    pub fn stack(&self) -> &'a Stack {
        self.stack
    }

    /// Looks at the system, without functions of the kernel that fail by choice: what a checker
    /// does for itself is no part of what is checked.
    pub fn without_faults<T>(&mut self, look: impl FnOnce(&'a Stack) -> T) -> T {
        self.in_our_turn(|cx| look(cx.stack))
    }

    /// Has a function of the kernel failed by choice, on the way to here?
    pub fn fault_was_injected(&mut self) -> bool {
        self.in_our_turn(|cx| failed(&cx.driver.choices()).next().is_some())
    }

    /// Chooses one of `options` actions: 0, 1, ... `options` - 1; every one of them will be tried
    /// (EX-10).
    ///
    /// # Panics
    /// If `options` is 0.
    #[track_caller]
    pub fn choose(&mut self, options: usize) -> usize {
        let options = u32::try_from(options).expect("fewer than 2^32 options");
        self.choose_at(&ChoicePoint::action(options, Label::at(Location::caller()))) as usize
    }

    /// Chooses one of `options` actions, as [`choose`](Cx::choose) does, at a point with a name.
    /// Traces and samples identify a point by its label: a name stays when lines of code move.
    ///
    /// # Panics
    /// If `options` is 0.
    pub fn choose_named(&mut self, name: &str, options: usize) -> usize {
        let options = u32::try_from(options).expect("fewer than 2^32 options");
        self.choose_at(&ChoicePoint::action(options, Label::named(name))) as usize
    }

    /// Chooses one of as many actions as there are weights. Strategies that weigh draw in
    /// proportion to these; all others try every action.
    ///
    /// # Panics
    /// If there are no weights, or all are 0.
    #[track_caller]
    pub fn choose_weighted(&mut self, weights: &[u32]) -> usize {
        let options = u32::try_from(weights.len()).expect("fewer than 2^32 options");
        let point = ChoicePoint::action(options, Label::at(Location::caller()));
        self.choose_at(&ChoicePoint { weights, ..point }) as usize
    }

    /// Chooses at a point that says more of itself.
    pub fn choose_at(&mut self, point: &ChoicePoint<'_>) -> u32 {
        self.in_our_turn(|cx| cx.driver.choose(point))
    }

    /// Checks every disk that a crash at this very moment could leave (EX-61). `checker` is the one
    /// that asks: `self`.
    ///
    /// # Errors
    /// Pass it on: this state is not explored further.
    pub fn check_crashes_now(
        &mut self,
        checker: &dyn DiskCheck,
        args: &[String],
    ) -> Result<(), CheckError> {
        self.request_checks(checker, Instants::Now, (args, args), None)
    }

    /// The events of the log since the last call, or since the system was started: a copy, the
    /// engine loses nothing (EX-65). The checker's [`facts`](super::CheckerFacts::reads_log) say
    /// so.
    ///
    /// # Errors
    /// The log cannot be read, or the checker does not say that it reads it.
    pub fn log(&mut self) -> Result<Vec<Event>, CheckError> {
        Ok(self.in_our_turn(|cx| cx.driver.log(cx.stack))?)
    }

    /// Adds a record of the checker to the log, for [`check_crashes_at`](Cx::check_crashes_at).
    ///
    /// # Errors
    /// As [`log`](Cx::log).
    pub fn mark(&mut self, name: &str) -> Result<(), CheckError> {
        Ok(self.in_our_turn(|cx| cx.driver.mark(cx.stack, name))?)
    }

    /// Checks every disk that a crash at the last mark of this name could have left: as
    /// [`check_crashes_now`](Cx::check_crashes_now) there would have.
    ///
    /// # Errors
    /// Pass it on: this state is not explored further. Without the mark the checker is broken.
    pub fn check_crashes_at(
        &mut self,
        mark: &str,
        checker: &dyn DiskCheck,
        args: &[String],
    ) -> Result<(), CheckError> {
        self.request_checks(checker, Instants::Now, (args, args), Some(LogPlace::Mark(mark)))
    }

    /// Checks the one disk that a soft crash at this very moment leaves: everything as it is,
    /// nothing lost.
    ///
    /// # Errors
    /// Pass it on: this state is not explored further.
    pub fn check_soft_crash(
        &mut self,
        checker: &dyn DiskCheck,
        args: &[String],
    ) -> Result<(), CheckError> {
        self.stack.settle()?;
        self.request_checks(checker, Instants::Soft, (args, args), None)
    }

    /// Begins an interval (EX-62); `args` go to the checks of epoch `begin`.
    pub fn check_crashes_start(&mut self, args: &[String]) {
        self.in_our_turn(|cx| cx.driver.begin_interval(cx.stack));
        self.begun = Some(args.to_vec());
    }

    /// Checks every disk that a crash since [`check_crashes_start`](Cx::check_crashes_start) could
    /// leave; `args` go to the checks of the epochs `in-between` and `end`.
    ///
    /// # Errors
    /// Pass it on: this state is not explored further. Without a start the checker is broken.
    pub fn check_crashes_end(
        &mut self,
        checker: &dyn DiskCheck,
        args: &[String],
    ) -> Result<(), CheckError> {
        let Some(begin) = self.begun.take() else {
            return Err(CheckError::broken(
                "check_crashes_end without check_crashes_start before it",
            ));
        };
        self.request_checks(checker, Instants::Interval, (&begin, args), None)
    }

    fn request_checks(
        &mut self,
        checker: &dyn DiskCheck,
        when: Instants,
        (begin, args): (&[String], &[String]),
        at: Option<LogPlace<'_>>,
    ) -> Result<(), CheckError> {
        self.driver.kernel_turn(self.stack, false);
        let asked =
            self.driver.check_crashes(self.stack, &CrashRequest { checker, when, begin, args, at });
        // After an error there is nothing more to explore, whatever the checker does on its way
        // out.
        if asked.is_ok() {
            self.driver.kernel_turn(self.stack, true);
        }
        asked
    }
}

impl std::fmt::Debug for Cx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cx").field("stack", self.stack).finish_non_exhaustive()
    }
}
