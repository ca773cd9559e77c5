//! The sequence of choices while it is not ours: functions of the kernel that may fail ask it, and
//! so does what happens between two calls.

use crate::machine::KernelMachine;
use explode_runtime::base::StepError;
use explode_runtime::choose::{Choice, ChoicePoint, Chooser};
use explode_runtime::faults::background::BackgroundWork;
use explode_runtime::faults::kernel::KernelFaults;

/// The sequence, while it is not ours.
#[derive(Debug)]
pub(crate) struct HandedOverChoices {
    pub failures: KernelFaults,
    pub between: BackgroundWork,
    /// Answers first by the script; what was asked since then.
    pub chooser: Chooser,
    /// Are functions of the kernel asked now?
    pub armed: bool,
    /// What has gone wrong: from there on nothing is asked.
    pub trouble: Option<StepError>,
}

impl HandedOverChoices {
    /// The kernel's turn.
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

    /// Its end: what it has chosen is part of the sequence.
    pub fn disarm(&mut self, machine: &KernelMachine) -> Result<(), StepError> {
        if std::mem::take(&mut self.armed) {
            machine.disarm()?.into_iter().for_each(|choice| self.chooser.record_anyway(choice));
        }
        Ok(())
    }

    /// Answers a point between two calls.
    pub fn choose(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let before = self.chooser.made().len();
        let value = self.chooser.choose(point, &mut |_| 0);
        if point.options > 1 && self.chooser.made().len() == before {
            // The path differs from the script. The caller sees where when it takes the sequence
            // back.
            let ChoicePoint { kind, options, label, .. } = point.clone();
            self.chooser.record_anyway(Choice { kind, options, value, name: None, label });
        }
        value
    }
}
