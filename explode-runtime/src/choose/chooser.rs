//! Who answers: a script first, a fallback past its end; every answer is written down.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceKind, ChoicePoint, choices_hash};

/// A replay that went another way than its script (EX-59).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divergence {
    /// Index of the choice, from 0.
    pub index: usize,
    /// What the script says was asked, and answered; none past its end.
    pub recorded: Option<Choice>,
    /// What was asked now: how many options, of which kind, where.
    pub asked: Option<(u32, ChoiceKind, super::Label)>,
    /// What was answered now, and that answer's name, if it was answered elsewhere: the point may
    /// be the recorded one.
    pub answered: Option<(u32, Option<String>)>,
}

impl Divergence {
    /// A choice that was made elsewhere is not the recorded one.
    pub(crate) fn by_answer(index: usize, recorded: Option<Choice>, now: Choice) -> Divergence {
        let Choice { kind, options, value, name, label } = now;
        Divergence {
            index,
            recorded,
            asked: Some((options, kind, label)),
            answered: Some((value, name)),
        }
    }

    /// No point asks for the recorded choice.
    pub(crate) fn unasked(index: usize, recorded: Choice) -> Divergence {
        Divergence { index, recorded: Some(recorded), asked: None, answered: None }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "choice {}: ", self.index)?;
        match &self.recorded {
            Some(choice) => write!(f, "recorded {} options at {}", choice.options, choice.label)?,
            None => write!(f, "the record ends")?,
        }
        let Some((options, kind, label)) = &self.asked else {
            return write!(f, ", now nothing was asked");
        };
        write!(f, ", now asked {options} options at {label}")?;
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

/// The one global sequence of choices of a run.
#[derive(Debug, Default)]
pub struct Chooser {
    script: Vec<Choice>,
    made: Vec<Choice>,
    diverged: Option<Divergence>,
}

impl Chooser {
    /// Answers from `script` first.
    pub fn new(script: Vec<Choice>) -> Chooser {
        Chooser { script, made: Vec::new(), diverged: None }
    }

    /// The first answers of the script were given: the run goes on behind them.
    ///
    /// # Panics
    /// If the script has fewer.
    pub(crate) fn skip(&mut self, answers: usize) {
        self.made = self.script[..answers].to_vec();
    }

    /// Answers a point; past the end of the script `fallback` does.
    ///
    /// A point with one option is answered with 0 and is no choice. After a divergence every answer
    /// is 0: the caller looks at [`diverged`](Chooser::diverged) before it believes anything.
    ///
    /// # Panics
    /// If the point has no option, weights of which none or not each is there, or the fallback
    /// answers with an option that is not there.
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
                let asked = Some((point.options, point.kind, point.label.clone()));
                let recorded = Some(recorded.clone());
                self.diverged = Some(Divergence { index, recorded, asked, answered: None });
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

    /// What the script says of the points that are still to come.
    pub fn upcoming(&self) -> &[Choice] {
        self.script.get(self.made.len()..).unwrap_or_default()
    }

    /// A choice that was made elsewhere, by the script as far as that goes: one that is not what
    /// the script has there is a divergence.
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

    /// All answers so far.
    pub fn made(&self) -> &[Choice] {
        &self.made
    }

    /// The hash of all answers so far.
    pub fn hash(&self) -> u128 {
        choices_hash(&self.made)
    }

    /// Has the run gone another way than the script?
    pub fn diverged(&self) -> Option<&Divergence> {
        self.diverged.as_ref()
    }

    /// The run is over: a script with answers left has diverged too.
    pub fn finish(&mut self) {
        if self.diverged.is_none()
            && let Some(recorded) = self.script.get(self.made.len())
        {
            let index = self.made.len();
            self.diverged = Some(Divergence::unasked(index, recorded.clone()));
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

    /// What differs is said, and by the words of traces.
    #[test]
    fn the_two_sides_differ() {
        let said = |recorded: Choice, now: Choice| {
            let mut chooser = Chooser::new(vec![recorded]);
            chooser.record(now);
            chooser.diverged().expect("they differ").to_string()
        };
        let thread = |value, name| choice(ChoiceKind::Thread, value, name);
        assert_eq!(
            said(thread(0, None), thread(1, Some("commit"))),
            "choice 0: recorded 2 options at here, now asked 2 options at here (answer 0, now 1 \
             'commit')"
        );
        assert_eq!(
            said(
                choice(ChoiceKind::CopyFailure, 1, None),
                choice(ChoiceKind::SlabFailure, 1, None)
            ),
            "choice 0: recorded 2 options at here, now asked 2 options at here (kind \
             copy-failure, now slab-failure)"
        );
    }
}
