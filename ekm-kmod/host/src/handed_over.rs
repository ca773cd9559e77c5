//! The sequence of choices while the driver of a stack has handed it over. Functions of the kernel
//! that may fail and the work between two calls then make the choices.

use crate::machine::KernelMachine;
use explode_runtime::base::StepError;
use explode_runtime::choose::{Choice, ChoicePoint, Chooser};
use explode_runtime::faults::background::BackgroundWork;
use explode_runtime::faults::kernel::KernelFaults;

/// The sequence of choices while it is handed over.
#[derive(Debug)]
pub(crate) struct HandedOverChoices {
    pub failures: KernelFaults,
    pub between: BackgroundWork,
    /// The chooser: answers from the script first, and records the choices made since.
    pub chooser: Chooser,
    /// True if functions of the kernel make choices now.
    pub armed: bool,
    /// The first error. After it there are no further choices.
    pub trouble: Option<StepError>,
}

impl HandedOverChoices {
    /// Arms the choices of the kernel.
    pub fn arm(&mut self, machine: &KernelMachine) -> Result<(), StepError> {
        let left = self.failures.clone().remaining_after(self.chooser.made());
        if left.is_none() {
            return Ok(());
        }
        let upcoming = self.chooser.upcoming().iter();
        let script: Vec<Choice> =
            upcoming.take_while(|choice| choice.kind.is_of_kernel()).cloned().collect();
        machine.arm(&left, &script)?;
        self.armed = true;
        Ok(())
    }

    /// Disarms the choices of the kernel, and appends those made to the sequence.
    pub fn disarm(&mut self, machine: &KernelMachine) -> Result<(), StepError> {
        if std::mem::take(&mut self.armed) {
            machine.disarm()?.into_iter().for_each(|choice| self.chooser.record_anyway(choice));
        }
        Ok(())
    }

    /// Answers a choice point between two calls.
    pub fn choose(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let before = self.chooser.made().len();
        let value = self.chooser.choose(point, &mut |_| 0);
        if point.options > 1 && self.chooser.made().len() == before {
            // The path differs from the script. The caller detects the place when it takes the
            // sequence back.
            let ChoicePoint { kind, options, label, .. } = point.clone();
            self.chooser.record_anyway(Choice { kind, options, value, name: None, label });
        }
        value
    }
}
