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

use super::ChoicePoint;
use super::bare::{BarePoint, WalkAnswers, identities};
use super::draws::Draws;
use super::pct::Pct;
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
        match self {
            Policy::First | Policy::Registered { .. } => Box::new(First),
            random => Box::new(NoFaults(random.walk_answers(0))),
        }
    }

    /// Returns the answers to points without texts in the walk that follows the policy's own walk
    /// after `further` others.
    fn walk_answers(&self, further: u64) -> Box<dyn WalkAnswers> {
        match *self {
            Policy::First | Policy::Registered { .. } => Box::new(First),
            Policy::Uniform { seed, walk } => Box::new(Uniform(Draws::new(seed, walk + further))),
            Policy::Weighted { seed, walk } => Box::new(Weighted(Draws::new(seed, walk + further))),
            Policy::Pct { seed, walk, d, k } => {
                Box::new(Pct::new(Draws::new(seed, walk + further), d, k))
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

impl WalkAnswers for First {
    fn answer(&mut self, _point: &BarePoint<'_>) -> u32 {
        0
    }
}

/// The answers of another policy, except normal behaviour at points of faults.
struct NoFaults(Box<dyn WalkAnswers>);

impl Answers for NoFaults {
    fn answer(&mut self, point: &ChoicePoint<'_>) -> u32 {
        let ChoicePoint { kind, options, weights, .. } = *point;
        if kind.is_fault() {
            return point.normal();
        }
        let ids = &identities(point);
        let (by_weight, is_fair) = (false, false);
        self.0.answer(&BarePoint { kind, options, ids, weights, by_weight, is_fair })
    }
}

struct Uniform(Draws);

impl WalkAnswers for Uniform {
    fn answer(&mut self, point: &BarePoint<'_>) -> u32 {
        match point.by_weight {
            true => self.0.weighted(point.options, point.weights),
            false => self.0.option(point.options),
        }
    }
}

struct Weighted(Draws);

impl WalkAnswers for Weighted {
    fn answer(&mut self, point: &BarePoint<'_>) -> u32 {
        self.0.weighted(point.options, point.weights)
    }
}

/// Returns the data of a registered policy of walks.
pub(crate) fn data_of_walk(seed: u64, walk: u64) -> Vec<u8> {
    [seed.to_le_bytes(), walk.to_le_bytes()].concat()
}

/// Returns the seed and the number of the walk in the data of a registered policy of walks.
fn seed_and_walk(data: &[u8]) -> (u64, u64) {
    let word = |at: usize| {
        let bytes = data.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        u64::from_le_bytes(bytes.unwrap_or_default())
    };
    (word(0), word(8))
}

/// A function that makes the answers of a policy from its data.
pub type MakeAnswers = dyn Fn(&[u8]) -> Box<dyn Answers> + Send + Sync;

/// A function that makes the answers of a policy to points without texts, from the seed of the run
/// and the number of the walk.
pub type MakeWalkAnswers = dyn Fn(u64, u64) -> Box<dyn WalkAnswers> + Send + Sync;

/// The policies that a user of the library has registered, by name.
#[derive(Clone, Default)]
pub struct Policies {
    policies: BTreeMap<String, Arc<MakeAnswers>>,
    of_walks: BTreeMap<String, Arc<MakeWalkAnswers>>,
}

impl Policies {
    /// Registers a policy. `make` answers the units whose policy is [`Policy::Registered`] with
    /// this name.
    pub fn register(
        &mut self,
        name: &str,
        make: impl Fn(&[u8]) -> Box<dyn Answers> + Send + Sync + 'static,
    ) {
        self.policies.insert(name.to_owned(), Arc::new(make));
    }

    /// Registers a policy of walks over points without texts. `make` answers each walk anew, from
    /// the seed of the run and the number of the walk. The strategy `walks:NAME` walks by it.
    pub fn register_walks(
        &mut self,
        name: &str,
        make: impl Fn(u64, u64) -> Box<dyn WalkAnswers> + Send + Sync + 'static,
    ) {
        self.of_walks.insert(name.to_owned(), Arc::new(make));
    }

    /// Returns the answers of a policy to points without texts in the walk that follows the
    /// policy's own walk after `further` others.
    ///
    /// # Errors
    /// Returns an error if the policy is not registered for such points.
    pub fn walk_answers(
        &self,
        policy: &Policy,
        further: u64,
    ) -> Result<Box<dyn WalkAnswers>, UsageError> {
        match policy {
            Policy::Registered { name, data } => {
                let known = self.of_walks.keys().map(String::as_str);
                let unknown = || UsageError::unknown("policy of walks", name, known);
                let make = self.of_walks.get(name).ok_or_else(unknown)?;
                let (seed, walk) = seed_and_walk(data);
                Ok(make(seed, walk + further))
            }
            policy => Ok(policy.walk_answers(further)),
        }
    }

    /// Returns the answers of a policy.
    ///
    /// # Errors
    /// Returns an error if the policy is not registered.
    pub fn answers(&self, policy: &Policy) -> Result<Box<dyn Answers>, UsageError> {
        match policy {
            Policy::Registered { name, data } => {
                if self.of_walks.contains_key(name) {
                    return Ok(Box::new(NoFaults(self.walk_answers(policy, 0)?)));
                }
                let known = self.policies.keys().map(String::as_str);
                let unknown = || UsageError::unknown("policy", name, known);
                Ok(self.policies.get(name).ok_or_else(unknown)?(data))
            }
            policy => Ok(policy.answers()),
        }
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.policies.keys().chain(self.of_walks.keys())).finish()
    }
}
