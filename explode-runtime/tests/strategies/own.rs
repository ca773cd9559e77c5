//! A strategy of a caller's own, without a change of the engine.

use explode_runtime::base::{Options, UsageError};
use explode_runtime::check::{Checker, Cx};
use explode_runtime::choose::Point;
use explode_runtime::crash::Epoch;
use explode_runtime::explore::{Finished, State, Strategy, Unit, Wants};
use explode_runtime::run::StrategyName;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::Failure;

use crate::common;

/// Types one word on a keyboard of ten keys: each is a choice of five, then of two.
pub struct Typed {
    answers: Vec<u32>,
    next: usize,
    done: bool,
}

impl Typed {
    pub fn new(word: &[u32]) -> Typed {
        Typed { answers: word.iter().flat_map(|key| [key / 2, key % 2]).collect(), next: 0, done: false }
    }
}

impl Strategy for Typed {
    fn next(&mut self) -> Option<Unit> {
        let unit =
            Unit { state: State::default(), script: Vec::new(), mutates: self.answers.len() as u32 / 2 };
        (!self.done).then_some(unit)
    }

    fn fallback(&mut self, _point: &Point<'_>) -> u32 {
        self.next += 1;
        self.answers[self.next - 1]
    }

    fn wants(&self) -> Wants {
        Wants { points: true, ..Wants::default() }
    }

    fn observe(&mut self, finished: &Finished<'_>) {
        assert_eq!(finished.choices.iter().map(|choice| choice.value).collect::<Vec<_>>(), self.answers);
        self.done = true;
    }
}

struct Nothing;

impl Checker for Nothing {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        cx.choose(5);
        cx.choose(2);
        Ok(())
    }

    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), Failure> {
        Ok(())
    }
}

fn nothing(_options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(Nothing))
}

#[test]
fn it_decides_what_is_done() {
    let mut plan = common::plan(3);
    plan.settings.strategy = StrategyName::Own("typed".to_owned());
    let said = common::run_by(Some(Box::new(Typed::new(&[9, 0, 3]))), &common::registry(nothing), &plan);
    let summary = said.summary();
    assert_eq!((&summary.states, &summary.operations, &summary.choices), (&4.into(), &3.into(), &6.into()));
}

/// A trace of it must not say that another strategy has found it; and by its name alone nobody can run it.
#[test]
fn it_has_a_name_of_its_own() {
    let registry = common::registry(nothing);
    let said = common::run_by(Some(Box::new(Typed::new(&[1]))), &registry, &common::plan(3));
    let error = said.result.unwrap_err().to_string();
    assert!(error.contains("exhaust") && error.contains("a name of its own"), "{error}");
    let mut plan = common::plan(3);
    plan.settings.strategy = StrategyName::Own("typed".to_owned());
    let error = common::run(&registry, &plan).result.unwrap_err().to_string();
    assert!(error.contains("typed is known to the program alone"), "{error}");
}
