//! Random walks. Each begins at the pristine disks, and no state is saved or restored (EX-17). The
//! sequence of walks does not end.
//!
//! A walk answers by its [policy](crate::choose::Policy), and nothing fails in it. If it met points
//! at which a fault was possible, or another thread could have run, up to four walks follow it.
//! Each follows the same path up to one of these points, drawn among all that were met. It takes a
//! drawn fault there, and continues by a policy with a number of its own. No two walks take the
//! same path to the same fault. If the stack allows more than one fault, such a walk meets further
//! points, and is followed in the same way. So each fault is drawn within the stack's budget, at a
//! place that exists.
//!
//! Walks come in rounds of 1, 2, 4, up to 16. The walks of a round do not depend on results of that
//! round, so workers can run them in parallel.

use std::collections::{HashSet, VecDeque};

use super::{FinishedUnit, Job, State, Strategy, Unit};
use crate::choose::{Choice, ChoiceKind, Draws, Policy, choices_hash, data_of_walk};

/// The number of walks in the largest round.
const ROUND: usize = 16;
/// The largest number of faults in one walk, for points of a checker, which have no budget of the
/// stack.
const MOST_FAULTS: u32 = 4;
/// The largest number of walks with a fault that follow a walk.
const FOLLOWING: usize = 4;
/// The number of attempts to draw faults that no walk has taken.
const DRAWS: usize = 8 * FOLLOWING;
/// The first number of a walk with faults. Walks without faults have the same numbers whether there
/// are faults or not.
const WITH_FAULT: u64 = 1 << 63;

/// A strategy of random walks of `depth` mutates.
#[derive(Debug)]
pub struct Walks {
    seed: u64,
    depth: u32,
    by: WalkOrder,
    /// The walks of this round in order, each with its number of faults.
    round: VecDeque<(Unit, u32)>,
    /// The walks with a fault that form the next round.
    following: VecDeque<(Unit, u32)>,
    /// The hashes of the paths to the faults that were drawn.
    drawn: HashSet<u64>,
    size: usize,
    plain: u64,
    with_fault: u64,
    /// The number of walks of a unit.
    in_unit: u32,
    /// The number of walks at which the search ends. `None` without a bound.
    most: Option<u64>,
    /// The number of walks that were handed out, those with a fault included.
    begun: u64,
}

/// The rule by which walks answer.
#[derive(Clone, Debug)]
enum WalkOrder {
    Uniform,
    Weighted,
    Pct {
        d: u32,
        k: u32,
    },
    /// A registered policy of this name.
    Registered(String),
}

impl Walks {
    /// Returns walks in which each answer is drawn uniformly.
    pub fn uniform(seed: u64, depth: u32) -> Walks {
        Walks::by(seed, depth, WalkOrder::Uniform)
    }

    /// Returns walks in which each answer is drawn by weight.
    pub fn weighted(seed: u64, depth: u32) -> Walks {
        Walks::by(seed, depth, WalkOrder::Weighted)
    }

    /// Returns walks with priorities, for bugs of depth `d` within `k` steps. Neither is 0.
    pub fn pct(seed: u64, depth: u32, d: u32, k: u32) -> Walks {
        Walks::by(seed, depth, WalkOrder::Pct { d, k })
    }

    /// Returns walks by a policy of walks that is registered under this name.
    pub fn registered(seed: u64, depth: u32, name: &str) -> Walks {
        Walks::by(seed, depth, WalkOrder::Registered(name.to_owned()))
    }

    fn by(seed: u64, depth: u32, by: WalkOrder) -> Walks {
        let (round, following) = (VecDeque::new(), VecDeque::new());
        Walks {
            seed,
            depth,
            by,
            round,
            following,
            drawn: HashSet::new(),
            size: 1,
            plain: 0,
            with_fault: 0,
            in_unit: 1,
            most: None,
            begun: 0,
        }
    }

    /// Sets the number of walks of a unit, and the number of walks at which the search ends. Walks
    /// that repeat another one up to a fault count as well.
    #[must_use = "this returns the walks"]
    pub fn in_units(self, in_unit: u32, most: Option<u64>) -> Walks {
        Walks { in_unit: in_unit.max(1), most, ..self }
    }

    /// Returns the number of walks that the search may still begin.
    fn left(&self) -> u64 {
        self.most.map_or(u64::MAX, |most| most.saturating_sub(self.begun))
    }

    fn policy(&self, walk: u64) -> Policy {
        let seed = self.seed;
        match &self.by {
            WalkOrder::Uniform => Policy::Uniform { seed, walk },
            WalkOrder::Weighted => Policy::Weighted { seed, walk },
            WalkOrder::Pct { d, k } => Policy::Pct { seed, walk, d: *d, k: *k },
            WalkOrder::Registered(name) => {
                Policy::Registered { name: name.clone(), data: data_of_walk(seed, walk) }
            }
        }
    }

    fn begin_round(&mut self) {
        if !self.following.is_empty() {
            std::mem::swap(&mut self.round, &mut self.following);
            return;
        }
        for _ in 0..self.size {
            let walks = self.left().min(u64::from(self.in_unit));
            if walks == 0 {
                break;
            }
            let policy = self.policy(self.plain + 1);
            self.plain += walks;
            self.begun += walks;
            let further_walks = walks as u32 - 1;
            let unit = Unit { mutates: self.depth, policy, further_walks, ..Unit::default() };
            self.round.push_back((unit, 0));
        }
        self.size = (self.size * 2).min(ROUND);
    }

    /// Returns a walk that follows this one up to a drawn fault. `None` if the walk met no point
    /// for one.
    fn with_fault(&mut self, finished: &FinishedUnit<'_>) -> Option<Unit> {
        let FinishedUnit { unit, choices, arrivals, .. } = *finished;
        let begin = unit.state.choices.len() + unit.script.len();
        self.with_fault += 1;
        let walk = WITH_FAULT | self.with_fault;
        let (at, choice) = drawn(choices, begin, &mut Draws::new(self.seed, walk))?;
        // The mutates before the one with the fault were checked.
        let before = arrivals.iter().map(|(arrival, _)| (arrival.choices as usize, arrival.depth));
        let (length, depth) = before
            .filter(|(length, _)| *length <= at)
            .max_by_key(|(_, depth)| *depth)
            .unwrap_or((unit.state.choices.len(), unit.state.depth));
        let state = State { choices: choices[..length].to_vec(), depth };
        let script = choices[length..at].iter().cloned().chain([choice]).collect();
        let mutates = unit.state.depth + unit.mutates - depth;
        Some(Unit { state, script, mutates, policy: self.policy(walk), ..Unit::default() })
    }

    /// Adds the walks that follow one with `faults` faults.
    fn follow(&mut self, finished: &FinishedUnit<'_>, faults: u32) {
        let most = self.following.len() + FOLLOWING;
        for _ in 0..DRAWS {
            if self.following.len() == most || self.left() == 0 {
                break;
            }
            let Some(unit) = self.with_fault(finished) else { break };
            let choices: Vec<Choice> =
                unit.state.choices.iter().chain(&unit.script).cloned().collect();
            if self.drawn.insert(choices_hash(&choices) as u64) {
                self.following.push_back((unit, faults + 1));
                self.begun += 1;
            }
        }
    }
}

/// Draws a fault in place of one of the choices from `begin` on. `None` without a possible fault.
///
/// It draws first the kind, then the label, then one of the choices with that label, then the
/// option.
fn drawn(choices: &[Choice], begin: usize, draws: &mut Draws) -> Option<(usize, Choice)> {
    let mut sites: Vec<(usize, &Choice)> = choices.iter().enumerate().skip(begin).collect();
    sites.retain(|(_, choice)| choice.kind.is_fault() && choice.rank() == 0);
    let kinds: Vec<ChoiceKind> = distinct(sites.iter().map(|(_, choice)| choice.kind));
    let kind = *kinds.get(pick(kinds.len(), draws)?)?;
    sites.retain(|(_, choice)| choice.kind == kind);
    let labels = distinct(sites.iter().map(|(_, choice)| &choice.label));
    let label = labels[pick(labels.len(), draws)?];
    sites.retain(|(_, choice)| choice.label == *label);
    let (at, choice) = sites[pick(sites.len(), draws)?];
    Some((at, choice.with_rank(1 + draws.option(choice.options - 1))))
}

fn pick(of: usize, draws: &mut Draws) -> Option<usize> {
    (of > 0).then(|| draws.below(of as u64) as usize)
}

/// Returns each value once, in the order of first occurrence.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut seen, one| {
        if !seen.contains(&one) {
            seen.push(one);
        }
        seen
    })
}

impl Strategy for Walks {
    fn next(&mut self) -> Option<Unit> {
        if self.round.is_empty() {
            self.begin_round();
        }
        self.round.front().map(|(unit, _)| unit.clone())
    }

    fn observe(&mut self, finished: &FinishedUnit<'_>) {
        let Some((_, faults)) = self.round.pop_front() else { return };
        if faults < MOST_FAULTS {
            self.follow(finished, faults);
        }
    }

    fn ahead(&self, most: usize) -> Vec<Job> {
        self.round.iter().take(most).map(|(unit, _)| Job::one(unit.clone())).collect()
    }
}
