//! Walks whose choices have labels and names.

use explode_runtime::choose::{BarePoint, Choice, ChoicePoint, Chooser, Label, WalkAnswers};
use explode_runtime::trace::Position;
use explode_runtime::unit::{UnitHooks, UnitProgress};
use explode_runtime::verdict::WorkerStep;

use super::{Ask, MadeChoice, Question};

/// Returns the label of a question.
fn label(question: &Question<'_>) -> Label {
    let label = Label::named(question.place);
    match question.node {
        Some(node) => label.on(node),
        None => label,
    }
}

/// Calls `choose` with the point of a question.
fn with_point<T>(question: &Question<'_>, choose: impl FnOnce(&ChoicePoint<'_>) -> T) -> T {
    let BarePoint { kind, options, weights, .. } = question.point;
    let names: Vec<String> =
        question.name.map_or_else(Vec::new, |name| (0..options).map(name).collect());
    choose(&ChoicePoint { kind, options, names: &names, weights, label: label(question) })
}

/// A walk of a unit: its choices come from the unit's script, then from the caller of the unit.
pub struct Scripted<'a> {
    /// The choices.
    pub chooser: Chooser,
    /// The caller of the unit.
    pub work: &'a mut dyn UnitHooks,
    /// The number of steps that were explored.
    pub explored: u64,
    /// The number of steps of the unit's state. They are not explored.
    pub known: u32,
}

impl Ask for Scripted<'_> {
    fn ask(&mut self, question: &Question<'_>) -> u32 {
        let Scripted { chooser, work, .. } = self;
        with_point(question, |point| chooser.choose(point, &mut |point| work.fallback(point)))
    }

    fn before_step(&mut self, step: u32) -> bool {
        self.explored += u64::from(step > self.known);
        let place = Position { mutates: step, ..Position::default() };
        let choices = self.chooser.made();
        let so_far = UnitProgress { choices, operations: self.explored, place };
        self.work.before(WorkerStep::Mutate { mutates: step, interval: 0 }, &so_far);
        self.chooser.diverged().is_none()
    }

    fn has_texts(&self) -> bool {
        true
    }
}

/// A walk by a policy, or one that is repeated, whose choices are recorded with labels and names.
pub struct RecordedWalk<'a> {
    source: Source<'a>,
    chooser: Chooser,
    /// Hears of each choice.
    pub heard: Option<&'a mut dyn FnMut(&Choice)>,
    /// Hears of each step.
    before: &'a mut dyn FnMut(u32, &[Choice]) -> bool,
}

enum Source<'a> {
    Answers(&'a mut dyn WalkAnswers),
    Made(&'a [MadeChoice]),
}

impl<'a> RecordedWalk<'a> {
    /// Returns the record of a walk that was made before.
    pub fn of(
        made: &'a [MadeChoice],
        before: &'a mut dyn FnMut(u32, &[Choice]) -> bool,
    ) -> RecordedWalk<'a> {
        let (source, chooser) = (Source::Made(made), Chooser::default());
        RecordedWalk { source, chooser, heard: None, before }
    }

    /// Returns the record of a walk by a policy. `heard` hears of each choice.
    pub fn by(
        answers: &'a mut dyn WalkAnswers,
        heard: &'a mut dyn FnMut(&Choice),
        before: &'a mut dyn FnMut(u32, &[Choice]) -> bool,
    ) -> RecordedWalk<'a> {
        let (source, chooser) = (Source::Answers(answers), Chooser::default());
        RecordedWalk { source, chooser, heard: Some(heard), before }
    }

    /// Returns the choices so far.
    pub fn choices(&self) -> &[Choice] {
        self.chooser.made()
    }
}

impl Ask for RecordedWalk<'_> {
    fn ask(&mut self, question: &Question<'_>) -> u32 {
        let RecordedWalk { source, chooser, heard, .. } = self;
        let options = question.point.options;
        if options == 1 {
            return 0;
        }
        let at = chooser.made().len();
        let value = match source {
            Source::Answers(answers) => answers.answer(&question.point),
            // The walk is another one now. The caller compares what it finds.
            Source::Made(made) => {
                made.get(at).filter(|made| made.options == options).map_or(0, |made| made.value)
            }
        };
        with_point(question, |point| {
            if let Some(heard) = heard {
                heard(&Choice::of(point, value));
            }
            chooser.choose(point, &mut |_| value)
        })
    }

    fn before_step(&mut self, step: u32) -> bool {
        let RecordedWalk { chooser, before, .. } = self;
        before(step, chooser.made())
    }

    fn has_texts(&self) -> bool {
        true
    }
}
