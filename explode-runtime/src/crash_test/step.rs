//! A step of a crash test in progress.

use std::panic::Location;

use crate::check::Cx;
use crate::choose::{ChoicePoint, Label};

/// The context of a step: choices and flags.
#[derive(Debug)]
pub struct Step<'a, 'b> {
    pub(super) cx: &'a mut Cx<'b>,
    pub(super) lazy: bool,
}

impl Step<'_, '_> {
    /// Chooses one of the numbers below `options`. Exhaustive strategies try each of them.
    ///
    /// # Panics
    /// If `options` is 0.
    #[track_caller]
    pub fn choose(&mut self, options: usize) -> usize {
        let options = u32::try_from(options).expect("fewer than 2^32 options");
        self.cx.choose_at(&ChoicePoint::action(options, Label::at(Location::caller()))) as usize
    }

    /// Declares that the effect of this step need not be durable when the step ends. It must be
    /// durable when a later step ends without this declaration.
    pub fn is_lazy(&mut self) {
        self.lazy = true;
    }
}
