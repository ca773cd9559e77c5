//! Random walks: each begins at the pristine disks, nothing is saved or restored (EX-17). They
//! never end by themselves.
//!
//! A walk answers by its [policy](crate::choose::Policy), and nothing fails in it. Then, if it has
//! met points at which something could have failed, or another thread could have run, up to four
//! walks follow: each goes the same way up to one of these points, drawn among all that were met,
//! takes a drawn fault there, and goes on by a policy of its own. No walk takes the same way to the
//! same fault as one before. If the stack allows more than one fault, such a walk has points left,
//! and is followed in the same way. So each fault is drawn within the stack's budget, and at a
//! place that is there.
//!
//! Walks come in rounds of 1, 2, 4, up to 16: the walks of a round depend on nothing that is found
//! in it, so that workers can run them at the same time.

use std::collections::{HashSet, VecDeque};

use super::{FinishedUnit, Job, State, Strategy, Unit};
use crate::choose::{Choice, ChoiceKind, Draws, Policy, choices_hash};

/// The largest round.
const ROUND: usize = 16;
/// So many faults are in one walk at most, where the stack has no budget of its own: points that a
/// checker asks.
const MOST_FAULTS: u32 = 4;
/// So many walks with a fault follow a walk.
const FOLLOWING: usize = 4;
/// So often a fault is drawn that no walk has taken before.
const DRAWS: usize = 8 * FOLLOWING;
/// Walks with faults have numbers from here on, so that those without are the same whether there
/// are faults or not.
const WITH_FAULT: u64 = 1 << 63;

/// Walks of `depth` mutates.
#[derive(Debug)]
pub struct Walks {
    seed: u64,
    depth: u32,
    by: WalkOrder,
    /// The walks of this round, the next one first, each with how many faults it has.
    round: VecDeque<(Unit, u32)>,
    /// Those with a fault that follow in the next round.
    following: VecDeque<(Unit, u32)>,
    /// The ways to the faults that were drawn, by their hashes.
    drawn: HashSet<u64>,
    size: usize,
    plain: u64,
    with_fault: u64,
}

/// How walks answer.
#[derive(Clone, Copy, Debug)]
enum WalkOrder {
    Uniform,
    Weighted,
    Pct { d: u32, k: u32 },
}

impl Walks {
    /// Each answer is drawn uniformly.
    pub fn uniform(seed: u64, depth: u32) -> Walks {
        Walks::by(seed, depth, WalkOrder::Uniform)
    }

    /// Each answer is drawn by weights.
    pub fn weighted(seed: u64, depth: u32) -> Walks {
        Walks::by(seed, depth, WalkOrder::Weighted)
    }

    /// Answers go by priorities, for bugs of depth `d` within `k` steps, neither of them 0.
    pub fn pct(seed: u64, depth: u32, d: u32, k: u32) -> Walks {
        Walks::by(seed, depth, WalkOrder::Pct { d, k })
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
        }
    }

    fn policy(&self, walk: u64) -> Policy {
        let seed = self.seed;
        match self.by {
            WalkOrder::Uniform => Policy::Uniform { seed, walk },
            WalkOrder::Weighted => Policy::Weighted { seed, walk },
            WalkOrder::Pct { d, k } => Policy::Pct { seed, walk, d, k },
        }
    }

    fn begin_round(&mut self) {
        if !self.following.is_empty() {
            std::mem::swap(&mut self.round, &mut self.following);
            return;
        }
        for _ in 0..self.size {
            self.plain += 1;
            let policy = self.policy(self.plain);
            let unit =
                Unit { state: State::default(), script: Vec::new(), mutates: self.depth, policy };
            self.round.push_back((unit, 0));
        }
        self.size = (self.size * 2).min(ROUND);
    }

    /// The walk that goes as this one up to a drawn fault.
    fn with_fault(&mut self, finished: &FinishedUnit<'_>) -> Option<Unit> {
        let FinishedUnit { unit, choices, arrivals, .. } = *finished;
        let begin = unit.state.choices.len() + unit.script.len();
        self.with_fault += 1;
        let walk = WITH_FAULT | self.with_fault;
        let (at, choice) = drawn(choices, begin, &mut Draws::new(self.seed, walk))?;
        // What comes before the mutate in which it happens was checked.
        let before = arrivals.iter().map(|(arrival, _)| (arrival.choices as usize, arrival.depth));
        let (length, depth) = before
            .filter(|(length, _)| *length <= at)
            .max_by_key(|(_, depth)| *depth)
            .unwrap_or((unit.state.choices.len(), unit.state.depth));
        let state = State { choices: choices[..length].to_vec(), depth };
        let script = choices[length..at].iter().cloned().chain([choice]).collect();
        let mutates = unit.state.depth + unit.mutates - depth;
        Some(Unit { state, script, mutates, policy: self.policy(walk) })
    }

    /// The walks that follow one which has so many faults already.
    fn follow(&mut self, finished: &FinishedUnit<'_>, faults: u32) {
        let most = self.following.len() + FOLLOWING;
        for _ in 0..DRAWS {
            if self.following.len() == most {
                break;
            }
            let Some(unit) = self.with_fault(finished) else { break };
            let way: Vec<Choice> = unit.state.choices.iter().chain(&unit.script).cloned().collect();
            if self.drawn.insert(choices_hash(&way) as u64) {
                self.following.push_back((unit, faults + 1));
            }
        }
    }
}

/// A fault in place of one of the choices from `begin` on: first its kind is drawn, then its label,
/// then one of the choices with that label, then what happens.
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

/// Each once, in the order in which they come.
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
