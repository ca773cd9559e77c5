//! A plan: everything that decides what a run does. It is printed before the first step, and stands in every trace.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::registry::{Registry, Target};
use crate::base::{Bounds, Mode, Options, RunError, UsageError, with_defaults};
use crate::explore::{Dfs, Exhaust, FromPrefix, Pct, Prefix, Random, Strategy, StrategyName, Weighted};
use crate::stack::StackSpec;
use crate::stack::{Carried, carried, is_of_commands};
use crate::writeset::Rules;

/// The effective options of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What to try next.
    pub strategy: StrategyName,
    /// Where the strategy that begins with a trace begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<Prefix>,
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
    /// Crashes during recovery, and during the recovery from those, so many deep.
    #[serde(default)]
    pub crash_depth: u32,
    /// The stack is put to rest and started again after each so many mutates.
    #[serde(default)]
    pub chop: Option<u32>,
    /// Soft crashes in place of hard ones: the program ends, and the machine goes on.
    #[serde(default)]
    pub soft: bool,
    /// A step that takes more milliseconds hangs, where a supervisor sees it.
    #[serde(default = "deadline_ms")]
    pub deadline_ms: u64,
    /// Are checks skipped whose verdict is known, where stack and checker allow it?
    #[serde(default)]
    pub skip: bool,
}

/// The largest crash depth. The check of a crash during recovery runs inside the check of the disk above it, on the worker's stack.
pub const MOST_CRASH_DEPTH: u32 = 64;
/// The largest limit below which all disks of an emission are checked: their keys stay in memory.
const MOST_LIMIT: u64 = 10_000_000;
/// The largest sample of an emission: its numbers stay in memory.
const MOST_SAMPLES: u64 = 1_000_000;

/// Checks that the disks of an emission, or a sample of them, fit into memory.
///
/// # Errors
/// `limit` or `samples` is too large.
pub fn check_samples(limit: u64, samples: u64) -> Result<(), UsageError> {
    let check = |option: &str, value: u64, most: u64| {
        let text = format!("--{option} {value}: use at most {most}, what is checked is kept in memory");
        if value > most { Err(UsageError(text)) } else { Ok(()) }
    };
    check("limit", limit, MOST_LIMIT)?;
    check("samples", samples, MOST_SAMPLES)
}

/// Is there time for a step?
///
/// # Errors
/// There is none.
pub fn check_deadline(deadline_ms: u64) -> Result<(), UsageError> {
    if deadline_ms > 0 {
        return Ok(());
    }
    let text = "a deadline of 0 leaves no time for any step; use at least 1ms, 30s is the default";
    Err(UsageError(text.to_owned()))
}

/// Is there time for anything?
///
/// # Errors
/// There is none.
pub fn check_budget(budget_ms: u64) -> Result<(), UsageError> {
    if budget_ms > 0 {
        return Ok(());
    }
    let text = "a budget of 0 leaves no time for anything; use at least 1ms, or leave --budget away";
    Err(UsageError(text.to_owned()))
}

/// The deadline of a step where a trace names none: 30 s.
fn deadline_ms() -> u64 {
    30_000
}

/// What is run, on what, how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(with = "with_defaults")]
    pub checker_options: Options,
    /// How.
    pub settings: Settings,
}

impl Plan {
    /// A target with its default bounds, where it can run.
    ///
    /// # Errors
    /// Its stack has a component that is not there.
    pub fn of(registry: &Registry, target: &Target) -> Result<Plan, UsageError> {
        let mode = registry.mode_of(&target.stack)?;
        let stack = target.stack.clone();
        let options = target.checker_options.clone();
        let name = target.name.to_string();
        Ok(Plan::with_bounds(name, mode, stack, &target.checker, options, target.bounds))
    }

    /// A checker on the stack of a file, with the default bounds of where it can run.
    ///
    /// # Errors
    /// A component that is not there.
    pub fn of_file(
        registry: &Registry,
        target: String,
        checker: &str,
        checker_options: Options,
        stack: StackSpec,
    ) -> Result<Plan, UsageError> {
        let plan = Plan { target, checker_options, ..Plan::of_parts(registry, checker, stack)? };
        if plan.mode == Mode::Mem
            && plan.has_command_checker()
            && !registry.components.host_commands(&plan.stack)
        {
            let Plan { target, stack, checker, checker_options, .. } = plan;
            let bounds = Bounds::on(Mode::Vm);
            return Ok(Plan::with_bounds(target, Mode::Vm, stack, &checker, checker_options, bounds));
        }
        Ok(plan)
    }

    /// A checker on a stack: the target that is just that, or with the default bounds of where it can run.
    ///
    /// # Errors
    /// A component that is not there.
    pub fn of_parts(registry: &Registry, checker: &str, stack: StackSpec) -> Result<Plan, UsageError> {
        let same = |target: &&Target| target.checker == checker && target.stack == stack;
        let plain = |target: &&Target| target.checker_options.is_empty();
        if let Some(target) = registry.targets.iter().filter(plain).find(same) {
            return Plan::of(registry, target);
        }
        let mode = registry.mode_of(&stack)?;
        let bounds = Bounds::on(mode);
        let top = stack.names().last().copied().unwrap_or_default().to_owned();
        let name = format!("{checker}-{top}");
        Ok(Plan::with_bounds(name, mode, stack, checker, Options::none(), bounds))
    }

    fn with_bounds(
        target: String,
        mode: Mode,
        stack: StackSpec,
        checker: &str,
        checker_options: Options,
        bounds: Bounds,
    ) -> Plan {
        let Bounds { depth, limit, samples, crash_depth } = bounds;
        Plan {
            target,
            mode,
            stack,
            checker: checker.to_owned(),
            checker_options,
            settings: Settings {
                strategy: StrategyName::Exhaust,
                prefix: None,
                seed: 0,
                depth,
                states: None,
                budget_ms: None,
                rules: Rules::default(),
                limit,
                samples,
                crash_depth,
                chop: None,
                soft: false,
                deadline_ms: deadline_ms(),
                skip: true,
            },
        }
    }

    /// Do all names and numbers make sense? What a run would find out late is found out here.
    ///
    /// # Errors
    /// What makes none; a kernel is missing where the stack needs one.
    pub fn check(&self, registry: &Registry) -> Result<(), RunError> {
        self.check_settings()?;
        // What makes no sense is said before what is missing, wherever it stands.
        let mut missing = None;
        for (index, layer) in self.stack.0.iter().enumerate() {
            layer.check_name()?;
            let def = registry.component(&layer.component)?;
            layer.options.defaults().check(&def.name, &def.options)?;
            def.make(&layer.options)?;
            let stands_on = |name: &Cow<'_, str>| self.stack.components().contains(&name.as_ref());
            let on_folder = self.mode == Mode::Mem && def.also_on.iter().any(stands_on);
            if !def.modes.contains(&self.mode) && !on_folder {
                let modes: Vec<&str> = def.modes.iter().map(|mode| mode.as_str()).collect();
                let name = if def.listed { def.name.as_ref() } else { &layer.name };
                let (mode, other) = (self.mode.as_str(), modes.join(" or --in "));
                if self.mode != Mode::Mem {
                    let text = format!("component '{name}' cannot run in {mode}; use --in {other}");
                    return Err(UsageError(text).into());
                }
                missing.get_or_insert_with(|| format!("component '{name}' needs a kernel; use --in {other}"));
            }
            let below: Vec<&str> = self.stack.names()[..index].to_vec();
            if let Some(child) = layer.children.iter().find(|child| !below.contains(&child.as_str())) {
                return Err(
                    UsageError::unknown(&format!("layer below '{}'", layer.name), child, below).into()
                );
            }
        }
        let def = registry.checker_of(self)?;
        self.checker_options.defaults().check(&def.name, &def.options)?;
        def.make(&self.checker_options)?;
        let name = &self.checker;
        let hosts_commands = registry.components.host_commands(&self.stack);
        if hosts_commands && !def.needs_command_host {
            let text = format!("checker '{name}' cannot run on 'folder', where only shell commands do");
            return Err(UsageError(text).into());
        }
        if def.needs_command_host && !hosts_commands && self.mode == Mode::Mem {
            missing.get_or_insert_with(|| {
                format!(
                    "the commands of checker '{name}' need a kernel below them; use --in vm or --in here, or stand them on \
                     'folder'"
                )
            });
        }
        missing.map_or(Ok(()), |what| Err(RunError::Missing(what)))
    }

    /// The same, with the effective values of all options of its components and its checker.
    ///
    /// # Errors
    /// A name that is not there.
    pub fn completed(&self, registry: &Registry) -> Result<Plan, UsageError> {
        let mut plan = self.clone();
        for layer in &mut plan.stack.0 {
            layer.options = registry.component(&layer.component)?.completed(&layer.options);
        }
        plan.checker_options = registry.checker_of(self)?.completed(&self.checker_options);
        Ok(plan)
    }

    /// Is its checker made of shell commands? Then they are the checker's options.
    pub fn has_command_checker(&self) -> bool {
        is_of_commands(&self.checker_options)
    }

    /// The shell commands that it carries: those of its components and its checker.
    pub fn commands(&self) -> Vec<Carried> {
        carried(&self.stack, &self.checker, &self.checker_options)
    }

    fn check_settings(&self) -> Result<(), UsageError> {
        let Settings {
            rules,
            limit,
            samples,
            crash_depth,
            depth,
            strategy,
            prefix,
            states,
            budget_ms,
            chop,
            deadline_ms,
            ..
        } = &self.settings;
        if self.settings.soft && self.settings.crash_depth > 0 {
            let text =
                "soft crashes are not looked for during recovery; leave --crash-depth away with --soft";
            return Err(UsageError(text.to_owned()));
        }
        if !rules.block_bytes.is_multiple_of(512) || !(512..=1 << 20).contains(&rules.block_bytes) {
            let bytes = rules.block_bytes;
            return Err(UsageError(format!(
                "a block of {bytes} bytes; use a multiple of 512, up to 1048576"
            )));
        }
        if *samples < 2 {
            return Err(UsageError("a sample has at least 2 disks, the empty and the full one".to_owned()));
        }
        check_samples(*limit, *samples)?;
        if *crash_depth > MOST_CRASH_DEPTH {
            let text = format!(
                "a crash depth of {crash_depth}; use at most {MOST_CRASH_DEPTH}: each check of a crash during recovery runs inside another, \
                 on the worker's stack"
            );
            return Err(UsageError(text));
        }
        if *depth == 0 {
            return Err(UsageError("a depth of 0 explores nothing; use at least 1".to_owned()));
        }
        if *states == Some(0) {
            let text = "0 states are none to look at; use at least 1, the first, or leave --states away";
            return Err(UsageError(text.to_owned()));
        }
        if let Some(budget_ms) = *budget_ms {
            check_budget(budget_ms)?;
        }
        if *chop == Some(0) {
            let text = "a chop after each 0 mutates leads nowhere; use at least 1";
            return Err(UsageError(text.to_owned()));
        }
        check_deadline(*deadline_ms)?;
        if strategy.is_endless() && states.or(*budget_ms).is_none() {
            let text = format!(
                "walks of strategy {strategy} never end by themselves; say when to stop with --budget or --states"
            );
            return Err(UsageError(text));
        }
        if let Some(prefix) = prefix.as_ref().filter(|prefix| prefix.mutates > *depth) {
            let mutates = prefix.mutates;
            let text = format!(
                "the trace to begin with has {mutates} mutates, and the depth is {depth}; use --depth {mutates} or more"
            );
            return Err(UsageError(text));
        }
        Ok(())
    }

    /// The strategy that it names.
    ///
    /// # Errors
    /// One that only a program has that brings it; a trace that is not in the plan.
    pub fn strategy(&self) -> Result<Box<dyn Strategy>, UsageError> {
        let Settings { seed, depth, .. } = self.settings;
        Ok(match &self.settings.strategy {
            StrategyName::Exhaust => Box::new(Exhaust::new(depth)),
            StrategyName::Dfs => Box::new(Dfs::new(depth)),
            StrategyName::Different => Box::new(Exhaust::most_different(depth)),
            StrategyName::Random => Box::new(Random::new(seed, depth)),
            StrategyName::Weighted => Box::new(Weighted::new(seed, depth)),
            StrategyName::Pct { d, k } => Box::new(Pct::new(seed, depth, *d, *k)),
            StrategyName::Prefix(trace) => {
                let missing = || UsageError(format!("the trace {trace} to begin with was not read"));
                Box::new(FromPrefix::new(depth, self.settings.prefix.clone().ok_or_else(missing)?))
            }
            StrategyName::Own(name) => {
                let text = format!("strategy {name} is known to the program alone that brings it");
                return Err(UsageError(text));
            }
        })
    }
}
