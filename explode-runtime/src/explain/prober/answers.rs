//! The answers to the choices of a way.

use super::Prober;
use crate::choose::{Choice, Divergence, Point};
use crate::explain::probe::Answers;

impl Prober<'_> {
    /// The answer to a point; where only the recorded ones will do and this is none of them, that is noted.
    pub(super) fn answer(&mut self, point: &Point<'_>) -> u32 {
        let fits = |choice: &Choice| {
            (choice.kind, choice.options, &choice.label) == (point.kind, point.options, &point.label)
        };
        match &self.order.answers {
            Answers::Exactly(answers) => {
                let recorded = answers.get(self.used).filter(|choice| fits(choice));
                if recorded.is_none() && self.past_end.is_none() {
                    let asked = Some((point.options, point.kind, point.label.clone()));
                    let recorded = answers.get(self.used).cloned();
                    self.past_end = Some(Divergence { index: self.used, recorded, asked });
                }
                self.used += 1;
                recorded.map_or(0, |choice| choice.value)
            }
            Answers::AsFits(mutates) => {
                let answers = mutates.get(self.mutate.saturating_sub(1) as usize).map_or(&[][..], |all| all);
                let left = answers.get(self.used..).unwrap_or_default();
                match left.iter().position(fits) {
                    Some(at) => {
                        self.used += at + 1;
                        left[at].value
                    }
                    None => 0,
                }
            }
        }
    }
}
