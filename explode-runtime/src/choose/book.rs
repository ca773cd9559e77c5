//! A book of distinct choices by number. A run has few distinct choices and makes each very often.

use std::collections::HashMap;

use super::{Choice, choices_hash};

/// The distinct choices of a run. Numbers begin at 0 and never change.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChoiceBook {
    choices: Vec<Choice>,
    /// The number of each choice, by the choice's hash.
    numbers: HashMap<u128, u32>,
}

impl ChoiceBook {
    /// Returns the number of a choice. A new choice gets the next number.
    pub fn number(&mut self, choice: &Choice) -> u32 {
        let choices = &mut self.choices;
        *self.numbers.entry(choices_hash(std::slice::from_ref(choice))).or_insert_with(|| {
            choices.push(choice.clone());
            u32::try_from(choices.len() - 1).expect("four billion distinct choices fill any memory")
        })
    }

    /// Returns the choice of a number. `None` if no choice has it.
    pub fn get(&self, number: u32) -> Option<&Choice> {
        self.choices.get(number as usize)
    }

    /// Returns the number of choices.
    pub fn len(&self) -> usize {
        self.choices.len()
    }

    /// Returns the choices from this number on.
    pub fn since(&self, number: usize) -> &[Choice] {
        &self.choices[number..]
    }

    /// Returns the memory that the book uses, in bytes.
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
