//! A source of choices, and the sequence of choices as it sees it.

use crate::base::Fault;
use crate::choose::{Choice, Chooser, Point};
use crate::judge::Pipeline;
use crate::stack::Stack;
use crate::unit::work::Work;

/// Chooses at points that are not the checker's.
pub trait ChoiceSource {
    /// Called when a stack of the unit was started.
    ///
    /// # Errors
    /// The devices refuse.
    fn started(&mut self, _stack: &Stack) -> Result<(), Fault> {
        Ok(())
    }

    /// Called before each mutate.
    ///
    /// # Errors
    /// The log cannot be read, or the devices refuse.
    fn before_mutate(
        &mut self,
        _stack: &Stack,
        _asking: &mut Asking<'_>,
        _pipeline: &mut Pipeline<'_>,
    ) -> Result<(), Fault> {
        Ok(())
    }

    /// Hands the sequence of choices over, if it is not handed over: the checked system goes on. What goes wrong is reported by
    /// [`trouble`](ChoiceSource::trouble).
    fn hand_over(&mut self, _stack: &Stack, _asking: &mut Asking<'_>) {}

    /// Takes the sequence back, if it is handed over.
    fn take_back(&mut self, _stack: &Stack, _asking: &mut Asking<'_>) {}

    /// What has gone wrong. From there on no choice of this source is known.
    fn trouble(&self) -> Option<&Fault> {
        None
    }

    /// Adds to a state's signature what its choices have changed that no checker sees.
    fn add_state(&self, _made: &[Choice], _signature: &mut Vec<u8>) {}
}

/// The sequence of choices of a unit, as a source sees it.
pub struct Asking<'a> {
    pub(in crate::unit) chooser: &'a mut Chooser,
    pub(in crate::unit) work: &'a mut dyn Work,
}

impl Asking<'_> {
    /// Answers a point.
    pub fn choose(&mut self, point: &Point<'_>) -> u32 {
        self.chooser.choose(point, &mut |point| self.work.fallback(point))
    }

    /// The choices that were made.
    pub fn made(&self) -> &[Choice] {
        self.chooser.made()
    }

    /// Returns true if the choices no longer follow the script.
    pub fn has_diverged(&self) -> bool {
        self.chooser.diverged().is_some()
    }

    /// The answers that come next, as far as they are known: those of the script, or past its end those that the policy gives.
    pub fn upcoming(&self) -> Vec<Choice> {
        let upcoming = self.chooser.upcoming();
        if upcoming.is_empty() { self.work.ahead() } else { upcoming.to_vec() }
    }

    /// Adds a choice that was made elsewhere.
    pub fn record(&mut self, choice: Choice) {
        if self.chooser.upcoming().is_empty() {
            self.work.chosen(&choice);
        }
        self.chooser.record(choice);
    }
}
