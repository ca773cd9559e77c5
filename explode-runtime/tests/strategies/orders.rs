//! Breadth first, depth first and shuffled, with and without signatures.

use std::cell::RefCell;

use explode_runtime::base::{Options, UsageError};
use explode_runtime::check::{Checker, Cx};
use explode_runtime::crash::Epoch;
use explode_runtime::run::StrategyName;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::CheckError;

use crate::common;

thread_local! {
    /// The path of each mutate that returned.
    static WAYS: RefCell<Vec<Vec<usize>>> = const { RefCell::new(Vec::new()) };
}

/// A counter of two digits below 4. Each step increments one of them. It has a signature or not.
#[derive(Default)]
struct Digits {
    digits: [usize; 2],
    way: Vec<usize>,
    signed: bool,
}

impl Checker for Digits {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let which = cx.choose(2);
        self.digits[which] = (self.digits[which] + 1) % 4;
        self.way.push(which);
        WAYS.with_borrow_mut(|ways| ways.push(self.way.clone()));
        Ok(())
    }

    fn check(&self, _stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        Ok(())
    }

    fn get_sig(&self) -> Option<Vec<u8>> {
        self.signed.then(|| self.digits.map(|digit| digit as u8).to_vec())
    }
}

fn signed(_options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(Digits { signed: true, ..Digits::default() }))
}

fn unsigned(_options: &Options) -> Result<Box<dyn Checker>, UsageError> {
    Ok(Box::new(Digits::default()))
}

type Build = fn(&Options) -> Result<Box<dyn Checker>, UsageError>;

/// Returns the numbers of states and operations, and the paths in the order in which they were
/// explored.
fn explore(build: Build, strategy: &StrategyName, depth: u32) -> (u64, u64, Vec<Vec<usize>>) {
    let mut plan = common::plan(depth);
    plan.settings.strategy = strategy.clone();
    let said = common::run(&common::registry(build), &plan);
    let ways = WAYS.with_borrow_mut(std::mem::take);
    // A unit restores its state by the path to it, so the last mutate of each unit is the one that
    // is explored.
    let last = |at: &usize| ways.get(at + 1).is_none_or(|next| next.len() <= ways[*at].len());
    let explored = (0..ways.len()).filter(last).map(|at| ways[at].clone()).collect();
    let summary = said.summary();
    assert!(summary.complete && summary.findings.is_zero() && summary.broken.is_zero());
    let count = |count: &explode_runtime::base::ExactCount| count.to_string().parse().unwrap();
    (count(&summary.states), count(&summary.operations), explored)
}

const ORDERS: [StrategyName; 4] =
    [StrategyName::Exhaust, StrategyName::Dfs, StrategyName::Different, StrategyName::Shuffle];

/// Without signatures each path is a state: 1 + 2 + 4 + ... + 64 states, and one operation for each
/// except the first.
#[test]
fn without_signatures_every_way_is_a_state() {
    for strategy in ORDERS {
        let (states, operations, mut explored) = explore(unsigned, &strategy, 6);
        assert_eq!((states, operations), (127, 126), "{strategy}");
        explored.sort();
        explored.dedup();
        assert_eq!(explored.len(), 126, "{strategy}: no way twice");
    }
}

/// With signatures there are 16 states, and two operations from each state at a depth less than
/// `depth`. The state of digits a and b is at depth a + b.
#[test]
fn with_signatures_every_state_is_explored_once() {
    // The numbers of states by depth: 1 2 3 4 3 2 1.
    for (depth, states, operations) in
        [(1, 3, 2), (3, 10, 12), (4, 13, 20), (6, 16, 30), (7, 16, 32), (20, 16, 32)]
    {
        for strategy in [StrategyName::Exhaust, StrategyName::Different] {
            let (found, made, _) = explore(signed, &strategy, depth);
            // The most different state can be reached by a path that is not the shortest. It is
            // explored again by the shortest.
            assert_eq!(found, states, "{strategy} {depth}");
            assert!(if strategy == StrategyName::Exhaust {
                made == operations
            } else {
                made >= operations
            });
        }
        let (found, _, _) = explore(signed, &StrategyName::Dfs, depth);
        assert_eq!(found, states, "dfs {depth}");
    }
}

/// EX-2: breadth first, all children of a state come before any grandchild, and each state is
/// exhausted at once.
#[test]
fn breadth_first_exhausts_a_state_before_the_next() {
    let (_, _, explored) = explore(unsigned, &StrategyName::Exhaust, 5);
    assert!(explored.is_sorted_by_key(Vec::len));
    for (children, state) in explored.chunks(2).zip([vec![]].iter().chain(&explored)) {
        let child = |which: usize| [&state[..], &[which]].concat();
        assert_eq!(children, [child(0), child(1)]);
    }
}

/// Shuffled, the short paths come first, those of one length in random order, the same in each run
/// with one seed.
#[test]
fn shuffled_ways_of_one_length_come_in_random_order() {
    let (_, _, explored) = explore(unsigned, &StrategyName::Shuffle, 7);
    assert!(explored.is_sorted_by_key(Vec::len));
    let longest = &explored[explored.len() - 128..];
    assert!(!longest.is_sorted());
    // The first quarter of the longest ways has children of most of the 64 states.
    let mut states: Vec<&[usize]> = longest[..32].iter().map(|way| &way[..6]).collect();
    states.sort_unstable();
    states.dedup();
    assert!(states.len() > 20, "{}", states.len());
    let (_, _, again) = explore(unsigned, &StrategyName::Shuffle, 7);
    assert_eq!(explored, again);
}

/// Depth first, a new state is explored at once, so the order is that of a dictionary.
#[test]
fn depth_first_explores_children_before_siblings() {
    let (_, _, explored) = explore(unsigned, &StrategyName::Dfs, 5);
    assert_eq!(explored.len(), 62);
    assert!(explored.is_sorted());
}

/// Depth first with signatures, worked out by hand: 0 1 2 3 of one digit, then the other digit from
/// the deepest state up.
#[test]
fn depth_first_with_signatures_has_its_order() {
    let (states, operations, explored) = explore(signed, &StrategyName::Dfs, 20);
    assert_eq!((states, explored.len() as u64), (16, operations));
    assert_eq!(
        explored[..5],
        [vec![0], vec![0, 0], vec![0, 0, 0], vec![0, 0, 0, 0], vec![0, 0, 0, 1]]
    );
    assert_eq!(explored[5], [0, 0, 0, 1, 0], "the fourth step of one digit was known: (0, 0)");
}
