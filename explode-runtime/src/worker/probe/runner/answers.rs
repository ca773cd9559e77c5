//! The answers to the choices of a path.

use super::prober::ProbeRunner;
use crate::choose::{Choice, ChoiceKind, ChoicePoint, Divergence};
use crate::worker::probe::protocol::ProbeAnswers;

impl ProbeRunner<'_> {
    /// Returns the unused answers: those of the current mutate for [`ProbeAnswers::AsFits`].
    pub(super) fn left(&self) -> &[Choice] {
        let answers = match &self.order.answers {
            ProbeAnswers::Exactly(answers) => answers,
            ProbeAnswers::AsFits(mutates) => {
                mutates.get(self.mutate.saturating_sub(1) as usize).map_or(&[][..], |all| all)
            }
        };
        answers.get(self.used..).unwrap_or_default()
    }

    /// Notes a choice of the kernel. It is a divergence if only the recorded answers are allowed
    /// and it is not the next of them.
    pub(super) fn note(&mut self, choice: &Choice) {
        let is_other = self.answer(&choice.point()) != choice.value;
        if is_other
            && self.past_end.is_none()
            && matches!(self.order.answers, ProbeAnswers::Exactly(_))
        {
            // The recorded answer of this choice was just used.
            let index = self.used.saturating_sub(1);
            let recorded = match &self.order.answers {
                ProbeAnswers::Exactly(answers) => answers.get(index).cloned(),
                ProbeAnswers::AsFits(_) => None,
            };
            self.past_end = Some(Divergence::by_answer(index, recorded, choice.clone()));
        }
    }

    /// Returns the option with the name that the next unused answer of this place has. Where the
    /// parties that may run are named, their numbers change with every step that is left out. The
    /// first option if the named one is not there. `None` without such an answer.
    fn by_name(&mut self, point: &ChoicePoint<'_>) -> Option<u32> {
        if point.kind != ChoiceKind::Schedule || point.names.is_empty() {
            return None;
        }
        let is_here = |choice: &Choice| choice.kind == point.kind && choice.label == point.label;
        let at = self.left().iter().position(is_here)?;
        let name = self.left()[at].name.clone()?;
        self.used += at + 1;
        let option = point.names.iter().position(|known| *known == name);
        Some(option.unwrap_or_default() as u32)
    }

    /// Returns the answer to a point. It is a divergence if only the recorded answers are allowed
    /// and the next of them does not fit.
    pub(super) fn answer(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let fits = |choice: &Choice| {
            (choice.kind, choice.options, &choice.label)
                == (point.kind, point.options, &point.label)
        };
        match &self.order.answers {
            ProbeAnswers::Exactly(answers) => {
                let recorded = answers.get(self.used).filter(|choice| fits(choice));
                if recorded.is_none() && self.past_end.is_none() {
                    let met = Some((point.options, point.kind, point.label.clone()));
                    let recorded = answers.get(self.used).cloned();
                    self.past_end =
                        Some(Divergence { index: self.used, recorded, met, answered: None });
                }
                self.used += 1;
                recorded.map_or(0, |choice| choice.value)
            }
            ProbeAnswers::AsFits(_) => {
                if let Some(option) = self.by_name(point) {
                    return option;
                }
                let left = self.left();
                // With fewer steps before it a crash has fewer cuts and disks to choose from.
                let is_crash = matches!(point.kind, ChoiceKind::NodeCrash | ChoiceKind::CrashDisk);
                let same_crash = |choice: &Choice| {
                    is_crash && choice.kind == point.kind && choice.label == point.label
                };
                match left.iter().position(|choice| fits(choice) || same_crash(choice)) {
                    Some(at) => {
                        let value = left[at].value.min(point.options - 1);
                        self.used += at + 1;
                        value
                    }
                    None => 0,
                }
            }
        }
    }
}
