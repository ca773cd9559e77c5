//! Choices of the kernel: functions that fail, writes that complete late, and its own work between
//! two calls. They are part of the one sequence of choices (EX-11). The sequence is handed over
//! while the checked system runs, and is taken back with the choices made there.

use super::source::{Asking, ChoiceSource};
use crate::base::StepError;
use crate::choose::Choice;
use crate::faults::background::background_actions;
use crate::faults::kernel::injected;
use crate::stack::Stack;

/// Hands the sequence of choices over to the kernel and takes it back.
#[derive(Debug, Default)]
pub(super) struct KernelSource {
    /// True while the kernel has the sequence.
    has_it: bool,
    /// The reason why the kernel's choices are unknown.
    trouble: Option<StepError>,
}

impl ChoiceSource for KernelSource {
    /// Holds back the threads of the stack from now on, if their work is chosen.
    fn started(&mut self, stack: &Stack) -> Result<(), StepError> {
        match stack.devices().kernel() {
            Some(kernel) if !stack.between().is_none() => kernel.quiesce(&stack.threads()),
            _ => Ok(()),
        }
    }

    fn hand_over(&mut self, stack: &Stack, asking: &Asking<'_>) {
        let (failures, between) = (stack.failures(), stack.between());
        let Some(kernel) =
            stack.devices().kernel().filter(|_| !(failures.is_none() && between.is_none()))
        else {
            return;
        };
        if self.has_it || self.trouble.is_some() || asking.has_diverged() {
            return;
        }
        let made = asking.made();
        let (failures, between) = (failures.remaining_after(&made), between.remaining_after(&made));
        let script =
            asking.upcoming().into_iter().take_while(|choice| choice.kind.is_kernel_side());
        let armed = kernel.hand_over(failures, between, script.collect());
        self.has_it = armed.is_ok();
        self.trouble = armed.err();
    }

    fn take_back(&mut self, stack: &Stack, asking: &Asking<'_>) {
        let Some(kernel) = stack.devices().kernel().filter(|_| std::mem::take(&mut self.has_it))
        else {
            return;
        };
        match kernel.take_back() {
            Ok(choices) => choices.into_iter().for_each(|choice| asking.record(choice)),
            Err(fault) => self.trouble = Some(fault),
        }
    }

    fn trouble(&self) -> Option<&StepError> {
        self.trouble.as_ref()
    }

    /// Adds the failures, late completions and background work so far, which reduce what may still
    /// follow.
    fn add_state(&self, made: &[Choice], signature: &mut Vec<u8>) {
        injected(made).for_each(|choice| {
            signature.extend(choice.label.to_string().as_bytes());
            signature.extend(choice.value.to_le_bytes());
        });
        background_actions(made)
            .for_each(|(call, action)| signature.extend(format!("{call}: {action};").as_bytes()));
    }
}
