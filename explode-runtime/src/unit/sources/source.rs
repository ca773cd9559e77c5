//! The interface of a source of choices, and its view of the sequence of choices.

use crate::base::StepError;
use crate::choose::{Choice, ChoicePoint, Chooser, Shared};
use crate::judge::CrashPipeline;
use crate::stack::Stack;
use crate::unit::hooks::UnitHooks;

/// Makes choices at points that are not the checker's.
pub trait ChoiceSource {
    /// Called after a stack of the unit was started.
    ///
    /// # Errors
    /// The devices refuse.
    fn started(&mut self, _stack: &Stack) -> Result<(), StepError> {
        Ok(())
    }

    /// Called before each mutate.
    ///
    /// # Errors
    /// The log cannot be read, or the devices refuse.
    fn before_mutate(
        &mut self,
        _stack: &Stack,
        _asking: &Asking<'_>,
        _pipeline: &mut CrashPipeline<'_>,
    ) -> Result<(), StepError> {
        Ok(())
    }

    /// Hands the sequence of choices over if this source has not yet done so. The checked system
    /// continues. Errors are reported by [`trouble`](ChoiceSource::trouble).
    fn hand_over(&mut self, _stack: &Stack, _asking: &Asking<'_>) {}

    /// Takes the sequence back if it is handed over.
    fn take_back(&mut self, _stack: &Stack, _asking: &Asking<'_>) {}

    /// Returns the first error. After it the choices of this source are unknown.
    fn trouble(&self) -> Option<&StepError> {
        None
    }

    /// Adds changes by this source's choices to a state's signature, if no checker can see them.
    fn add_state(&self, _made: &[Choice], _signature: &mut Vec<u8>) {}
}

/// The sequence of choices of a unit, shared by its driver, the sources and the components.
pub struct Asking<'a> {
    pub(in crate::unit) chooser: Shared<Chooser>,
    pub(in crate::unit) work: Shared<&'a mut dyn UnitHooks>,
}

impl<'a> Asking<'a> {
    /// Makes choices from `script` first, then from `work`.
    pub(in crate::unit) fn new(script: Vec<Choice>, work: &'a mut dyn UnitHooks) -> Asking<'a> {
        Asking { chooser: Shared::new(Chooser::new(script)), work: Shared::new(work) }
    }

    /// Makes the choice at a point.
    pub fn choose(&self, point: &ChoicePoint<'_>) -> u32 {
        self.chooser.get_mut().choose(point, &mut |point| self.work.get_mut().fallback(point))
    }

    /// Makes the choice at a point. `None` while crash disks are checked.
    pub fn choose_if_free(&self, point: &ChoicePoint<'_>) -> Option<u32> {
        let mut chooser = self.chooser.try_mut()?;
        let mut work = self.work.try_mut()?;
        Some(chooser.choose(point, &mut |point| work.fallback(point)))
    }

    /// Returns the choices so far.
    pub fn made(&self) -> Vec<Choice> {
        self.chooser.get().made().to_vec()
    }

    /// Returns true if the choices no longer follow the script.
    pub fn has_diverged(&self) -> bool {
        self.chooser.get().diverged().is_some()
    }

    /// Returns the next choices, if they are known: those of the script, or past its end those of
    /// the policy.
    pub fn upcoming(&self) -> Vec<Choice> {
        let upcoming = self.chooser.get().upcoming().to_vec();
        if upcoming.is_empty() { self.work.get_mut().ahead() } else { upcoming }
    }

    /// Adds a choice that was made elsewhere.
    pub fn record(&self, choice: Choice) {
        let mut chooser = self.chooser.get_mut();
        if chooser.upcoming().is_empty() {
            self.work.get_mut().chosen(&choice);
        }
        chooser.record(choice);
    }
}
