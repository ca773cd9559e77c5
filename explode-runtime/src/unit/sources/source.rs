//! A source of choices, and the sequence of choices as it sees it.

use crate::base::StepError;
use crate::choose::{Choice, ChoicePoint, Chooser, Shared};
use crate::judge::CrashPipeline;
use crate::stack::Stack;
use crate::unit::hooks::UnitHooks;

/// Chooses at points that are not the checker's.
pub trait ChoiceSource {
    /// Called when a stack of the unit was started.
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

    /// Hands the sequence of choices over, if it is not handed over: the checked system goes on.
    /// What goes wrong is reported by [`trouble`](ChoiceSource::trouble).
    fn hand_over(&mut self, _stack: &Stack, _asking: &Asking<'_>) {}

    /// Takes the sequence back, if it is handed over.
    fn take_back(&mut self, _stack: &Stack, _asking: &Asking<'_>) {}

    /// What has gone wrong. From there on no choice of this source is known.
    fn trouble(&self) -> Option<&StepError> {
        None
    }

    /// Adds to a state's signature what its choices have changed that no checker sees.
    fn add_state(&self, _made: &[Choice], _signature: &mut Vec<u8>) {}
}

/// The sequence of choices of a unit. Its driver, the sources and the components share it.
pub struct Asking<'a> {
    pub(in crate::unit) chooser: Shared<Chooser>,
    pub(in crate::unit) work: Shared<&'a mut dyn UnitHooks>,
}

impl<'a> Asking<'a> {
    /// Answers from `script` first, then as `work` says.
    pub(in crate::unit) fn new(script: Vec<Choice>, work: &'a mut dyn UnitHooks) -> Asking<'a> {
        Asking { chooser: Shared::new(Chooser::new(script)), work: Shared::new(work) }
    }

    /// Answers a point.
    pub fn choose(&self, point: &ChoicePoint<'_>) -> u32 {
        self.chooser.get_mut().choose(point, &mut |point| self.work.get_mut().fallback(point))
    }

    /// Answers a point, but not while crash disks are looked at.
    pub fn choose_if_free(&self, point: &ChoicePoint<'_>) -> Option<u32> {
        let mut chooser = self.chooser.try_mut()?;
        let mut work = self.work.try_mut()?;
        Some(chooser.choose(point, &mut |point| work.fallback(point)))
    }

    /// The choices that were made.
    pub fn made(&self) -> Vec<Choice> {
        self.chooser.get().made().to_vec()
    }

    /// Returns true if the choices no longer follow the script.
    pub fn has_diverged(&self) -> bool {
        self.chooser.get().diverged().is_some()
    }

    /// The answers that come next, as far as they are known: those of the script, or past its end
    /// those that the policy gives.
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
