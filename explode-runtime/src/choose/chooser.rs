//! The chooser: it answers choice points from a script first, then by a fallback, and records every
//! answer.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceKind, ChoicePoint, choices_hash};

/// A replay that took another path than its script (EX-59).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divergence {
    /// The index of the choice, from 0.
    pub index: usize,
    /// The choice in the script. `None` past its end.
    pub recorded: Option<Choice>,
    /// The choice point that the replay met: the number of options, the kind and the label. `None`
    /// if it ended.
    #[serde(rename = "asked")]
    pub met: Option<(u32, ChoiceKind, super::Label)>,
    /// The answer at this point and its name, if the answer is what differs. The point may be the
    /// same as the recorded one. `None` if the point differs.
    pub answered: Option<(u32, Option<String>)>,
}

impl Divergence {
    /// Returns the divergence of a choice that was made elsewhere and differs from the recorded
    /// one.
    pub(crate) fn by_answer(index: usize, recorded: Option<Choice>, now: Choice) -> Divergence {
        let Choice { kind, options, value, name, label } = now;
        Divergence {
            index,
            recorded,
            met: Some((options, kind, label)),
            answered: Some((value, name)),
        }
    }

    /// Returns the divergence of a recorded choice whose point was never met.
    pub(crate) fn not_met(index: usize, recorded: Choice) -> Divergence {
        Divergence { index, recorded: Some(recorded), met: None, answered: None }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "choice {}: ", self.index)?;
        match &self.recorded {
            Some(choice) => write!(f, "recorded {} options at {}", choice.options, choice.label)?,
            None => write!(f, "the record ends")?,
        }
        let Some((options, kind, label)) = &self.met else {
            return write!(f, ", now there is no choice");
        };
        write!(f, ", now {options} options at {label}")?;
        let Some(recorded) = &self.recorded else { return Ok(()) };
        if recorded.kind != *kind {
            write!(f, " (kind {}, now {kind})", recorded.kind)?;
        }
        match &self.answered {
            Some((value, name)) if *value != recorded.value => {
                write!(f, " (answer {}", recorded.value)?;
                recorded.name.iter().try_for_each(|name| write!(f, " '{name}'"))?;
                write!(f, ", now {value}")?;
                name.iter().try_for_each(|name| write!(f, " '{name}'"))?;
                write!(f, ")")
            }
            _ => Ok(()),
        }
    }
}

/// The single sequence of all choices of a run.
#[derive(Debug, Default)]
pub struct Chooser {
    script: Vec<Choice>,
    made: Vec<Choice>,
    diverged: Option<Divergence>,
}

impl Chooser {
    /// Returns a chooser that answers from `script` first.
    pub fn new(script: Vec<Choice>) -> Chooser {
        Chooser { script, made: Vec::new(), diverged: None }
    }

    /// Takes the first `answers` answers of the script as made. The run continues after them.
    ///
    /// # Panics
    /// Panics if the script has fewer answers.
    pub(crate) fn skip(&mut self, answers: usize) {
        self.made = self.script[..answers].to_vec();
    }

    /// Answers a point from the script, or past its end from `fallback`.
    ///
    /// A point with one option has the answer 0 and is not recorded as a choice. After a divergence
    /// every answer is 0, so the caller must check [`diverged`](Chooser::diverged) before it uses a
    /// result.
    ///
    /// # Panics
    /// Panics if the point has no options, if its weights are not one for each option or are all 0,
    /// or if an answer is not an option.
    pub fn choose(
        &mut self,
        point: &ChoicePoint<'_>,
        fallback: &mut dyn FnMut(&ChoicePoint<'_>) -> u32,
    ) -> u32 {
        assert!(point.options > 0, "a choice among no options at {}", point.label);
        assert!(
            point.is_weighted_well(),
            "{} options, and the weights {:?} at {}",
            point.options,
            point.weights,
            point.label
        );
        if point.options == 1 || self.diverged.is_some() {
            return 0;
        }
        let index = self.made.len();
        let value = match self.script.get(index) {
            Some(recorded)
                if (recorded.options, &recorded.label, recorded.kind)
                    != (point.options, &point.label, point.kind) =>
            {
                let met = Some((point.options, point.kind, point.label.clone()));
                let recorded = Some(recorded.clone());
                self.diverged = Some(Divergence { index, recorded, met, answered: None });
                return 0;
            }
            Some(recorded) => recorded.value,
            None => fallback(point),
        };
        assert!(
            value < point.options,
            "answer {value} of {} options at {}",
            point.options,
            point.label
        );
        self.made.push(Choice::of(point, value));
        value
    }

    /// Returns the choices of the script that are not made yet.
    pub fn upcoming(&self) -> &[Choice] {
        self.script.get(self.made.len()..).unwrap_or_default()
    }

    /// Records a choice that was made elsewhere. A choice that differs from the script's choice at
    /// this index is a divergence.
    pub(crate) fn record(&mut self, choice: Choice) {
        if self.diverged.is_some() {
            return;
        }
        let index = self.made.len();
        let is_as_recorded = |recorded: &Choice| {
            (recorded.options, &recorded.label, recorded.kind, recorded.value)
                == (choice.options, &choice.label, choice.kind, choice.value)
        };
        match self.script.get(index) {
            Some(recorded) if !is_as_recorded(recorded) => {
                self.diverged = Some(Divergence::by_answer(index, Some(recorded.clone()), choice));
            }
            _ => self.made.push(choice),
        }
    }

    /// Records the choice without comparing it with the script. The caller detects a divergence
    /// later.
    pub fn record_anyway(&mut self, choice: Choice) {
        self.made.push(choice);
    }

    /// Returns all choices so far.
    pub fn made(&self) -> &[Choice] {
        &self.made
    }

    /// Returns the hash of all choices so far.
    pub fn hash(&self) -> u128 {
        choices_hash(&self.made)
    }

    /// Returns the divergence. `None` if the run has followed the script so far.
    pub fn diverged(&self) -> Option<&Divergence> {
        self.diverged.as_ref()
    }

    /// Ends the run. A script with choices left is a divergence.
    pub fn finish(&mut self) {
        if self.diverged.is_none()
            && let Some(recorded) = self.script.get(self.made.len())
        {
            let index = self.made.len();
            self.diverged = Some(Divergence::not_met(index, recorded.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::Label;

    fn choice(kind: ChoiceKind, value: u32, name: Option<&str>) -> Choice {
        Choice {
            kind,
            options: 2,
            value,
            name: name.map(str::to_owned),
            label: Label::named("here"),
        }
    }

    /// The text of a divergence shows the difference in the words of traces.
    #[test]
    fn a_divergence_names_what_differs() {
        let message = |recorded: Choice, now: Choice| {
            let mut chooser = Chooser::new(vec![recorded]);
            chooser.record(now);
            chooser.diverged().expect("they differ").to_string()
        };
        let thread = |value, name| choice(ChoiceKind::Thread, value, name);
        assert_eq!(
            message(thread(0, None), thread(1, Some("commit"))),
            "choice 0: recorded 2 options at here, now 2 options at here (answer 0, now 1 \
             'commit')"
        );
        assert_eq!(
            message(
                choice(ChoiceKind::CopyFailure, 1, None),
                choice(ChoiceKind::SlabFailure, 1, None)
            ),
            "choice 0: recorded 2 options at here, now 2 options at here (kind \
             copy-failure, now slab-failure)"
        );
    }
}
