//! The context of a checker's mutate: choices, the stack, and crash checks.

use std::panic::Location;

use super::driver::{Args, CrashRequest, DiskCheck, Driver, LogPlace};
use crate::choose::{ChoicePoint, Label};
use crate::crash::Instants;
use crate::events::Event;
use crate::faults::kernel::failed;
use crate::stack::Stack;
use crate::verdict::CheckError;

/// The context that a mutate works with.
pub struct Cx<'a> {
    stack: &'a Stack,
    driver: &'a mut dyn Driver,
    /// The arguments for the epoch `begin` of the open interval.
    begun: Option<Args>,
}

impl<'a> Cx<'a> {
    /// Returns a context for a mutate on this stack.
    pub fn new(stack: &'a Stack, driver: &'a mut dyn Driver) -> Cx<'a> {
        Cx { stack, driver, begun: None }
    }

    /// Runs `work` while no function of the kernel fails by choice.
    fn in_our_turn<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.driver.kernel_turn(self.stack, false);
        let result = work(self);
        self.driver.kernel_turn(self.stack, true);
        result
    }

    /// Returns the system under test.
    pub fn stack(&self) -> &'a Stack {
        self.stack
    }

    /// Runs `look` on the system while no function of the kernel fails by choice. What a checker
    /// does on its own account is not part of the test.
    pub fn without_faults<T>(&mut self, look: impl FnOnce(&'a Stack) -> T) -> T {
        self.in_our_turn(|cx| look(cx.stack))
    }

    /// Returns true if a function of the kernel has failed by choice on the path to this point.
    pub fn fault_was_injected(&mut self) -> bool {
        self.in_our_turn(|cx| failed(&cx.driver.choices()).next().is_some())
    }

    /// Chooses one of the actions 0 to `options` - 1. Exhaustive strategies try each of them
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
    /// Traces and samples identify a point by its label. A name stays the same when lines of code
    /// move.
    ///
    /// # Panics
    /// If `options` is 0.
    pub fn choose_named(&mut self, name: &str, options: usize) -> usize {
        let options = u32::try_from(options).expect("fewer than 2^32 options");
        self.choose_at(&ChoicePoint::action(options, Label::named(name))) as usize
    }

    /// Chooses one action per weight. Strategies that use weights draw in proportion to them. All
    /// others try every action.
    ///
    /// # Panics
    /// If there are no weights, or all are 0.
    #[track_caller]
    pub fn choose_weighted(&mut self, weights: &[u32]) -> usize {
        let options = u32::try_from(weights.len()).expect("fewer than 2^32 options");
        let point = ChoicePoint::action(options, Label::at(Location::caller()));
        self.choose_at(&ChoicePoint { weights, ..point }) as usize
    }

    /// Chooses at a point that is described in full.
    pub fn choose_at(&mut self, point: &ChoicePoint<'_>) -> u32 {
        self.in_our_turn(|cx| cx.driver.choose(point))
    }

    /// Checks every crash disk of this moment (EX-61). `checker` is the caller itself: `self`.
    ///
    /// # Errors
    /// Return the error from `mutate`. The state is not explored further.
    pub fn check_crashes_now(
        &mut self,
        checker: &dyn DiskCheck,
        args: &[String],
    ) -> Result<(), CheckError> {
        self.request_checks(checker, Instants::Now, (args, args), None)
    }

    /// Returns a copy of the events since the last call or since the start of the system (EX-65).
    /// The checker's [`facts`](super::CheckerFacts::reads_log) must declare it.
    ///
    /// # Errors
    /// The log cannot be read, or the checker does not declare that it reads the log.
    pub fn log(&mut self) -> Result<Vec<Event>, CheckError> {
        Ok(self.in_our_turn(|cx| cx.driver.log(cx.stack))?)
    }

    /// Adds a record of the checker to the log, for [`check_crashes_at`](Cx::check_crashes_at).
    ///
    /// # Errors
    /// Those of [`log`](Cx::log).
    pub fn mark(&mut self, name: &str) -> Result<(), CheckError> {
        Ok(self.in_our_turn(|cx| cx.driver.mark(cx.stack, name))?)
    }

    /// Checks every crash disk of the moment of the last mark of this name, as
    /// [`check_crashes_now`](Cx::check_crashes_now) would have done there.
    ///
    /// # Errors
    /// Return the error from `mutate`. The state is not explored further. Without the mark the
    /// checker is broken.
    pub fn check_crashes_at(
        &mut self,
        mark: &str,
        checker: &dyn DiskCheck,
        args: &[String],
    ) -> Result<(), CheckError> {
        self.request_checks(checker, Instants::Now, (args, args), Some(LogPlace::Mark(mark)))
    }

    /// Checks the one disk that a soft crash leaves at this moment: the present state, complete.
    ///
    /// # Errors
    /// Return the error from `mutate`. The state is not explored further.
    pub fn check_soft_crash(
        &mut self,
        checker: &dyn DiskCheck,
        args: &[String],
    ) -> Result<(), CheckError> {
        self.stack.write_out()?;
        self.request_checks(checker, Instants::Soft, (args, args), None)
    }

    /// Begins an interval (EX-62). The checks of epoch `begin` get `args`.
    pub fn check_crashes_start(&mut self, args: &[String]) {
        self.in_our_turn(|cx| cx.driver.begin_interval(cx.stack));
        self.begun = Some(args.to_vec());
    }

    /// Checks every crash disk of the interval since
    /// [`check_crashes_start`](Cx::check_crashes_start). The checks of the epochs `in-between` and
    /// `end` get `args`.
    ///
    /// # Errors
    /// Return the error from `mutate`. The state is not explored further. Without a start the
    /// checker is broken.
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
        let checked =
            self.driver.check_crashes(self.stack, &CrashRequest { checker, when, begin, args, at });
        // After an error the state is not explored further, so the kernel gets no more choices.
        if checked.is_ok() {
            self.driver.kernel_turn(self.stack, true);
        }
        checked
    }
}

impl std::fmt::Debug for Cx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cx").field("stack", self.stack).finish_non_exhaustive()
    }
}
