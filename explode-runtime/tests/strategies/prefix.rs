//! Runs that begin with the path of a trace.

use std::cell::RefCell;

use explode_runtime::base::{Options, UsageError};
use explode_runtime::check::{Checker, Cx};
use explode_runtime::crash::Epoch;
use explode_runtime::explore::TracePrefix;
use explode_runtime::plan::Plan;
use explode_runtime::run::StrategyName;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use crate::common;

thread_local! {
    static WAYS: RefCell<Vec<Vec<usize>>> = const { RefCell::new(Vec::new()) };
}

/// A lock with ten keys. One word of five keys opens it. Another word that differs at its end has
/// another bug.
#[derive(Default)]
struct Lock {
    way: Vec<usize>,
}

impl Checker for Lock {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        self.way.push(cx.choose(5) * 2 + cx.choose(2));
        WAYS.with_borrow_mut(|ways| ways.push(self.way.clone()));
        let wrong =
            |promise: &str| Err(Violation::new(Verdict::CheckFailed, promise, "it opens").into());
        match self.way[..] {
            [3, 1, 4, 1, 5] => wrong("known"),
            [3, 1, 4, 8, 8] => wrong("near"),
            _ => Ok(()),
        }
    }

    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }
}

fn lock(_options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(Lock::default()))
}

/// Returns a plan that begins with the path of the trace of `known`.
fn beginning(depth: u32) -> Plan {
    let mut plan = common::plan(5);
    plan.settings.strategy = StrategyName::Own("typed".to_owned());
    let said = common::run_by(
        Some(Box::new(super::own::Typed::new(&[3, 1, 4, 1, 5]))),
        &super::own::registry(lock),
        &plan,
    );
    let trace = &said.traces[0];
    assert_eq!(
        (said.findings()[0].signature.as_str(), trace.mutates),
        ("test/check-failed/known", 5)
    );
    let mut plan = common::plan(depth);
    plan.settings.strategy = StrategyName::Prefix("trace.json".to_owned());
    plan.settings.prefix =
        Some(TracePrefix { choices: trace.choices.clone(), mutates: trace.mutates });
    WAYS.with_borrow_mut(Vec::clear);
    plan
}

/// The path itself comes first, then the other options of its last step, then those of the step
/// before with all that follows them. The second bug is found after 1 + 10 + 10 + 7 * 10 + 9 units,
/// of 111110 in all.
#[test]
fn states_near_the_path_come_first() {
    let mut plan = beginning(5);
    plan.settings.states = Some(110);
    let said = common::run(&common::registry(lock), &plan);
    let found: Vec<&str> =
        said.findings().iter().map(|finding| finding.signature.as_str()).collect();
    assert_eq!(found, ["test/check-failed/known", "test/check-failed/near"]);
    assert!(!said.summary().complete);
    // A finding of this run replays like any other. Its trace has the path that the run began with.
    assert_eq!(said.traces[1].options.prefix, plan.settings.prefix);
    // The mutates of all units in order, those that restore a state included: the path, then five
    // for each of ten units.
    let ways = WAYS.with_borrow_mut(std::mem::take);
    assert_eq!(ways[4], [3, 1, 4, 1, 5]);
    let ends = (0..10).map(|unit| ways[5 + 5 + 5 * unit + 4].clone());
    assert_eq!(ends.map(|way| way[4]).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
}

/// At the end everything is covered, as with breadth first.
#[test]
fn everything_is_covered_at_the_end() {
    let registry = common::registry(lock);
    let plan = beginning(3);
    assert!(
        common::run(&registry, &plan)
            .result
            .is_err_and(|error| error.to_string().contains("--depth 5 or more"))
    );
    let mut plan = beginning(5);
    plan.settings.prefix.as_mut().unwrap().mutates = 3;
    plan.settings.prefix.as_mut().unwrap().choices.truncate(6);
    plan.settings.depth = 3;
    let (near, plain) = (common::run(&registry, &plan), common::run(&registry, &common::plan(3)));
    let (near, plain) = (near.summary(), plain.summary());
    assert_eq!((&near.states, &plain.states), (&1111.into(), &1111.into()));
    // The three mutates of the path are explored twice: once as a whole, once among all others.
    assert_eq!((&near.operations, &plain.operations), (&1113.into(), &1110.into()));
    assert!(near.complete && plain.complete);
}

/// A path that does not fit is reported as broken.
#[test]
fn a_path_of_another_system_is_broken() {
    let mut plan = beginning(5);
    plan.settings.states = Some(20);
    plan.settings.prefix.as_mut().unwrap().choices[3].options = 7;
    let said = common::run(&common::registry(lock), &plan);
    assert_eq!(said.summary().broken, 1.into());
}
