//! Choices of the kernel: functions that fail, writes that end late, and what it does on its own
//! between two calls. They are one sequence with ours (EX-11): it is handed over while the checked
//! system runs, and taken back with what was chosen there.

use super::source::{Asking, ChoiceSource};
use crate::base::StepError;
use crate::choose::Choice;
use crate::faults::background::background_actions;
use crate::faults::kernel::injected;
use crate::stack::Stack;

/// Hands the sequence of choices over to the kernel, and takes it back.
#[derive(Debug, Default)]
pub(super) struct KernelSource {
    /// Is the sequence handed over?
    has_it: bool,
    /// Why the choices that were made there are not known.
    trouble: Option<StepError>,
}

impl ChoiceSource for KernelSource {
    /// From now on the threads of the stack are held back, if what they do is chosen.
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

    /// What has failed, ended late or run: there is less that may from here on.
    fn add_state(&self, made: &[Choice], signature: &mut Vec<u8>) {
        injected(made).for_each(|choice| {
            signature.extend(choice.label.to_string().as_bytes());
            signature.extend(choice.value.to_le_bytes());
        });
        background_actions(made)
            .for_each(|(call, what)| signature.extend(format!("{call}: {what};").as_bytes()));
    }
}
