//! A step of a crash test, as it runs.

use std::panic::Location;

use crate::check::Cx;
use crate::choose::{ChoicePoint, Label};

/// What a step is given besides the store.
#[derive(Debug)]
pub struct Step<'a, 'b> {
    pub(super) cx: &'a mut Cx<'b>,
    pub(super) lazy: bool,
}

impl Step<'_, '_> {
    /// Chooses one of `options` ways to go on: 0, 1, ... `options` - 1; every one of them will be
    /// tried.
    ///
    /// # Panics
    /// If `options` is 0.
    #[track_caller]
    pub fn choose(&mut self, options: usize) -> usize {
        let options = u32::try_from(options).expect("fewer than 2^32 options");
        self.cx.choose_at(&ChoicePoint::action(options, Label::at(Location::caller()))) as usize
    }

    /// What this step does need not be durable when it ends; it is when a later step ends that does
    /// not say so.
    pub fn is_lazy(&mut self) {
        self.lazy = true;
    }
}
