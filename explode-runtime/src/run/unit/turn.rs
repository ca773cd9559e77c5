//! Whose turn it is to choose: the kernel's, while the checked system runs, or ours.

use crate::base::Fault;
use crate::check::Turn;
use crate::choose::{Choice, Chooser};
use crate::faults::background::Between;
use crate::faults::kernel::Failures;
use crate::stack::Stack;

/// Hands the sequence of choices over to the kernel, and takes it back.
#[derive(Debug)]
pub(crate) struct HandOver {
    failures: Failures,
    between: Between,
    is_kernels: bool,
    /// Why what was chosen there is not known.
    trouble: Option<Fault>,
}

impl HandOver {
    /// It is ours; what may fail in this stack, and what happens on its own, is the kernel's to choose.
    pub fn new(stack: &Stack) -> HandOver {
        HandOver { failures: stack.failures(), between: stack.between(), is_kernels: false, trouble: None }
    }

    /// The other one's turn, if it is not that already. `ahead` gives the answers past the end of the script, as far as they are
    /// known; `past_end` hears of the choices that were made there.
    pub fn to(
        &mut self,
        turn: Turn,
        stack: &Stack,
        chooser: &mut Chooser,
        ahead: &mut dyn FnMut() -> Vec<Choice>,
        past_end: &mut dyn FnMut(&Choice),
    ) {
        let Some(disks) = stack.devices().kernel().filter(|_| !self.is_idle()) else { return };
        match turn {
            Turn::Kernels if !self.is_kernels && self.trouble.is_none() && chooser.diverged().is_none() => {
                let failures = self.failures.clone().left_after(chooser.made());
                let between = self.between.left_after(chooser.made());
                let ahead = if chooser.upcoming().is_empty() { ahead() } else { Vec::new() };
                let answers = chooser.upcoming().iter().chain(&ahead);
                let script: Vec<Choice> =
                    answers.take_while(|choice| choice.kind.is_made_elsewhere()).cloned().collect();
                let armed = disks.hand_over(failures, between, script);
                self.is_kernels = armed.is_ok();
                self.trouble = armed.err();
            }
            Turn::Ours if self.is_kernels => {
                self.is_kernels = false;
                match disks.take_back() {
                    Ok(choices) => {
                        for choice in choices {
                            if chooser.upcoming().is_empty() {
                                past_end(&choice);
                            }
                            chooser.record(choice);
                        }
                    }
                    Err(fault) => self.trouble = Some(fault),
                }
            }
            _ => {}
        }
    }

    /// Has something gone wrong? Then what was chosen is not known.
    pub fn is_in_trouble(&self) -> bool {
        self.trouble.is_some()
    }

    /// Is there nothing for the kernel to choose?
    fn is_idle(&self) -> bool {
        self.failures.is_none() && self.between.is_none()
    }

    /// What has gone wrong.
    pub fn trouble(self) -> Option<Fault> {
        self.trouble
    }
}
