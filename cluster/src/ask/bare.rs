//! Walks whose choices are numbers.

use explode_runtime::choose::WalkAnswers;
use xxhash_rust::xxh3::Xxh3;

use super::{Ask, Question};

/// A choice of a walk: the number of options and the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MadeChoice {
    /// The number of options, at least 2.
    pub options: u32,
    /// The answer.
    pub value: u32,
}

/// A walk by a policy. Only numbers are kept.
pub struct BareWalk<'a> {
    answers: &'a mut dyn WalkAnswers,
    /// The choices so far.
    pub made: Vec<MadeChoice>,
    /// Hears of each step.
    before: &'a mut dyn FnMut(u32) -> bool,
}

impl<'a> BareWalk<'a> {
    /// Returns a walk by these answers. `made` is empty, and its memory is used again. `before`
    /// hears of each step, and returns false to end the walk.
    pub fn new(
        answers: &'a mut dyn WalkAnswers,
        made: Vec<MadeChoice>,
        before: &'a mut dyn FnMut(u32) -> bool,
    ) -> BareWalk<'a> {
        BareWalk { answers, made, before }
    }
}

/// Returns the identity of a walk.
pub fn identity(made: &[MadeChoice]) -> u128 {
    let mut hash = Xxh3::new();
    for MadeChoice { options, value } in made {
        hash.update(&(u64::from(*options) << 32 | u64::from(*value)).to_le_bytes());
    }
    hash.digest128()
}

impl Ask for BareWalk<'_> {
    fn ask(&mut self, question: &Question<'_>) -> u32 {
        let Question { point, place, .. } = *question;
        let options = point.options;
        assert!(options > 0, "a choice among no options at {place}");
        if options == 1 {
            return 0;
        }
        let value = self.answers.answer(&point);
        assert!(value < options, "answer {value} of {options} options at {place}");
        self.made.push(MadeChoice { options, value });
        value
    }

    fn before_step(&mut self, step: u32) -> bool {
        (self.before)(step)
    }
}

/// A walk that is repeated, to find out whether the system is deterministic.
pub struct RepeatedWalk<'a> {
    made: &'a [MadeChoice],
    next: usize,
    /// The first difference to the walk, in words. `None` if there is none so far.
    pub difference: Option<String>,
}

impl<'a> RepeatedWalk<'a> {
    /// Returns the repetition of a walk.
    pub fn new(made: &'a [MadeChoice]) -> RepeatedWalk<'a> {
        RepeatedWalk { made, next: 0, difference: None }
    }

    /// Ends the walk. Choices that are left are a difference.
    pub fn finish(&mut self) {
        let (next, all) = (self.next, self.made.len());
        if next < all {
            self.difference.get_or_insert_with(|| {
                format!("choice {next} of {all} was made only the first time")
            });
        }
    }
}

impl Ask for RepeatedWalk<'_> {
    fn ask(&mut self, question: &Question<'_>) -> u32 {
        if question.point.options == 1 || self.difference.is_some() {
            return 0;
        }
        let at = self.next;
        self.next += 1;
        match self.made.get(at) {
            Some(made) if made.options == question.point.options => made.value,
            other => {
                let first = other.map_or_else(
                    || "the walk had ended".to_owned(),
                    |made| format!("there were {} options", made.options),
                );
                let node = question.node.map_or_else(String::new, |node| format!(" on {node}"));
                let (place, options) = (question.place, question.point.options);
                let text = format!(
                    "choice {at}: the first time {first}, the second time there are {options} at \
                     {place}{node}"
                );
                self.difference = Some(text);
                0
            }
        }
    }

    fn before_step(&mut self, _step: u32) -> bool {
        self.difference.is_none()
    }
}
