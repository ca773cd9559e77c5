//! A plan: everything that determines a run. It is printed before the first step, and is in every
//! trace.

use serde::{Deserialize, Serialize};

use crate::base::{Mode, Options, TargetBounds, UsageError, with_defaults};
use crate::explore::{
    Dfs, Exhaust, FromPrefix, Shuffle, Strategy, StrategyName, TracePrefix, Walks,
};
use crate::stack::StackSpec;
use crate::stack::{Carried, carried, is_of_commands};
use crate::writeset::DeviceRules;

/// The effective options of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSettings {
    /// The strategy, which chooses the next unit.
    pub strategy: StrategyName,
    /// The path of the trace with which the strategy `prefix` begins. `None` for other strategies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<TracePrefix>,
    /// The seed of everything that is drawn at random.
    pub seed: u64,
    /// The number of mutates on a path. [`NO_DEPTH`] without a bound.
    pub depth: u32,
    /// The number of distinct states at which the run stops. `None` without a limit.
    pub states: Option<u64>,
    /// The time after which the run stops, in milliseconds. `None` without a limit.
    pub budget_ms: Option<u64>,
    /// The number of random walks at which the run ends. `None` without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walks: Option<u64>,
    /// The number of random walks of a unit.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub walks_in_unit: u32,
    /// The rules of the devices in a crash.
    pub rules: DeviceRules,
    /// The largest number of crash disks of an emission that are all checked. Above it they are
    /// sampled.
    pub limit: u64,
    /// The size of the sample.
    pub samples: u64,
    /// The depth of crash-crash disks: crashes during recovery, and during the recovery from those.
    #[serde(default)]
    pub crash_depth: u32,
    /// The number N if the stack is stopped and started again after every N mutates. `None` without
    /// chops.
    #[serde(default)]
    pub chop: Option<u32>,
    /// True for soft crashes instead of hard ones: the program ends, and the machine continues.
    #[serde(default)]
    pub soft: bool,
    /// The time after which a step counts as hung, in milliseconds. It applies to runs with a
    /// supervisor.
    #[serde(default = "deadline_ms")]
    pub deadline_ms: u64,
    /// True if checks are skipped whose verdict is known, if stack and checker allow it.
    #[serde(default)]
    pub skip: bool,
    /// The packages of a guest.
    #[serde(default, skip_serializing_if = "GuestPackages::is_empty")]
    pub guest: GuestPackages,
}

/// The depth of a run without a bound on the depth. It goes deeper until something else stops it.
pub const NO_DEPTH: u32 = u32::MAX;
/// The largest crash depth. The check of a crash during recovery runs inside the check of the disk
/// above it, on the worker's stack.
pub const MOST_CRASH_DEPTH: u32 = 64;
/// The largest value of `limit`. The keys of all disks of an emission are in memory.
const MOST_LIMIT: u64 = 10_000_000;
/// The largest value of `samples`. The numbers of a sample are in memory.
const MOST_SAMPLES: u64 = 1_000_000;

/// Checks that the disks of an emission, or a sample of them, fit into memory.
///
/// # Errors
/// Returns an error if `limit` or `samples` is too large.
pub fn check_samples(limit: u64, samples: u64) -> Result<(), UsageError> {
    let check = |option: &str, value: u64, most: u64| {
        let text = format!(
            "--{option} {value}: use at most {most}, because the checks are kept in memory"
        );
        if value > most { Err(UsageError(text)) } else { Ok(()) }
    };
    check("limit", limit, MOST_LIMIT)?;
    check("samples", samples, MOST_SAMPLES)
}

/// Checks that the deadline leaves time for a step.
///
/// # Errors
/// Returns an error if the deadline is zero.
pub fn check_deadline(deadline_ms: u64) -> Result<(), UsageError> {
    if deadline_ms > 0 {
        return Ok(());
    }
    let text = "a deadline of 0 leaves no time for any step; use at least 1ms, 30s is the default";
    Err(UsageError(text.to_owned()))
}

/// Checks that the budget leaves time for a run.
///
/// # Errors
/// Returns an error if the budget is zero.
pub fn check_budget(budget_ms: u64) -> Result<(), UsageError> {
    if budget_ms > 0 {
        return Ok(());
    }
    let text = "a budget of 0 leaves no time for anything; use at least 1ms, or omit --budget";
    Err(UsageError(text.to_owned()))
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

/// Returns the deadline of a step for a trace that names none: 30 s.
fn deadline_ms() -> u64 {
    30_000
}

/// The programs that a guest has besides explode's own: packages of Debian, or the root file system
/// of the user's commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestPackages {
    /// The names of packages. Everything that they depend on comes with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// The names of those dependencies that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// The archive in which the commands of the stack run. `None` if they run beside explode's
    /// programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rootfs: Option<Box<RootfsArchive>>,
}

/// An archive (tar) with a whole userland.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootfsArchive {
    /// The absolute path.
    pub file: String,
    /// The hash of its contents, 32 hexadecimal digits. A replay refuses another archive.
    pub hash: String,
}

impl GuestPackages {
    /// Returns true if the guest has only explode's own programs.
    pub fn is_empty(&self) -> bool {
        self.packages.is_empty() && self.rootfs.is_none()
    }
}

/// The plan of a run: the target, the mode, the stack, the checker and the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The name by which the user named the target.
    pub target: String,
    /// The mode of the run.
    pub mode: Mode,
    /// The stack, bottom first.
    pub stack: StackSpec,
    /// The checker's name.
    pub checker: String,
    /// The checker's options.
    #[serde(with = "with_defaults")]
    pub checker_options: Options,
    /// The rules, bounds and strategy of the run.
    pub settings: RunSettings,
}

impl RunSettings {
    /// Returns the number of random walks that the run is to make. `None` if it makes none, or if
    /// another bound ends it.
    pub fn walks_to_make(&self) -> Option<u64> {
        self.walks.filter(|_| self.strategy.is_endless())
    }
}

impl Plan {
    /// Returns a plan with these bounds, and the defaults of all other settings.
    pub(super) fn with_bounds(
        target: String,
        mode: Mode,
        stack: StackSpec,
        checker: &str,
        checker_options: Options,
        bounds: TargetBounds,
    ) -> Plan {
        let TargetBounds { depth, limit, samples, crash_depth } = bounds;
        Plan {
            target,
            mode,
            stack,
            checker: checker.to_owned(),
            checker_options,
            settings: RunSettings {
                strategy: StrategyName::Exhaust,
                prefix: None,
                seed: 0,
                depth,
                states: None,
                budget_ms: None,
                walks: None,
                walks_in_unit: one(),
                rules: DeviceRules::default(),
                limit,
                samples,
                crash_depth,
                chop: None,
                soft: false,
                deadline_ms: deadline_ms(),
                skip: true,
                guest: GuestPackages::default(),
            },
        }
    }

    /// Returns true if its checker is made of shell commands, which are then the checker's options.
    pub fn has_command_checker(&self) -> bool {
        is_of_commands(&self.checker_options)
    }

    /// Returns the shell commands in the plan: those of its components and its checker.
    pub fn commands(&self) -> Vec<Carried> {
        carried(&self.stack, &self.checker, &self.checker_options)
    }

    /// Checks that every setting is within its bounds.
    pub(super) fn check_settings(&self) -> Result<(), UsageError> {
        let RunSettings { rules, limit, samples, crash_depth, states, chop, .. } = &self.settings;
        let refuse = |text: &str| Err(UsageError(text.to_owned()));
        if self.settings.soft && *crash_depth > 0 {
            return refuse("soft crashes during recovery are not supported; omit --crash-depth");
        }
        if !rules.block_bytes.is_multiple_of(512) || !(512..=1 << 20).contains(&rules.block_bytes) {
            let bytes = rules.block_bytes;
            return Err(UsageError(format!(
                "a block of {bytes} bytes; use a multiple of 512, up to 1048576"
            )));
        }
        if *samples < 2 {
            return refuse("a sample has at least 2 disks, the empty and the full one");
        }
        check_samples(*limit, *samples)?;
        if *crash_depth > MOST_CRASH_DEPTH {
            return Err(UsageError(format!(
                "a crash depth of {crash_depth}; use at most {MOST_CRASH_DEPTH}: each check of a \
                 crash during recovery runs inside another, on the worker's stack"
            )));
        }
        if *states == Some(0) {
            return refuse("--states 0 explores nothing; use 1 or more, or omit it");
        }
        if *chop == Some(0) {
            return refuse("--chop 0: use at least 1, or omit it");
        }
        self.check_end()
    }

    /// Checks the bounds of the run's end: its depth, its time, its strategy.
    fn check_end(&self) -> Result<(), UsageError> {
        let RunSettings { depth, strategy, prefix, states, budget_ms, deadline_ms, .. } =
            &self.settings;
        let walks = self.settings.walks;
        if *depth == 0 {
            return Err(UsageError("a depth of 0 explores nothing; use at least 1".to_owned()));
        }
        if let Some(budget_ms) = *budget_ms {
            check_budget(budget_ms)?;
        }
        check_deadline(*deadline_ms)?;
        if strategy.is_endless() && states.or(*budget_ms).or(walks).is_none() {
            let text =
                format!("strategy {strategy} does not end; add --budget, --walks or --states");
            return Err(UsageError(text));
        }
        if !strategy.is_endless() && walks.is_some() {
            let text = format!("strategy {strategy} makes no random walks; omit --walks");
            return Err(UsageError(text));
        }
        if walks == Some(0) {
            return Err(UsageError("--walks 0 explores nothing; use 1 or more".to_owned()));
        }
        if let Some(prefix) = prefix.as_ref().filter(|prefix| prefix.mutates > *depth) {
            let mutates = prefix.mutates;
            return Err(UsageError(format!(
                "the trace to begin with has {mutates} mutates, and the depth is {depth}; use \
                 --depth {mutates} or more"
            )));
        }
        Ok(())
    }

    /// Returns the strategy of the plan.
    ///
    /// # Errors
    /// Returns an error if another program defines the strategy, or if its trace is not in the
    /// plan.
    pub fn strategy(&self) -> Result<Box<dyn Strategy>, UsageError> {
        let RunSettings { seed, depth, walks, walks_in_unit, .. } = self.settings;
        let in_units =
            |all: Walks| -> Box<dyn Strategy> { Box::new(all.in_units(walks_in_unit, walks)) };
        Ok(match &self.settings.strategy {
            StrategyName::Exhaust => Box::new(Exhaust::new(depth)),
            StrategyName::Dfs => Box::new(Dfs::new(depth)),
            StrategyName::Different => Box::new(Exhaust::most_different(depth)),
            StrategyName::Shuffle => {
                Box::new(Shuffle::new(seed, depth).nested_last(self.settings.crash_depth > 0))
            }
            StrategyName::Random => in_units(Walks::uniform(seed, depth)),
            StrategyName::Weighted => in_units(Walks::weighted(seed, depth)),
            StrategyName::Pct { d, k } => in_units(Walks::pct(seed, depth, *d, *k)),
            StrategyName::Walks(policy) => in_units(Walks::registered(seed, depth, policy)),
            StrategyName::Prefix(trace) => {
                let missing =
                    || UsageError(format!("the trace {trace} to begin with was not read"));
                Box::new(FromPrefix::new(depth, self.settings.prefix.clone().ok_or_else(missing)?))
            }
            StrategyName::Own(name) => {
                let text =
                    format!("strategy {name} is defined by another program; run that program");
                return Err(UsageError(text));
            }
        })
    }
}
