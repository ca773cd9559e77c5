//! The choices of a walk. While a run searches, a choice is two numbers. Labels and names are made
//! only when a walk is recorded, replayed or explored step by step.

mod bare;
mod texts;

use std::fmt;

use explode_runtime::choose::{BarePoint, ChoiceKind};

pub use bare::{BareWalk, MadeChoice, RepeatedWalk, identity};
pub use texts::{RecordedWalk, Scripted};

/// A choice point of a cluster.
pub struct Question<'a> {
    /// The point without texts. Unlike there, one option is enough: then nothing is chosen.
    pub point: BarePoint<'a>,
    /// The name of the place.
    pub place: &'static str,
    /// The node that the choice is about. `None` if it is about none.
    pub node: Option<&'a dyn fmt::Display>,
    /// Writes the name of an option. `None` if numbers are names enough.
    pub name: Option<&'a dyn Fn(u32) -> String>,
}

impl Question<'_> {
    /// Returns a question about data: every option is as good as another.
    pub fn data(kind: ChoiceKind, options: u32, place: &'static str) -> Question<'static> {
        let point =
            BarePoint { kind, options, ids: &[], weights: &[], by_weight: false, is_fair: false };
        Question { point, place, node: None, name: None }
    }

    /// Returns a question with two answers, 0 for no. On average `yes` of `of` are answered yes.
    pub fn rarely<'a>(
        kind: ChoiceKind,
        place: &'static str,
        weights: &'a [u32; 2],
        names: &'a dyn Fn(u32) -> String,
    ) -> Question<'a> {
        let data = Question::data(kind, 2, place);
        let point = BarePoint { weights, by_weight: true, ..data.point };
        Question { point, name: Some(names), ..data }
    }
}

/// Answers the questions of a walk.
pub trait Ask {
    /// Returns the answer, less than the number of options.
    fn ask(&mut self, question: &Question<'_>) -> u32;

    /// Announces step number `step`, from 1. Returns false if the walk must end before it.
    fn before_step(&mut self, _step: u32) -> bool {
        true
    }

    /// Returns true if choices have texts. Then each step is a span of its own.
    fn has_texts(&self) -> bool {
        false
    }
}
