//! Policies: the ways to answer the points past a unit's script. A policy is plain data. The worker
//! makes its [`Answers`] anew for each unit, so a unit that runs again gets the same answers.
//!
//! Only a registered policy can cause faults. All others answer points [of
//! faults](ChoiceKind::is_fault) with normal behaviour. A strategy draws each fault and its place
//! from those that an earlier walk met, and puts it into the script.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::draws::Draws;
use super::{ChoiceKind, ChoicePoint};
use crate::base::UsageError;

/// The way to answer the points past a unit's script.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Policy {
    /// Normal behaviour: the first option, or the last one of a kernel point.
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
    /// Options are drawn by priority: PCT, probabilistic concurrency testing.
    Pct {
        /// The seed of the run.
        seed: u64,
        /// The number of the walk.
        walk: u64,
        /// The depth of the bugs that the walk searches for, at least 1.
        d: u32,
        /// The number of steps of a walk among which the changes of priority are drawn, at least 1.
        k: u32,
    },
    /// A policy that a user of the library has registered under this name.
    Registered {
        /// The name of the policy in the registry.
        name: String,
        /// The data of the policy.
        data: Vec<u8>,
    },
}

/// The answers of a policy to the points of one unit.
pub trait Answers {
    /// Returns the answer to a point, less than its number of options. Points in the kernel or
    /// between two calls do not ask for it.
    fn answer(&mut self, point: &ChoicePoint<'_>) -> u32;
}

impl Policy {
    /// Returns the answers of this policy. A registered policy has the answers of `First` here, and
    /// its own in [`Policies::answers`].
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

/// The answers of [`Policy::First`]: normal behaviour.
struct First;

impl Answers for First {
    fn answer(&mut self, point: &ChoicePoint<'_>) -> u32 {
        point.normal()
    }
}

/// The answers of another policy, except normal behaviour at points of faults.
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

/// The lower bound of drawn priorities. Identities that have fallen are below it.
const DRAWN: u64 = 1 << 63;

/// PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte: *A Randomized Scheduler with Probabilistic
/// Guarantees of Finding Bugs*, ASPLOS 2010), applied to choices between options that have
/// identities.
///
/// Each identity has a priority, drawn when a walk first meets it. The option with the highest
/// priority is the answer. At d - 1 steps, drawn from the first k before the walk, the identity
/// with the highest priority falls below all others before the answer is taken. A bug that appears
/// whenever d events happen in the right order is then found by each walk with a probability of at
/// least `1 / (n k^(d-1))`, if n identities take at most k steps.
///
/// A point is a step if its options have names, or if it chooses the next party to run, in which
/// case the numbers are identities. Every other point is data, and is drawn uniformly.
struct Pct {
    draws: Draws,
    priorities: BTreeMap<String, u64>,
    /// The steps, from 1, at which an identity falls, in the order in which they were drawn.
    changes: Vec<u32>,
    steps: u32,
}

impl Pct {
    fn new(mut draws: Draws, d: u32, k: u32) -> Pct {
        let changes = (1..d).map(|_| 1 + draws.option(k)).collect();
        Pct { draws, priorities: BTreeMap::new(), changes, steps: 0 }
    }

    /// Returns the index of the identity with the highest priority.
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

/// A function that makes the answers of a policy from its data.
pub type MakeAnswers = dyn Fn(&[u8]) -> Box<dyn Answers> + Send + Sync;

/// The policies that a user of the library has registered, by name.
#[derive(Clone, Default)]
pub struct Policies(BTreeMap<String, Arc<MakeAnswers>>);

impl Policies {
    /// Registers a policy. `make` answers the units whose policy is [`Policy::Registered`] with
    /// this name.
    pub fn register(
        &mut self,
        name: &str,
        make: impl Fn(&[u8]) -> Box<dyn Answers> + Send + Sync + 'static,
    ) {
        self.0.insert(name.to_owned(), Arc::new(make));
    }

    /// Returns the answers of a policy.
    ///
    /// # Errors
    /// Returns an error if the policy is not registered.
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
