//! The sequence of choices for components (EX-11).

use super::sources::{Asking, Sources};
use crate::choose::{ChoicePoint, Lendable};
use crate::stack::Stack;

/// The sequence of a unit, lent to the components of its stack.
pub(super) struct Lent<'a, 'w> {
    pub asking: &'a Asking<'w>,
    /// The other sources of choices and the stack, in a mutate. `None` while the stack starts or
    /// stops, when nothing else chooses.
    pub mutate: Option<(&'a Sources, &'a Stack)>,
}

impl Lendable for Lent<'_, '_> {
    /// Makes a choice. In a mutate it is made only in the turn of the checked system, because what
    /// the checker does on its own account is not checked.
    fn choose(&self, point: &ChoicePoint<'_>) -> Option<u32> {
        let Some((sources, stack)) = self.mutate else { return self.asking.choose_if_free(point) };
        if !sources.is_kernel_turn() {
            return None;
        }
        sources.kernel_turn(stack, self.asking, false);
        let answer = self.asking.choose_if_free(point);
        sources.kernel_turn(stack, self.asking, true);
        answer
    }
}
