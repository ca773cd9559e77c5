//! The sources of choices besides the checker: blocks of a medium that go bad, functions of the
//! kernel that fail, and the kernel's own work. Each is a [`ChoiceSource`].

mod kernel;
mod media;
mod source;

use std::cell::Cell;

use kernel::KernelSource;
use media::MediaSource;

use crate::base::StepError;
use crate::choose::{Choice, Shared};
use crate::judge::CrashPipeline;
use crate::stack::Stack;

pub use source::{Asking, ChoiceSource};

/// The sources of a unit, in the order in which they choose.
pub(super) struct Sources {
    all: Shared<Vec<Box<dyn ChoiceSource>>>,
    /// True during the turn of the checked system.
    on: Cell<bool>,
}

impl Sources {
    /// Starts without choices.
    pub fn new() -> Sources {
        let all: Vec<Box<dyn ChoiceSource>> =
            vec![Box::new(MediaSource), Box::new(KernelSource::default())];
        Sources { all: Shared::new(all), on: Cell::new(false) }
    }

    /// Calls [`ChoiceSource::started`] of each source.
    pub fn started(&self, stack: &Stack) -> Result<(), StepError> {
        self.all.get_mut().iter_mut().try_for_each(|source| source.started(stack))
    }

    /// Calls [`ChoiceSource::before_mutate`] of each source.
    pub fn before_mutate(
        &self,
        stack: &Stack,
        asking: &Asking<'_>,
        pipeline: &mut CrashPipeline<'_>,
    ) -> Result<(), StepError> {
        self.all
            .get_mut()
            .iter_mut()
            .try_for_each(|source| source.before_mutate(stack, asking, pipeline))
    }

    /// Begins the turn of the checked system (`on`) and hands the sequence of choices over, or ends
    /// the turn and takes the sequence back.
    pub fn kernel_turn(&self, stack: &Stack, asking: &Asking<'_>, on: bool) {
        self.on.set(on);
        for source in self.all.get_mut().iter_mut() {
            if on {
                source.hand_over(stack, asking);
            } else {
                source.take_back(stack, asking);
            }
        }
    }

    /// Returns true during the turn of the checked system.
    pub fn is_kernel_turn(&self) -> bool {
        self.on.get()
    }

    /// Returns the first [`ChoiceSource::trouble`].
    pub fn trouble(&self) -> Option<StepError> {
        self.all.get().iter().find_map(|source| source.trouble().cloned())
    }

    /// Calls [`ChoiceSource::add_state`] of each source.
    pub fn add_state(&self, made: &[Choice], signature: &mut Vec<u8>) {
        self.all.get().iter().for_each(|source| source.add_state(made, signature));
    }
}
