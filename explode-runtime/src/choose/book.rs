//! Choices by number: a run makes few different ones, and each of them very often.

use std::collections::HashMap;

use super::{Choice, choices_hash};

/// Distinct choices. Their numbers begin at 0, and stay.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChoiceBook {
    choices: Vec<Choice>,
    /// By hash.
    numbers: HashMap<u128, u32>,
}

impl ChoiceBook {
    /// The number of a choice. One that is not in the book gets the next number.
    pub fn number(&mut self, choice: &Choice) -> u32 {
        let choices = &mut self.choices;
        *self.numbers.entry(choices_hash(std::slice::from_ref(choice))).or_insert_with(|| {
            choices.push(choice.clone());
            u32::try_from(choices.len() - 1).expect("four billion distinct choices fill any memory")
        })
    }

    /// The choice of a number, if there is one.
    pub fn get(&self, number: u32) -> Option<&Choice> {
        self.choices.get(number as usize)
    }

    /// How many choices.
    pub fn len(&self) -> usize {
        self.choices.len()
    }

    /// The choices from this number on.
    pub fn since(&self, number: usize) -> &[Choice] {
        &self.choices[number..]
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::capacity);
        let texts = |choice: &Choice| {
            choice.label.site.capacity() + text(&choice.label.object) + text(&choice.name)
        };
        self.choices.capacity() * size_of::<Choice>()
            + self.choices.iter().map(texts).sum::<usize>()
            + self.numbers.capacity() * (size_of::<(u128, u32)>() + 1)
    }
}
