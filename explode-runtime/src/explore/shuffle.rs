//! All paths of one length, in random order, then those that are longer by one.
//!
//! A run that ends before its bounds has a sample of the longest paths, in place of all paths with
//! the same first calls. Every path is explored once, so a run that ends by itself is as complete
//! as one of [`Exhaust`](super::Exhaust), with the same counts if no two states are equal.
//!
//! A unit begins with a script, and its other answers are drawn. The options that were not drawn
//! are branches: each is a script that ends with one of them. The branches of one state divide its
//! combinations without overlap.
//!
//! Crashes during recovery can come last ([`Shuffle::nested_last`]): after all paths of one length,
//! and before those that are longer. They are the larger part of the checks, and few bugs need
//! them.

use std::collections::VecDeque;

use super::job::made_in;
use super::states::StateTree;
use super::{FinishedUnit, Job, Novelty, State, StateId, Strategy, Unit, UnitDisks};
use crate::choose::{Choice, Draws, Policy};

/// The number of branches whose order is fixed. Workers may run them ahead.
const READY: usize = 64;

/// A strategy that explores paths by their length. The paths of one length come in random order.
#[derive(Debug)]
pub struct Shuffle {
    seed: u64,
    depth: u32,
    /// The number of mutates of the states whose next mutates are explored.
    length: u32,
    draws: Draws,
    /// The states, and their branches: nodes behind them with the script.
    states: StateTree,
    /// The next branches in order. The first is that of the unit that runs.
    ready: VecDeque<StateId>,
    /// The other branches of this length, in no order.
    rest: Vec<StateId>,
    /// True if crashes during recovery come after all paths of a length.
    nested_last: bool,
    /// The ends of the paths of this length whose crashes during recovery are not yet followed.
    nested: VecDeque<StateId>,
    /// The states for the next length.
    longer: Vec<StateId>,
}

impl Shuffle {
    /// Returns a strategy that explores states fewer than `depth` mutates deep.
    pub fn new(seed: u64, depth: u32) -> Shuffle {
        let mut states = StateTree::default();
        let first = (depth > 0).then(|| states.begin(&State::default()));
        Shuffle {
            seed,
            depth,
            length: 0,
            draws: Draws::new(seed, 0),
            states,
            ready: VecDeque::new(),
            rest: Vec::new(),
            nested_last: false,
            nested: VecDeque::new(),
            longer: first.into_iter().collect(),
        }
    }

    /// Returns the same strategy. If `last`, it follows the crashes during recovery of the paths of
    /// one length after all these paths.
    #[must_use]
    pub fn nested_last(self, last: bool) -> Shuffle {
        Shuffle { nested_last: last, ..self }
    }

    /// Returns the unit of a branch.
    fn unit(&self, branch: StateId) -> Unit {
        let (state, script) = self.states.split(branch);
        // The number of the walk is the branch, so that a branch always has the same unit.
        let policy = Policy::Uniform { seed: self.seed, walk: branch.number() };
        let disks = if self.nested_last { UnitDisks::Outermost } else { UnitDisks::All };
        Unit { state, script, mutates: 1, policy, disks, ..Unit::default() }
    }

    /// Returns the unit that follows the crashes during recovery on the path to this end.
    fn nested_unit(&self, end: StateId) -> Unit {
        let (state, made) = self.states.split(end);
        Unit { disks: UnitDisks::Nested, ..Unit::one(state, made) }
    }

    /// Draws branches until enough are in order. Begins with the next length if nothing is left.
    fn draw(&mut self) {
        if self.ready.is_empty() && self.rest.is_empty() && self.nested.is_empty() {
            for state in std::mem::take(&mut self.longer) {
                self.length = self.states.depth(state);
                self.rest.push(self.states.after(state, &[]));
            }
        }
        while self.ready.len() < READY && !self.rest.is_empty() {
            let at = self.draws.below(self.rest.len() as u64) as usize;
            self.ready.push_back(self.rest.swap_remove(at));
        }
    }

    /// Adds the options that were not taken after the script of a branch.
    fn branch_off(&mut self, state: StateId, made: &[Choice], script: usize) {
        for (at, choice) in made.iter().enumerate().skip(script) {
            for rank in (0..choice.options).filter(|rank| *rank != choice.rank()) {
                let script = [&made[..at], &[choice.with_rank(rank)]].concat();
                self.rest.push(self.states.after(state, &script));
            }
        }
    }
}

impl Strategy for Shuffle {
    fn next(&mut self) -> Option<Unit> {
        self.draw();
        let branch = self.ready.front().map(|branch| self.unit(*branch));
        branch.or_else(|| self.nested.front().map(|end| self.nested_unit(*end)))
    }

    fn observe(&mut self, finished: &FinishedUnit<'_>) {
        if let Some(branch) = self.ready.pop_front() {
            let state = self.states.before(branch);
            let made = made_in(finished.unit, finished.choices);
            self.branch_off(state, made, finished.unit.script.len());
            let longer = finished.reached == Novelty::New && self.length + 1 < self.depth;
            if longer || self.nested_last {
                let end = self.states.after(state, made);
                self.longer.extend(longer.then_some(end));
                self.nested.extend(self.nested_last.then_some(end));
            }
        } else {
            self.nested.pop_front();
        }
        self.draw();
    }

    fn ahead(&self, most: usize) -> Vec<Job> {
        let ready = self.ready.iter().map(|branch| self.unit(*branch));
        // While branches wait that have no order yet, their paths come before these.
        let nested = self.nested.iter().filter(|_| self.rest.is_empty());
        let nested = nested.map(|end| self.nested_unit(*end));
        ready.chain(nested).take(most).map(Job::one).collect()
    }

    fn explored(&self) -> Option<u32> {
        Some(match (self.ready.is_empty(), self.nested.is_empty()) {
            (false, _) => self.length,
            (true, false) => self.length + 1,
            (true, true) => self.depth,
        })
    }

    fn waiting(&self) -> usize {
        self.ready.len() + self.rest.len() + self.nested.len() + self.longer.len()
    }
}
