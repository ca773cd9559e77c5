//! A plan: everything that decides what a run does. It is printed before the first step, and stands in every trace.

use serde::{Deserialize, Serialize};

use super::options::{Options, UsageError};
use super::registry::{Registry, Target};
use crate::explore::{Dfs, Exhaust, Random, Strategy};
use crate::recover::StackSpec;
use crate::writeset::Rules;

/// Where a run takes place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// In process, on simulated disks and files.
    #[default]
    Mem,
}

/// The strategies that can be named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StrategyName {
    /// All choices of a state, then the next state, breadth first.
    #[default]
    Exhaust,
    /// The newest state first.
    Dfs,
    /// Random walks from the pristine disks.
    Random,
}

/// How far a run goes unless told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Mutates on a path.
    pub depth: u32,
    /// Above so many crash disks an emission is sampled.
    pub limit: u64,
    /// The size of that sample.
    pub samples: u64,
}

/// The effective options of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What to try next.
    pub strategy: StrategyName,
    /// Seeds whatever is drawn at random.
    pub seed: u64,
    /// Mutates on a path.
    pub depth: u32,
    /// Stop at so many distinct states.
    pub states: Option<u64>,
    /// Stop after so many milliseconds.
    pub budget_ms: Option<u64>,
    /// The device that a crash interrupts.
    pub rules: Rules,
    /// Above so many crash disks an emission is sampled.
    pub limit: u64,
    /// The size of that sample.
    pub samples: u64,
}

/// What is run, on what, how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The name by which the user asked for it.
    pub target: String,
    /// Where.
    pub mode: Mode,
    /// On what.
    pub stack: StackSpec,
    /// The checker's name.
    pub checker: String,
    /// The checker's options.
    pub checker_options: Options,
    /// How.
    pub settings: Settings,
}

impl Plan {
    /// A target with its default bounds.
    pub fn of(target: &Target) -> Plan {
        let Bounds { depth, limit, samples } = target.bounds;
        Plan {
            target: target.name.to_owned(),
            mode: Mode::Mem,
            stack: target.stack.clone(),
            checker: target.checker.to_owned(),
            checker_options: target.checker_options.clone(),
            settings: Settings {
                strategy: StrategyName::Exhaust,
                seed: 0,
                depth,
                states: None,
                budget_ms: None,
                rules: Rules::default(),
                limit,
                samples,
            },
        }
    }

    /// Do all names and numbers make sense? What a run would find out late is found out here.
    pub fn check(&self, registry: &Registry) -> Result<(), UsageError> {
        let Settings { rules, samples, depth, strategy, states, budget_ms, .. } = &self.settings;
        if !rules.block_bytes.is_multiple_of(512) || !(512..=1 << 20).contains(&rules.block_bytes) {
            let bytes = rules.block_bytes;
            return Err(UsageError(format!(
                "a block of {bytes} bytes; use a multiple of 512, up to 1048576"
            )));
        }
        if *samples < 2 {
            return Err(UsageError("a sample has at least 2 disks, the empty and the full one".to_owned()));
        }
        if *depth == 0 {
            return Err(UsageError("a depth of 0 explores nothing; use at least 1".to_owned()));
        }
        if *strategy == StrategyName::Random && states.or(*budget_ms).is_none() {
            let text = "random walks never end by themselves; say when to stop with --budget or --states";
            return Err(UsageError(text.to_owned()));
        }
        for (index, layer) in self.stack.0.iter().enumerate() {
            registry.component(&layer.component)?.make(&layer.options)?;
            let below: Vec<&str> = self.stack.names()[..index].to_vec();
            if let Some(child) = layer.children.iter().find(|child| !below.contains(&child.as_str())) {
                return Err(UsageError::unknown(&format!("layer below '{}'", layer.name), child, below));
            }
        }
        registry.checker(&self.checker)?.make(&self.checker_options)?;
        Ok(())
    }

    /// The strategy that it names.
    pub fn strategy(&self) -> Box<dyn Strategy> {
        let Settings { strategy, seed, depth, .. } = self.settings;
        match strategy {
            StrategyName::Exhaust => Box::new(Exhaust::new(depth)),
            StrategyName::Dfs => Box::new(Dfs::new(depth)),
            StrategyName::Random => Box::new(Random::new(seed, depth)),
        }
    }
}
