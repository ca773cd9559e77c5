//! Exploration: the tree of choices is covered exactly once, in the strategy's order, and a run's
//! counts are exact.

use std::cell::RefCell;

use explode_runtime::base::{Options, UsageError};
use explode_runtime::check::{Checker, Cx};
use explode_runtime::crash::Epoch;
use explode_runtime::run::StrategyName;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, Verdict, Violation};

use crate::common;

thread_local! {
    /// The choices of every mutate that returned, as paths.
    static PATHS: RefCell<Vec<Vec<usize>>> = const { RefCell::new(Vec::new()) };
}

fn paths() -> Vec<Vec<usize>> {
    PATHS.with_borrow_mut(std::mem::take)
}

/// The tree of the paper's Figure 2: 5 + 5 + 1 + 2 children, without a file system.
#[derive(Default)]
struct Figure2 {
    path: Vec<usize>,
}

impl Checker for Figure2 {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let action = cx.choose(4);
        let detail = match action {
            0 | 1 => cx.choose(5),
            2 => cx.choose(1),
            _ => cx.choose(2),
        };
        self.path.push(action * 10 + detail);
        PATHS.with_borrow_mut(|paths| paths.push(self.path.clone()));
        Ok(())
    }

    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }
}

fn figure2(_options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(Figure2::default()))
}

/// EX-23: one mutate has exactly 13 children.
#[test]
fn figure_2_has_13_children() {
    let said = common::run(&common::registry(figure2), &common::plan(1));
    let mut children = paths();
    assert_eq!(children.len(), 13);
    children.dedup();
    assert_eq!(children.len(), 13, "no child twice");
    let summary = said.summary();
    // A choice among one option does not count: 12 children have two choices, one has one.
    assert_eq!((&summary.operations, &summary.choices), (&13.into(), &25.into()));
    assert_eq!(summary.states, 14.into(), "the first state counts");
    assert!(summary.complete);
}

/// EX-2: all children of a state come before any grandchild.
#[test]
fn exhaust_finishes_a_state_first() {
    common::run(&common::registry(figure2), &common::plan(2));
    let visited = paths();
    // Restoring a state replays its path, so only the last mutate of a unit is explored.
    let explored: Vec<_> = explored(&visited);
    assert_eq!(explored.len(), 13 + 13 * 13);
    assert!(explored[..13].iter().all(|path| path.len() == 1));
    let families: Vec<_> = explored[13..].chunks(13).collect();
    assert!(families.iter().all(|family| family.iter().all(|path| path[0] == family[0][0])));
}

#[test]
fn depth_first_goes_down_first() {
    let mut plan = common::plan(3);
    plan.settings.strategy = StrategyName::Dfs;
    let said = common::run(&common::registry(figure2), &plan);
    let explored = explored(&paths());
    assert_eq!(explored.len(), 13 + 13 * 13 + 13 * 13 * 13);
    assert_eq!(explored[..3], [vec![0], vec![0, 0], vec![0, 0, 0]]);
    let mut distinct = explored.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), explored.len(), "no path twice");
    assert!(said.summary().complete);
}

#[test]
fn random_walks_are_those_of_their_seed() {
    let walks = |seed| {
        let mut plan = common::plan(20);
        plan.settings.strategy = StrategyName::Random;
        plan.settings.states = Some(200);
        plan.settings.seed = seed;
        let said = common::run(&common::registry(figure2), &plan);
        assert_eq!(said.summary().states, 200.into());
        assert!(!said.summary().complete, "a random search never knows");
        paths()
    };
    assert_eq!(walks(7), walks(7));
    assert_ne!(walks(7), walks(8));
}

/// Returns the paths of the units themselves, without the replays before them.
fn explored(visited: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut explored = Vec::new();
    for (index, path) in visited.iter().enumerate() {
        if visited.get(index + 1).is_none_or(|next| next.len() <= path.len()) {
            explored.push(path.clone());
        }
    }
    explored
}

/// A checker whose first mutate takes longer than the run may.
#[derive(Default)]
struct Slow {
    calls: u8,
}

/// The budget of such a run, in milliseconds.
const BUDGET_MS: u64 = 2000;

impl Checker for Slow {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        cx.choose(2);
        std::thread::sleep(std::time::Duration::from_millis(BUDGET_MS + 100));
        self.calls += 1;
        Ok(())
    }
    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }
    fn get_sig(&self) -> Option<Vec<u8>> {
        Some(vec![self.calls])
    }
}

/// A walk has many mutates. It is cut at the first state that is reached after the end of the time,
/// or at the bound on states.
#[test]
fn a_bound_cuts_a_walk_at_a_state() {
    let walk = |budget_ms: Option<u64>,
                states: Option<u64>,
                build: fn(&Options) -> Result<Box<dyn Checker>, UsageError>| {
        let mut plan = common::plan(20);
        plan.settings.strategy = StrategyName::Random;
        (plan.settings.budget_ms, plan.settings.states) = (budget_ms, states);
        let summary = common::run(&common::registry(build), &plan).summary().clone();
        assert!(!summary.complete);
        (summary.states, summary.operations, summary.choices)
    };
    let counts = |states: u64, operations: u64, choices: u64| {
        (states.into(), operations.into(), choices.into())
    };
    assert_eq!(walk(Some(BUDGET_MS), None, |_| Ok(Box::new(Slow::default()))), counts(2, 1, 1));
    assert_eq!(walk(Some(BUDGET_MS), Some(2), |_| Ok(Box::new(Slow::default()))), counts(2, 1, 1));
}

/// A walk on a ring of 12 places, by 1 or 5. States with equal signatures are explored once.
#[derive(Default)]
struct Ring {
    place: u8,
}

impl Checker for Ring {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        self.place = (self.place + [1, 5][cx.choose(2)]) % 12;
        Ok(())
    }
    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }
    fn get_sig(&self) -> Option<Vec<u8>> {
        Some(vec![self.place])
    }
}

#[test]
fn equal_signatures_are_one_state() {
    for strategy in [StrategyName::Exhaust, StrategyName::Dfs] {
        let mut plan = common::plan(30);
        plan.settings.strategy = strategy.clone();
        let said =
            common::run(&common::registry(|_: &Options| Ok(Box::new(Ring::default()))), &plan);
        let summary = said.summary();
        assert!(summary.complete && summary.findings.is_zero());
        assert_eq!(summary.states, 12.into(), "{strategy:?}");
    }
}

/// A state reached at a large depth must not cut a shorter path to it. Within depth 3 only the fast
/// path reaches place 4.
#[derive(Default)]
struct Shortcut {
    place: u8,
}

impl Checker for Shortcut {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        // Depth first, the slow path (0, 1, 2) comes before the fast one (0, 2).
        self.place = match (self.place, cx.choose(2)) {
            (0, 0) => 1,
            (0, _) => 2,
            (1, 0) => 2,
            (place, _) => place + 1,
        };
        Ok(())
    }
    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }
    fn get_sig(&self) -> Option<Vec<u8>> {
        Some(vec![self.place])
    }
}

#[test]
fn a_shorter_way_to_a_known_state_is_followed() {
    for strategy in [StrategyName::Exhaust, StrategyName::Dfs] {
        let mut plan = common::plan(3);
        plan.settings.strategy = strategy.clone();
        let build = |_: &Options| -> Result<Box<dyn Checker>, UsageError> {
            Ok(Box::new(Shortcut::default()))
        };
        let said = common::run(&common::registry(build), &plan);
        // 0, 1, 2, 3, and 4 by the fast path only.
        assert_eq!(said.summary().states, 5.into(), "{strategy:?}");
    }
}

/// A mutate that fails by itself is a finding without a crash, and its state is not explored
/// further (EX-47).
struct Fails;

impl Checker for Fails {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        match cx.choose(3) {
            0 => Ok(()),
            1 => {
                Err(Violation::new(Verdict::CheckFailed, "requested", "the second way is wrong")
                    .into())
            }
            _ => panic!("the third way is not even implemented"),
        }
    }
    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }
}

#[test]
fn a_failing_mutate_is_a_finding_and_a_panic_is_not() {
    let said = common::run(&common::registry(|_: &Options| Ok(Box::new(Fails))), &common::plan(3));
    let summary = said.summary();
    // Only the first option goes on: three states deep, three options each.
    assert_eq!((&summary.states, &summary.operations), (&4.into(), &9.into()));
    assert_eq!((&summary.findings, &summary.broken), (&1.into(), &3.into()));
    let findings = said.findings();
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].epoch, findings[0].replayed), (None, true));
    assert_eq!(findings[0].signature, "test/check-failed/requested");
}
