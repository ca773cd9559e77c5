//! A strategy of the caller, without a change of the engine.

use explode_runtime::base::{Options, UsageError};
use explode_runtime::check::{Checker, Cx};
use explode_runtime::choose::{Answers, ChoicePoint, Policy};
use explode_runtime::crash::Epoch;
use explode_runtime::explore::{FinishedUnit, Strategy, Unit};
use explode_runtime::plan::Registry;
use explode_runtime::run::StrategyName;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::CheckError;

use crate::common;

/// A strategy that types one word on a keyboard of ten keys. Each key is a choice of five, then of
/// two.
pub struct Typed {
    answers: Vec<u8>,
    done: bool,
}

impl Typed {
    pub fn new(word: &[u8]) -> Typed {
        Typed { answers: word.iter().flat_map(|key| [key / 2, key % 2]).collect(), done: false }
    }
}

impl Strategy for Typed {
    fn next(&mut self) -> Option<Unit> {
        let policy = Policy::Registered { name: "typed".to_owned(), data: self.answers.clone() };
        let unit = Unit { mutates: self.answers.len() as u32 / 2, policy, ..Unit::default() };
        (!self.done).then_some(unit)
    }

    fn observe(&mut self, finished: &FinishedUnit<'_>) {
        let made = finished.choices.iter().map(|choice| choice.value as u8);
        assert_eq!(made.collect::<Vec<_>>(), self.answers);
        self.done = true;
    }
}

/// Answers with the numbers in turn.
struct InTurn(std::vec::IntoIter<u8>);

impl Answers for InTurn {
    fn answer(&mut self, _point: &ChoicePoint<'_>) -> u32 {
        self.0.next().map_or(0, u32::from)
    }
}

/// Returns the registry of a checker, with the policy of [`Typed`].
pub fn registry(build: fn(&Options) -> Result<Box<dyn Checker>, UsageError>) -> Registry {
    let mut registry = common::registry(build);
    registry.policies.register("typed", |data| {
        let answers: Vec<u8> = data.into();
        Box::new(InTurn(answers.into_iter()))
    });
    registry
}

/// A checker that makes choices and does nothing else.
struct Nothing;

impl Checker for Nothing {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        cx.choose(5);
        cx.choose(2);
        Ok(())
    }

    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }
}

pub fn nothing(_options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(Nothing))
}

#[test]
fn an_own_strategy_decides_what_runs() {
    let mut plan = common::plan(3);
    plan.settings.strategy = StrategyName::Own("typed".to_owned());
    let said = common::run_by(Some(Box::new(Typed::new(&[9, 0, 3]))), &registry(nothing), &plan);
    let summary = said.summary();
    assert_eq!(
        (&summary.states, &summary.operations, &summary.choices),
        (&4.into(), &3.into(), &6.into())
    );
}

/// A trace of the strategy must not name another strategy. Its name alone is not enough to run it.
#[test]
fn an_own_strategy_needs_its_own_name() {
    let registry = common::registry(nothing);
    let said = common::run_by(Some(Box::new(Typed::new(&[1]))), &registry, &common::plan(3));
    let error = said.result.unwrap_err().to_string();
    assert!(error.contains("exhaust") && error.contains("its own name"), "{error}");
    let mut plan = common::plan(3);
    plan.settings.strategy = StrategyName::Own("typed".to_owned());
    let error = common::run(&registry, &plan).result.unwrap_err().to_string();
    assert!(error.contains("typed is defined by another program"), "{error}");
}

/// Without its policy the unit cannot be run, and the run reports that.
#[test]
fn an_unregistered_policy_is_broken() {
    let mut plan = common::plan(3);
    plan.settings.strategy = StrategyName::Own("typed".to_owned());
    let mut strategy = Typed::new(&[1]);
    strategy.answers.clear();
    let said = common::run_by(Some(Box::new(strategy)), &common::registry(nothing), &plan);
    assert_eq!(said.summary().broken, 1.into());
    let reported = format!("{:?}", said.messages);
    assert!(reported.contains("unknown policy 'typed'"), "{reported}");
}
