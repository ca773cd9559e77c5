//! Policies: how a unit answers the points past its script. A policy is plain data; the worker
//! makes its [`Answers`] anew for each unit, so that a unit that is run again answers the same.
//!
//! No policy but a registered one lets anything fail by itself: points [of
//! faults](ChoiceKind::is_fault) are answered by what happens normally. Which fault happens, and
//! where, is drawn by the strategy among those that an earlier walk has seen, and stands in the
//! script.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::draws::Draws;
use super::{ChoiceKind, ChoicePoint};
use crate::base::UsageError;

/// How a unit answers the points past its script.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Policy {
    /// The first option.
    #[default]
    First,
    /// Each option is equally likely (EX-17).
    Uniform {
        /// The seed of the run.
        seed: u64,
        /// The number of the walk.
        walk: u64,
    },
    /// Each option is drawn in proportion to its weight.
    Weighted {
        /// The seed of the run.
        seed: u64,
        /// The number of the walk.
        walk: u64,
    },
    /// By priorities: PCT, probabilistic concurrency testing.
    Pct {
        /// The seed of the run.
        seed: u64,
        /// The number of the walk.
        walk: u64,
        /// The depth of the bugs that are looked for, at least 1.
        d: u32,
        /// Within how many steps of a walk, at least 1.
        k: u32,
    },
    /// A policy that a user of the library has registered by this name.
    Registered {
        /// Its name in the registry.
        name: String,
        /// Its data.
        data: Vec<u8>,
    },
}

/// Answers points.
pub trait Answers {
    /// The answer to a point, less than the number of its options. Choices that are made in the
    /// kernel or between two calls are not asked for.
    fn answer(&mut self, point: &ChoicePoint<'_>) -> u32;
}

impl Policy {
    /// What answers by this policy; the first option for one that is registered, see
    /// [`Policies::answers`].
    fn answers(&self) -> Box<dyn Answers> {
        match *self {
            Policy::First | Policy::Registered { .. } => Box::new(First),
            Policy::Uniform { seed, walk } => Box::new(NoFaults(Uniform(Draws::new(seed, walk)))),
            Policy::Weighted { seed, walk } => Box::new(NoFaults(Weighted(Draws::new(seed, walk)))),
            Policy::Pct { seed, walk, d, k } => {
                Box::new(NoFaults(Pct::new(Draws::new(seed, walk), d, k)))
            }
        }
    }
}

/// The first option.
struct First;

impl Answers for First {
    fn answer(&mut self, point: &ChoicePoint<'_>) -> u32 {
        point.normal()
    }
}

/// Answers points of faults by what happens normally, and has all others answered.
struct NoFaults<A>(A);

impl<A: Answers> Answers for NoFaults<A> {
    fn answer(&mut self, point: &ChoicePoint<'_>) -> u32 {
        if point.kind.is_fault() { point.normal() } else { self.0.answer(point) }
    }
}

struct Uniform(Draws);

impl Answers for Uniform {
    fn answer(&mut self, point: &ChoicePoint<'_>) -> u32 {
        self.0.option(point.options)
    }
}

struct Weighted(Draws);

impl Answers for Weighted {
    fn answer(&mut self, point: &ChoicePoint<'_>) -> u32 {
        if point.weights.is_empty() {
            return self.0.option(point.options);
        }
        let mut left = self.0.below(point.weights.iter().map(|weight| u64::from(*weight)).sum());
        let drawn =
            point.weights.iter().position(|weight| match left.checked_sub(u64::from(*weight)) {
                Some(rest) => {
                    left = rest;
                    false
                }
                None => true,
            });
        drawn.expect("what is drawn is below the sum") as u32
    }
}

/// Priorities as they are drawn are not below this; those of who has fallen are.
const DRAWN: u64 = 1 << 63;

/// PCT (Burckhardt, Kothari, Musuvathi, Nagarakatti: *A Randomized Scheduler with Probabilistic
/// Guarantees of Finding Bugs*, ASPLOS 2010), where choices are between options that have
/// identities.
///
/// Each identity has a priority, drawn when it is first seen in a walk; the option with the highest
/// one is the answer. At d - 1 steps of the first k, drawn before the walk, the one that would be
/// the answer falls below all others first. A bug that shows itself whenever d things happen in the
/// right order is then found by each walk with a probability of at least 1 / (n k^(d-1)), where n
/// identities make at most k steps.
///
/// A point is a step if its options have names, or if it is about who runs next, where their
/// numbers are identities. Every other point is data, and drawn uniformly.
struct Pct {
    draws: Draws,
    priorities: BTreeMap<String, u64>,
    /// The steps, from 1, before which an identity falls, in the order in which they were drawn.
    changes: Vec<u32>,
    steps: u32,
}

impl Pct {
    fn new(mut draws: Draws, d: u32, k: u32) -> Pct {
        let changes = (1..d).map(|_| 1 + draws.option(k)).collect();
        Pct { draws, priorities: BTreeMap::new(), changes, steps: 0 }
    }

    /// Which of these has the highest priority.
    fn highest(&self, identities: &[String]) -> usize {
        let by_priority = |at: &usize| self.priorities.get(&identities[*at]);
        (0..identities.len()).max_by_key(by_priority).unwrap_or_default()
    }
}

impl Answers for Pct {
    fn answer(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let identities: Vec<String> = match point.kind {
            _ if !point.names.is_empty() => point.names.to_vec(),
            ChoiceKind::Schedule => (0..point.options).map(|option| option.to_string()).collect(),
            _ => return self.draws.option(point.options),
        };
        self.steps += 1;
        for identity in &identities {
            if !self.priorities.contains_key(identity) {
                let priority = DRAWN | self.draws.draw();
                self.priorities.insert(identity.clone(), priority);
            }
        }
        for (place, change) in self.changes.iter().enumerate() {
            if *change == self.steps {
                let falls = identities[self.highest(&identities)].clone();
                self.priorities.insert(falls, place as u64 + 1);
            }
        }
        self.highest(&identities) as u32
    }
}

/// Makes the answers of a policy from its data.
pub type MakeAnswers = dyn Fn(&[u8]) -> Box<dyn Answers> + Send + Sync;

/// The policies that a user of the library has registered, by name.
#[derive(Clone, Default)]
pub struct Policies(BTreeMap<String, Arc<MakeAnswers>>);

impl Policies {
    /// Registers a policy: a unit whose policy is [`Policy::Registered`] with this name is answered
    /// by what `make` returns.
    pub fn register(
        &mut self,
        name: &str,
        make: impl Fn(&[u8]) -> Box<dyn Answers> + Send + Sync + 'static,
    ) {
        self.0.insert(name.to_owned(), Arc::new(make));
    }

    /// What answers by a policy.
    ///
    /// # Errors
    /// It is not registered.
    pub fn answers(&self, policy: &Policy) -> Result<Box<dyn Answers>, UsageError> {
        match policy {
            Policy::Registered { name, data } => {
                let known = self.0.keys().map(String::as_str);
                let make =
                    self.0.get(name).ok_or_else(|| UsageError::unknown("policy", name, known))?;
                Ok(make(data))
            }
            policy => Ok(policy.answers()),
        }
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
