//! The answers to the choices of a path.

use super::prober::ProbeRunner;
use crate::choose::{Choice, ChoicePoint, Divergence};
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
                let left = self.left();
                match left.iter().position(fits) {
                    Some(at) => {
                        let value = left[at].value;
                        self.used += at + 1;
                        value
                    }
                    None => 0,
                }
            }
        }
    }
}
